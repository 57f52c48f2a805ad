//! `[telemetry]` and the variables of OpenTelemetry: where traces of sessions and metrics go.

use super::{
    ConfigError, network::NetworkConfig, paths::Scope, problem::config_error, section::section,
};
use agent_host_http_client::ProxySetting;
use agent_host_telemetry::{RemoteParent, TelemetrySettings, Url};
use std::time::Duration;

/// The path of traces below the address of a collector
/// (<https://opentelemetry.io/docs/specs/otlp/#otlphttp-request>).
const TRACES: &str = "v1/traces";

/// The path of metrics below the address of a collector.
const METRICS: &str = "v1/metrics";

/// The time between two requests with metrics, if `OTEL_METRIC_EXPORT_INTERVAL` has none.
const METRIC_INTERVAL: Duration = Duration::from_secs(60);

/// The least time between them.
const LEAST_METRIC_INTERVAL: Duration = Duration::from_secs(1);

/// The value of `service.name` without `OTEL_SERVICE_NAME`.
const SERVICE: &str = "agent-host";

section! {
    /// `[telemetry]`.
    #[derive(Default, Eq)]
    #[serde(default)]
    pub(super) struct RawTelemetry {
        /// The address of the collector that receives traces and metrics over OTLP/HTTP;
        /// `OTEL_EXPORTER_OTLP_ENDPOINT` takes precedence.
        endpoint: Option<String> => asks(Network, "sends traces of sessions to {value}");
        /// Whether to also send messages, arguments and results.
        content: bool => asks(Network,
            "puts messages, arguments and results into traces (content = true in [telemetry])");
    }
}

/// Where traces and metrics go.
#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    /// The settings, without the proxy.
    settings: TelemetrySettings,
    network: NetworkConfig,
}

impl TelemetryConfig {
    /// Makes the settings those of a program that serves several users: losses are logged while it
    /// runs, and it is not part of the span of the program that started it.
    pub fn serves(&mut self) {
        self.settings.parent = None;
        self.settings.logs_losses = true;
    }

    /// Reads the address of the proxy.
    ///
    /// # Errors
    /// It is not where it should be, or is not an address.
    pub(crate) async fn open(&self) -> Result<TelemetrySettings, ConfigError> {
        Ok(TelemetrySettings {
            proxy: self.network.open().await?,
            ..self.settings.clone()
        })
    }
}

/// Resolves the section and the variables; `None` where nothing is sent. A variable that cannot be
/// used is one of another program's, and sends nothing.
pub(super) fn resolve(
    raw: &RawTelemetry,
    scope: Scope<'_>,
) -> Result<Option<TelemetryConfig>, ConfigError> {
    let environment = scope.environment;
    let configured = match &raw.endpoint {
        None => None,
        Some(text) => Some(address(text).ok_or_else(|| {
            config_error!(
                "telemetry.endpoint",
                "`endpoint` in [telemetry] is not a collector address",
                "write it like `http://localhost:4318`"
            )
            .with_value(text)
        })?),
    };
    let is = |name: &str, value: &str| {
        let set = environment.variable(name);
        set.is_some_and(|set| set.eq_ignore_ascii_case(value))
    };
    if is("OTEL_SDK_DISABLED", "true") {
        return Ok(None);
    }
    let usable = |name: &str| {
        let endpoint = address(environment.variable(name)?);
        if endpoint.is_none() {
            tracing::warn!(
                "{name} is not an address like `http://localhost:4318`, so it is ignored"
            );
        }
        endpoint
    };
    let collector = usable("OTEL_EXPORTER_OTLP_ENDPOINT").or(configured);
    let signal = |endpoint: &str, exporter: &str, path: &str| {
        if is(exporter, "none") {
            return None;
        }
        let collector = collector.as_ref();
        usable(endpoint).or_else(|| below(collector?, path))
    };
    let traces = signal(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_TRACES_EXPORTER",
        TRACES,
    );
    let metrics = signal(
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "OTEL_METRICS_EXPORTER",
        METRICS,
    );
    if traces.is_none() && metrics.is_none() {
        return Ok(None);
    }
    let interval = environment.variable("OTEL_METRIC_EXPORT_INTERVAL");
    let interval = interval.and_then(|text| text.parse().ok());
    let interval = interval.map_or(METRIC_INTERVAL, Duration::from_millis);
    let service = environment.variable("OTEL_SERVICE_NAME");
    let parent = environment.variable("TRACEPARENT");
    Ok(Some(TelemetryConfig {
        settings: TelemetrySettings {
            traces,
            metrics,
            metric_interval: interval.max(LEAST_METRIC_INTERVAL),
            service_name: service.unwrap_or(SERVICE).to_owned(),
            content: raw.content,
            parent: parent.and_then(RemoteParent::parse),
            logs_losses: false,
            proxy: ProxySetting::Environment,
        },
        network: scope.network.clone(),
    }))
}

/// Returns an address below that of a collector.
fn below(collector: &Url, path: &str) -> Option<Url> {
    address(&format!(
        "{}/{path}",
        collector.as_str().trim_end_matches('/')
    ))
}

fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_http && url.has_host()).then_some(url)
}

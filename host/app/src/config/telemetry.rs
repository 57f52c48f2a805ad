//! `[telemetry]` and the variables of OpenTelemetry: where traces of sessions go.

use super::{ConfigError, Environment, network::NetworkConfig, problem::config_error};
use agent_host_telemetry::{RemoteParent, TelemetrySettings, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The path of traces below the address of a collector
/// (<https://opentelemetry.io/docs/specs/otlp/#otlphttp-request>).
const TRACES: &str = "v1/traces";

/// The value of `service.name` without `OTEL_SERVICE_NAME`.
const SERVICE: &str = "agent-host";

/// `[telemetry]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct RawTelemetry {
    /// The address of the collector, to which traces of sessions are sent over OTLP/HTTP;
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` goes before.
    pub(super) endpoint: Option<String>,
    /// Whether messages, arguments and results are sent, too.
    pub(super) content: bool,
}

/// Where traces go.
#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    pub(super) endpoint: Url,
    pub(super) service_name: String,
    pub(super) content: bool,
    /// The span of the program that started this one, by `TRACEPARENT`. A program that serves
    /// several users takes it away.
    pub parent: Option<RemoteParent>,
    pub(super) network: NetworkConfig,
}

impl TelemetryConfig {
    /// Reads the address of the proxy.
    ///
    /// # Errors
    /// It is not where it should be, or is not an address.
    pub(crate) async fn open(&self) -> Result<TelemetrySettings, ConfigError> {
        Ok(TelemetrySettings {
            endpoint: self.endpoint.clone(),
            service_name: self.service_name.clone(),
            content: self.content,
            parent: self.parent,
            proxy: self.network.open().await?,
        })
    }
}

/// Resolves the section and the variables; `None` where nothing is sent. A variable that cannot be
/// used is one of another program's, and sends nothing.
pub(super) fn resolve(
    raw: &RawTelemetry,
    environment: &Environment,
) -> Result<Option<TelemetryConfig>, ConfigError> {
    let configured = match &raw.endpoint {
        None => None,
        Some(text) => Some(traces_of(text).ok_or_else(|| {
            config_error!(
                "telemetry.endpoint",
                "`endpoint` in [telemetry] is not the address of a collector",
                "write it like `http://localhost:4318`"
            )
            .with_value(text)
        })?),
    };
    let is = |name, value: &str| {
        let set = environment.variable(name);
        set.is_some_and(|set| set.eq_ignore_ascii_case(value))
    };
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    let usable = |name: &str, parse: fn(&str) -> Option<Url>| {
        let endpoint = parse(environment.variable(name)?);
        if endpoint.is_none() {
            tracing::warn!("{name} is not an address like `http://localhost:4318`, and is ignored");
        }
        endpoint
    };
    let endpoint = usable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", address)
        .or_else(|| usable("OTEL_EXPORTER_OTLP_ENDPOINT", traces_of))
        .or(configured);
    let service = environment.variable("OTEL_SERVICE_NAME");
    let parent = environment.variable("TRACEPARENT");
    Ok(endpoint.map(|endpoint| TelemetryConfig {
        endpoint,
        service_name: service.unwrap_or(SERVICE).to_owned(),
        content: raw.content,
        parent: parent.and_then(RemoteParent::parse),
        network: NetworkConfig::default(),
    }))
}

/// Returns the address for traces at a collector.
fn traces_of(text: &str) -> Option<Url> {
    address(&format!("{}/{TRACES}", text.trim_end_matches('/')))
}

fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_http && url.has_host()).then_some(url)
}

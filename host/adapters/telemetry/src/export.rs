//! The exporters of OTLP over HTTP, with the HTTP client that the host uses everywhere.

use crate::TelemetrySettings;
use agent_host_types::reason::Reason;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    MetricExporter, Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{Temporality, data::ResourceMetrics, exporter::PushMetricExporter as _},
    trace::{SpanData, SpanExporter as _},
};
use reqwest::{ClientBuilder, Url};
use std::{fmt, time::Duration};

const REQUEST_TIME: Duration = Duration::from_secs(10);

/// The maximum size of the answer of a collector, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Sends spans.
pub(crate) struct SpanSender(SpanExporter);

impl SpanSender {
    pub(crate) fn new(settings: &TelemetrySettings, endpoint: &Url) -> Result<Self, Reason> {
        let client = client(settings, endpoint)?;
        // Reads `OTEL_EXPORTER_OTLP_HEADERS` itself.
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint.as_str())
            .with_timeout(REQUEST_TIME)
            // A lost span costs less than a collector that is asked again and again.
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|error| format!("cannot send traces: {error}"))?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder_empty()
            .with_service_name(settings.service_name.clone())
            .with_attribute(version)
            .build();
        exporter.set_resource(&resource);
        Ok(Self(exporter))
    }

    /// Sends spans once.
    ///
    /// # Errors
    /// The server cannot be reached, or does not take them.
    pub(crate) async fn send(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        self.0.export(spans).await
    }
}

/// Sends metrics.
pub(crate) struct MetricSender(MetricExporter);

impl MetricSender {
    pub(crate) fn new(settings: &TelemetrySettings, endpoint: &Url) -> Result<Self, Reason> {
        let client = client(settings, endpoint)?;
        let exporter = MetricExporter::builder()
            // Prometheus reads the same instruments, which count from the start of the process.
            .with_temporality(Temporality::Cumulative)
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint.as_str())
            .with_timeout(REQUEST_TIME)
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|error| format!("cannot send traces: {error}"))?;
        Ok(Self(exporter))
    }

    /// Sends metrics once.
    ///
    /// # Errors
    /// The server cannot be reached, or does not take them.
    pub(crate) async fn send(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.0.export(metrics).await
    }
}

fn client(settings: &TelemetrySettings, endpoint: &Url) -> Result<Client, Reason> {
    let configured = |builder: ClientBuilder| builder.timeout(REQUEST_TIME);
    let client = settings.proxy.client(endpoint, configured);
    let client = client.map_err(|error| format!("cannot create the client for traces: {error}"))?;
    Ok(Client(client))
}

/// The client of the exporters. It follows no redirect: they go to the address that the operator
/// chose, and nowhere else.
struct Client(reqwest::Client);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let sent = self.0.execute(request).await;
        let mut response = sent.map_err(reqwest::Error::without_url)?;
        let mut answer = Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            headers.clone_from(response.headers());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            let left = MAX_ANSWER_BYTES.saturating_sub(body.len());
            body.extend(chunk.iter().take(left));
            if body.len() == MAX_ANSWER_BYTES {
                break;
            }
        }
        Ok(answer.body(body.into())?)
    }
}

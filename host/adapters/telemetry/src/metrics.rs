//! The metrics of this process: its turns, requests to models, calls of tools and barriers of the
//! journal, counted from the events that it records.
//!
//! One set of instruments of OpenTelemetry has them all. Prometheus reads them as text and OTLP
//! sends them, so that both tell the same. No attribute names a session, and the number of names
//! that tools and models can bring is bounded ([`names`]).

mod names;
mod recorder;
#[cfg(test)]
mod tests;
mod text;

pub use text::Gauge;

use crate::conventions::{SCHEMA_URL, metric};
use agent_host_engine::observer::Observer;
use agent_host_types::{
    id::{CallId, SessionId},
    tool::Effect,
};
use names::SeenNames;
use opentelemetry::{
    InstrumentationScope, KeyValue,
    metrics::{Counter, Histogram, Meter, MeterProvider as _},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{
        InstrumentKind, ManualReader, Pipeline, SdkMeterProvider, Temporality,
        data::ResourceMetrics, reader::MetricReader,
    },
};
use recorder::Recorder;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

/// The upper bounds of durations in seconds, those of the conventions for requests.
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// The upper bounds of barriers of the journal in seconds: a write to a disk.
const BARRIER_SECONDS: [f64; 10] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 1.0,
];

/// The upper bounds of tokens, those of the conventions.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The most running calls whose effect is remembered. Beyond them it is not told.
const MAX_CALLS: usize = 4096;

/// The most tools, models and agents, each, that have a name of their own in metrics.
const MAX_NAMES: usize = 100;

/// The metrics of a process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    instruments: Instruments,
    tools: SeenNames,
    models: SeenNames,
    agents: SeenNames,
    /// The effects of the calls that run.
    effects: Mutex<HashMap<(SessionId, CallId), Effect>>,
    reader: SharedReader,
    /// Keeps the instruments alive.
    _provider: SdkMeterProvider,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Creates metrics of a service with this name.
    #[must_use]
    pub fn new(service_name: &str) -> Self {
        let reader = SharedReader(Arc::new(ManualReader::builder().build()));
        // Metrics of several processes are told apart by it.
        let instance = KeyValue::new("service.instance.id", SessionId::new().to_string());
        let resource = Resource::builder_empty()
            .with_service_name(service_name.to_owned())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(instance)
            .build();
        let provider = SdkMeterProvider::builder()
            .with_reader(reader.clone())
            .with_resource(resource)
            .build();
        let scope = InstrumentationScope::builder("agent-host")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        Self(Arc::new(Inner {
            instruments: Instruments::new(&provider.meter_with_scope(scope)),
            tools: SeenNames::new(MAX_NAMES),
            models: SeenNames::new(MAX_NAMES),
            agents: SeenNames::new(MAX_NAMES),
            effects: Mutex::default(),
            reader,
            _provider: provider,
        }))
    }

    /// Returns an observer that counts what a session does. `agent` is the agent of the session;
    /// `None` for that of the file's top level, or one that its first event names.
    #[must_use]
    pub fn observer(&self, agent: Option<String>) -> Box<dyn Observer + 'static> {
        Box::new(Recorder::new(self.clone(), agent))
    }

    /// Returns the text that Prometheus reads, with figures of the moment at its end.
    #[must_use]
    pub fn text(&self, gauges: &[Gauge]) -> String {
        text::write(&self.collect(), gauges)
    }

    /// Reads all instruments.
    pub(crate) fn collect(&self) -> ResourceMetrics {
        let mut metrics = ResourceMetrics::default();
        // It fails after a shutdown alone, and there is none.
        let _ = self.0.reader.collect(&mut metrics);
        metrics
    }

    fn effects(&self) -> MutexGuard<'_, HashMap<(SessionId, CallId), Effect>> {
        self.0
            .effects
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

struct Instruments {
    turns: Counter<u64>,
    turn_seconds: Histogram<f64>,
    request_seconds: Histogram<f64>,
    tokens: Histogram<u64>,
    cached_tokens: Counter<u64>,
    cost: Counter<f64>,
    calls: Counter<u64>,
    call_seconds: Histogram<f64>,
    barrier_seconds: Histogram<f64>,
}

impl Instruments {
    fn new(meter: &Meter) -> Self {
        let counter = |name, help| meter.u64_counter(name).with_description(help).build();
        let seconds = |name, help, bounds: &[f64]| {
            let histogram = meter.f64_histogram(name).with_description(help);
            histogram
                .with_unit("s")
                .with_boundaries(bounds.to_vec())
                .build()
        };
        Self {
            turns: counter(metric::TURNS, "Completed turns."),
            turn_seconds: seconds(
                metric::TURN_SECONDS,
                "Time from the input of a turn to its end.",
                &SECONDS,
            ),
            request_seconds: seconds(
                metric::OPERATION_SECONDS,
                "Time from a request to a model to the end of its reply.",
                &SECONDS,
            ),
            tokens: meter
                .u64_histogram(metric::TOKENS)
                .with_description("Tokens of a model request; the input includes cached tokens.")
                .with_unit("{token}")
                .with_boundaries(TOKENS.to_vec())
                .build(),
            cached_tokens: counter(
                metric::CACHED_TOKENS,
                "Input tokens read from the provider's cache.",
            ),
            cost: meter
                .f64_counter(metric::COST)
                .with_description("Cost of the tokens with a known price, in US dollars.")
                .build(),
            calls: counter(
                metric::CALLS,
                "Tool calls that ended, including those that did not run.",
            ),
            call_seconds: seconds(metric::CALL_SECONDS, "Duration of a tool call.", &SECONDS),
            barrier_seconds: seconds(
                metric::BARRIER_SECONDS,
                "Time until events are durable in the journal.",
                &BARRIER_SECONDS,
            ),
        }
    }
}

/// The reader of the instruments, which the provider and [`Metrics`] share.
#[derive(Clone, Debug)]
struct SharedReader(Arc<ManualReader>);

impl MetricReader for SharedReader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}

//! A span in the form of the exporter.

use crate::conventions::{SCHEMA_URL, attribute};
use agent_host_types::{approval::Decision, model::Usage};
use opentelemetry::{
    Array, InstrumentationScope, KeyValue, StringValue, Value,
    trace::{Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum size of the value of an attribute, in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 4 * 1024;

/// The maximum length of the name of a model, a tool or an agent in the name of a span, in bytes: a
/// model may call tools of any name.
const MAX_NAME_BYTES: usize = 128;

/// A span whose attributes are collected.
pub(super) struct Draft {
    name: String,
    id: SpanId,
    pub(super) parent: SpanId,
    pub(super) is_remote: bool,
    pub(super) kind: SpanKind,
    start: SystemTime,
    end: SystemTime,
    pub(super) attributes: Vec<KeyValue>,
    events: Vec<Event>,
    status: Status,
}

impl Draft {
    /// `name` is that of a model, a tool or an agent; the times are in milliseconds since 1970.
    pub(super) fn new(
        operation: &'static str,
        name: Option<&str>,
        id: SpanId,
        (start_ms, end_ms): (u64, u64),
    ) -> Self {
        let name = name.map(|name| format!("{operation} {}", cut(name, MAX_NAME_BYTES)));
        Self {
            name: name.unwrap_or_else(|| operation.to_owned()),
            id,
            parent: SpanId::INVALID,
            is_remote: false,
            kind: SpanKind::Internal,
            start: time(start_ms),
            // The clock may have been set back.
            end: time(end_ms.max(start_ms)),
            attributes: vec![KeyValue::new(attribute::OPERATION, operation)],
            events: Vec::new(),
            status: Status::Unset,
        }
    }

    pub(super) fn text(&mut self, name: &'static str, value: &str) {
        self.attributes.push(text(name, value));
    }

    pub(super) fn texts(&mut self, name: &'static str, values: Vec<String>) {
        let values = values.into_iter().map(StringValue::from).collect();
        let values = Value::Array(Array::String(values));
        self.attributes.push(KeyValue::new(name, values));
    }

    pub(super) fn number(&mut self, name: &'static str, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.attributes.push(KeyValue::new(name, value));
    }

    /// Adds the tokens and their cost. Only the span of a model's request has them, so that no
    /// reader who sums them up counts any twice.
    pub(super) fn usage(&mut self, usage: Usage) {
        if usage.is_none() {
            return;
        }
        self.number(attribute::INPUT_TOKENS, usage.input_tokens);
        self.number(attribute::OUTPUT_TOKENS, usage.output_tokens);
        if usage.cached_input_tokens > 0 {
            self.number(attribute::CACHED_TOKENS, usage.cached_input_tokens);
        }
        if let Some(micros) = usage.cost_micros {
            self.number(attribute::COST, micros);
        }
    }

    pub(super) fn error(&mut self, kind: &str) {
        self.unset_error(kind);
        self.status = Status::error("");
    }

    /// Names a reason without an error status.
    pub(super) fn unset_error(&mut self, kind: &str) {
        self.text(attribute::ERROR_TYPE, kind);
    }

    pub(super) fn event(&mut self, name: &'static str, at_ms: u64, attributes: Vec<KeyValue>) {
        let event = Event::new(name, time(at_ms), attributes, /*dropped*/ 0);
        self.events.push(event);
    }

    pub(super) fn build(self, trace: TraceId) -> SpanData {
        let flags = TraceFlags::SAMPLED;
        let mut events = SpanEvents::default();
        events.events = self.events;
        let scope = InstrumentationScope::builder("agent-host")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        let is_remote = false;
        SpanData {
            span_context: SpanContext::new(trace, self.id, flags, is_remote, TraceState::NONE),
            parent_span_id: self.parent,
            parent_span_is_remote: self.is_remote,
            span_kind: self.kind,
            name: self.name.into(),
            start_time: self.start,
            end_time: self.end,
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events,
            links: SpanLinks::default(),
            status: self.status,
            instrumentation_scope: scope,
        }
    }
}

/// Returns an attribute, its value cut to [`MAX_VALUE_BYTES`].
pub(super) fn text(name: &'static str, value: &str) -> KeyValue {
    KeyValue::new(name, cut(value, MAX_VALUE_BYTES).to_owned())
}

/// Returns the name of a decision.
pub(super) fn decision(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve { .. } => "approve",
        Decision::Edit { .. } => "edit",
        Decision::Reject { .. } => "reject",
        Decision::Respond { .. } => "respond",
    }
}

/// Cuts a text to at most `max` bytes.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

fn time(at_ms: u64) -> SystemTime {
    let since = Duration::from_millis(at_ms);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

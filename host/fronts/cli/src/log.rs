//! The log on stderr: lines to read, or one JSON object a line for programs.

use crate::terminal::{GuardedStderr, json_text};
use agent_host_app::LOG_CONTEXT;
use serde_json::{Map, Value, json};
use std::{
    fmt,
    io::{self, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, filter_fn},
    layer::{Context, SubscriberExt as _},
    registry::{LookupSpan, Scope},
    util::SubscriberInitExt as _,
};

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines to read.
    #[default]
    Text,
    /// One JSON object a line, also for messages on stderr that are not of the log.
    Json,
}

/// Whether everything on stderr is JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether everything on stderr is JSON, so that any other text has to be a message of the log.
pub(crate) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Starts the log; without a filter, at level `warn`.
pub(crate) fn start(filter: Option<&str>, format: LogFormat) {
    // `rmcp` logs whole messages, which may echo a token, so it logs only where the filter names
    // it.
    let filter = match filter.unwrap_or("warn") {
        filter if filter.contains("rmcp") => filter.to_owned(),
        filter => format!("{filter},rmcp=off"),
    };
    let filter = EnvFilter::new(filter);
    match format {
        LogFormat::Text => tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(|| GuardedStderr)
            // It would report a failed write to stderr on stderr, and panic.
            .log_internal_errors(false)
            .without_time()
            .init(),
        LogFormat::Json => {
            IS_JSON.store(true, Ordering::Relaxed);
            // The session and the call belong to a message of any level.
            let context = filter_fn(|metadata| metadata.target() == LOG_CONTEXT);
            let layer = JsonLog.with_filter(filter.or(context));
            tracing_subscriber::registry().with(layer).init();
        }
    }
}

/// Writes a message that is not of the log as a line of it. Styles are taken away.
pub(crate) fn write_message(level: &str, message: &str) {
    let message = anstream::adapter::strip_str(message).to_string();
    write_line(
        level,
        Map::from_iter([("message".to_owned(), json!(message))]),
    );
}

/// Writes a line with the time and the level, which no field replaces.
fn write_line(level: &str, mut fields: Map<String, Value>) {
    fields.insert("time".to_owned(), json!(jiff::Timestamp::now().to_string()));
    fields.insert("level".to_owned(), json!(level));
    // A failed write to stderr cannot be reported.
    let line = json_text(&Value::Object(fields));
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes events of the log as JSON, each with the fields of the spans around it.
struct JsonLog;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for JsonLog {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = LogFields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<LogFields>()
        {
            record.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        // The innermost last: the session of an agent is named in place of the one around it.
        let scope = context.event_scope(event);
        for span in scope.into_iter().flat_map(Scope::from_root) {
            if let Some(of_span) = span.extensions().get::<LogFields>() {
                fields.0.extend(of_span.0.clone());
            }
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        let target = json!(metadata.target());
        fields.0.insert("target".to_owned(), target);
        write_line(metadata.level().as_str(), fields.0);
    }
}

/// The fields of a span or an event.
#[derive(Default)]
struct LogFields(Map<String, Value>);

impl LogFields {
    fn set(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, json!(value));
    }
}

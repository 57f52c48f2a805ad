//! Counts what one session does, from its records in order.

use super::{MAX_CALLS, Metrics};
use crate::{
    conventions::{DENIED, INTERRUPTED, attribute, operation, provider},
    spans::error_type,
};
use agent_host_engine::observer::{Live, Observer};
use agent_host_types::{
    event::{CallEnd, Event, EventRecord},
    id::{CallId, SessionId},
    model::{Provenance, Usage},
    turn::TurnReport,
};
use opentelemetry::KeyValue;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The agent of a session of the file's top level. No configured agent has this name.
const TOP_LEVEL: &str = "(top level)";

/// The model of tokens that were lost with another process.
const UNKNOWN: &str = "(unknown)";

/// The effect of a call that did not run.
const NO_EFFECT: &str = "none";

/// Counts what a session does.
pub(super) struct Recorder {
    metrics: Metrics,
    state: Mutex<EarlierFacts>,
}

/// Facts of the events before that those after need.
struct EarlierFacts {
    agent: Option<String>,
    /// The model that was asked, and when, in milliseconds since 1970.
    request: Option<(Provenance, u64)>,
}

impl Recorder {
    pub(super) fn new(metrics: Metrics, agent: Option<String>) -> Self {
        let state = EarlierFacts {
            agent,
            request: None,
        };
        Self {
            metrics,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, EarlierFacts> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_request(&self, model: &Provenance, ms: u64, usage: Usage, error: Option<&str>) {
        let metrics = &self.metrics.0;
        let mut attributes = self.model_attributes(model);
        attributes.extend(error.map(|error| text(attribute::ERROR_TYPE, error)));
        let seconds = Duration::from_millis(ms).as_secs_f64();
        metrics
            .instruments
            .request_seconds
            .record(seconds, &attributes);
        self.count_tokens(model, usage);
    }

    fn count_tokens(&self, model: &Provenance, usage: Usage) {
        let instruments = &self.metrics.0.instruments;
        let attributes = self.model_attributes(model);
        let of_type = |kind| {
            let kind = KeyValue::new(attribute::TOKEN_TYPE, kind);
            [attributes.as_slice(), &[kind]].concat()
        };
        if !usage.is_none() {
            let (input, output) = (usage.input_tokens, usage.output_tokens);
            instruments.tokens.record(input, &of_type("input"));
            instruments.tokens.record(output, &of_type("output"));
        }
        instruments
            .cached_tokens
            .add(usage.cached_input_tokens, &attributes);
        let micros = Duration::from_micros(usage.cost_micros.unwrap_or(0));
        instruments.cost.add(micros.as_secs_f64(), &attributes);
    }

    fn model_attributes(&self, model: &Provenance) -> Vec<KeyValue> {
        let name = self.metrics.0.models.value(&model.model);
        vec![
            text(attribute::OPERATION, operation::CHAT),
            text(attribute::PROVIDER, provider(&model.provider)),
            text(attribute::REQUEST_MODEL, &name),
        ]
    }

    /// Counts a request that got no reply.
    fn lose_request(&self, at_ms: u64, error: &str) {
        let request = self.state().request.take();
        if let Some((model, asked_ms)) = request {
            let time = at_ms.saturating_sub(asked_ms);
            self.count_request(&model, time, Usage::default(), Some(error));
        }
    }

    fn reply(&self, event: &Event) {
        let Event::ModelReplied {
            reply,
            discarded,
            duration_ms,
            ..
        } = event
        else {
            return;
        };
        let asked = self.state().request.take().map(|(model, _)| model);
        let model = reply.provenance.clone().or(asked).unwrap_or_else(unknown);
        let mut usage = reply.usage;
        usage += *discarded;
        self.count_request(&model, *duration_ms, usage, None);
    }

    fn lost_tokens(&self, tokens: u64) {
        let usage = Usage {
            input_tokens: tokens,
            ..Usage::default()
        };
        let model = self
            .state()
            .request
            .as_ref()
            .map(|(model, _)| model.clone());
        self.count_tokens(&model.unwrap_or_else(unknown), usage);
    }

    fn call(&self, session: SessionId, event: &Event) {
        if let Some(start) = event.call_start() {
            let mut effects = self.metrics.effects();
            if effects.len() < MAX_CALLS {
                effects.insert((session, start.call_id.clone()), start.effect);
            }
        } else if let Some(end) = event.call_end()
            && let Some(tool) = end.tool
        {
            self.end_call(session, tool, &end);
        }
    }

    fn end_call(&self, session: SessionId, tool: &str, end: &CallEnd<'_>) {
        let metrics = &self.metrics.0;
        let key = (session, end.call_id.clone());
        let effect = self.metrics.effects().remove(&key);
        let outcome = match (end.is_denied(), end.is_success()) {
            (true, _) => DENIED,
            (_, false) => "failed",
            (_, true) => "success",
        };
        let tool = text(attribute::TOOL, &metrics.tools.value(tool));
        let effect = effect.map_or(NO_EFFECT, |effect| effect.as_str());
        let seconds = Duration::from_micros(end.accounting.wall_us).as_secs_f64();
        metrics
            .instruments
            .call_seconds
            .record(seconds, std::slice::from_ref(&tool));
        let facts = [
            tool,
            KeyValue::new(attribute::EFFECT, effect),
            KeyValue::new(attribute::OUTCOME, outcome),
        ];
        metrics.instruments.calls.add(1, &facts);
    }

    fn end_turn(&self, at_ms: u64, report: &TurnReport) {
        self.lose_request(at_ms, &error_type(&report.end));
        let metrics = &self.metrics.0;
        let agent = self.state().agent.clone();
        let agent = agent.map(|agent| metrics.agents.value(&agent));
        let facts = [
            text(attribute::AGENT, agent.as_deref().unwrap_or(TOP_LEVEL)),
            KeyValue::new(attribute::OUTCOME, report.end.kind()),
        ];
        metrics.instruments.turns.add(1, &facts);
        let time = Duration::from_millis(report.summary.duration_ms);
        metrics
            .instruments
            .turn_seconds
            .record(time.as_secs_f64(), &[]);
    }
}

impl Observer for Recorder {
    fn recorded(&self, record: &Arc<EventRecord>) {
        let (session, at_ms) = (record.session, record.at_ms);
        match &record.event {
            Event::RunConfigured { arguments } => {
                let mut state = self.state();
                state.agent = state.agent.take().or_else(|| arguments.agent.clone());
            }
            Event::ModelRequested { provenance, .. } => {
                self.state().request = Some((provenance.clone(), at_ms));
            }
            event @ Event::ModelReplied { .. } => self.reply(event),
            Event::HistorySummarised {
                provenance,
                usage,
                duration_ms,
                ..
            } => self.count_request(provenance, *duration_ms, *usage, None),
            Event::TurnInterrupted { lost_tokens } => {
                self.lost_tokens(*lost_tokens);
                self.lose_request(at_ms, INTERRUPTED);
            }
            Event::TurnEnded { outcome, .. } => self.end_turn(at_ms, outcome),
            event => self.call(session, event),
        }
    }

    fn live(&self, _live: Live<'_>) {}

    fn durable_after(&self, time: Duration) {
        let barriers = &self.metrics.0.instruments.barrier_seconds;
        barriers.record(time.as_secs_f64(), &[]);
    }

    fn child<'a>(&'a self, _call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        Some(self.metrics.observer(Some(agent.to_owned())))
    }
}

fn unknown() -> Provenance {
    Provenance {
        provider: UNKNOWN.to_owned(),
        model: UNKNOWN.to_owned(),
    }
}

fn text(name: &'static str, value: &str) -> KeyValue {
    KeyValue::new(name, value.to_owned())
}

//! The spans of one session, made from its records in order.

mod build;
mod content;

use crate::{
    conventions::{DENIED, INTERRUPTED, TOOL_TYPE, attribute, event, operation, provider},
    ids::{call_span, event_span},
};
use agent_host_types::{
    event::{CallEnd, Event, EventRecord},
    id::{CallId, SessionId},
    message::Message,
    model::{Provenance, Usage},
    output::ToolResultOutput,
    turn::{RunOutcome, TurnEnd, TurnError},
};
use build::Draft;
use opentelemetry::{
    KeyValue,
    trace::{SpanId, SpanKind, TraceId},
};
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, sync::Arc};

/// The place of a session's spans in a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracePlace {
    pub(crate) trace: TraceId,
    /// The span of the call that started the session, or that of another program.
    pub(crate) parent: SpanId,
    pub(crate) is_remote: bool,
}

/// Makes the spans of a session.
pub(crate) struct SessionSpans {
    session: SessionId,
    place: TracePlace,
    with_content: bool,
    agent: Option<String>,
    /// The run of the last message of the user.
    run: Option<OpenRun>,
    workflow: Option<SpanStart>,
    request: Option<OpenModelRequest>,
    /// The calls that run.
    calls: HashMap<CallId, ToolCallSpan>,
    /// Approvals and questions of calls that have not ended.
    events: HashMap<CallId, Vec<CallEvent>>,
    ended: Vec<SpanData>,
}

/// The name, the time and the attributes of an event of a call.
type CallEvent = (&'static str, u64, Vec<KeyValue>);

/// A span that has begun.
#[derive(Clone, Copy)]
struct SpanStart {
    span: SpanId,
    at_ms: u64,
}

struct OpenRun {
    begun: SpanStart,
    /// The user's message, where content is sent.
    input: Option<Message>,
    /// The last end of a turn of it, and whether it was the end of the run.
    turn_ended: Option<(u64, TurnEnd)>,
    is_sent: bool,
}

struct OpenModelRequest {
    begun: SpanStart,
    model: Provenance,
}

struct ToolCallSpan {
    at_ms: u64,
    tool: String,
    attributes: Vec<KeyValue>,
    input: Option<Arc<Map<String, Value>>>,
    parent: Option<SpanId>,
    /// Whether it waited for an answer, which is not its work.
    has_waited: bool,
}

impl SessionSpans {
    pub(crate) fn new(
        session: SessionId,
        place: TracePlace,
        agent: Option<String>,
        with_content: bool,
    ) -> Self {
        Self {
            session,
            place,
            with_content,
            agent,
            run: None,
            workflow: None,
            request: None,
            calls: HashMap::new(),
            events: HashMap::new(),
            ended: Vec::new(),
        }
    }

    /// Returns the spans that ended with a record, which is the session's next one.
    pub(crate) fn add(&mut self, record: &EventRecord) -> Vec<SpanData> {
        let (seq, at_ms) = (record.seq, record.at_ms);
        let begun = SpanStart {
            span: event_span(self.session, seq),
            at_ms,
        };
        match &record.event {
            Event::SessionForked { .. } => {
                // The events before it are another session's.
                *self = Self::new(self.session, self.place, None, self.with_content);
            }
            Event::RunConfigured { arguments } if self.agent.is_none() => {
                self.agent.clone_from(&arguments.agent);
            }
            Event::InputReceived { message, .. } => {
                self.end_run();
                self.run = Some(OpenRun {
                    begun,
                    input: self.with_content.then(|| message.clone()),
                    turn_ended: None,
                    is_sent: false,
                });
            }
            Event::WorkflowStarted { .. } => self.workflow = Some(begun),
            Event::WorkflowEnded { summary } => self.end_workflow(at_ms, &summary.workflow),
            Event::TurnInterrupted { .. } => self.lose_request(at_ms, INTERRUPTED),
            Event::TurnEnded { outcome, .. } => self.end_turn(at_ms, &outcome.end),
            other => self.add_work(begun, other),
        }
        std::mem::take(&mut self.ended)
    }

    /// Adds an event of a model's request or of a call.
    fn add_work(&mut self, begun: SpanStart, event: &Event) {
        let at_ms = begun.at_ms;
        match event {
            Event::ModelRequested { provenance, .. } => {
                self.request = Some(OpenModelRequest {
                    begun,
                    model: provenance.clone(),
                });
            }
            Event::ModelReplied { .. } => self.end_request(at_ms, event),
            Event::HistorySummarised {
                provenance,
                usage,
                duration_ms,
                ..
            } => {
                let start = at_ms.saturating_sub(*duration_ms);
                let mut draft = self.chat(begun.span, start, at_ms, provenance);
                draft.usage(*usage);
                self.finish(draft);
            }
            other => self.call(at_ms, other),
        }
    }

    /// Notes approvals and questions of calls.
    fn note(&mut self, at_ms: u64, event: &Event) {
        let mut add = |call: &CallId, name, attributes| {
            let events = self.events.entry(call.clone()).or_default();
            events.push((name, at_ms, attributes));
        };
        match event {
            Event::ApprovalRequested { calls, .. } => calls
                .iter()
                .for_each(|call| add(&call.call_id, event::APPROVAL_REQUESTED, Vec::new())),
            Event::DecisionRecorded { decisions, .. } => decisions.iter().for_each(|decision| {
                let kind = KeyValue::new(attribute::DECISION, build::decision(decision));
                add(decision.call_id(), event::APPROVAL_DECIDED, vec![kind]);
            }),
            Event::QuestionAsked { call_id, .. } => {
                add(call_id, event::QUESTION_ASKED, Vec::new());
                if let Some(call) = self.calls.get_mut(call_id) {
                    call.has_waited = true;
                }
            }
            Event::AnswerReceived { call_id, .. } => {
                add(call_id, event::QUESTION_ANSWERED, Vec::new());
            }
            _ => {}
        }
    }

    /// The span that work belongs to.
    fn parent(&self) -> SpanId {
        let run = self.run.as_ref().map(|run| run.begun);
        let begun = self.workflow.or(run);
        begun.map_or(self.place.parent, |begun| begun.span)
    }

    fn begin_call<'a>(
        &mut self,
        (call_id, tool): (&CallId, &str),
        at_ms: u64,
        input: Option<&Arc<Map<String, Value>>>,
        facts: impl Iterator<Item = (&'static str, &'a str)>,
    ) {
        let parent = self.parent();
        // An attempt after a crash is the same call.
        self.calls
            .entry(call_id.clone())
            .or_insert_with(|| ToolCallSpan {
                at_ms,
                tool: tool.to_owned(),
                attributes: facts
                    .map(|(name, value)| build::text(name, value))
                    .collect(),
                input: input.filter(|_| self.with_content).cloned(),
                parent: Some(parent),
                has_waited: false,
            });
    }

    fn call(&mut self, at_ms: u64, event: &Event) {
        match (event.call_start(), event.call_end()) {
            (Some(start), _) => {
                let facts = [
                    Some((attribute::EFFECT, start.effect.as_str())),
                    start.rule.map(|rule| (attribute::RULE, rule)),
                    start.node.map(|node| (attribute::NODE, node)),
                ];
                let call = (start.call_id, start.tool);
                self.begin_call(call, at_ms, start.input, facts.into_iter().flatten());
            }
            (_, Some(end)) => self.end_call(at_ms, &end),
            _ => self.note(at_ms, event),
        }
    }

    fn end_call(&mut self, at_ms: u64, settled: &CallEnd<'_>) {
        let begun = self.calls.remove(settled.call_id);
        let work = at_ms.saturating_sub(settled.accounting.wall_us / 1_000);
        let start = match &begun {
            Some(call) if !call.has_waited => call.at_ms,
            // Waiting is not work.
            Some(call) => call.at_ms.max(work),
            None => at_ms,
        };
        let enclosing = settled
            .path
            .last()
            .map(|call| call_span(self.session, call));
        let parent = begun.as_ref().and_then(|call| call.parent);
        let parent = enclosing.or(parent).unwrap_or_else(|| self.parent());
        let id = call_span(self.session, settled.call_id);
        let tool = begun
            .as_ref()
            .map(|call| call.tool.as_str())
            .or(settled.tool)
            .or(settled.node)
            .unwrap_or_default()
            .to_owned();
        let mut draft = self.draft(operation::EXECUTE_TOOL, Some(&tool), id, start, at_ms);
        draft.parent = parent;
        draft.text(attribute::TOOL, &tool);
        draft.text(attribute::TOOL_TYPE, TOOL_TYPE);
        draft.text(attribute::CALL_ID, &settled.call_id.0);
        draft.number(attribute::MEMORY, settled.accounting.peak_memory_bytes);
        let is_ruled = begun.as_ref().is_some_and(|call| {
            let mut names = call.attributes.iter().map(|attribute| &attribute.key);
            names.any(|name| name.as_str() == attribute::RULE)
        });
        if let Some(rule) = settled.rule.filter(|_| !is_ruled) {
            draft.text(attribute::RULE, rule);
        }
        match (settled.output, settled.failure) {
            (Some(ToolResultOutput::ExecutionDenied(_)), _) => draft.unset_error(DENIED),
            (_, Some(failure)) => draft.error(&failure.code),
            (Some(output), None) if !output.is_success() => draft.error(output.tag()),
            _ => {}
        }
        if let Some(call) = begun {
            draft.attributes.extend(call.attributes);
            if let Some(input) = call.input {
                draft.text(attribute::ARGUMENTS, &json!(input).to_string());
            }
        }
        if self.with_content
            && let Some(output) = settled.output
        {
            draft.text(attribute::RESULT, &content::result(output));
        }
        for (name, at_ms, attributes) in self.events.remove(settled.call_id).unwrap_or_default() {
            draft.event(name, at_ms, attributes);
        }
        self.finish(draft);
    }

    fn end_request(&mut self, at_ms: u64, event: &Event) {
        let Event::ModelReplied {
            reply, discarded, ..
        } = event
        else {
            return;
        };
        let Some(OpenModelRequest { begun, model }) = self.request.take() else {
            return;
        };
        let mut draft = self.chat(begun.span, begun.at_ms, at_ms, &model);
        let replied = reply.provenance.as_ref().unwrap_or(&model);
        draft.text(attribute::RESPONSE_MODEL, &replied.model);
        if let Some(id) = &reply.response_id {
            draft.text(attribute::RESPONSE_ID, id);
        }
        if let Some(reason) = reply.stop_reason {
            draft.texts(
                attribute::FINISH_REASONS,
                vec![content::finish_reason(reason)],
            );
        }
        let mut usage: Usage = reply.usage;
        usage += *discarded;
        draft.usage(usage);
        if self.with_content {
            draft.text(attribute::OUTPUT_MESSAGES, &content::reply(reply));
        }
        self.finish(draft);
    }

    /// Ends a request that got no reply.
    fn lose_request(&mut self, at_ms: u64, error: &str) {
        if let Some(OpenModelRequest { begun, model }) = self.request.take() {
            let mut draft = self.chat(begun.span, begun.at_ms, at_ms, &model);
            draft.error(error);
            self.finish(draft);
        }
    }

    fn end_workflow(&mut self, at_ms: u64, name: &str) {
        if let Some(begun) = self.workflow.take() {
            let id = begun.span;
            let start = begun.at_ms;
            let mut draft = self.draft(operation::INVOKE_WORKFLOW, Some(name), id, start, at_ms);
            draft.text(attribute::WORKFLOW, name);
            self.finish(draft);
        }
    }

    fn end_turn(&mut self, at_ms: u64, end: &TurnEnd) {
        self.lose_request(at_ms, &error_type(end));
        if let Some(run) = &mut self.run {
            run.turn_ended = Some((at_ms, end.clone()));
        }
        match end.run_outcome() {
            RunOutcome::Unfinished | RunOutcome::Paused(_) => {}
            RunOutcome::Ended | RunOutcome::Unrecorded(_) => self.end_run(),
        }
    }

    /// Sends the run's span. The run stays: what follows a used up budget belongs to it.
    fn end_run(&mut self) {
        let Some(run) = self.run.as_mut().filter(|run| !run.is_sent) else {
            return;
        };
        let Some((at_ms, end)) = run.turn_ended.clone() else {
            return;
        };
        run.is_sent = true;
        let (begun, input) = (run.begun, run.input.take());
        let agent = self.agent.clone();
        let name = agent.as_deref();
        let mut draft = self.draft(
            operation::INVOKE_AGENT,
            name,
            begun.span,
            begun.at_ms,
            at_ms,
        );
        draft.parent = self.place.parent;
        draft.is_remote = self.place.is_remote;
        if let Some(name) = name {
            draft.text(attribute::AGENT, name);
        }
        draft.text(attribute::OUTCOME, end.kind());
        if let TurnEnd::Error { error } = &end {
            draft.error(&content::cause(error));
        }
        if let Some(input) = input {
            draft.text(attribute::INPUT_MESSAGES, &content::message(&input));
        }
        self.finish(draft);
    }

    fn chat(&self, id: SpanId, start_ms: u64, end_ms: u64, model: &Provenance) -> Draft {
        let name = Some(model.model.as_str());
        let mut draft = self.draft(operation::CHAT, name, id, start_ms, end_ms);
        draft.kind = SpanKind::Client;
        draft.text(attribute::PROVIDER, provider(&model.provider));
        draft.text(attribute::REQUEST_MODEL, &model.model);
        draft
    }

    fn draft(
        &self,
        operation: &'static str,
        name: Option<&str>,
        id: SpanId,
        start_ms: u64,
        end_ms: u64,
    ) -> Draft {
        let mut draft = Draft::new(operation, name, id, (start_ms, end_ms));
        draft.parent = match operation {
            // A workflow takes the place of the model of its run.
            operation::INVOKE_WORKFLOW => {
                let run = self.run.as_ref();
                run.map_or(self.place.parent, |run| run.begun.span)
            }
            _ => self.parent(),
        };
        draft.text(attribute::CONVERSATION, &self.session.to_string());
        draft
    }

    fn finish(&mut self, draft: Draft) {
        self.ended.push(draft.build(self.place.trace));
    }
}

/// Returns `error.type` of a request to a model that had no reply when its turn ended.
pub(crate) fn error_type(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Error {
            error: TurnError::Model { error },
        } => content::name(&error.kind),
        _ => end.kind().to_owned(),
    }
}

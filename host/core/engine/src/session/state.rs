//! The state of a session as a fold over its events. Only `apply` changes it; it never fails and
//! reads nothing but the event.

mod apply;
#[cfg(test)]
mod tests;
mod workflow;

pub use workflow::{OpenNode, WorkflowProgress};

use super::{Spent, history::History};
use crate::{
    arguments::LastCheck,
    artifact::Artifacts,
    context::{estimate::Measured, summary::Inputs},
    flow::FlowState,
};
use agent_host_types::{
    approval::{ApprovalRule, Decision},
    continuation::Awaiting,
    custom_context::CustomContext,
    event::ParentCall,
    hook::CallReview,
    id::{CallId, Digest},
    limits::Limits,
    message::{Message, Role, ToolResult},
    model::{Provenance, StopReason, Usage},
    output::ContentPart,
    question::{AnsweredBy, AnsweredQuestion},
    run::RunArguments,
    tool::{Effect, ToolCall},
    turn::{ChildSummary, TurnEnd, TurnReport},
    workflow::WorkflowSummary,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// The memory of an id of a call beside its text, in bytes: of the text's header and the set's slot.
const CALL_ID_BYTES: usize = 48;

/// The state derived from the events so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionState {
    system: Option<String>,
    parent: Option<ParentCall>,
    /// The working directory of the first run.
    directory: Option<String>,
    /// The arguments of the last run; of a copy, those of the original.
    run: RunArguments,
    /// Whether no run has followed since it was copied.
    is_fresh_copy: bool,
    /// The machine and the configuration of the last run, where hosts share the store.
    placed: Option<(String, BTreeMap<String, Digest>)>,
    /// The setup of the loop and the approvals from outside of the session, where they are
    /// recorded.
    loop_setup: Option<(Digest, Vec<ApprovalRule>)>,
    /// The model that was called last.
    model: Option<Provenance>,
    /// The digest of the last request's system prompt, which is stored as a blob.
    pub(crate) system_blob: Option<Digest>,
    messages: History,
    /// The user's first message, which every summary keeps.
    first_input: Option<Message>,
    /// The user's newest message, if it is another one, and its position among the messages.
    last_input: Option<(Message, usize)>,
    /// The sender of the newest message, as the front end names it.
    last_sender: Option<String>,
    /// The provider's count for the last request.
    measured: Option<Measured>,
    turns: u64,
    spent: Spent,
    model_paused: bool,
    progress: TurnProgress,
    pub(crate) turn_stats: TurnStats,
    usage: Usage,
    batch: Vec<BatchCall>,
    pub(crate) open: Option<OpenTurn>,
    call_ids: HashSet<CallId>,
    last_report: Option<TurnReport>,
    remembered: Vec<ApprovalRule>,
    shared: Arc<Map<String, Value>>,
    context: Arc<CustomContext>,
    /// The paths that were restored since the user's last message, as the tools see them.
    restored: Vec<String>,
    /// The message of a call that ended the run.
    halt: Option<String>,
    /// The limits of each tool's last call that had any.
    limits: HashMap<String, Limits>,
    /// The tools that searches found, and the reader of artifacts once there is one.
    found_tools: BTreeSet<String>,
    /// The artifacts of the calls of its model, and those that were stored.
    artifacts: Arc<Artifacts>,
    /// The sources of its text.
    pub(crate) flow: FlowState,
    /// The run of a workflow for the user's last message.
    workflow: Option<WorkflowProgress>,
    /// The number of the last run of a workflow.
    pub(crate) workflow_runs: u64,
}

/// A call of the model's last message, until all calls of that message are answered.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCall {
    /// The call.
    pub call: ToolCall,
    /// The user's decision about it.
    pub decision: Option<Decision>,
    /// The review by the hooks; `None` if they have not reviewed these arguments.
    pub review: Option<CallReview>,
    /// The effect with which it started. Without a result, the run was interrupted.
    pub intended: Option<Effect>,
    /// Its result.
    pub result: Option<ToolResult>,
    /// The questions of earlier runs, with the answers.
    pub answers: Vec<AnsweredQuestion>,
    /// The part of the session that it sees, taken at its first run.
    pub(crate) snapshot: Option<Snapshot>,
    /// The delivery of the answer to its open question.
    pub(crate) asked: Option<AnsweredBy>,
    /// Whether it was dispatched externally.
    pub dispatched_externally: bool,
    /// Whether its agent has its session.
    pub is_spawned: bool,
    /// The last check of its arguments.
    pub(crate) check: LastCheck,
}

/// The part of a session that a call sees: the same in every run of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) shared: Arc<Map<String, Value>>,
    pub(crate) context: Arc<CustomContext>,
    pub(crate) artifacts: Arc<Artifacts>,
}

/// How far the current turn is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TurnProgress {
    /// Whether it has not ended.
    is_open: bool,
    /// The estimated size of the request without a reply, in tokens.
    asked_tokens: u64,
    /// The interruptions since the last reply or result.
    interruptions: u64,
}

/// The figures of the current turn's model reply. Kept while the turn is paused, so that the
/// resumed turn reports them too; empty between turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnStats {
    /// The model that replied, or was called and has not replied.
    pub(crate) provenance: Option<Provenance>,
    /// The tokens of the reply, of discarded replies and of summaries.
    pub(crate) usage: Usage,
    /// The tokens of summaries before the request.
    pub(crate) summaries: Usage,
    /// The provider's id of the reply.
    pub(crate) response_id: Option<String>,
    /// Why the model stopped.
    pub(crate) stop_reason: Option<StopReason>,
    /// The number of its calls.
    pub(crate) tool_calls: u64,
    /// The agents that ended.
    pub(crate) children: Vec<ChildSummary>,
    /// The run of a workflow that ended.
    pub(crate) workflow: Option<WorkflowSummary>,
}

/// The open request of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenTurn {
    pub(crate) request: String,
    pub(crate) turn: u64,
    pub(crate) awaiting: Awaiting,
    pub(crate) expires_at_ms: Option<u64>,
}

impl SessionState {
    /// Returns the system prompt.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// Returns the call whose agent it is.
    #[must_use]
    pub fn parent(&self) -> Option<&ParentCall> {
        self.parent.as_ref()
    }

    /// Returns the arguments that the next run takes over, with the directory of the last one; none
    /// for a copy, to which no run of this journal gave any.
    #[must_use]
    pub fn run_arguments(&self) -> RunArguments {
        if self.is_fresh_copy {
            return RunArguments::default();
        }
        RunArguments {
            directory: self.run.directory.clone().or(self.directory.clone()),
            ..self.run.clone()
        }
    }

    /// Returns the machine and the configuration of the last run, where hosts share the store.
    #[must_use]
    pub fn placed(&self) -> Option<&(String, BTreeMap<String, Digest>)> {
        self.placed.as_ref()
    }

    /// Returns the digest of the last recorded setup of the loop, and the approvals from outside of
    /// the session.
    #[must_use]
    pub fn loop_setup(&self) -> Option<&(Digest, Vec<ApprovalRule>)> {
        self.loop_setup.as_ref()
    }

    /// Returns the arguments of the original, for a copy that has not run yet. They hold for
    /// nothing.
    #[must_use]
    pub fn original_arguments(&self) -> Option<&RunArguments> {
        self.is_fresh_copy.then_some(&self.run)
    }

    /// Returns the model that was called last.
    #[must_use]
    pub fn model(&self) -> Option<&Provenance> {
        self.model.as_ref()
    }

    /// Returns the end of the conversation as the model is shown it: at least its last 1,024
    /// messages, and all of a shorter one. Every call in it is answered; those of the open batch
    /// are in [`Self::batch`].
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.messages.end()
    }

    /// Returns the user's first message, with files as blob references.
    #[must_use]
    pub fn first_input(&self) -> Option<&Message> {
        self.first_input.as_ref()
    }

    /// Returns the sender of the user's newest message, as the front end names it; `None` for the
    /// user of the session.
    #[must_use]
    pub fn last_sender(&self) -> Option<&str> {
        self.last_sender.as_deref()
    }

    /// Returns the number of messages in the conversation; a summary is one.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// Returns the artifacts of the calls of its model, and those that were stored.
    pub(crate) fn artifacts(&self) -> &Arc<Artifacts> {
        &self.artifacts
    }

    /// Returns the tools that are offered since something in the session called for them: those
    /// that searches found (see [`crate::tool_search`]), and the reader of artifacts.
    pub(crate) fn found_tools(&self) -> &BTreeSet<String> {
        &self.found_tools
    }

    /// Returns the limits of the tool's last call that had any.
    pub(crate) fn limits(&self, tool: &str) -> Option<&Limits> {
        self.limits.get(tool)
    }

    /// Returns the conversation as the model is shown it, with references and a summary in place of
    /// old parts. Older messages of a long conversation are parsed from JSON text.
    ///
    /// # Errors
    /// When one of them cannot be parsed, which no message that the loop records is known to cause.
    pub fn all_messages(&self) -> Result<Vec<Message>, serde_json::Error> {
        self.messages.all()
    }

    /// Returns the size of a request in tokens: the provider's count for the last one and an
    /// estimate of the changes since, or an estimate of everything. `saved` tokens of the
    /// conversation are subtracted; `fixed` estimates the rest of the request.
    pub(crate) fn context_tokens(&self, saved: u64, fixed: impl FnOnce() -> u64) -> u64 {
        let messages = self.messages.tokens().saturating_sub(saved);
        match self.measured {
            Some(measured) => measured.now(messages),
            None => messages.saturating_add(fixed()),
        }
    }

    /// Returns the user's messages that a summary keeps.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            first: self.first_input.as_ref(),
            last: self.last_input.as_ref().map(|(last, at)| (last, *at)),
        }
    }

    /// Returns an estimate of the memory that it takes, in bytes. Messages and the ids of calls
    /// are what grows with a session.
    pub(super) fn memory_bytes(&self) -> u64 {
        let ids = self.call_ids.iter().map(|id| CALL_ID_BYTES + id.0.len());
        self.messages
            .memory_bytes()
            .saturating_add(ids.sum::<usize>() as u64)
    }

    /// Returns the number of model calls so far.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Returns the approvals remembered in this session.
    #[must_use]
    pub fn remembered(&self) -> &[ApprovalRule] {
        &self.remembered
    }

    /// Returns the usage since the user's last message.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Returns the shared state that the calls of the session merged so far: a JSON object.
    #[must_use]
    pub fn shared(&self) -> &Arc<Map<String, Value>> {
        &self.shared
    }

    /// Returns the custom context, which is empty where none was given.
    #[must_use]
    pub fn context(&self) -> &Arc<CustomContext> {
        &self.context
    }

    /// Returns the message with which a call ended the run for the user's last message.
    #[must_use]
    pub fn halt(&self) -> Option<&str> {
        self.halt.as_deref()
    }

    /// Returns what a call that starts now sees.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            shared: Arc::clone(&self.shared),
            context: Arc::clone(&self.context),
            artifacts: Arc::clone(&self.artifacts),
        }
    }

    /// Whether the provider paused the model's last reply; the next request continues it.
    #[must_use]
    pub fn model_paused(&self) -> bool {
        self.model_paused
    }

    /// Whether the last turn has not ended: it runs, or the program ended during it.
    pub(crate) fn turn_is_open(&self) -> bool {
        self.progress.is_open
    }

    /// Whether a run of it was broken off: its last turn has not ended, or another one was to
    /// follow.
    #[must_use]
    pub fn is_broken_off(&self) -> bool {
        let last = self.last_report.as_ref().map(|report| &report.end);
        self.progress.is_open || matches!(last, Some(TurnEnd::NeedsMoreTurns))
    }

    /// Whether its last turn left calls, nodes or results that the next one continues, or a model
    /// call that a budget prevented.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        let last = self.last_report.as_ref().map(|report| &report.end);
        !self.batch.is_empty()
            || self.open_workflow().is_some()
            || matches!(
                last,
                Some(TurnEnd::NeedsMoreTurns | TurnEnd::BudgetExceeded { .. })
            )
    }

    /// Whether its last turn ended for good: nothing waits, and nothing is to be continued.
    pub(crate) fn has_ended(&self) -> bool {
        let last = self.last_report.as_ref().map(|report| &report.end);
        !self.progress.is_open
            && self.batch.is_empty()
            && self.open_workflow().is_none()
            && !matches!(last, None | Some(TurnEnd::NeedsMoreTurns))
    }

    /// Returns the estimated size of the request without a reply, in tokens; 0 without one.
    pub(crate) fn asked_tokens(&self) -> u64 {
        self.progress.asked_tokens
    }

    /// Returns the interruptions of the current turn since its last reply or result.
    pub(crate) fn interruptions(&self) -> u64 {
        self.progress.interruptions
    }

    /// Returns the tokens of the session so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the text of the model's last message, possibly empty.
    #[must_use]
    pub fn last_assistant_text(&self) -> &str {
        let last = self
            .messages()
            .iter()
            .rfind(|message| message.role == Role::Assistant);
        let text = last.and_then(|last| last.content.iter().find_map(ContentPart::text));
        text.unwrap_or_default()
    }

    /// Returns the calls of the model's last message, in its order; empty if all are answered.
    #[must_use]
    pub fn batch(&self) -> &[BatchCall] {
        &self.batch
    }

    /// Returns the run of a workflow for the user's last message.
    #[must_use]
    pub fn workflow(&self) -> Option<&WorkflowProgress> {
        self.workflow.as_ref()
    }

    /// Returns the run of a workflow that has not ended.
    #[must_use]
    pub fn open_workflow(&self) -> Option<&WorkflowProgress> {
        self.workflow().filter(|workflow| !workflow.has_ended)
    }

    /// Returns the report of the last turn.
    #[must_use]
    pub fn last_report(&self) -> Option<&TurnReport> {
        self.last_report.as_ref()
    }

    /// Whether a call id was ever used in the session.
    #[must_use]
    pub fn knows_call(&self, id: &CallId) -> bool {
        self.call_ids.contains(id)
    }
}

impl BatchCall {
    /// Returns the arguments of the run: those of the user's edit, or of a hook, or the model's.
    #[must_use]
    pub fn effective_input(&self) -> Option<&Arc<Map<String, Value>>> {
        match &self.decision {
            Some(Decision::Edit { input, .. }) => Some(input),
            _ => {
                let reviewed = self
                    .review
                    .as_ref()
                    .and_then(|review| review.input.as_ref());
                reviewed.or(self.call.input.as_ref())
            }
        }
    }

    /// Takes the user's decision. Hooks have not seen the arguments of an edit.
    pub(crate) fn decide(&mut self, decision: Decision) {
        if let Decision::Edit { .. } = decision {
            self.review = None;
        }
        self.decision = Some(decision);
    }

    pub(crate) fn new(call: &ToolCall) -> Self {
        Self {
            call: call.clone(),
            decision: None,
            review: None,
            intended: None,
            result: None,
            answers: Vec::new(),
            snapshot: None,
            asked: None,
            dispatched_externally: false,
            is_spawned: false,
            check: LastCheck::default(),
        }
    }
}

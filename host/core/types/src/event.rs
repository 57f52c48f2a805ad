//! The events of a session: a complete, ordered record from which every other view is derived.

mod call;
mod kind;
mod stored;
#[cfg(test)]
pub(crate) mod tests;

pub use call::{CallEnd, CallRequest, CallStart};
pub use stored::{EVENT_VERSION, EventError, EventRecord};

use crate::{
    accounting::{Accounting, AuditEntry},
    approval::{ApprovalRule, Decision, RememberScope},
    artifact::ArtifactName,
    context::{CompactionStats, ReferencedResult},
    continuation::{PendingCall, WaitingChild},
    custom_context::CustomContext,
    facts::CallFacts,
    flow::LabelledFile,
    hook::{CallReview, HookVerdict},
    id::{CallId, Digest, SessionId},
    message::Message,
    model::{ModelReply, Provenance, Usage},
    output::{BlobRef, ToolResultOutput},
    question::{Answer, AnsweredBy, Question},
    run::RunArguments,
    tool::{Effect, ToolCall},
    turn::{ChildSummary, TurnReport},
    workflow::{NodeFailure, NodeOutput, WorkflowSummary},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Event {
    /// The session started.
    SessionStarted {
        /// The version of the program that started it.
        program: String,
        /// The system prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        /// The working directory, shown in lists of sessions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
        /// The name and version of the client that drives the loop; absent if this program does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
        /// The call that started this session, for a nested agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentCall>,
        /// The untrusted sources of a conversation that it continues, such as `history`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    /// The events before this one were copied from another session or journal. Open requests,
    /// running calls and remembered approvals of the original do not carry over; calls without a
    /// result are answered next.
    SessionForked {
        /// The original session.
        from: SessionId,
        /// The position of the last copied event.
        at: u64,
        /// The one who had it copied, as the front end names it; absent for the user of the
        /// session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The operator's program set the custom context. A copy of the session begins without it.
    ContextSet {
        /// The context.
        context: CustomContext,
    },
    /// A run of the session has different arguments than the previous one, or is the first one and
    /// has any. Recorded before anything else in the run.
    RunConfigured {
        /// Those that a later run of the session takes over.
        arguments: RunArguments,
    },
    /// The run continues on a different machine or with a different configuration than the previous
    /// one. Recorded by hosts that share a store, before anything else in the run.
    RunPlaced {
        /// The name of the machine.
        machine: String,
        /// The digests of what the host runs, by the part: components, grants, rules and the like.
        configuration: BTreeMap<String, Digest>,
    },
    /// The next turns run with a different setup of the loop, or with different approvals from
    /// outside of the session. Recorded before anything else in a turn, so that `sessions replay`
    /// needs only the journal.
    LoopConfigured {
        /// The setup as JSON: models, tools, agents, rules and settings, without keys and secrets.
        setup: BlobRef,
        /// The approvals that are remembered outside of the session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        approvals: Vec<ApprovalRule>,
    },
    /// The user sent a message.
    InputReceived {
        /// The message; files are blobs.
        message: Message,
        /// The untrusted sources of text in the message, such as `webhook:issues`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
        /// The sender, as the front end names it; absent for the user of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A front end that names its senders received an input that has no event of its own.
    SenderNamed {
        /// The input.
        input: SentInput,
        /// The sender, as the front end names it.
        by: String,
    },
    /// The input of the turn was sent under an idempotency key; sent again, it does not run again.
    /// Recorded with the input.
    KeyTaken {
        /// The digest of the sender's key.
        #[serde(rename = "idempotency-key")]
        key: String,
        /// The digest of the input.
        input: Digest,
    },
    /// The model was called.
    ModelRequested {
        /// The turn, from 1.
        turn: u64,
        /// The model.
        provenance: Provenance,
        /// The number of messages in the request.
        messages: usize,
        /// The number of tools in the request.
        tools: usize,
        /// The digest of the request ([`crate::model::ModelRequest::digest`]).
        request_digest: Digest,
        /// The blob of the system prompt; absent where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<BlobRef>,
        /// The estimated size of the request, in tokens. The reply has the provider's count;
        /// nothing is billed by the estimate.
        estimated_tokens: u64,
    },
    /// The program ended during a turn; recorded when the turn is resumed or superseded.
    TurnInterrupted {
        /// The estimated size of a request whose reply was lost, in tokens; 0 if none was. The
        /// provider bills it, so that it counts towards the budgets.
        lost_tokens: u64,
    },
    /// Old results exceed the model's window and are replaced by references in all later requests.
    ResultsReferenced {
        /// The references, in the order of the conversation.
        results: Vec<ReferencedResult>,
        /// The size of a request before and after.
        size: CompactionStats,
    },
    /// The older part of the conversation exceeds the model's window and is replaced in all later
    /// requests by a summary, which the model wrote in a separate request.
    HistorySummarised {
        /// The number of replaced messages, counted from the first one that the model was shown.
        messages: usize,
        /// The replacement: the user's first message, the summary, and the user's newest message if
        /// it is among the replaced ones.
        message: Message,
        /// The model that wrote it.
        provenance: Provenance,
        /// The tokens of the summary request.
        usage: Usage,
        /// The time from the request to the end of the summary, in milliseconds.
        duration_ms: u64,
        /// The size of a request before and after.
        size: CompactionStats,
    },
    /// The model replied.
    ModelReplied {
        /// The turn.
        turn: u64,
        /// The reply; each call id is unique in the session.
        reply: ModelReply,
        /// The tokens of discarded replies to this request.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        discarded: Usage,
        /// The time from the request to the end of the reply, in milliseconds.
        duration_ms: u64,
        /// The entry of a recording that the reply was written to or replayed from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tape: Option<String>,
    },
    /// A client with its own loop requested a call that does not run; its result has the reason. A
    /// call that runs has `CallIntended` in its place.
    CallReceived {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments.
        input: Arc<Map<String, Value>>,
    },
    /// Hooks reviewed a call before its approval. Their effect on the call is recorded, so that no
    /// hook runs again after a crash.
    CallReviewed {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The digest of the arguments before the review.
        input_digest: Digest,
        /// The review.
        review: CallReview,
    },
    /// The policy is about to decide on a call by rules that name facts beside its arguments.
    FactsRead {
        /// The call.
        call_id: CallId,
        /// The facts.
        facts: CallFacts,
    },
    /// A hook did not pass a request, a reply or a result.
    HookDecided {
        /// The call; absent for a request to a model or its reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<CallId>,
        /// The verdict.
        verdict: HookVerdict,
    },
    /// A call is about to run.
    CallIntended {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments that it runs with; they differ from the model's if the user edited them.
        input: Arc<Map<String, Value>>,
        /// The digest of the arguments' canonical JSON.
        input_digest: Digest,
        /// The effect that the policy applied.
        effect: Effect,
        /// The idempotency key of every attempt.
        idempotency_key: String,
        /// The policy rule that allowed the call, or required the approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The enclosing calls, outermost first; empty for a call of the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        path: Vec<CallId>,
    },
    /// Calls wait for approval. A decision consumes this request.
    ApprovalRequested {
        /// The request's name, which the decision carries.
        request: String,
        /// The turn.
        turn: u64,
        /// The position of the first of the calls in its batch, from 0.
        index: usize,
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
        /// The time after which no decision is accepted, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at_ms: Option<u64>,
    },
    /// A call ended a run with a question. The answer consumes this request.
    QuestionAsked {
        /// The request's name.
        request: String,
        /// The turn.
        turn: u64,
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The question.
        question: Question,
        /// The delivery of the answer to the call.
        answered_by: AnsweredBy,
        /// The resources that the run used.
        accounting: Accounting,
        /// The run's requests to the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
    },
    /// The user asked to remember an approval.
    ApprovalRemembered {
        /// The calls that it covers.
        rule: ApprovalRule,
        /// Its lifetime.
        scope: RememberScope,
    },
    /// A remembered approval of this session was revoked.
    ApprovalRevoked {
        /// The revoked rule.
        rule: ApprovalRule,
    },
    /// The user answered a question. Durable before the call resumes.
    AnswerReceived {
        /// The answered request.
        request: String,
        /// The call.
        call_id: CallId,
        /// The answer.
        answer: Answer,
        /// The sender, as the front end names it; absent for the user of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The model's answer is empty or does not match the requested schema, and is sent back once.
    RepairRequested {
        /// The message to the model.
        message: String,
    },
    /// A program called tools, all of which run before it continues. They stand for the calls of a
    /// model's reply.
    ProgramCalled {
        /// The calls, in the program's order.
        calls: Vec<ToolCall>,
    },
    /// A program ended.
    ProgramEnded {
        /// The result, or a preview of it.
        output: ToolResultOutput,
        /// The whole result, where `output` is a preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<BlobRef>,
        /// The resources that its last run used; those of its calls are theirs.
        #[serde(default)]
        accounting: Accounting,
        /// Its requests to the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
    },
    /// Calls were dispatched externally. Their results consume this request.
    CallsDispatched {
        /// The request's name.
        request: String,
        /// The turn.
        turn: u64,
        /// The calls, in the model's order.
        calls: Vec<PendingCall>,
    },
    /// The user decided on calls. Durable before anything that the decision allows.
    DecisionRecorded {
        /// The decided request.
        request: String,
        /// One decision for each pending call, in order.
        decisions: Vec<Decision>,
        /// The sender, as the front end names it, or [`EXPIRY`]; absent for the user of the
        /// session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The agent of a call gets its session, which is started after this is durable.
    AgentSpawned {
        /// The call.
        call_id: CallId,
        /// The session.
        session: SessionId,
        /// The name of the agent.
        agent: String,
        /// The digest of its definition.
        definition: Digest,
    },
    /// Agents wait for the user or for results from outside, and the turn with them.
    ChildrenWaiting {
        /// The name of the request.
        request: String,
        /// The turn.
        turn: u64,
        /// The calls, in the model's order.
        children: Vec<WaitingChild>,
    },
    /// A call ended; durable before the model is shown its result.
    CallSettled {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The result; bytes are blobs.
        output: ToolResultOutput,
        /// The whole result, where `output` is a preview ([`crate::message::ToolResult::whole`]).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<BlobRef>,
        /// The figures of the session, for a call of an agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<ChildSummary>,
        /// The resources that the call used.
        accounting: Accounting,
        /// The call's requests to the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
        /// The policy rule that denied the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The enclosing calls, outermost first; empty for a call of the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        path: Vec<CallId>,
        /// The untrusted sources of the output, such as `http:example.com`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
        /// The reference that the model sees, such as `@r3`; `whole` then has the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// The entry of a recording that the result was written to or replayed from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tape: Option<String>,
    },
    /// The session of a call's agent wrote files with text from sources that are untrusted or have
    /// an audience. Recorded when the call ends, waits, or is answered without its agent.
    FilesLabelled {
        /// The call; the first one where those of several agents wait.
        call_id: CallId,
        /// The files, those included that agents of the agent wrote.
        files: Vec<LabelledFile>,
    },
    /// A call's change was merged into the session's shared state.
    StateMerged {
        /// The call.
        call_id: CallId,
        /// The change: a JSON object, merged deeply.
        delta: Map<String, Value>,
        /// The untrusted sources of a change that another session brought.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    /// An artifact was stored, in place of one with its name.
    ArtifactStored {
        /// The call; absent if the operator's program stored it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<CallId>,
        /// The tool of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The name, which is not in the directory of results.
        name: ArtifactName,
        /// The media type, which agrees with the bytes.
        media_type: String,
        /// The bytes.
        blob: BlobRef,
    },
    /// An artifact was deleted; its bytes stay.
    ArtifactDeleted {
        /// The call; absent if the operator's program deleted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<CallId>,
        /// The name.
        name: ArtifactName,
    },
    /// The user had files restored that calls had changed. The model is told with the next message.
    FilesRestored {
        /// The paths as the tools see them, sorted.
        paths: Vec<String>,
        /// The one who had them restored, as the front end names it; absent for the user of the
        /// session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call ended the run.
    RunHalted {
        /// The call.
        call_id: CallId,
        /// The message for the user.
        message: String,
    },
    /// The run of a workflow started: its nodes take the place of the model.
    WorkflowStarted {
        /// The name of the workflow.
        workflow: String,
        /// The number of the run in the session, from 1.
        run: u64,
        /// The definition as JSON. Its digest is that of the definition.
        definition: BlobRef,
    },
    /// A node of a workflow, or an iteration of its `foreach`, is about to run. One whose agent
    /// gets a session has `AgentSpawned` next.
    NodeIntended {
        /// The call of the node, whose name no other node of the session has.
        call_id: CallId,
        /// The id of the node.
        node: String,
        /// The index of the item; absent for a node without `foreach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The tool or the handler; for an agent, the tool that starts it.
        tool: String,
        /// The arguments of a tool; absent for a handler.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Arc<Map<String, Value>>>,
        /// The digest of the input, files included.
        input_digest: Digest,
        /// The effect that the policy applied.
        effect: Effect,
        /// The policy rule that allowed the call; absent where the call is decided on in a
        /// session of its own, and for a handler.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// A node of a workflow, or an iteration of its `foreach`, ended; durable before a node that
    /// depends on it starts. The output of a whole `foreach` follows from those of its iterations.
    NodeSettled {
        /// The call of the node.
        call_id: CallId,
        /// The id of the node.
        node: String,
        /// The index of the item; absent for a node without `foreach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
        /// The tool or the handler; for an agent, the tool that starts it.
        tool: String,
        /// The output; bytes are blobs.
        output: NodeOutput,
        /// The whole output as JSON, where `output` is a preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<BlobRef>,
        /// The figures of the session, for an agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<ChildSummary>,
        /// The resources that the call used.
        accounting: Accounting,
        /// The call's requests to the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
        /// The policy rule that denied the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The sources of the output that are untrusted or have an audience.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    /// An attempt of a node failed, and another one follows.
    NodeRetried {
        /// The call of the attempt.
        call_id: CallId,
        /// The id of the node.
        node: String,
        /// The index of the item; absent for a node without `foreach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The failure.
        failure: NodeFailure,
        /// The figures of the session, for an agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<ChildSummary>,
        /// The resources that the call used.
        accounting: Accounting,
        /// The call's requests to the gate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit: Vec<AuditEntry>,
    },
    /// A node of a workflow is skipped: no edge to it fired, or it needs the success of one that
    /// failed.
    NodeSkipped {
        /// The id of the node.
        node: String,
    },
    /// The run of a workflow ended.
    WorkflowEnded {
        /// How it ended.
        summary: WorkflowSummary,
    },
    /// A turn ended.
    TurnEnded {
        /// The report.
        outcome: TurnReport,
        /// The one who cancelled the turn, as the front end names it; absent for the user of the
        /// session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

/// The `by` of decisions that the host makes when an approval request expires.
pub const EXPIRY: &str = "expiry";

/// An input that [`Event::SenderNamed`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SentInput {
    /// The run was to continue where it had stopped.
    Continue,
    /// The results of calls that ran outside; the calls are settled next.
    Results,
}

/// A call of another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentCall {
    /// The other session.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
}

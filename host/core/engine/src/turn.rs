//! One turn of the loop: at most one model call, and the tool calls that it requests.
//!
//! [`Agent::run_turn`] is the only entry point, and [`drive`] repeats it until the run has ended or
//! is paused. Steps run: check budgets, call the model, have hooks review its calls if there
//! are hooks, check approval, execute tools. Each step reads the session, adds events to it, and
//! returns the next step or the end; the [`Mode`] of the agent follows it, or does otherwise.

mod approval;
mod approval_view;
mod argument_text;
mod begin;
mod budget;
mod children;
mod client;
mod compaction;
mod continuation;
mod drive;
mod execute;
mod facts;
mod flow;
mod hooks;
mod job;
mod mode;
mod model;
mod plan;
mod program;
mod resume;
mod review;
mod step;
mod step_reader;
#[cfg(test)]
mod tests;
mod until;
mod workflow;

use agent_host_types::{
    approval::ApprovalRule,
    budget::Budgets,
    context::ContextLimits,
    event::Event,
    id::Digest,
    tool::ToolRuntime,
    turn::{AgentInput, Durability, TurnEnd, TurnError, TurnReport, TurnSummary},
};
pub use approval_view::{
    CallFrame, FrameArguments, QuestionPreview, effect_in_words, is_place, leads_to, mixed_words,
};
pub use argument_text::{arguments_text, expand_tabs};
pub use client::{ClientCall, ClientCallEnd, ClientCallError};
pub use continuation::ContinuationKey;
pub(crate) use continuation::RecordedKey;
pub use drive::{RunFront, drive};
pub(crate) use execute::not_run_after_halt;
pub use mode::{Mode, StandardMode, Turn};
pub(crate) use review::of_calls;
pub use step::{Step, StepOutput, StepResult, Transition};
pub use step_reader::{StepReader, TurnStep};
pub use until::{UntilEnd, UntilTool};

use crate::{
    BoxFuture, agents::Agents, artifact::DEFAULT_QUOTA_BYTES, flow::FlowPolicy, hook::Hook,
    journal::JournalError, model::Model, observer::Observer, policy::CallRule, program::Program,
    schema::AnswerSchema, session::Session, tool_set::ToolSet, workflow::Graph,
};
use serde::{Deserialize, Serialize};
use std::{
    convert::Infallible,
    fmt,
    future::pending,
    sync::{Arc, OnceLock},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Drives sessions: a model, its tools, and the rules of the loop.
///
/// ```
/// use agent_host_engine::{
///     BoxFuture, journal::MemoryJournal, model::*, observer::Unobserved, session::*, tool::*, turn::*,
/// };
/// use agent_host_types::{failure::*, id::SessionId, model::*, tool::RegisteredTool, turn::*};
/// use serde_json::{Map, Value};
/// use std::{future::ready, sync::Arc};
///
/// struct Greeter;
///
/// impl Model for Greeter {
///     fn provenance(&self) -> Provenance {
///         Provenance { provider: "example".into(), model: "greeter".into() }
///     }
///
///     fn respond<'a>(
///         &'a self,
///         _: &'a ModelRequest,
///         _: DeltaSink<'a>,
///     ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
///         Box::pin(ready(Ok(ModelReply { text: "Hello!".into(), ..ModelReply::default() })))
///     }
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() {
///     let agent = Agent {
///         model: Arc::new(Greeter),
///         tools: Arc::default(),
///         agents: None,
///         workflow: None,
///         program: None,
///         hooks: Vec::new(),
///         mode: Arc::new(StandardMode),
///         key: ContinuationKey::new([0; 32]),
///         settings: Settings::default(),
///     };
///     let journal = Arc::new(MemoryJournal::new(SessionId::new()));
///     let mut session = Session::start(journal, SessionStart::default());
///     let cx = TurnContext { observer: &Unobserved, approvals: &[], cancel: &Default::default(), drain: &Default::default(), actors: Default::default() };
///     let report = agent.run_turn(&mut session, AgentInput::Text("Hi".into()), &cx).await;
///     assert!(matches!(report.end, TurnEnd::Done { text, .. } if text == "Hello!"));
/// }
/// ```
#[derive(Clone)]
pub struct Agent {
    /// The model to call.
    pub model: Arc<dyn Model>,
    /// The tools of the model.
    pub tools: Arc<ToolSet>,
    /// The agents that it can start, whose tools are among `tools` ([`Agents::tools`]).
    pub agents: Option<Arc<Agents>>,
    /// The workflow that runs in place of the model, if there is one.
    pub workflow: Option<Arc<Graph>>,
    /// The program that runs in place of the model, if there is one.
    pub program: Option<Arc<Program>>,
    /// Hooks around model calls and tool calls.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The order of the steps of a turn; [`StandardMode`] for the usual one.
    pub mode: Arc<dyn Mode>,
    /// The key that signs continuations.
    pub key: ContinuationKey,
    /// The settings of the loop.
    pub settings: Settings,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model.provenance())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The most records that are not durable. A long `foreach` and a program, both over read-only
/// calls, have no other barrier.
const MAX_UNDURABLE: usize = 1_024;

/// The settings of the loop. A recorded setup has them as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The budgets of one user message.
    pub budgets: Budgets,
    /// The tool that must end the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_tool: Option<UntilTool>,
    /// The schema of the answer. An answer that does not fit is sent back once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<AnswerSchema>>,
    /// The operator's rules about calls.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub rules: Arc<[CallRule]>,
    /// The rules that approve calls in the place of the user.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub approved: Arc<[CallRule]>,
    /// The name of the agent, by which rules match it; `None` for the one that the user talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The depth of the agent: 1 for one that a user talks to, one more than that of the agent
    /// which started it, and 0 for the calls of a client.
    pub agent_depth: u8,
    /// The maximum depth of an agent that this one starts, agents of other hosts counted.
    pub max_agent_depth: u8,
    /// The treatment of calls that need approval.
    pub prompts: Prompts,
    /// Whether decisions about the first of the waiting calls are taken without the others, which
    /// wait on; otherwise each input has one decision for each call.
    pub takes_some_decisions: bool,
    /// When approval is requested.
    pub timing: Timing,
    /// How much of a turn a crash of the program can lose.
    pub durability: Durability,
    /// How often a turn is resumed after a crash without a reply or a result in between: what ended
    /// the program may be the turn itself, and each time the model may be paid for nothing.
    pub resumes_without_progress: u64,
    /// The lifetime of an approval request, in milliseconds; `None` for no limit. An expired one is
    /// a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_expiry_ms: Option<u64>,
    /// The maximum number of read-only calls that run concurrently.
    pub parallel_calls: usize,
    /// The maximum number of agents that run concurrently for one batch.
    pub parallel_agents: usize,
    /// The bytes of artifacts that the calls of a session may store; what was replaced or deleted
    /// counts, since the journal keeps it.
    pub artifact_bytes: u64,
    /// Whether the run of a workflow continues with a definition that has changed.
    pub accepts_changed_workflow: bool,
    /// The limits of the model's window; `None` for an unlimited one, such as a script's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextLimits>,
    /// The policy about untrusted text; absent in setups from before it existed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flow: Arc<FlowPolicy>,
}

fn is_default(flow: &FlowPolicy) -> bool {
    *flow == FlowPolicy::default()
}

impl Settings {
    /// Returns the settings of a loop that has something else in the place of its model: those of
    /// calls, without those of replies. Its budgets are what its caller leaves it.
    pub(crate) fn without_model(self) -> Self {
        Self {
            budgets: Budgets::default(),
            until_tool: None,
            output_schema: None,
            context: None,
            ..self
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budgets: Budgets::default(),
            until_tool: None,
            output_schema: None,
            rules: Arc::default(),
            approved: Arc::default(),
            agent: None,
            agent_depth: 1,
            max_agent_depth: u8::MAX,
            prompts: Prompts::Deny,
            takes_some_decisions: false,
            timing: Timing::default(),
            durability: Durability::default(),
            resumes_without_progress: 5,
            approval_expiry_ms: None,
            parallel_calls: 8,
            parallel_agents: 4,
            artifact_bytes: DEFAULT_QUOTA_BYTES,
            accepts_changed_workflow: false,
            context: Some(ContextLimits::default()),
            flow: Arc::default(),
        }
    }
}

/// The time at which approval of a batch's calls is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// Request all approvals before anything of the batch runs.
    #[default]
    Batch,
    /// Request each approval after the calls before it have run.
    InOrder,
}

/// The treatment of calls that need approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prompts {
    /// End the turn with `AwaitingConfirmation`.
    Ask,
    /// Deny the calls, since no one can be asked.
    Deny,
}

/// The part of a turn or a client call that the caller passes anew each time, so that nothing in it
/// is outdated.
#[derive(Clone, Copy)]
pub struct TurnContext<'a> {
    /// Receives events and progress.
    pub observer: &'a dyn Observer,
    /// The current approvals remembered outside the session; a revoked rule is no longer among
    /// them.
    pub approvals: &'a [ApprovalRule],
    /// Cancels the turn.
    pub cancel: &'a CancellationToken,
    /// Ends the turn as soon as nothing is lost by it: what runs ends, and nothing else starts.
    pub drain: &'a CancellationToken,
    /// The actors, for the journal.
    pub actors: Actors<'a>,
}

/// The actors of a turn, as the front end names them. Each is absent for the user of the session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actors<'a> {
    /// The sender of the input.
    pub sender: Option<&'a str>,
    /// The digest of the idempotency key of the input, and that of the input.
    pub key: Option<&'a (String, Digest)>,
    /// The one who cancels the turn, which is set before [`TurnContext::cancel`] is cancelled.
    pub canceller: Option<&'a OnceLock<String>>,
    /// The untrusted sources of text in the input, such as `webhook:issues`.
    pub sources: &'a [String],
}

impl Actors<'_> {
    /// Returns the sender, as it is recorded.
    fn sent_by(&self) -> Option<String> {
        self.sender.map(str::to_owned)
    }

    /// Returns who cancelled a turn with this end.
    fn cancelled_by(&self, end: &TurnEnd) -> Option<String> {
        let canceller = self.canceller.filter(|_| *end == TurnEnd::Cancelled)?;
        canceller.get().cloned()
    }
}

impl TurnContext<'_> {
    /// Whether nothing more is to start in this turn. A cancelled turn answers its calls instead.
    fn is_drained(&self) -> bool {
        self.drain.is_cancelled() && !self.cancel.is_cancelled()
    }
}

impl Agent {
    /// Runs one turn.
    ///
    /// When `cx.cancel` is cancelled, running calls are stopped and answered, and the turn ends as
    /// [`TurnEnd::Cancelled`]. A failure is an end too; everything before it is in the journal.
    /// After a failure of the journal itself, nothing more runs; when the claim on the session is
    /// lost, running calls are stopped, too.
    ///
    /// When `cx.drain` is cancelled, a model call that waits for its reply and a batch of calls
    /// that runs end first. Then the turn ends as [`TurnEnd::NeedsMoreTurns`], and
    /// [`AgentInput::Continue`] resumes it. Agents and workflows stop likewise: their calls and
    /// nodes stay open.
    pub fn run_turn<'a>(
        &'a self,
        session: &'a mut Session,
        input: AgentInput,
        cx: &'a TurnContext<'a>,
    ) -> BoxFuture<'a, TurnReport> {
        Box::pin(async move {
            let journal = session.journal();
            let cancel = cx.cancel.child_token();
            let cx = TurnContext {
                cancel: &cancel,
                ..*cx
            };
            // A call would have effects that this session cannot record any more.
            let given_up = async {
                journal.given_up().await;
                cancel.cancel();
                pending::<Infallible>().await
            };
            tokio::select! {
                report = self.run_claimed(session, input, &cx) => report,
                never = given_up => match never {},
            }
        })
    }

    /// Runs one turn of a session whose claim another task watches.
    fn run_claimed<'a>(
        &'a self,
        session: &'a mut Session,
        input: AgentInput,
        cx: &'a TurnContext<'a>,
    ) -> BoxFuture<'a, TurnReport> {
        Box::pin(async move {
            let started = Instant::now();
            session.rulings.clear();
            session.facts.clear();
            let read = self.read_labelled_files(session).await;
            let checked = match (&input, read) {
                (_, Err(error)) => Err(error),
                (AgentInput::Text(_) | AgentInput::Message(_), _) => {
                    self.abandon_children(session, cx).await
                }
                _ => self.check_handed_down(session, &input).await,
            };
            let first = match checked.and_then(|()| self.begin(session, input, cx)) {
                Ok(first) => first,
                Err(error) => return self.report(session, TurnEnd::Error { error }, started),
            };
            let end = match first {
                Transition::Continue { next_step } => {
                    let mut turn = Turn {
                        agent: self,
                        session: &mut *session,
                        cx,
                        started,
                    };
                    self.mode.run(&mut turn, next_step).await
                }
                Transition::End { end } => Ok(*end),
            };
            let end = end.unwrap_or_else(|error| TurnEnd::Error { error });
            let end = self.with_opened_references(session, end).await;
            let report = self.report(session, end, started);
            if let TurnEnd::Error {
                error: TurnError::Journal { .. },
            } = &report.end
            {
                return report;
            }
            let ended = Event::TurnEnded {
                by: cx.actors.cancelled_by(&report.end),
                outcome: report.clone(),
            };
            session.record(ended, Vec::new());
            match session.barrier(cx.observer).await {
                Ok(()) => report,
                Err(error) => TurnReport {
                    end: TurnEnd::Error {
                        error: error.into(),
                    },
                    ..report
                },
            }
        })
    }

    fn check_budgets(&self, session: &Session, started: Instant) -> StepResult {
        let budgets = &self.settings.budgets;
        match budget::exceeded(budgets, session.state(), session.elapsed(started)) {
            Some(budget) => StepResult::end(TurnEnd::BudgetExceeded { budget }),
            None if self.workflow.is_some() => StepResult::go(Step::RunWorkflow),
            None if self.program.is_some() => StepResult::go(Step::RunProgram),
            None => StepResult::go(Step::CallModel),
        }
    }

    fn report(&self, session: &Session, end: TurnEnd, started: Instant) -> TurnReport {
        let state = session.state();
        let turn_stats = &state.turn_stats;
        let summary = TurnSummary {
            session: session.id(),
            turn: state.turns(),
            total_turns: state.turns(),
            turn_usage: turn_stats.usage,
            total_usage: state.usage(),
            provenance: turn_stats
                .provenance
                .clone()
                .unwrap_or_else(|| self.model.provenance()),
            response_id: turn_stats.response_id.clone(),
            stop_reason: turn_stats.stop_reason,
            tool_calls: turn_stats.tool_calls,
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            tool_runtime: runtime_of(session),
            durability: self.settings.durability,
            children: turn_stats.children.clone(),
            workflow: turn_stats.workflow.clone(),
        };
        TurnReport { end, summary }
    }
}

/// Returns where the calls of the open batch run.
fn runtime_of(session: &Session) -> ToolRuntime {
    let mut batch = session.state().batch().iter();
    if batch.any(|entry| entry.dispatched_externally) {
        ToolRuntime::External
    } else {
        ToolRuntime::Host
    }
}

impl From<JournalError> for TurnError {
    fn from(error: JournalError) -> Self {
        Self::Journal {
            message: error.to_string(),
        }
    }
}

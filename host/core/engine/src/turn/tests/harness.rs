//! An agent over test doubles, with shortcuts to drive it and to read its records.

pub(super) use super::doubles::*;

use crate::{
    session::{Session, SessionStart},
    tool::Invocation,
    turn::{Actors, Agent, ContinuationKey, Prompts, Settings, StandardMode, TurnContext},
};
use agent_host_types::{
    approval::{ApprovalRule, Decision},
    continuation::Continuation,
    event::EventRecord,
    id::SessionId,
    message::{Message, Role},
    model::{ModelError, ModelReply, ModelRequest},
    output::ToolResultOutput,
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// An agent with its dependencies.
pub(super) struct Bench {
    pub(super) agent: Agent,
    pub(super) session: Session,
    pub(super) model: Arc<QueueModel>,
    pub(super) ran: Arc<Ran>,
    pub(super) journal: Arc<TestJournal>,
    pub(super) observer: Arc<Recorder>,
    /// The approvals remembered outside of the session.
    pub(super) approvals: Vec<ApprovalRule>,
    /// Whether it does what no recording shows: the order of its steps is that of a test, or it is
    /// drained and then cancelled.
    pub(super) is_unreplayable: bool,
    pub(super) cancel: CancellationToken,
    pub(super) drain: CancellationToken,
}

impl Bench {
    /// A new session with the standard tools, in which the user can be asked.
    pub(super) fn new(replies: Vec<ModelReply>) -> Self {
        Self::with(replies, standard())
    }

    pub(super) fn with(replies: Vec<ModelReply>, tools: Vec<Tool>) -> Self {
        let journal = TestJournal::new(SessionId::new());
        let start = SessionStart {
            program: "test".into(),
            system: Some("Be brief.".into()),
            directory: None,
            client: None,
            parent: None,
            labels: Vec::new(),
        };
        let session = Session::start(journal.clone(), start);
        Self::around(session, journal, replies, tools)
    }

    /// Reopens the session of a journal.
    pub(super) async fn resume(
        journal: &TestJournal,
        replies: Vec<ModelReply>,
        tools: Vec<Tool>,
    ) -> Self {
        let journal = journal.after_crash();
        let session = Session::resume(journal.clone()).await.unwrap();
        Self::around(session, journal, replies, tools)
    }

    fn around(
        session: Session,
        journal: Arc<TestJournal>,
        replies: Vec<ModelReply>,
        tools: Vec<Tool>,
    ) -> Self {
        let model = QueueModel::new(replies);
        let ran = Arc::new(Ran::default());
        let observer = Recorder::new(journal.clone());
        let tools = tool_set(tools, &ran, &journal);
        let agent = Agent {
            model: model.clone(),
            tools,
            agents: None,
            hooks: Vec::new(),
            mode: Arc::new(StandardMode),
            workflow: None,
            program: None,
            key: ContinuationKey::new([7; 32]),
            settings: Settings {
                prompts: Prompts::Ask,
                ..Settings::default()
            },
        };
        let cancel = CancellationToken::new();
        Self {
            agent,
            session,
            model,
            ran,
            journal,
            observer,
            approvals: Vec::new(),
            is_unreplayable: false,
            cancel,
            drain: CancellationToken::new(),
        }
    }

    /// Runs one turn. A turn that hangs fails its test, and so does one that replays to other
    /// events.
    pub(super) async fn turn(&mut self, input: AgentInput) -> TurnReport {
        let setup = (self.agent.setup(), self.approvals.clone());
        let from = self.session.next_seq();
        self.journal.setups.lock().unwrap().insert(from, setup);
        let cx = TurnContext {
            observer: self.observer.as_ref(),
            approvals: &self.approvals,
            cancel: &self.cancel,
            drain: &self.drain,
            actors: Actors::default(),
        };
        let turn = self.agent.run_turn(&mut self.session, input, &cx);
        let limit = std::time::Duration::from_secs(20);
        let report = tokio::time::timeout(limit, turn).await.unwrap();
        super::replay::check(self).await;
        report
    }

    pub(super) async fn say(&mut self, text: &str) -> TurnReport {
        self.turn(AgentInput::Text(text.into())).await
    }

    /// Sends a message to which the model replies with calls that need approval.
    pub(super) async fn ask(&mut self) -> Continuation {
        match self.say("go").await.end {
            TurnEnd::AwaitingConfirmation { continuation, .. } => continuation,
            other => panic!("no confirmation is awaited: {other:?}"),
        }
    }

    pub(super) async fn decide(
        &mut self,
        continuation: &Continuation,
        decisions: Vec<Decision>,
    ) -> TurnReport {
        let continuation = continuation.clone();
        self.turn(AgentInput::Resume {
            continuation,
            decisions,
        })
        .await
    }

    /// Runs another turn and returns the results in its request.
    pub(super) async fn results_shown(&mut self) -> Vec<(String, ToolResultOutput)> {
        self.replies(says("ok"));
        self.turn(AgentInput::Continue).await;
        results_of(self.requests().last().unwrap().messages.last().unwrap())
    }

    pub(super) fn replies(&self, reply: ModelReply) {
        self.model.replies.lock().unwrap().push_back(Ok(reply));
    }

    pub(super) fn fails(&self, error: ModelError) {
        self.model.replies.lock().unwrap().push_back(Err(error));
    }

    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests.lock().unwrap().clone()
    }

    /// The ids of the calls that ran, in the order in which they started.
    pub(super) fn ran(&self) -> Vec<String> {
        let invocations = self.ran.invocations.lock().unwrap();
        let id = |invocation: &Invocation| invocation.call_id.0.clone();
        invocations.iter().map(id).collect()
    }

    /// The results of the last batch, as the session keeps them.
    pub(super) fn results(&self) -> Vec<(String, ToolResultOutput)> {
        results_of(self.session.state().messages().last().unwrap())
    }

    /// The kinds of the durable events.
    pub(super) fn kinds(&self) -> Vec<String> {
        let kind = |record: &EventRecord| json!(record.event)["kind"].as_str().map(str::to_owned);
        self.journal.durable().iter().filter_map(kind).collect()
    }
}

fn results_of(message: &Message) -> Vec<(String, ToolResultOutput)> {
    assert_eq!(message.role, Role::ToolResult);
    let results = message.tool_results.iter();
    results
        .map(|result| (result.call_id.0.clone(), result.output.clone()))
        .collect()
}

pub(super) fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.into())
}

pub(super) fn failure(code: &str, message: &str) -> ToolResultOutput {
    ToolResultOutput::error_json(json!({"code": code, "message": message}))
}

pub(super) fn denied(reason: &str) -> ToolResultOutput {
    ToolResultOutput::ExecutionDenied(Some(reason.into()))
}

/// Pairs of id and result, for comparison.
pub(super) fn pairs<const N: usize>(
    pairs: [(&str, ToolResultOutput); N],
) -> Vec<(String, ToolResultOutput)> {
    pairs.map(|(id, output)| (id.to_owned(), output)).into()
}

/// The end's kind, as in JSON.
pub(super) fn kind(outcome: &TurnReport) -> String {
    json!(outcome)["type"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The message of a refused input.
pub(super) fn refusal(report: TurnReport) -> String {
    match report.end {
        TurnEnd::Error {
            error: TurnError::Input { message },
        } => message,
        other => panic!("the input was not refused: {other:?}"),
    }
}

/// The report without durations.
pub(super) fn timeless(mut report: TurnReport) -> TurnReport {
    report.summary.duration_ms = 0;
    report
}

//! An agent among stand-ins, and short ways to drive it and to read what happened.

pub(super) use super::doubles::*;

use crate::{
    session::{Session, SessionStart},
    tool::Invocation,
    turn::{Agent, ContinuationKey, Prompts, Settings},
};
use agent_host_types::{
    approval::Decision,
    continuation::Continuation,
    event::EventRecord,
    id::SessionId,
    message::{Message, Role},
    model::{ModelError, ModelReply, ModelRequest},
    output::ToolResultOutput,
    turn::{AgentInput, Outcome, TurnError},
};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// An agent with everything that it touches.
pub(super) struct Bench {
    pub(super) agent: Agent,
    pub(super) session: Session,
    pub(super) model: Arc<QueueModel>,
    pub(super) ran: Arc<Ran>,
    pub(super) journal: Arc<TestJournal>,
    pub(super) observer: Arc<Recorder>,
    pub(super) cancel: CancellationToken,
}

impl Bench {
    /// A new session with the standard tools, in which a person can be asked.
    pub(super) fn new(replies: Vec<ModelReply>) -> Self {
        Self::with(replies, standard())
    }

    pub(super) fn with(replies: Vec<ModelReply>, tools: Vec<Tool>) -> Self {
        let journal = TestJournal::new(SessionId::new());
        let start = SessionStart {
            program: "test".into(),
            system: Some("Be brief.".into()),
            folder: None,
            client: None,
        };
        let session = Session::start(journal.clone(), start);
        Self::around(session, journal, replies, tools)
    }

    /// The session in which a journal was left, opened again.
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
        let tools = Tools::new(tools, ran.clone(), journal.clone());
        let agent = Agent {
            model: model.clone(),
            tools,
            observer: observer.clone(),
            hooks: Vec::new(),
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
            cancel,
        }
    }

    /// Runs one turn. A turn that hangs fails its test.
    pub(super) async fn turn(&mut self, input: AgentInput) -> Outcome {
        let turn = self.agent.run_turn(&mut self.session, input, &self.cancel);
        let limit = std::time::Duration::from_secs(20);
        tokio::time::timeout(limit, turn).await.unwrap()
    }

    pub(super) async fn say(&mut self, text: &str) -> Outcome {
        self.turn(AgentInput::Text(text.into())).await
    }

    /// Says something to which the model replies with calls that wait for a person.
    pub(super) async fn ask(&mut self) -> Continuation {
        match self.say("go").await {
            Outcome::AwaitingConfirmation { continuation, .. } => continuation,
            other => panic!("no confirmation is awaited: {other:?}"),
        }
    }

    pub(super) async fn decide(
        &mut self,
        continuation: &Continuation,
        decisions: Vec<Decision>,
    ) -> Outcome {
        let continuation = continuation.clone();
        self.turn(AgentInput::Resume {
            continuation,
            decisions,
        })
        .await
    }

    /// Runs another turn and returns the results that the model was shown in it.
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

    /// The ids of the calls that ran, in the order in which they began.
    pub(super) fn ran(&self) -> Vec<String> {
        let invocations = self.ran.invocations.lock().unwrap();
        let id = |invocation: &Invocation| invocation.call_id.0.clone();
        invocations.iter().map(id).collect()
    }

    /// The results of the last batch, as the session keeps them.
    pub(super) fn results(&self) -> Vec<(String, ToolResultOutput)> {
        results_of(self.session.state().messages().last().unwrap())
    }

    /// What happened, by kind, as far as it is durable.
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
    ToolResultOutput::ErrorJson(json!({"code": code, "message": message}))
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

/// The outcome's kind, as in JSON.
pub(super) fn kind(outcome: &Outcome) -> String {
    json!(outcome)["type"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The text of a refused input.
pub(super) fn refusal(outcome: Outcome) -> String {
    match outcome {
        Outcome::Error {
            error: TurnError::Input { message },
        } => message,
        other => panic!("the input was not refused: {other:?}"),
    }
}

/// The outcome with its durations left out.
pub(super) fn timeless(mut outcome: Outcome) -> Outcome {
    match &mut outcome {
        Outcome::NeedsMoreTurns { summary }
        | Outcome::Done { summary, .. }
        | Outcome::BudgetExceeded { summary, .. }
        | Outcome::AwaitingConfirmation { summary, .. }
        | Outcome::AwaitingAnswer { summary, .. }
        | Outcome::PendingToolCalls { summary, .. }
        | Outcome::Refusal { summary, .. }
        | Outcome::Cancelled { summary } => summary.duration_ms = 0,
        Outcome::Error { .. } => {}
    }
    outcome
}

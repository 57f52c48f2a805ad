//! Every end of a turn with the input that resumes from it. The model is a list of replies and the
//! tools are a match, so the example needs no network, file or sandbox.
#![cfg_attr(
    not(test),
    expect(clippy::print_stdout, reason = "an example shows what it does")
)]

use agent_host_engine::{
    BoxFuture, journal::*, model::*, observer::*, session::*, tool::*, tool_set::*, turn::*,
};
use agent_host_types::{
    accounting::*, approval::*, continuation::*, id::*, message::*, model::*, output::*,
    question::*, tool::*, turn::*,
};
use serde_json::{Value, from_value, json};
use std::{collections::VecDeque, error::Error, future::ready, sync::Arc, sync::Mutex};
use tokio_util::sync::CancellationToken;

/// A model that returns one reply after the other.
struct Script(Mutex<VecDeque<ModelReply>>);

impl Model for Script {
    fn provenance(&self) -> Provenance {
        let (provider, model) = ("example".into(), "script".into());
        Provenance { provider, model }
    }

    fn respond<'a>(&'a self, _: &'a ModelRequest, _: DeltaSink<'a>) -> BoxFuture<'a, Reply> {
        let replies = self.0.lock().ok();
        let next = replies.and_then(|mut replies| replies.pop_front());
        let silent = || ModelError::new(ModelErrorKind::Server, "the model is silent");
        Box::pin(ready(next.ok_or_else(silent)))
    }
}
type Reply = Result<ModelReply, ModelError>;

fn says(text: &str, stop_reason: StopReason) -> ModelReply {
    ModelReply {
        text: text.into(),
        stop_reason: Some(stop_reason),
        ..ModelReply::default()
    }
}

fn calls(tool: &str) -> ModelReply {
    let call = ToolCall::parse(CallId(tool.into()), tool.into(), "{}".into());
    ModelReply {
        tool_calls: vec![call],
        ..says("", StopReason::ToolUse)
    }
}

/// Runs the tools of this process.
struct Tools;

impl ToolHandler for Tools {
    fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        let end = match call.tool.as_str() {
            "book" => RunEnd::Asked(PendingQuestion {
                question: Question {
                    prompt: "Window or aisle?".into(),
                    choices: vec!["window".into(), "aisle".into()],
                    free_text: false,
                    multiple: false,
                    form: None,
                },
                answered_by: AnsweredBy::Result,
                accounting: Accounting::default(),
                audit: Vec::new(),
            }),
            // A function's return value becomes a result: text, JSON, or an error as text.
            "search" => {
                CallReport::of(ToolResultOutput::from_run(Ok(Some(json!(["a flight"]))))).into()
            }
            _ => CallReport::of(ToolResultOutput::from_run(Err("not here".into()))).into(),
        };
        Box::pin(ready(end))
    }
}

fn tool(name: &str, approval: Approval, runtime: ToolRuntime) -> Result<ToolEntry, Box<dyn Error>> {
    let definition: ToolDefinition = from_value(json!({
        "name": name, "description": name, "effect": "read-only", "input_schema": {"type": "object"},
    }))?;
    let registered = RegisteredTool {
        effect: definition.effect,
        approval,
        decisions: DecisionKind::ALL.into(),
        runtime,
        component: None,
        destination: None,
        summary: None,
        definition: definition.into(),
    };
    Ok(ToolEntry::new(registered, Some(Arc::new(Tools)))?)
}

/// Returns the input of the next turn; `None` after the final answer.
fn next(
    end: TurnEnd,
    settings: &mut Settings,
    cancel: &mut CancellationToken,
) -> Option<AgentInput> {
    Some(match end {
        // A tool may end the run in the place of an answer. This example has none that does.
        TurnEnd::Done { .. } | TurnEnd::Halted { .. } => return None,
        // The model has not seen the results yet.
        TurnEnd::NeedsMoreTurns => AgentInput::Continue,
        // The message is in the session, so the model can be called again.
        TurnEnd::Error { .. } => AgentInput::Continue,
        TurnEnd::BudgetExceeded { .. } => {
            settings.budgets.turns += 3;
            AgentInput::Continue
        }
        // One decision for each call, in order.
        TurnEnd::AwaitingConfirmation { continuation, .. } => AgentInput::Resume {
            decisions: continuation
                .calls()
                .iter()
                .map(|call| Decision::approve(call.call_id.clone()))
                .collect(),
            continuation,
        },
        TurnEnd::AwaitingAnswer { continuation, .. } => AgentInput::Answer {
            continuation,
            answer: Answer::Choice { index: 0 },
        },
        // One result for each call, in any order and at any time.
        TurnEnd::PendingToolCalls { continuation, .. } => AgentInput::SubmitToolResults {
            results: continuation.calls().iter().map(paid).collect(),
            continuation,
        },
        // An agent is resumed with what its own continuation needs. This example has none.
        TurnEnd::AwaitingChildren { continuation } => AgentInput::Children {
            inputs: Vec::new(),
            continuation,
        },
        TurnEnd::Refusal { .. } => {
            // Cancels the next turn before it starts.
            cancel.cancel();
            AgentInput::Message(Message::text(Role::User, "Then without the upgrade."))
        }
        TurnEnd::Cancelled => {
            *cancel = CancellationToken::new();
            AgentInput::Continue
        }
    })
}

fn paid(call: &PendingCall) -> SubmittedResult {
    SubmittedResult {
        call_id: call.call_id.clone(),
        output: ToolResultOutput::from_value(json!({"paid": true})),
    }
}

/// Returns the JSON name of a turn's end.
fn name(report: &TurnReport) -> String {
    let form = json!(report);
    let name = form.get("type").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// Runs to the final answer, and returns the report of each turn.
async fn run() -> Result<Vec<TurnReport>, Box<dyn Error>> {
    let replies = [
        calls("search"),
        calls("reserve"),
        calls("book"),
        calls("pay"),
        says("I will not upgrade you.", StopReason::Refusal),
        says("You fly tomorrow.", StopReason::EndTurn),
    ];
    let tools = ToolSet::from_iter([
        tool("search", Approval::Never, ToolRuntime::Host)?,
        tool("reserve", Approval::Always, ToolRuntime::Host)?,
        tool("book", Approval::Never, ToolRuntime::Host)?,
        tool("pay", Approval::Never, ToolRuntime::External)?,
    ]);
    let mut agent = Agent {
        model: Arc::new(Script(Mutex::default())),
        tools: Arc::new(tools),
        agents: None,
        hooks: Vec::new(),
        mode: Arc::new(StandardMode),
        workflow: None,
        program: None,
        key: ContinuationKey::random()?,
        settings: Settings {
            prompts: Prompts::Ask,
            ..Settings::default()
        },
    };
    agent.settings.budgets.turns = 3;
    let journal = MemoryJournal::new(SessionId::new());
    let mut session = Session::start(Arc::new(journal), SessionStart::default());
    let mut cancel = CancellationToken::new();
    let mut reports = Vec::new();
    let mut input = Some(AgentInput::Text("Book me a flight.".into()));
    while let Some(given) = input {
        let cx = TurnContext {
            observer: &Unobserved,
            approvals: &[],
            cancel: &cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        let report = agent.run_turn(&mut session, given, &cx).await;
        reports.push(report.clone());
        if let TurnEnd::Error { .. } = report.end {
            // The server is available again.
            agent.model = Arc::new(Script(Mutex::new(replies.clone().into())));
        }
        input = next(report.end, &mut agent.settings, &mut cancel);
    }
    Ok(reports)
}

#[cfg(not(test))]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    for report in run().await? {
        let TurnSummary {
            turn, tool_calls, ..
        } = &report.summary;
        println!("{:<22} turn {turn}, tool calls {tool_calls}", name(&report));
    }
    Ok(())
}

#[cfg(test)]
#[tokio::test]
async fn outcomes_resume_until_the_answer() {
    let outcomes: Vec<String> = run().await.unwrap().iter().map(name).collect();
    let expected = [
        "error",
        "needs-more-turns",
        "awaiting-confirmation",
        "needs-more-turns",
        "awaiting-answer",
        "needs-more-turns",
        "budget-exceeded",
        "pending-tool-calls",
        "needs-more-turns",
        "refusal",
        "cancelled",
        "done",
    ];
    assert_eq!(outcomes, expected);
}

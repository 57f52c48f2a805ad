//! Middleware: tools, prompt text, changed requests, state, and questions.

use super::harness::*;
use crate::{
    BoxFuture,
    hook::Hook,
    middleware::Middleware,
    session::Session,
    todo_list::{TodoList, tasks_of},
    tool::{CallReport, Invocation, ProgressSink, RunEnd, SessionChange, ToolHandler},
    tool_set::ToolEntry,
};
use agent_host_types::{
    accounting::Accounting,
    model::ModelRequest,
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, PendingQuestion, Question},
    tool::{Effect, ToolDefinition},
    turn::{AgentInput, TurnEnd},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::{future::ready, sync::Arc};

/// Counts visits in the state of the session, and asks before the third.
struct Visits;

impl Middleware for Visits {
    fn tools(self: Arc<Self>) -> Vec<ToolEntry> {
        let definition = ToolDefinition {
            name: "visit".into(),
            title: None,
            description: "Counts a visit.".into(),
            input_schema: json!({"type": "object", "additionalProperties": false}),
            output_schema: None,
            effect: Effect::ReadOnly,
        };
        vec![ToolEntry::own(definition, self).unwrap()]
    }
}

fn visits(shared: &Map<String, serde_json::Value>) -> u64 {
    shared
        .get("visits")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(0)
}

impl Hook for Visits {
    fn prompt(&self, session: &Session) -> Option<String> {
        Some(format!(
            "{} visits so far.",
            visits(session.state().shared())
        ))
    }

    fn prepare_request(&self, session: &Session, request: &mut ModelRequest) {
        // After two visits the tool is not offered any more.
        if visits(session.state().shared()) >= 3 {
            request.tools.retain(|tool| tool.name != "visit");
        }
    }
}

impl ToolHandler for Visits {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        let count = visits(&invocation.shared) + 1;
        if count == 3 && invocation.answers.is_empty() {
            return Box::pin(ready(RunEnd::Asked(PendingQuestion {
                question: Question {
                    prompt: "A third one?".into(),
                    choices: Vec::new(),
                    free_text: true,
                    multiple: false,
                    form: None,
                },
                answered_by: AnsweredBy::Rerun,
                accounting: Accounting::default(),
                audit: Vec::new(),
            })));
        }
        let delta = Map::from_iter([("visits".to_owned(), json!(count))]);
        Box::pin(ready(
            CallReport {
                changes: vec![SessionChange::Merge(delta)],
                ..CallReport::of(ToolResultOutput::Text(format!("visit {count}")))
            }
            .into(),
        ))
    }
}

fn with_visits(mut bench: Bench) -> Bench {
    bench.agent = bench.agent.clone().with_middleware(Visits);
    bench
}

/// Returns the prompt of each request, and whether it offered the tool.
fn asked(bench: &Bench) -> Vec<(String, bool)> {
    let requests = bench.requests();
    let asked = requests.into_iter().map(|request| {
        let is_offered = request.tools.iter().any(|tool| tool.name == "visit");
        (request.system.unwrap_or_default(), is_offered)
    });
    asked.collect()
}

#[tokio::test]
async fn middleware_keeps_state_asks_and_survives_a_restart() {
    let visit = |id: &str| calls(&[(id, "visit", "{}")]);
    let mut bench = with_visits(Bench::new(vec![visit("a"), visit("b"), visit("c")]));
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(bench.results(), pairs([("a", text("visit 1"))]));
    bench.turn(AgentInput::Continue).await;
    assert_eq!(bench.results(), pairs([("b", text("visit 2"))]));
    let TurnEnd::AwaitingAnswer { continuation } = bench.turn(AgentInput::Continue).await.end
    else {
        panic!("nothing is asked");
    };
    let prompt = |count| (format!("Be brief.\n\n{count} visits so far."), true);
    assert_eq!(asked(&bench), [prompt(0), prompt(1), prompt(2)]);

    let mut bench =
        with_visits(Bench::resume(&bench.journal, vec![says("done")], standard()).await);
    let answer = Answer::Text { text: "yes".into() };
    let report = bench
        .turn(AgentInput::Answer {
            continuation,
            answer,
        })
        .await;
    assert_eq!(kind(&report), "needs-more-turns");
    assert_eq!(bench.results(), pairs([("c", text("visit 3"))]));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    assert_eq!(
        asked(&bench),
        [("Be brief.\n\n3 visits so far.".to_owned(), false)]
    );
}

/// The journal has what was sent: the prompt as a blob, and the digest of the changed request.
#[tokio::test]
async fn changed_request_is_recorded_as_sent() {
    let mut bench = with_visits(Bench::new(vec![says("done")]));
    bench.say("go").await;
    let request = bench.requests().remove(0);
    let record = bench
        .journal
        .durable()
        .into_iter()
        .find_map(|record| match record.event {
            agent_host_types::event::Event::ModelRequested {
                request_digest,
                system,
                tools,
                ..
            } => Some((request_digest, system.map(|system| system.digest), tools)),
            _ => None,
        });
    let system = agent_host_types::id::Digest::of(request.system.clone().unwrap().as_bytes());
    let expected = (request.digest().unwrap(), Some(system), request.tools.len());
    assert_eq!(record, Some(expected));
}

/// The list of tasks is in the conversation, so that the prompt stays as the provider cached it; an
/// agent's list does not replace that of the one that started it.
#[tokio::test]
async fn todo_list_is_kept_by_session_and_not_repeated_in_the_prompt() {
    let write = r#"{"todos": [{"content": "read", "status": "in_progress"}]}"#;
    let mut bench = Bench::new(vec![calls(&[("a", "write_todos", write)]), says("done")]);
    bench.agent = bench.agent.clone().with_middleware(TodoList);
    bench.say("go").await;
    assert_eq!(
        bench.results(),
        pairs([("a", text("0 of 1 done\n[>] read"))])
    );
    bench.turn(AgentInput::Continue).await;
    let prompts = bench.requests().into_iter().map(|request| request.system);
    let prompts: Vec<_> = prompts.collect();
    assert_eq!(prompts[0], prompts[1]);
    let id = bench.session.id();
    let kept =
        json!({ "todos": { id.to_string(): [{ "content": "read", "status": "in_progress" }] } });
    assert_eq!(json!(**bench.session.state().shared()), kept);
    assert_eq!(tasks_of(bench.session.state().shared(), id).len(), 1);
}

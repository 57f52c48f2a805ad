//! Reviews of calls that no model requested: of nodes, of clients, and of agents in their sessions.

use super::*;
use crate::{
    session::ClientSession,
    turn::{Actors, ClientCallEnd, TurnContext, tests::children::TestJournals},
    workflow::{Graph, Handlers},
};
use agent_host_types::continuation::Awaiting;
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// The hooks of both loops hold: that of the parent reviews the start of the agent, that of the
/// child its calls.
#[tokio::test]
async fn agent_and_its_calls_are_reviewed() {
    let start = r#"{"instructions": "look"}"#;
    let of_parent = Reviewer::new("parent", |input| {
        let instructions = input.get("instructions").and_then(Value::as_str);
        let text = format!("{}, please", instructions.unwrap_or_default());
        Modify(Map::from_iter([("instructions".to_owned(), json!(text))]).into())
    });
    let mut bench = hooked("agent_helper", start, vec![of_parent.clone()]);
    let child = Bench::new(vec![calls(&[("a", "act", r#"{"n": 1}"#)]), says("seen")]);
    let of_child = adds();
    let mut agent = child.agent.clone();
    agent.hooks = vec![of_child.clone()];
    bench.adopt(vec![("helper", agent)], Arc::<TestJournals>::default());
    let mut report = bench.say("go").await;
    if let TurnEnd::AwaitingConfirmation { continuation } = &report.end {
        let approve = vec![Decision::approve(CallId("a".into()))];
        report = bench.decide(&continuation.clone(), approve).await;
    }
    assert_eq!(kind(&report), "needs-more-turns");
    assert_eq!(bench.results(), pairs([("a", text("seen"))]));
    assert_eq!(of_parent.seen(), [json!({"instructions": "look"})]);
    assert_eq!(of_child.seen(), [json!({"n": 1})]);
    let message = &child.requests()[0].messages[0];
    assert_eq!(message.content[0].text(), Some("look, please"));
    let ran = child.ran.invocations.lock().unwrap();
    assert_eq!(*ran[0].input, *n(2));
}

fn flow(nodes: &Value, hooks: Vec<Arc<Reviewer>>) -> Bench {
    let mut bench = Bench::new(Vec::new());
    bench.agent.hooks = hooks
        .into_iter()
        .map(|hook| hook as Arc<dyn Hook>)
        .collect();
    let child = Bench::new(Vec::new()).agent;
    bench.adopt(vec![("helper", child)], Arc::<TestJournals>::default());
    let definition = serde_json::from_value(json!({"name": "flow", "node": nodes})).unwrap();
    let graph = Graph::check(&definition, &bench.agent, Handlers::new()).unwrap();
    bench.agent.workflow = Some(Arc::new(graph));
    bench
}

/// A node runs with the arguments of the hook, which its intent has; a blocked one fails.
#[tokio::test]
async fn node_is_reviewed_before_it_starts() {
    let nodes = json!([{"id": "put", "tool": "put", "input": {"n": 1}}]);
    let hook = adds();
    let mut bench = flow(&nodes, vec![hook.clone()]);
    let report = bench.say("go").await;
    assert!(
        matches!(&report.end, TurnEnd::Done { text, .. } if text == "put {\"n\":2}"),
        "{report:?}"
    );
    assert_eq!(hook.seen(), [json!({"n": 1})]);
    let kinds = bench.kinds();
    let reviewed = kinds
        .iter()
        .position(|kind| kind == "call-reviewed")
        .unwrap();
    assert_eq!(kinds[reviewed + 1], "node-intended");
    let events = bench.journal.durable().into_iter();
    let input = events.filter_map(|record| match record.event {
        Event::NodeIntended { input, .. } => input,
        _ => None,
    });
    assert_eq!(input.collect::<Vec<_>>(), [n(2)]);

    let mut bench = flow(
        &nodes,
        vec![Reviewer::new("guard", |_| Block("no".to_owned()))],
    );
    let report = bench.say("go").await;
    let TurnEnd::Error { error } = report.end else {
        panic!("{report:?}");
    };
    assert!(error.to_string().contains("no (hook.guard)"), "{error}");
    assert_eq!(bench.ran(), Vec::<String>::new());
}

/// A node that waits for the user is reviewed in its own session, where the user sees the arguments
/// of the hook, applied once.
#[tokio::test]
async fn node_that_waits_shows_the_arguments_of_the_hook() {
    let nodes = json!([{"id": "send", "tool": "send", "input": {"n": 1}}]);
    let mut bench = flow(&nodes, vec![adds()]);
    let report = bench.say("go").await;
    let TurnEnd::AwaitingChildren { continuation } = &report.end else {
        panic!("{report:?}");
    };
    let Awaiting::Children { children } = &continuation.awaiting else {
        panic!("{continuation:?}");
    };
    let calls = children[0].continuation.calls();
    assert_eq!(calls[0].input, n(2));
    assert_eq!(calls[0].requested_input, Some(n(1)));
    let input = crate::turn::tests::children::approve(&children[0]);
    let report = bench
        .turn(AgentInput::Children {
            continuation: continuation.clone(),
            inputs: vec![input],
        })
        .await;
    assert!(
        matches!(&report.end, TurnEnd::Done { text, .. } if text == "send {\"n\":2}"),
        "{report:?}"
    );
}

/// A call of a client with a loop of its own is reviewed as one of a model.
#[tokio::test]
async fn call_of_a_client_is_reviewed() {
    let hook = adds();
    let bench = hooked("send", "", vec![hook.clone()]);
    let session = ClientSession::new(bench.session);
    let cx = TurnContext {
        observer: bench.observer.as_ref(),
        approvals: &[],
        cancel: &CancellationToken::new(),
        drain: &CancellationToken::new(),
        actors: Actors::default(),
    };
    let agent = &bench.agent;
    let mut call = agent.client_call(&session, "send".to_owned(), (*n(1)).clone(), 0);
    let end = agent
        .run_client_call(&session, &mut call, &cx)
        .await
        .unwrap();
    let ClientCallEnd::Confirm(pending) = end else {
        panic!("{end:?}");
    };
    assert_eq!(
        (pending.input.clone(), pending.requested_input.clone()),
        (n(2), Some(n(1)))
    );
    let approve = Decision::approve(call.id().clone());
    let decided = agent.decide_client_call(&session, &mut call, *pending, approve);
    decided.unwrap();
    let end = agent
        .run_client_call(&session, &mut call, &cx)
        .await
        .unwrap();
    let ClientCallEnd::Settled { output, .. } = end else {
        panic!("{end:?}");
    };
    assert_eq!(output, text("send {\"n\":2}"));
    assert_eq!(hook.seen(), [json!({"n": 1})]);
}

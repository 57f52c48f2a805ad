//! Rules about calls in a turn and in calls of a client: when they decide, and their records.

use super::harness::*;
use crate::{
    policy::{ArgumentPointer, ArgumentTest, CallRule, NameGlob, RuleDecision},
    session::ClientSession,
    turn::{Actors, ClientCallEnd, Prompts, TurnContext},
};
use RuleDecision::{Allow, Ask, Deny};
use agent_host_types::{
    approval::{ApprovalRule, Decision, RememberWhat},
    event::Event,
    id::{CallId, object_digest},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::sync::Arc;

/// A rule named `rule.TOOL` about calls of a tool with `n`, or about all of them.
fn rule(decision: RuleDecision, tool: &str, n: Option<u64>) -> CallRule {
    let number = n.map(|n| {
        let pointer = ArgumentPointer::new("/n").unwrap();
        (pointer, ArgumentTest::Equals(json!(n)))
    });
    CallRule {
        name: format!("rule.{tool}"),
        decision,
        tools: vec![NameGlob::new(tool).unwrap()],
        agent: None,
        arguments: number.into_iter().collect(),
        condition: None,
        reason: (decision == Deny).then(|| "Not this one".to_owned()),
    }
}

fn ruled(batch: &[(&str, &str, &str)], rules: Vec<CallRule>) -> Bench {
    let mut bench = Bench::new(vec![calls(batch)]);
    bench.agent.settings.rules = rules.into();
    bench
}

/// The rules of the durable intents and results, by call.
fn recorded(journal: &TestJournal) -> Vec<(&'static str, String, Option<String>)> {
    let events = journal.durable().into_iter();
    let rules = events.filter_map(|record| match record.event {
        Event::CallIntended { call_id, rule, .. } => Some(("intended", call_id.0, rule)),
        Event::CallSettled { call_id, rule, .. } => Some(("settled", call_id.0, rule)),
        _ => None,
    });
    rules.collect()
}

fn some(rule: &str) -> Option<String> {
    Some(rule.to_owned())
}

/// A denied call is answered without asking, an allowed one runs without asking, and one that a
/// rule asks about waits although it only reads. The deciding rule of each is recorded.
#[tokio::test]
async fn rules_decide_and_are_recorded() {
    let batch = [
        ("a", "act", r#"{"n": 1}"#),
        ("b", "send", r#"{"n": 2}"#),
        ("c", "look", ""),
        ("d", "peek", ""),
    ];
    let rules = vec![
        rule(Deny, "act", Some(1)),
        rule(Allow, "send", Some(2)),
        rule(Ask, "look", None),
    ];
    let mut bench = ruled(&batch, rules);
    let continuation = bench.ask().await;
    let waiting = continuation.calls().iter();
    let waiting: Vec<_> = waiting
        .map(|call| (call.call_id.0.as_str(), call.rule.as_str()))
        .collect();
    assert_eq!(waiting, [("c", "rule.look")]);
    assert_eq!(bench.ran(), Vec::<String>::new());
    let approve = vec![Decision::approve(CallId("c".into()))];
    bench.decide(&continuation, approve).await;
    assert_eq!(bench.ran(), ["b", "c", "d"]);
    let not_this = denied("Not this one (rule.act)");
    assert_eq!(bench.results()[0], ("a".to_owned(), not_this));
    let expected = [
        ("settled", "a", some("rule.act")),
        ("intended", "b", some("rule.send")),
        ("settled", "b", None),
        ("intended", "c", some("rule.look")),
        ("intended", "d", some("effect.read-only")),
        ("settled", "c", None),
        ("settled", "d", None),
    ];
    let expected = expected.map(|(kind, call, rule)| (kind, call.to_owned(), rule));
    assert_eq!(recorded(&bench.journal), expected);
}

/// The arguments that the user wrote are judged when the call runs, and so is a call whose rule
/// came during the wait.
#[tokio::test]
async fn edit_into_a_denied_call_is_denied() {
    let edit = |n: u64| Decision::Edit {
        call_id: CallId("a".into()),
        input: Map::from_iter([("n".to_owned(), json!(n))]).into(),
    };
    let approve = Decision::approve(CallId("a".into()));
    for (decision, later, runs) in [
        (edit(1), None, false),
        (edit(2), None, true),
        (approve.clone(), None, true),
        (approve, Some(rule(Deny, "send", None)), false),
    ] {
        let mut bench = ruled(&[("a", "send", "")], vec![rule(Deny, "send", Some(1))]);
        let continuation = bench.ask().await;
        if let Some(later) = later {
            bench.agent.settings.rules = vec![later].into();
        }
        bench.decide(&continuation, vec![decision.clone()]).await;
        assert_eq!(!bench.ran().is_empty(), runs, "{decision:?}");
        let settled = recorded(&bench.journal).pop().unwrap();
        let rule = (!runs).then(|| "rule.send".to_owned());
        assert_eq!(settled, ("settled", "a".to_owned(), rule));
    }
}

/// An approval of the project or of the session covers what a rule asks about, and no denial.
#[tokio::test]
async fn remembered_approval_never_overrides_a_denial() {
    for (decision, runs) in [(Ask, true), (Deny, false)] {
        let mut bench = ruled(&[("a", "send", "")], vec![rule(decision, "send", None)]);
        let tool = bench.agent.tool("send").unwrap();
        let digest = object_digest(&Map::new());
        bench.approvals = vec![ApprovalRule::new(tool, RememberWhat::Tool, digest)];
        bench.say("go").await;
        assert_eq!(!bench.ran().is_empty(), runs);
    }
}

/// Where no one can be asked, the denial says what would allow the call.
#[tokio::test]
async fn unanswerable_rule_denies_and_is_named() {
    let mut bench = ruled(
        &[("a", "look", ""), ("b", "send", "")],
        vec![rule(Ask, "look", None)],
    );
    bench.agent.settings.prompts = Prompts::Deny;
    bench.say("go").await;
    let text = |rule: &str, remedy: &str| {
        denied(&format!(
            "This call needs the user's approval (rule {rule}), and no one can be asked in this run. To allow such calls, the user {remedy} in agent.toml."
        ))
    };
    assert_eq!(
        bench.results(),
        pairs([
            ("a", text("rule.look", "can change this [[rule]]")),
            (
                "b",
                text("effect.effectful", "can set `approvals` for this tool")
            ),
        ])
    );
    let expected = [("a", "rule.look"), ("b", "effect.effectful")]
        .map(|(call, rule)| ("settled", call.to_owned(), some(rule)));
    assert_eq!(recorded(&bench.journal), expected);
}

/// A rule for an agent is about the calls of that agent, and one without a name is `main`.
#[tokio::test]
async fn rule_for_an_agent_is_for_its_calls() {
    for (agent, runs) in [(None, false), (Some("helper"), true)] {
        let of_main = CallRule {
            agent: Some(NameGlob::new("main").unwrap()),
            ..rule(Deny, "look", None)
        };
        let mut bench = ruled(&[("a", "look", "")], vec![of_main]);
        bench.agent.settings.agent = agent.map(str::to_owned);
        bench.say("go").await;
        assert_eq!(!bench.ran().is_empty(), runs, "{agent:?}");
    }
}

/// Calls of a client are ruled by the same function.
#[tokio::test]
async fn client_call_is_ruled() {
    let rules = vec![
        rule(Deny, "act", Some(1)),
        rule(Allow, "send", None),
        rule(Ask, "look", None),
    ];
    let bench = ruled(&[], rules);
    let session = ClientSession::new(bench.session);
    let cx = TurnContext {
        observer: &*bench.observer,
        approvals: &[],
        cancel: &bench.cancel,
        drain: &bench.drain,
        actors: Actors::default(),
    };
    let mut ends = Vec::new();
    for (tool, n) in [
        ("act", 1),
        ("act", 2),
        ("send", 1),
        ("look", 1),
        ("peek", 1),
    ] {
        let input = Map::from_iter([("n".to_owned(), json!(n))]);
        let asks = bench.agent.needs_approval(tool, &input);
        let mut call = bench.agent.client_call(&session, tool.into(), input, 0);
        let run = bench.agent.run_client_call(&session, &mut call, &cx);
        let end = match run.await.unwrap() {
            ClientCallEnd::Settled { output, .. } => output.tag().to_owned(),
            ClientCallEnd::Confirm(pending) => pending.rule,
            other => panic!("{other:?}"),
        };
        ends.push((asks, end));
    }
    let end = |asks, end: &str| (asks, end.to_owned());
    assert_eq!(
        ends,
        [
            end(false, "execution-denied"),
            end(false, "text"),
            end(false, "text"),
            end(true, "rule.look"),
            end(false, "text"),
        ]
    );
    session.flush(&*bench.observer).await.unwrap();
    let journal: &Arc<TestJournal> = &bench.journal;
    let first = recorded(journal).into_iter().take(2);
    let rules: Vec<_> = first.map(|(kind, _, rule)| (kind, rule)).collect();
    let intended = ("intended", some("approval.never"));
    assert_eq!(rules, [("settled", some("rule.act")), intended]);
}

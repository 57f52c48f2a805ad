//! Decisions of the user: decision sets, the timing of approvals, and expired requests.

use super::harness::*;
use crate::turn::Timing;
use agent_host_types::{
    approval::{ApprovalRule, Decision, Remember, RememberScope, RememberWhat},
    continuation::{Awaiting, Continuation},
    id::{CallId, object_digest},
    message::ToolResult,
    tool::{Approval, DecisionKind, Effect},
    turn::{AgentInput, TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::Map;

fn approve(call: &str) -> Decision {
    Decision::approve(CallId(call.into()))
}

fn decision(kind: DecisionKind) -> Decision {
    let call_id = CallId("a".into());
    match kind {
        DecisionKind::Approve => Decision::approve(call_id),
        DecisionKind::Edit => Decision::Edit {
            call_id,
            input: Map::new().into(),
        },
        DecisionKind::Reject => Decision::Reject {
            call_id,
            reason: None,
        },
        DecisionKind::Respond => Decision::Respond {
            call_id,
            text: "so".into(),
        },
    }
}

/// M4: each decision set allows exactly its own kinds, and a refused decision leaves the request
/// open.
#[tokio::test]
async fn tool_allows_the_decisions_of_its_set() {
    use DecisionKind::{Approve, Edit, Reject, Respond};
    let sets: [&[DecisionKind]; 4] = [
        &[Approve],
        &[Approve, Reject],
        &[Approve, Edit, Reject],
        &[Reject, Respond],
    ];
    for set in sets {
        for kind in DecisionKind::ALL {
            let tools = vec![tool("send", Effect::Effectful, Approval::Always).allowing(set)];
            let mut bench = Bench::with(vec![calls(&[("a", "send", "")])], tools);
            let continuation = bench.ask().await;
            assert_eq!(continuation.calls()[0].decisions, set);
            let outcome = bench.decide(&continuation, vec![decision(kind)]).await;
            if set.contains(&kind) {
                assert_eq!(super::harness::kind(&outcome), "needs-more-turns");
                continue;
            }
            let allowed: Vec<&str> = set.iter().map(|kind| kind.as_str()).collect();
            let message = format!(
                "the decision about call a cannot be `{}`; its tool allows {}",
                kind.as_str(),
                allowed.join(", ")
            );
            assert_eq!(refusal(outcome), message);
            assert_eq!(bench.agent.continuation(&bench.session), Some(continuation));
        }
    }
}

/// T7: a decision that the tool no longer allows is refused, and the request stays open for the
/// others.
#[tokio::test]
async fn decision_no_longer_allowed_is_refused() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", "")])]);
    let continuation = bench.ask().await;
    let stricter = tool("send", Effect::Effectful, Approval::Always);
    let stricter = vec![stricter.allowing(&[DecisionKind::Reject])];
    let mut again = Bench::resume(&bench.journal, Vec::new(), stricter).await;
    assert_eq!(
        refusal(again.decide(&continuation, vec![approve("a")]).await),
        "the decision about call a cannot be `approve`; its tool allows reject"
    );
    let reject = vec![decision(DecisionKind::Reject)];
    assert_eq!(
        kind(&again.decide(&continuation, reject).await),
        "needs-more-turns"
    );
    assert_eq!(again.ran(), Vec::<String>::new());
}

fn in_order(batch: &[(&str, &str, &str)]) -> Bench {
    let mut bench = Bench::new(vec![calls(batch)]);
    bench.agent.settings.timing = Timing::InOrder;
    bench
}

fn awaited(outcome: TurnReport) -> Continuation {
    match outcome.end {
        TurnEnd::AwaitingConfirmation { continuation, .. } => continuation,
        other => panic!("no confirmation is awaited: {other:?}"),
    }
}

fn index(continuation: &Continuation) -> usize {
    match continuation.awaiting {
        Awaiting::Confirm { index, .. } => index,
        Awaiting::Answer { .. } | Awaiting::External { .. } | Awaiting::Children { .. } => {
            panic!("{continuation:?}")
        }
    }
}

/// T4: the calls before the gated one have run and are in the continuation; later ones run once
/// each after the decision.
#[tokio::test]
async fn in_order_the_calls_before_run_first() {
    let mut bench = in_order(&[("a", "look", ""), ("b", "send", ""), ("c", "peek", "")]);
    let continuation = awaited(bench.say("go").await);
    let completed = ToolResult {
        call_id: CallId("a".into()),
        name: "look".into(),
        output: text("look {}"),
        whole: None,
    };
    assert_eq!(continuation.completed, [completed]);
    assert_eq!(index(&continuation), 1);
    assert_eq!(bench.ran(), ["a"]);
    let outcome = bench.decide(&continuation, vec![approve("b")]).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(bench.ran(), ["a", "b", "c"]);
    let results = [
        ("a", text("look {}")),
        ("b", text("send {}")),
        ("c", text("peek {}")),
    ];
    assert_eq!(bench.results(), pairs(results));
}

/// Each gated call's approval is requested after the calls before it, also after a restart.
#[tokio::test]
async fn in_order_each_gated_call_is_requested_separately() {
    let mut bench = in_order(&[("a", "send", ""), ("b", "act", ""), ("c", "send", "")]);
    let first = awaited(bench.say("go").await);
    assert_eq!((index(&first), bench.ran().len()), (0, 0));
    let second = awaited(bench.decide(&first, vec![approve("a")]).await);
    assert_eq!(index(&second), 2);
    assert_eq!(bench.ran(), ["a", "b"]);
    let mut again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    again.agent.settings.timing = Timing::InOrder;
    let offered = awaited(again.turn(AgentInput::Continue).await);
    assert_eq!(offered, second);
    let outcome = again.decide(&offered, vec![approve("c")]).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(again.ran(), ["c"]);
}

const LATE: &str =
    "This call did not run: it needed the user's approval, which did not come in time.";

/// A call whose request expired is denied; the other calls run.
#[tokio::test]
async fn expired_approval_request_is_a_denial() {
    let batch = [("a", "look", ""), ("b", "send", "")];
    let mut bench = Bench::new(vec![calls(&batch), says("then not")]);
    bench.agent.settings.approval_expiry_ms = Some(0);
    let continuation = bench.ask().await;
    assert_eq!(
        refusal(bench.decide(&continuation, vec![approve("b")]).await),
        "these calls waited too long for a decision and will not run; continue the session to tell the model"
    );
    assert_eq!(bench.ran(), Vec::<String>::new());
    assert_eq!(
        kind(&bench.turn(AgentInput::Continue).await),
        "needs-more-turns"
    );
    let results = [("a", text("look {}")), ("b", denied(LATE))];
    assert_eq!(bench.results(), pairs(results));
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

#[tokio::test]
async fn approval_before_the_expiry_counts() {
    let mut bench = Bench::new(vec![calls(&[("b", "send", "")])]);
    bench.agent.settings.approval_expiry_ms = Some(u64::MAX);
    let continuation = bench.ask().await;
    assert_eq!(continuation.expires_at_ms, Some(u64::MAX));
    let outcome = bench.decide(&continuation, vec![approve("b")]).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(bench.ran(), ["b"]);
}

fn approve_and_remember(what: RememberWhat, scope: RememberScope) -> Decision {
    Decision::Approve {
        call_id: CallId("a".into()),
        remember: Some(Remember { what, scope }),
    }
}

/// A remembered approval holds in its session, also after a restart, until it is revoked.
#[tokio::test]
async fn remembered_approval_holds_in_its_session() {
    use RememberScope::{Project, Session};
    use RememberWhat::{Arguments, Tool};
    let table = [
        (Arguments, Session, r#"{"n": 1}"#, "needs-more-turns"),
        (Arguments, Session, r#"{"n": 2}"#, "awaiting-confirmation"),
        (Tool, Session, r#"{"n": 2}"#, "needs-more-turns"),
        // The loop remembers for its session alone; the caller stores the rest.
        (Tool, Project, r#"{"n": 1}"#, "awaiting-confirmation"),
    ];
    for (what, scope, arguments, expected) in table {
        let mut bench = Bench::new(vec![calls(&[("a", "send", r#"{"n": 1}"#)])]);
        let continuation = bench.ask().await;
        let decision = approve_and_remember(what.clone(), scope);
        bench.decide(&continuation, vec![decision]).await;
        let replies = vec![calls(&[("b", "send", arguments)])];
        let mut again = Bench::resume(&bench.journal, replies, standard()).await;
        let outcome = again.turn(AgentInput::Continue).await;
        assert_eq!(kind(&outcome), expected, "{what:?} {scope:?} {arguments}");
    }
}

#[tokio::test]
async fn remembered_approval_is_revoked() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", "")])]);
    let continuation = bench.ask().await;
    let decision = approve_and_remember(RememberWhat::Tool, RememberScope::Session);
    bench.decide(&continuation, vec![decision]).await;
    let [rule] = bench.session.state().remembered() else {
        panic!("one rule is kept");
    };
    let rule = rule.clone();
    bench
        .session
        .revoke_approval(&rule, &crate::observer::Unobserved)
        .await
        .unwrap();
    let replies = vec![calls(&[("b", "send", "")])];
    let mut again = Bench::resume(&bench.journal, replies, standard()).await;
    assert_eq!(again.session.state().remembered(), []);
    assert_eq!(
        kind(&again.turn(AgentInput::Continue).await),
        "awaiting-confirmation"
    );
}

/// A rule of the project covers a call before approval is requested.
#[tokio::test]
async fn project_approval_is_remembered() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", "")])]);
    let tool = bench.agent.tools.get("send").unwrap().tool.clone();
    let digest = object_digest(&Map::new());
    let rule = ApprovalRule::new(&tool, RememberWhat::Arguments, digest);
    bench.approvals = vec![rule];
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(bench.ran(), ["a"]);
}

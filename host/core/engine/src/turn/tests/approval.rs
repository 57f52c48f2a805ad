//! Approval of calls: the request, the effect of each decision, and refused decisions.

use super::harness::*;
use crate::turn::{CallFrame, Prompts};
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation, PendingCall},
    id::{CallId, SessionId, json_digest},
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, Effect, RegisteredTool},
    turn::{AgentInput, TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn id(id: &str) -> CallId {
    CallId(id.into())
}

fn approve(call: &str) -> Decision {
    Decision::approve(id(call))
}

fn reject(call: &str, reason: Option<&str>) -> Decision {
    Decision::Reject {
        call_id: id(call),
        reason: reason.map(str::to_owned),
    }
}

fn edit(call: &str, input: Value) -> Decision {
    Decision::Edit {
        call_id: id(call),
        input: object(input),
    }
}

fn object(value: Value) -> Arc<Map<String, Value>> {
    match value {
        Value::Object(map) => map.into(),
        other => panic!("not an object: {other}"),
    }
}

/// A read-only call, one that needs approval, and another read-only one.
fn gated() -> Bench {
    Bench::new(vec![calls(&[
        ("a", "look", ""),
        ("b", "send", r#"{"n": 1}"#),
        ("c", "peek", ""),
    ])])
}

#[test]
fn shown_call_names_the_executables_of_its_arguments() {
    let input = object(json!({"path": "run.sh"}));
    let call = PendingCall {
        call_id: id("a"),
        tool: "send".into(),
        title: None,
        description: String::new(),
        effect: Effect::Effectful,
        input_digest: json_digest(&json!(input)),
        input,
        requested_input: None,
        executables: vec!["/workspace/run.sh".into(), "/workspace/\u{202e}x".into()],
        identity: None,
        sources: Vec::new(),
        rule: "effect.effectful".into(),
        decisions: DecisionKind::ALL.into(),
    };
    let warning = "The call may rewrite these files, which run now or later:\n│ /workspace/run.sh\n│ /workspace/\\u{202e}x\n";
    let shown = CallFrame::unwrapped(&call, None, false).to_string();
    assert!(shown.contains(warning), "{shown}");
}

/// M1 and M7: the request shows exactly what will run, of the calls that need approval alone, and
/// nothing of the batch has run.
#[tokio::test]
async fn gated_call_pauses_the_whole_batch() {
    let mut bench = gated();
    let outcome = bench.say("go").await;
    let summary = outcome.summary.clone();
    let input = object(json!({"n": 1}));
    let pending = PendingCall {
        call_id: id("b"),
        tool: "send".into(),
        title: Some("The tool send".into()),
        description: "Does send.".into(),
        effect: Effect::Effectful,
        input_digest: json_digest(&json!(input)),
        input,
        requested_input: None,
        executables: Vec::new(),
        identity: bench.agent.tool("send").map(RegisteredTool::identity),
        sources: Vec::new(),
        rule: "effect.effectful".into(),
        decisions: DecisionKind::ALL.into(),
    };
    let open = bench.agent.continuation(&bench.session).unwrap();
    let continuation = Continuation {
        version: CONTINUATION_VERSION,
        session: bench.session.id(),
        turn: 1,
        request: format!("{}/4", bench.session.id()),
        awaiting: Awaiting::Confirm {
            index: 1,
            calls: vec![pending],
        },
        completed: Vec::new(),
        usage: summary.turn_usage,
        expires_at_ms: None,
        signature: open.signature,
    };
    assert_eq!(summary.tool_calls, 3);
    let expected = TurnReport {
        summary: summary.clone(),
        end: TurnEnd::AwaitingConfirmation {
            continuation: continuation.clone(),
        },
    };
    assert_eq!(outcome, expected);
    assert_eq!(bench.ran(), Vec::<String>::new());
    assert_eq!(
        bench.agent.continuation(&bench.session),
        Some(continuation.clone())
    );
    let kinds = [
        "session-started",
        "input-received",
        "model-requested",
        "model-replied",
        "approval-requested",
        "turn-ended",
    ];
    assert_eq!(bench.kinds(), kinds);

    // The resumed turn reports the figures from before the pause; the model is not called again.
    let outcome = timeless(bench.decide(&continuation, vec![approve("b")]).await);
    let resumed = TurnReport {
        summary,
        end: TurnEnd::NeedsMoreTurns,
    };
    assert_eq!(outcome, timeless(resumed));
    assert_eq!(bench.requests().len(), 1);
    assert_eq!(bench.agent.continuation(&bench.session), None);
}

/// M2, M6 and T5: whatever the decision, the other calls run once and each call has one result.
#[tokio::test]
async fn decisions_have_their_effects() {
    let cases = [
        (approve("b"), vec!["a", "b", "c"], text(r#"send {"n":1}"#)),
        (
            edit("b", json!({"n": 2})),
            vec!["a", "b", "c"],
            text(r#"send {"n":2}"#),
        ),
        (
            reject("b", None),
            vec!["a", "c"],
            ToolResultOutput::ExecutionDenied(None),
        ),
        (
            reject("b", Some("not now")),
            vec!["a", "c"],
            denied("not now"),
        ),
        (
            Decision::Respond {
                call_id: id("b"),
                text: "I did it myself".into(),
            },
            vec!["a", "c"],
            text("I did it myself"),
        ),
    ];
    for (decision, ran, result) in cases {
        let mut bench = gated();
        let continuation = bench.ask().await;
        let outcome = bench.decide(&continuation, vec![decision.clone()]).await;
        assert_eq!(kind(&outcome), "needs-more-turns", "{decision:?}");
        assert_eq!(bench.ran(), ran, "{decision:?}");
        let expected = pairs([
            ("a", text("look {}")),
            ("b", result),
            ("c", text("peek {}")),
        ]);
        assert_eq!(bench.results_shown().await, expected);
        // The model's own text is unchanged, even if the user edited the arguments.
        let stored = &bench.session.state().messages()[1].tool_calls[1];
        assert_eq!(stored.input, Some(object(json!({"n": 1}))));
        assert_eq!(*bench.ran.premature.lock().unwrap(), Vec::new());
    }
}

fn calls_of(continuation: &mut Continuation) -> &mut Vec<PendingCall> {
    match &mut continuation.awaiting {
        Awaiting::Confirm { calls, .. } => calls,
        other => panic!("{other:?}"),
    }
}

fn first(continuation: &mut Continuation) -> &mut PendingCall {
    &mut calls_of(continuation)[0]
}

/// T1, T2, T3, M3, U14 and more: every fault is refused before anything is recorded, and the right
/// decision still works.
#[tokio::test]
async fn invalid_decision_is_refused_and_a_valid_one_works() {
    type Spoil = fn(&mut Continuation, &mut Vec<Decision>);
    let cases: [(Spoil, &str); 16] = [
        (
            |continuation, _| continuation.version = 2,
            "this continuation has version 2; this program reads version 1",
        ),
        (
            |continuation, _| continuation.session = SessionId::default(),
            "this continuation belongs to session",
        ),
        (
            |continuation, _| continuation.turn = 7,
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| continuation.request.push('x'),
            "this continuation is not the pending one",
        ),
        (
            |continuation, _| first(continuation).input = object(json!({"n": 9})),
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| first(continuation).input_digest = json_digest(&json!({})),
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| first(continuation).tool = "act".into(),
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| calls_of(continuation).clear(),
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| continuation.signature = json_digest(&json!({})),
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| continuation.expires_at_ms = Some(u64::MAX),
            "was altered, or signed by another host",
        ),
        (
            |continuation, _| {
                continuation.awaiting = Awaiting::External { calls: Vec::new() };
            },
            "the session waits for confirm, but this continuation has the kind `external`",
        ),
        (
            |continuation, _| first(continuation).decisions = vec![DecisionKind::Approve],
            "was altered, or signed by another host",
        ),
        (
            |_, decisions| decisions.clear(),
            "1 calls are pending but 0 decisions were given; give one for each, in order",
        ),
        (
            |_, decisions| decisions.push(approve("c")),
            "1 calls are pending but 2 decisions were given",
        ),
        (
            |_, decisions| decisions[0] = approve("a"),
            "the decision is for call a, but one for call b is expected",
        ),
        (
            |_, decisions| decisions[0] = edit("b", json!({"n": "two"})),
            "the edited arguments of call b are not valid: The arguments do not fit the tool's schema",
        ),
    ];
    for (spoil, expected) in cases {
        let mut bench = gated();
        let right = bench.ask().await;
        let (state, barriers) = (bench.session.state().clone(), bench.journal.barriers());
        let (mut wrong, mut decisions) = (right.clone(), vec![approve("b")]);
        spoil(&mut wrong, &mut decisions);
        let message = refusal(bench.decide(&wrong, decisions).await);
        assert!(message.contains(expected), "{message}");
        assert_eq!(*bench.session.state(), state, "{expected}");
        assert_eq!(bench.journal.barriers(), barriers);
        assert_eq!(bench.ran(), Vec::<String>::new());

        assert_eq!(
            kind(&bench.decide(&right, vec![approve("b")]).await),
            "needs-more-turns"
        );
        assert_eq!(bench.ran(), ["a", "b", "c"]);
    }
}

/// T6: a continuation is valid once, in this process and in the next.
#[tokio::test]
async fn continuation_is_consumed_once() {
    let mut bench = gated();
    let continuation = bench.ask().await;
    bench.decide(&continuation, vec![approve("b")]).await;
    let used = "nothing is pending in this session; the continuation was already used, or its calls were answered";
    assert_eq!(
        refusal(bench.decide(&continuation, vec![approve("b")]).await),
        used
    );
    let mut again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    assert_eq!(
        refusal(again.decide(&continuation, vec![approve("b")]).await),
        used
    );
    assert_eq!((bench.ran().len(), again.ran().len()), (3, 0));
}

/// Two calls need approval: one decision for each, in the order of the calls.
#[tokio::test]
async fn decisions_are_matched_to_calls_in_order() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", ""), ("b", "send", "")])]);
    let continuation = bench.ask().await;
    let swapped = vec![approve("b"), approve("a")];
    let message = refusal(bench.decide(&continuation, swapped).await);
    assert_eq!(
        message,
        "the decision is for call b, but one for call a is expected"
    );
    bench
        .decide(&continuation, vec![reject("a", None), approve("b")])
        .await;
    assert_eq!(bench.ran(), ["b"]);
}

/// M14: a restart offers the same request again, and its continuation, stored as JSON, works.
#[tokio::test]
async fn open_request_survives_a_restart() {
    let mut bench = Bench::new(vec![calls(&[(
        "b",
        "send",
        r#"{"n": 1, "x": 121.48791951161945}"#,
    )])]);
    let outcome = bench.say("go").await;
    let TurnEnd::AwaitingConfirmation { continuation, .. } = &outcome.end else {
        panic!("a confirmation is awaited: {outcome:?}");
    };
    let kept = serde_json::to_string(continuation).unwrap();

    let mut again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    let offered = again.turn(AgentInput::Continue).await;
    assert_eq!(timeless(offered), timeless(outcome));
    let kept: Continuation = serde_json::from_str(&kept).unwrap();
    assert_eq!(
        kind(&again.decide(&kept, vec![approve("b")]).await),
        "needs-more-turns"
    );
    assert_eq!(again.ran(), ["b"]);
    assert_eq!(again.requests(), Vec::new());
}

/// M15: a message instead of a decision answers every waiting call, and the turn continues.
#[tokio::test]
async fn message_supersedes_an_open_request() {
    let mut bench = gated();
    let continuation = bench.ask().await;
    bench.replies(says("as you like"));
    assert_eq!(kind(&bench.say("never mind").await), "done");
    assert_eq!(bench.ran(), Vec::<String>::new());
    let shown = &bench.requests()[1].messages;
    let superseded = || denied("This call did not run: the user sent a new message first.");
    let results: Vec<ToolResultOutput> = shown[2]
        .tool_results
        .iter()
        .map(|result| result.output.clone())
        .collect();
    assert_eq!(results, [superseded(), superseded(), superseded()]);
    assert_eq!(
        shown[3],
        agent_host_types::message::Message::text(
            agent_host_types::message::Role::User,
            "never mind"
        )
    );
    let message = refusal(bench.decide(&continuation, vec![approve("b")]).await);
    assert!(
        message.starts_with("nothing is pending in this session"),
        "{message}"
    );
}

/// T7: an approved call runs only if its tool still exists unchanged. A decision that no call can
/// follow is not used up.
#[tokio::test]
async fn approved_call_is_checked_again() {
    let mut bench = gated();
    let continuation = bench.ask().await;
    let mut without: Vec<Tool> = standard();
    without.pop();
    let mut again = Bench::resume(&bench.journal, Vec::new(), without).await;
    let refused = refusal(again.decide(&continuation, vec![approve("b")]).await);
    let why = "call b cannot run, because this run has no tool `send`; the call stays pending";
    assert!(refused.starts_with(why), "{refused}");
    assert_eq!(again.ran(), Vec::<String>::new());

    // A rejection needs no tool: the user's reason reaches the model.
    let mut without: Vec<Tool> = standard();
    without.pop();
    let mut again = Bench::resume(&bench.journal, Vec::new(), without).await;
    again
        .decide(&continuation, vec![reject("b", Some("no"))])
        .await;
    assert_eq!(again.results()[1].1, denied("no"));
}

/// A rule that became stricter during the pause also asks about the other calls. The second request
/// has another name, so that decisions on the first do not apply to it.
#[tokio::test]
async fn stricter_rule_requests_approval_again() {
    let mut bench = gated();
    let first = bench.ask().await;
    let stricter = vec![
        tool("look", Effect::ReadOnly, Approval::Always),
        tool("peek", Effect::ReadOnly, Approval::ByEffect),
        tool("send", Effect::Effectful, Approval::ByEffect),
    ];
    let mut again = Bench::resume(&bench.journal, Vec::new(), stricter).await;
    let outcome = again.decide(&first, vec![approve("b")]).await;
    let TurnEnd::AwaitingConfirmation {
        continuation: second,
        ..
    } = outcome.end
    else {
        panic!("the look asks now: {outcome:?}");
    };
    let waiting: Vec<&CallId> = second.calls().iter().map(|call| &call.call_id).collect();
    assert_eq!(waiting, [&id("a")]);
    assert_ne!(second.request, first.request);
    assert_eq!(again.ran(), Vec::<String>::new());
    again.decide(&second, vec![reject("a", None)]).await;
    assert_eq!(again.ran(), ["b", "c"]);
}

/// A run with no user leaves an open request of the session for a later run.
#[tokio::test]
async fn request_stays_open_in_a_run_without_a_user() {
    let mut bench = gated();
    let continuation = bench.ask().await;
    bench.agent.settings.prompts = Prompts::Deny;
    let outcome = bench.turn(AgentInput::Continue).await;
    assert_eq!(kind(&outcome), "awaiting-confirmation");
    assert_eq!(
        kind(&bench.decide(&continuation, vec![approve("b")]).await),
        "needs-more-turns"
    );
    assert_eq!(bench.ran(), ["a", "b", "c"]);
}

/// Every JSON form of a decision; unknown keys and tags are refused.
#[test]
fn decisions_have_one_json_form() {
    let cases = [
        (approve("b"), json!({"type": "approve", "call_id": "b"})),
        (
            edit("b", json!({"n": 2})),
            json!({"type": "edit", "call_id": "b", "input": {"n": 2}}),
        ),
        (reject("b", None), json!({"type": "reject", "call_id": "b"})),
        (
            reject("b", Some("no")),
            json!({"type": "reject", "call_id": "b", "reason": "no"}),
        ),
        (
            Decision::Respond {
                call_id: id("b"),
                text: "x".into(),
            },
            json!({"type": "respond", "call_id": "b", "text": "x"}),
        ),
    ];
    for (decision, form) in cases {
        assert_eq!(json!(decision), form);
        assert_eq!(serde_json::from_value::<Decision>(form).unwrap(), decision);
    }
    for form in [
        json!({"type": "approve"}),
        json!({"type": "always", "call_id": "b"}),
        // M5: an edit names its arguments.
        json!({"type": "edit", "call_id": "b"}),
        json!({"type": "approve", "call_id": "b", "input": {}}),
    ] {
        assert!(
            serde_json::from_value::<Decision>(form.clone()).is_err(),
            "{form}"
        );
    }
}

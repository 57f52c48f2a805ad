//! Section M, approvals: which calls need one, and the effect of each decision.

use super::{
    components::{Component, act, look, send},
    script::{calls, says},
    world::*,
};
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, Continuation, PendingCall},
    id::json_digest,
    output::ToolResultOutput,
    tool::{DecisionKind, Effect},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A turn that waits for a decision about the second of three calls.
async fn paused(asking: Component) -> (World, Continuation) {
    let batch = [
        ("a", "act", r#"{"n": 1}"#),
        ("b", "send", r#"{"n": 2}"#),
        ("c", "look", r#"{"n": 3}"#),
    ];
    let replies = vec![calls(&batch), says("ok")];
    let mut world = World::new(&[act(), asking, look()], replies).await;
    let continuation = waiting(world.say("go").await);
    (world, continuation)
}

#[tokio::test]
async fn m01_listed_call_interrupts_before_any_runs() {
    let (world, continuation) = paused(send()).await;
    let input = json!({"n": 2});
    let pending = PendingCall {
        call_id: id("b"),
        tool: "send".into(),
        title: None,
        description: "Does send.".into(),
        effect: Effect::Effectful,
        input_digest: json_digest(&input),
        input: input.as_object().cloned().unwrap().into(),
        requested_input: None,
        executables: Vec::new(),
        identity: world.identity("send"),
        sources: Vec::new(),
        rule: "effect.effectful".into(),
        decisions: DecisionKind::ALL.into(),
    };
    let awaiting = Awaiting::Confirm {
        index: 1,
        calls: vec![pending],
    };
    assert_eq!(continuation.awaiting, awaiting);
    assert_eq!(continuation.completed, []);
    assert_eq!((world.ran(), world.made()), (vec![], vec![]));
}

#[tokio::test]
async fn m02_approve_edit_reject_respond() {
    let respond = Decision::Respond {
        call_id: id("b"),
        text: "I did it myself".into(),
    };
    let n = |n: u64| value(json!({"n": n}));
    let table = [
        (approve("b"), n(2), true),
        (edit("b", &json!({"n": 7})), n(7), true),
        (reject("b", Some("too late")), denied("too late"), false),
        (
            reject("b", None),
            ToolResultOutput::ExecutionDenied(None),
            false,
        ),
        (respond, text("I did it myself"), false),
    ];
    for (decision, result, runs) in table {
        let (world, continuation) = paused(send()).await;
        // Another process decides.
        let mut world = world.restart().await;
        world
            .decide(&continuation, std::slice::from_ref(&decision))
            .await;
        assert_eq!(kind(&world.resume().await), "done");
        let expected = pairs([("a", n(1)), ("b", result), ("c", n(3))]);
        assert_eq!(world.shown(), expected, "{decision:?}");
        let made: &[&str] = if runs { &["a", "b"] } else { &["a"] };
        assert_eq!(world.made(), made, "{decision:?}");
        // The model's arguments stay in the conversation.
        let asked = &world.session.state().messages()[1].tool_calls[1];
        assert_eq!(json!(asked.input), json!({"n": 2}));
    }
}

/// Asserts that these decisions are refused with this text, that nothing ran, and that the right
/// ones still work.
async fn refuses(
    mut world: World,
    continuation: &Continuation,
    wrong: &[Decision],
    expected: &str,
    right: &[Decision],
) {
    let events = world.watcher.events();
    let outcome = world.decide(continuation, wrong).await;
    assert_eq!(refusal(outcome), expected);
    assert_eq!(world.watcher.events(), events);
    assert_eq!((world.ran(), world.made()), (vec![], vec![]));
    let outcome = world.decide(continuation, right).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(world.made(), ["a", "b"]);
}

#[tokio::test]
async fn m03_decision_count_must_match_requests() {
    let replies = vec![calls(&[("a", "send", ""), ("b", "send", "")])];
    let mut world = World::new(&[send()], replies).await;
    let continuation = waiting(world.say("go").await);
    let right = [approve("a"), approve("b")];
    let expected = "2 calls are pending but 1 decisions were given; give one for each, in order";
    refuses(world, &continuation, &right[..1], expected, &right).await;
}

#[tokio::test]
async fn m04_disallowed_edit_is_refused() {
    let (world, continuation) = paused(send().deciding(&["approve", "reject"])).await;
    let wrong = [edit("b", &json!({"n": 7}))];
    let expected = "the decision about call b cannot be `edit`; its tool allows approve, reject";
    refuses(world, &continuation, &wrong, expected, &[approve("b")]).await;
}

/// `edit` without arguments is not a decision; with arguments that do not fit, it is refused.
#[tokio::test]
async fn m05_edit_with_invalid_arguments_is_refused() {
    let form = json!({"type": "edit", "call_id": "b"});
    let error = serde_json::from_value::<Decision>(form).unwrap_err();
    assert_eq!(error.to_string(), "missing field `input`");
    let (world, continuation) = paused(send()).await;
    let wrong = [edit("b", &json!({"n": "seven"}))];
    let expected = "the edited arguments of call b are not valid: The arguments do not fit the tool's schema; the tool did not run. `/n`: \"seven\" is not of type \"integer\"";
    refuses(world, &continuation, &wrong, expected, &[approve("b")]).await;
}

#[tokio::test]
async fn m06_siblings_run_once_with_the_batch() {
    let (mut world, continuation) = paused(send()).await;
    world.decide(&continuation, &[approve("b")]).await;
    let mut world = world.restart().await;
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.ran(), ["a", "b", "c"]);
    assert_eq!(world.made(), ["a", "b"]);
}

/// `approval = "never"`, and a tool without a setting. The latter runs without approval if it is
/// read-only; one that changes something needs approval unless the operator configures otherwise.
#[tokio::test]
async fn m07_false_or_unlisted_needs_no_approval() {
    let replies = vec![calls(&[("a", "send", ""), ("b", "look", "")]), says("ok")];
    let mut world = World::new(&[send().free(), look()], replies).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.watcher.count("approval-requested"), 0);
    assert_eq!(
        (world.ran(), world.made()),
        (vec!["a".into(), "b".into()], vec!["a".into()])
    );
}

#[tokio::test]
async fn m14_open_approval_is_offered_again() {
    let (world, continuation) = paused(send()).await;
    let mut world = world.restart().await;
    let offered = world.resume().await;
    assert_eq!(kind(&offered), "awaiting-confirmation");
    assert_eq!(waiting(offered), continuation);
    assert_eq!(world.watcher.count("approval-requested"), 1);
    assert_eq!(world.script.asked().len(), 1);
    let outcome = world.decide(&continuation, &[approve("b")]).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(world.made(), ["a", "b"]);
}

#[tokio::test]
async fn m15_new_message_supersedes_open_approval() {
    let (world, continuation) = paused(send()).await;
    let mut world = world.restart().await;
    assert_eq!(kind(&world.say("something else").await), "done");
    let superseded = || denied("This call did not run: the user sent a new message first.");
    let messages = world.script.asked().pop().unwrap().messages;
    let results: Vec<Value> = messages[2]
        .tool_results
        .iter()
        .map(|result| json!([result.call_id, result.output]))
        .collect();
    let expected = ["a", "b", "c"].map(|id| json!([id, superseded()]));
    assert_eq!(results, expected);
    let last = json!(messages[3].content);
    assert_eq!(last, json!([{"type": "text", "text": "something else"}]));
    assert_eq!((world.ran(), world.made()), (vec![], vec![]));
    let late = refusal(world.decide(&continuation, &[approve("b")]).await);
    assert_eq!(
        late,
        "nothing is pending in this session; the continuation was already used, or its calls were answered"
    );
}

//! Section T, the continuation of a paused turn: every part of it is checked when it returns, it
//! works once, and a faulty one leaves the right one usable.

use super::{
    components::{act, look, order, outside, peek, send},
    script::{USAGE, calls, says},
    world::*,
};
use agent_host_engine::turn::Timing;
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation},
    message::ToolResult,
    model::StopReason,
    output::ToolResultOutput,
    turn::{TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::HashSet;

const USED: &str = "nothing is pending in this session; the continuation was already used, or its calls were answered";

/// A turn that waits for an approval of the second of three calls.
async fn paused() -> (World, Continuation) {
    let batch = [("a", "look", ""), ("b", "send", ""), ("c", "peek", "")];
    let replies = vec![calls(&batch), says("ok")];
    let mut world = World::new(&[look(), send(), peek()], replies).await;
    let continuation = waiting(world.say("go").await);
    (world, continuation)
}

/// Asserts that these decisions are refused with this text, and that nothing happened.
async fn refuses(
    world: &mut World,
    continuation: &Continuation,
    decision: Decision,
    expected: &str,
) {
    let (state, events) = (world.session.state().clone(), world.watcher.events());
    let outcome = world.decide(continuation, &[decision]).await;
    assert_eq!(refusal(outcome), expected);
    assert_eq!(*world.session.state(), state);
    assert_eq!(world.watcher.events(), events);
    assert_eq!((world.ran(), world.made()), (vec![], vec![]));
}

/// Asserts that the right decision works: every call runs once, no model is asked, and the summary
/// is that of before the pause.
async fn works(world: &mut World, continuation: &Continuation) {
    let outcome = world.decide(continuation, &[approve("b")]).await;
    let summary = world.summary(StopReason::ToolUse, 3);
    assert_eq!(
        outcome,
        TurnReport {
            summary,
            end: TurnEnd::NeedsMoreTurns
        }
    );
    assert_eq!(world.script.asked().len(), 1);
    let empty = || value(json!({}));
    let expected = pairs([("a", empty()), ("b", empty()), ("c", empty())]);
    assert_eq!(world.results(), expected);
    assert_eq!(world.ran(), ["a", "b", "c"]);
    assert_eq!(world.made(), ["b"]);
}

#[tokio::test]
async fn t01_other_version_is_refused() {
    for version in [0, CONTINUATION_VERSION + 1, u32::MAX] {
        let (mut world, right) = paused().await;
        let wrong = Continuation {
            version,
            ..right.clone()
        };
        let expected = format!(
            "this continuation has version {version}; this program reads version {CONTINUATION_VERSION}"
        );
        refuses(&mut world, &wrong, approve("b"), &expected).await;
        works(&mut world, &right).await;
    }
}

#[tokio::test]
async fn t02_envelope_of_other_session_is_refused() {
    let (mut world, right) = paused().await;
    let (mut other_world, other) = paused().await;
    let expected = format!("this continuation belongs to session {}", other.session);
    refuses(&mut world, &other, approve("b"), &expected).await;
    works(&mut world, &right).await;
    works(&mut other_world, &other).await;
}

#[tokio::test]
async fn t03_wrong_call_id_is_refused() {
    let (mut world, right) = paused().await;
    for wrong in ["a", "c", "z", ""] {
        let expected = format!("the decision is for call {wrong}, but one for call b is expected");
        refuses(&mut world, &right, approve(wrong), &expected).await;
    }
    let mut world = world.restart().await;
    works(&mut world, &right).await;
}

/// Calls without approval, with approval, and without; each leaves a directory when it runs.
#[tokio::test]
async fn t04_in_order_and_in_a_batch() {
    let result = ToolResult {
        call_id: id("a"),
        name: "act".into(),
        output: value(json!({})),
        whole: None,
    };
    let table = [
        (Timing::InOrder, vec!["a"], vec![result]),
        (Timing::Batch, vec![], vec![]),
    ];
    for (timing, before, completed) in table {
        let batch = [("a", "act", ""), ("b", "send", ""), ("c", "act", "")];
        let mut world = World::new(&[act(), send()], vec![calls(&batch)]).await;
        world.agent.settings.timing = timing;
        let continuation = waiting(world.say("go").await);
        let Awaiting::Confirm { index, .. } = continuation.awaiting else {
            panic!("{continuation:?}");
        };
        assert_eq!((index, &continuation.completed), (1, &completed));
        assert_eq!(continuation.usage, USAGE);
        assert_eq!(world.made(), before);
        let outcome = world.decide(&continuation, &[approve("b")]).await;
        assert_eq!(kind(&outcome), "needs-more-turns");
        assert_eq!(world.ran(), ["a", "b", "c"]);
        assert_eq!(world.made(), ["a", "b", "c"]);
    }
}

#[tokio::test]
async fn t05_rejection_needs_no_reason() {
    let (mut world, continuation) = paused().await;
    world.decide(&continuation, &[reject("b", None)]).await;
    assert_eq!(kind(&world.resume().await), "done");
    let expected = pairs([
        ("a", value(json!({}))),
        ("b", ToolResultOutput::ExecutionDenied(None)),
        ("c", value(json!({}))),
    ]);
    assert_eq!(world.shown(), expected);
    assert_eq!(world.ran(), ["a", "c"]);
    assert_eq!(world.made(), Vec::<String>::new());
}

#[tokio::test]
async fn t06_repeated_envelope_runs_once() {
    let (mut world, continuation) = paused().await;
    works(&mut world, &continuation).await;
    let again = world.decide(&continuation, &[approve("b")]).await;
    assert_eq!(refusal(again), USED);
    // Another process is refused, too.
    let mut world = world.restart().await;
    let again = world.decide(&continuation, &[approve("b")]).await;
    assert_eq!(refusal(again), USED);
    assert_eq!(kind(&world.resume().await), "done");
    let again = world.decide(&continuation, &[approve("b")]).await;
    assert_eq!(refusal(again), USED);
    assert_eq!((world.ran().len(), world.made()), (3, vec!["b".into()]));
}

/// The operator takes the tool out of `agent.toml` while its call waits.
#[tokio::test]
async fn t07_missing_tool_does_not_run() {
    let (world, continuation) = paused().await;
    let mut world = world.restart_with(&[look(), peek()]).await;
    let refused = refusal(world.decide(&continuation, &[approve("b")]).await);
    let why = "call b cannot run, because this run has no tool `send`; the call stays pending";
    assert!(refused.starts_with(why), "{refused}");
    assert_eq!((world.ran(), world.made()), (vec![], vec![]));
    // The decision is not used up.
    let mut world = world.restart_with(&[look(), send(), peek()]).await;
    world.decide(&continuation, &[approve("b")]).await;
    assert_eq!(world.ran().len(), 3);
}

/// The operator adds a rule while a call waits: it is judged again, although it was approved.
#[tokio::test]
async fn t07_call_denied_by_a_new_rule_does_not_run() {
    for (tool, arguments, runs) in [("send", "/n", true), ("send", "", false), ("*", "", false)] {
        let (world, continuation) = paused().await;
        let only = match arguments {
            "" => String::new(),
            pointer => format!("arguments = {{ \"{pointer}\" = {{ equals = 1 }} }}"),
        };
        let rule = format!("[[rule]]\ndecision = \"deny\"\ntool = \"{tool}\"\n{only}\n");
        let mut world = world.restart_as(&rule, &[look(), send(), peek()]).await;
        world.decide(&continuation, &[approve("b")]).await;
        let made = world.made();
        assert_eq!(
            made.len(),
            usize::from(runs),
            "{tool} {arguments}: {made:?}"
        );
        if !runs {
            let why = denied("The configuration denies this call (rule.0)");
            assert_eq!(world.results()[1], ("b".to_owned(), why));
        }
    }
}

/// The operator leaves only `reject` as a decision while a call waits.
#[tokio::test]
async fn t07_disallowed_approval_does_not_run() {
    let (world, continuation) = paused().await;
    let stricter = [look(), peek(), send().deciding(&["reject"])];
    let mut world = world.restart_with(&stricter).await;
    let expected = "the decision about call b cannot be `approve`; its tool allows reject";
    refuses(&mut world, &continuation, approve("b"), expected).await;
    world
        .decide(&continuation, &[reject("b", Some("no"))])
        .await;
    let expected = pairs([
        ("a", value(json!({}))),
        ("b", denied("no")),
        ("c", value(json!({}))),
    ]);
    assert_eq!(world.results(), expected);
    assert_eq!(world.made(), Vec::<String>::new());
}

/// Gives a paused turn results that it does not wait for.
async fn give(world: &mut World, continuation: &Continuation, given: &str) -> TurnReport {
    let result = json!([{"call_id": "a", "value": "x"}]);
    match given {
        "decisions" => world.decide(continuation, &[approve("a")]).await,
        "an answer" => world.answer(continuation, "x").await,
        _ => world.submit(continuation, &result).await,
    }
}

#[tokio::test]
async fn t17_kinds_are_resumed_by_their_own_input() {
    let inputs = ["decisions", "an answer", "tool results"];
    let table = [
        ("send", "confirm", value(json!({}))),
        ("order", "answer", text("x")),
        ("outside", "external", text("x")),
    ];
    for (env, (tool, kind_of, result)) in table.into_iter().enumerate() {
        let components = [send(), order(), outside("outside")];
        let mut world = World::new(&components, vec![calls(&[("a", tool, "")])]).await;
        let continuation = waiting(world.say("go").await);
        let events = world.watcher.events();
        for given in inputs.iter().filter(|given| **given != inputs[env]) {
            let expected =
                format!("a continuation of kind `{kind_of}` cannot be resumed with {given}");
            let outcome = give(&mut world, &continuation, given).await;
            assert_eq!(refusal(outcome), expected);
        }
        assert_eq!(world.watcher.events(), events);
        let outcome = give(&mut world, &continuation, inputs[env]).await;
        assert_eq!(kind(&outcome), "needs-more-turns");
        assert_eq!(world.results(), pairs([("a", result)]));
    }
}

/// T9: each fault in external results has an error text of its own.
#[tokio::test]
async fn t09_missing_unknown_and_duplicate_ids_are_three_errors() {
    let batch = [("a", "outside", ""), ("b", "outside", "")];
    let mut world = World::new(&[outside("outside")], vec![calls(&batch)]).await;
    let continuation = waiting(world.say("go").await);
    let results = |ids: &[&str]| -> Value {
        ids.iter()
            .map(|id| json!({"call_id": id, "value": 1}))
            .collect()
    };
    let table = [
        (
            results(&["a"]),
            "no result was given for call b; submit one for each pending call",
        ),
        (
            results(&["a", "b", "c"]),
            "a result was submitted for call c, which is not waiting for one",
        ),
        (results(&["a", "b", "a"]), "call a was given two results"),
    ];
    let events = world.watcher.events();
    let mut seen = HashSet::new();
    for (results, expected) in table {
        let message = refusal(world.submit(&continuation, &results).await);
        assert_eq!(message, expected);
        assert!(seen.insert(message));
    }
    assert_eq!(world.watcher.events(), events);
    let outcome = world.submit(&continuation, &results(&["b", "a"])).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
}

#[tokio::test]
async fn t10_replayed_submission_adds_nothing() {
    let replies = vec![calls(&[("a", "outside", "")]), says("ok")];
    let mut world = World::new(&[outside("outside")], replies).await;
    let continuation = waiting(world.say("go").await);
    let results = json!([{"call_id": "a", "value": "paid"}]);
    world.submit(&continuation, &results).await;
    let mut world = world.restart().await;
    let (state, events) = (world.session.state().clone(), world.watcher.events());
    let again = world.submit(&continuation, &results).await;
    assert_eq!(refusal(again), USED);
    assert_eq!(*world.session.state(), state);
    assert_eq!(world.watcher.events(), events);
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.shown(), pairs([("a", text("paid"))]));
}

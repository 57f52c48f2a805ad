//! The tool step: which calls run, which run concurrently, and the result of each.

use super::harness::*;
use crate::{journal::Journal as _, spill::INLINE_TEXT_BYTES, turn::Prompts};
use agent_host_types::{
    event::Event,
    id::Digest,
    output::ToolResultOutput,
    tool::{Approval, Effect},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::{Arc, atomic::Ordering};
use tokio::sync::Notify;

/// S8: the first call ends after the second, so this turn ends only if both run concurrently; the
/// results are in call order.
#[tokio::test]
async fn results_are_in_call_order_whichever_ends_first() {
    let gate = Arc::new(Notify::new());
    let (wait, open) = (gate.clone(), gate);
    let slow = tool("slow", Effect::ReadOnly, Approval::ByEffect).body(move |_| {
        let wait = wait.clone();
        async move {
            wait.notified().await;
            text("slow")
        }
    });
    let fast = tool("fast", Effect::ReadOnly, Approval::ByEffect).body(move |_| {
        open.notify_one();
        std::future::ready(text("fast"))
    });
    let mut bench = Bench::with(
        vec![calls(&[("a", "slow", ""), ("b", "fast", "")])],
        vec![slow, fast],
    );
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(*bench.ran.log.lock().unwrap(), ["+a", "+b", "-b", "-a"]);
    let expected = pairs([("a", text("slow")), ("b", text("fast"))]);
    assert_eq!(bench.results(), expected);
    assert_eq!(bench.results_shown().await, expected);
    let live = bench.observer.live.lock().unwrap().clone();
    let expected = [
        "asked",
        "text ",
        "started a",
        "half a",
        "printed a",
        "started b",
        "half b",
        "printed b",
        "ended b text",
        "ended a text",
        "asked",
        "text ok",
    ];
    assert_eq!(live, expected);
}

/// Only adjacent read-only calls overlap; every other call runs alone, in order.
#[tokio::test]
async fn only_adjacent_read_only_calls_overlap() {
    let cases: [(&[&str], &[&str]); 4] = [
        (&["act", "act"], &["+0", "-0", "+1", "-1"]),
        (&["put", "put"], &["+0", "-0", "+1", "-1"]),
        (
            &["look", "peek", "act", "look", "look"],
            &["+0", "+1", "-0", "-1", "+2", "-2", "+3", "+4", "-3", "-4"],
        ),
        (
            &["act", "look", "put", "peek"],
            &["+0", "-0", "+1", "-1", "+2", "-2", "+3", "-3"],
        ),
    ];
    for (names, expected) in cases {
        let ids = ["0", "1", "2", "3", "4"];
        let batch: Vec<_> = ids
            .iter()
            .zip(names)
            .map(|(id, name)| (*id, *name, ""))
            .collect();
        let mut bench = Bench::new(vec![calls(&batch)]);
        bench.say("go").await;
        // The order in which concurrent calls end is not defined.
        let mut log = bench.ran.log.lock().unwrap().clone();
        for ends in log.chunk_by_mut(|one, other| one.starts_with('-') && other.starts_with('-')) {
            ends.sort();
        }
        assert_eq!(log, expected, "{names:?}");
        let answered: Vec<String> = bench.results().into_iter().map(|(id, _)| id).collect();
        assert_eq!(answered, ids[..names.len()]);
    }
}

#[tokio::test]
async fn concurrent_calls_are_bounded() {
    let ids = ["0", "1", "2", "3", "4", "5"];
    let batch = ids.map(|id| (id, "look", ""));
    for (bound, peak) in [(0, 1), (1, 1), (2, 2), (4, 4), (99, 6)] {
        let mut bench = Bench::new(vec![calls(&batch)]);
        bench.agent.settings.parallel_calls = bound;
        bench.say("go").await;
        assert_eq!(bench.ran.peak.load(Ordering::SeqCst), peak, "bound {bound}");
        assert_eq!(bench.results().len(), ids.len());
    }
}

/// S5, S6, S7 and U13: a call that cannot run is answered without asking, and the others run.
#[tokio::test]
async fn calls_that_cannot_run_are_answered() {
    let tools = || {
        vec![
            tool("gated", Effect::Effectful, Approval::Always),
            tool("look", Effect::ReadOnly, Approval::ByEffect),
        ]
    };
    let not_an_object = "The arguments are not a JSON object, or nest too deep; the tool did not run. Send the arguments as one JSON object.";
    let cases = [
        (
            "missing",
            "{}",
            "unknown-tool",
            "There is no tool `missing`. The tools are: gated, look.",
        ),
        (
            "miss\ning",
            "{}",
            "unknown-tool",
            "There is no tool `miss\\ning`. The tools are: gated, look.",
        ),
        ("gated", "NOT_JSON", "invalid-input", not_an_object),
        ("gated", "[1]", "invalid-input", not_an_object),
        (
            "gated",
            r#"{"n": "one"}"#,
            "invalid-input",
            r#"The arguments do not fit the tool's schema; the tool did not run. `/n`: "one" is not of type "integer""#,
        ),
    ];
    for (name, raw, code, message) in cases {
        for prompts in [Prompts::Ask, Prompts::Deny] {
            let mut bench =
                Bench::with(vec![calls(&[("a", name, raw), ("b", "look", "")])], tools());
            bench.agent.settings.prompts = prompts;
            assert_eq!(
                kind(&bench.say("go").await),
                "needs-more-turns",
                "{name} {raw}"
            );
            assert_eq!(bench.ran(), ["b"]);
            let expected = pairs([("a", failure(code, message)), ("b", text("look {}"))]);
            assert_eq!(bench.results_shown().await, expected);
        }
    }
}

#[tokio::test]
async fn unknown_tool_without_any_tools_is_answered() {
    let mut bench = Bench::with(vec![calls(&[("a", "look", "")])], Vec::new());
    bench.say("go").await;
    let expected = failure(
        "unknown-tool",
        "There is no tool `look`; this run has no tools.",
    );
    assert_eq!(bench.results(), pairs([("a", expected)]));
}

/// S9: a tool's failure is a result like any other.
#[tokio::test]
async fn failing_tool_does_not_end_the_loop() {
    let broken = ToolResultOutput::error_json(json!({"code": "trap", "message": "x"}));
    let output = broken.clone();
    let crash = tool("crash", Effect::Effectful, Approval::Never)
        .body(move |_| std::future::ready(output.clone()));
    let look = tool("look", Effect::ReadOnly, Approval::ByEffect);
    let mut bench = Bench::with(
        vec![calls(&[("a", "crash", ""), ("b", "look", "")])],
        vec![crash, look],
    );
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(
        bench.results(),
        pairs([("a", broken), ("b", text("look {}"))])
    );
}

/// If no one can be asked, calls that need approval are denied by the rule that requires it;
/// everything else runs.
#[tokio::test]
async fn call_that_needs_approval_is_denied_without_a_user() {
    let mut tools = standard();
    tools.push(tool("ask", Effect::ReadOnly, Approval::Always));
    tools.push(tool("set", Effect::Idempotent, Approval::ByEffect));
    let batch = [
        ("a", "send", ""),
        ("b", "ask", ""),
        ("c", "set", ""),
        ("d", "look", ""),
        ("e", "act", ""),
    ];
    let mut bench = Bench::with(vec![calls(&batch)], tools);
    bench.agent.settings.prompts = Prompts::Deny;
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(bench.ran(), ["d", "e"]);
    let unapproved = |rule: &str| {
        denied(&format!(
            "This call needs the user's approval (rule {rule}), and no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml."
        ))
    };
    let expected = pairs([
        ("a", unapproved("effect.effectful")),
        ("b", unapproved("approval.always")),
        ("c", unapproved("effect.idempotent")),
        ("d", text("look {}")),
        ("e", text("act {}")),
    ]);
    assert_eq!(bench.results(), expected);
    assert!(!bench.kinds().contains(&"approval-requested".to_owned()));
}

/// The recorded intent is what runs, and a key belongs to one call of one session.
#[tokio::test]
async fn recorded_intent_is_what_runs() {
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut bench = Bench::new(vec![calls(&[
            ("a", "act", r#"{"n": 1}"#),
            ("b", "look", r#"{"n": 1}"#),
        ])]);
        bench.say("go").await;
        let invocations = bench.ran.invocations.lock().unwrap();
        let intended: Vec<Event> = bench
            .journal
            .durable()
            .into_iter()
            .map(|record| record.event)
            .filter(|event| matches!(event, Event::CallIntended { .. }))
            .collect();
        let expected: Vec<Event> = invocations
            .iter()
            .zip([
                (Effect::Effectful, "approval.never"),
                (Effect::ReadOnly, "effect.read-only"),
            ])
            .map(|(invocation, (effect, rule))| Event::CallIntended {
                call_id: invocation.call_id.clone(),
                tool: invocation.tool.clone(),
                input: invocation.input.clone().into_object().into(),
                input_digest: Digest::of(br#"{"n":1}"#),
                effect,
                idempotency_key: invocation.idempotency_key.clone(),
                rule: Some(rule.into()),
                path: Vec::new(),
            })
            .collect();
        assert_eq!(intended, expected);
        assert!(
            invocations
                .iter()
                .all(|invocation| invocation.session == bench.session.id())
        );
        keys.extend(
            invocations
                .iter()
                .map(|invocation| invocation.idempotency_key.clone()),
        );
    }
    let distinct: std::collections::HashSet<&String> = keys.iter().collect();
    assert_eq!(distinct.len(), 4);
}

/// T14 through the whole loop: the model sees head and tail, and the blob has every byte.
#[tokio::test]
async fn long_result_is_spilled_to_a_blob() {
    let long = "z".repeat(3 * INLINE_TEXT_BYTES);
    let output = text(&long);
    let dump = tool("dump", Effect::ReadOnly, Approval::ByEffect)
        .body(move |_| std::future::ready(output.clone()));
    let mut bench = Bench::with(vec![calls(&[("a", "dump", "")])], vec![dump]);
    bench.say("go").await;
    let shown = bench.results_shown().await;
    let ToolResultOutput::Text(short) = &shown[0].1 else {
        panic!("text stays text");
    };
    let digest = Digest::of(long.as_bytes());
    assert!(short.len() < INLINE_TEXT_BYTES && short.contains("artifact `results/a`"));
    assert_eq!(bench.journal.blob(digest).await.unwrap(), long.as_bytes());
}

/// The journal has the integers as the tool gets them, beside the model's own text; a resumed
/// session runs the call with the same.
#[tokio::test]
async fn integers_are_recorded_as_the_tool_gets_them() {
    for written in ["{\"n\": 5.0}", "{\"n\": 5e0}", "{\"n\": \"5\"}"] {
        let mut bench = Bench::new(vec![calls(&[("a", "look", written)])]);
        assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
        let ran = bench.ran.invocations.lock().unwrap()[0].input.clone();
        let replied = bench.journal.durable().into_iter().find_map(|record| {
            let Event::ModelReplied { reply, .. } = record.event else {
                return None;
            };
            Some(reply.tool_calls[0].clone())
        });
        let recorded = replied.unwrap();
        assert_eq!(json!(ran.into_object()), json!({"n": 5}), "{written}");
        assert_eq!(json!(recorded.input), json!({"n": 5}), "{written}");
        assert_eq!(recorded.raw_arguments, written);
    }
}

#[tokio::test]
async fn number_that_lost_digits_is_an_error_to_the_model() {
    let mut bench = Bench::new(vec![calls(&[("a", "look", "{\"n\": 1e30}")])]);
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert!(bench.ran().is_empty());
    let results = json!(bench.results()).to_string();
    assert!(
        results.contains("`/n`: 1e+30 may have lost digits"),
        "{results}"
    );
}

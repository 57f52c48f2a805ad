//! Section T, ends of turns: outcomes with their summaries, calls that run outside, and results of
//! every kind.

use super::{
    components::{act, crash, gated_outside, late, look, outside, returning},
    endings::{KINDS, endings},
    script::{calls, nothing_left, says},
    world::*,
};
use agent_host_engine::spill::INLINE_TEXT_BYTES;
use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_test_guests::Body;
use agent_host_types::{
    continuation::{Awaiting, PendingCall},
    event::Event,
    id::{Digest, json_digest},
    model::{ModelReply, StopReason, Usage},
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{DecisionKind, Effect, ToolRuntime},
    turn::{SubmittedResult, TurnEnd, TurnError, TurnReport, TurnSummary},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::HashSet;

/// The summary of a turn that ended before its model call.
fn unasked(world: &World) -> TurnSummary {
    TurnSummary {
        turn: 0,
        total_turns: 0,
        turn_usage: Usage::default(),
        total_usage: Usage::default(),
        response_id: None,
        stop_reason: None,
        ..world.summary(StopReason::EndTurn, 0)
    }
}

/// A call of the tool `outside`, without approval.
fn pending(world: &World, call: &str, input: &Value) -> PendingCall {
    PendingCall {
        call_id: id(call),
        tool: "outside".into(),
        title: None,
        description: "Does outside.".into(),
        effect: Effect::Effectful,
        input_digest: json_digest(input),
        input: input.as_object().cloned().unwrap().into(),
        requested_input: None,
        executables: Vec::new(),
        identity: world.identity("outside"),
        sources: Vec::new(),
        rule: "approval.never".into(),
        decisions: DecisionKind::ALL.into(),
    }
}

#[tokio::test]
async fn t08_calls_that_run_outside_come_out_at_once() {
    let batch = [("a", "outside", r#"{"n": 1}"#), ("b", "outside", "")];
    let mut world = World::new(&[outside("outside")], vec![calls(&batch)]).await;
    let outcome = world.say("go").await;
    let external = TurnSummary {
        tool_runtime: ToolRuntime::External,
        ..world.summary(StopReason::ToolUse, 2)
    };
    assert_eq!(kind(&outcome), "pending-tool-calls");
    assert_eq!(outcome.summary, external);
    let calls = vec![
        pending(&world, "a", &json!({"n": 1})),
        pending(&world, "b", &json!({})),
    ];
    assert_eq!(waiting(outcome).awaiting, Awaiting::External { calls });
    assert_eq!(world.ran(), Vec::<String>::new());
    let kinds = [
        "session-started",
        "loop-configured",
        "input-received",
        "model-requested",
        "model-replied",
        "call-intended",
        "call-intended",
        "calls-dispatched",
        "turn-ended",
    ];
    assert_eq!(world.watcher.kinds(), kinds);
}

#[tokio::test]
async fn t08_edited_call_comes_out_with_both_inputs() {
    let replies = vec![calls(&[("a", "outside", r#"{"n": 1}"#)])];
    let mut world = World::new(&[gated_outside("outside")], replies).await;
    let continuation = waiting(world.say("go").await);
    let edited = json!({"n": 7});
    let outcome = world.decide(&continuation, &[edit("a", &edited)]).await;
    assert_eq!(kind(&outcome), "pending-tool-calls");
    let call = PendingCall {
        requested_input: json!({"n": 1}).as_object().cloned().map(Into::into),
        rule: "effect.effectful".into(),
        ..pending(&world, "a", &edited)
    };
    assert_eq!(waiting(outcome).calls(), [call]);
}

#[tokio::test]
async fn t11_trap_timeout_and_tool_error_are_results() {
    let broken = returning("broken", Body::Text(3, b"no such city"));
    let batch = [
        ("a", "crash", ""),
        ("b", "late", ""),
        ("c", "broken", ""),
        ("d", "look", ""),
    ];
    let components = [crash(), late(), broken, look()];
    let mut world = World::new(&components, vec![calls(&batch), says("ok")]).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(kind(&world.resume().await), "done");
    let trap = "The tool crashed: wasm trap: wasm `unreachable` instruction executed.";
    let timeout = "The tool did not end within 200 ms (limit `deadline-ms`) and was stopped; what it did until then may have taken effect. Try it with a smaller input.";
    let expected = pairs([
        ("a", failure("trap", trap)),
        ("b", failure("timeout", timeout)),
        ("c", ToolResultOutput::ErrorText("no such city".into())),
        ("d", value(json!({}))),
    ]);
    assert_eq!(world.shown(), expected);
}

/// Calls run and are stored only if the model stopped for them, or gave no stop reason.
#[tokio::test]
async fn t12_calls_beside_another_stop_reason_do_not_run() {
    use StopReason::{
        ContextWindow, EndTurn, MaxTokens, PauseTurn, Refusal, StopSequence, ToolUse,
    };
    let table = [
        (Some(EndTurn), "done", false),
        (Some(MaxTokens), "done", false),
        (Some(StopSequence), "done", false),
        (Some(ContextWindow), "done", false),
        (Some(Refusal), "refusal", false),
        (Some(PauseTurn), "needs-more-turns", false),
        (Some(ToolUse), "needs-more-turns", true),
        (None, "needs-more-turns", true),
    ];
    for (stop_reason, expected, runs) in table {
        let reply = ModelReply {
            stop_reason,
            text: "so".into(),
            ..calls(&[("a", "act", "")])
        };
        let mut world = World::new(&[act()], vec![reply.clone()]).await;
        let outcome = world.say("go").await;
        assert_eq!(kind(&outcome), expected, "{stop_reason:?}");
        let kept = ModelReply {
            tool_calls: if runs { reply.tool_calls } else { Vec::new() },
            ..calls(&[])
        };
        assert_eq!(
            world.session.state().messages()[1].tool_calls,
            kept.tool_calls
        );
        let replied = world.watcher.events().into_iter();
        let stored: Vec<_> = replied
            .filter_map(|event| match event {
                Event::ModelReplied { reply, .. } => Some(reply.tool_calls),
                _ => None,
            })
            .collect();
        assert_eq!(stored, [kept.tool_calls]);
        let made: &[&str] = if runs { &["a"] } else { &[] };
        assert_eq!(world.made(), made, "{stop_reason:?}");
    }
}

#[tokio::test]
async fn t13_turns_have_a_summary() {
    let endings = endings().await;
    let kinds: Vec<String> = endings.iter().map(|(_, outcome)| kind(outcome)).collect();
    assert_eq!(kinds, KINDS);
    for (world, outcome) in &endings {
        let called = || world.summary(StopReason::ToolUse, 1);
        let expected = match kind(outcome).as_str() {
            "needs-more-turns" | "awaiting-confirmation" | "awaiting-answer" => called(),
            "pending-tool-calls" => TurnSummary {
                tool_runtime: ToolRuntime::External,
                ..called()
            },
            "done" => world.summary(StopReason::EndTurn, 0),
            "refusal" => world.summary(StopReason::Refusal, 0),
            "budget-exceeded" => unasked(world),
            // The turn ends before it asks the model.
            "cancelled" => unasked(world),
            // The model was asked, and gave no reply.
            _ => TurnSummary {
                turn: 1,
                total_turns: 1,
                ..unasked(world)
            },
        };
        assert_eq!(outcome.summary, expected, "{}", kind(outcome));
    }
    let error = TurnError::Model {
        error: nothing_left(),
    };
    assert_eq!(endings[8].1.end, TurnEnd::Error { error });
}

/// Numbered lines, so that head and tail are recognizable.
fn long_text() -> String {
    (0..6_000).map(|line| format!("line {line:>6}\n")).collect()
}

#[tokio::test]
async fn t14_long_result_keeps_head_tail_and_all_bytes() {
    let long = long_text();
    let dump = returning("dump", Body::Text(0, long.as_bytes()));
    let replies = vec![calls(&[("a", "dump", "")]), says("ok")];
    let mut world = World::new(&[dump], replies).await;
    world.say("go").await;
    let mut world = world.restart().await;
    world.resume().await;
    let digest = Digest::of(long.as_bytes());
    // Three fifths of the size limit for the head, one for the tail, and one for the note.
    let (head, tail) = (INLINE_TEXT_BYTES / 5 * 3, INLINE_TEXT_BYTES / 5);
    let left_out = long.len() - head - tail;
    let short = format!(
        "{}\n\n[{left_out} of {} bytes are left out here; the whole result is the artifact `results/a`]\n\n{}",
        &long[..head],
        long.len(),
        &long[long.len() - tail..],
    );
    assert_eq!(world.shown(), pairs([("a", text(&short))]));
    assert!(short.len() < INLINE_TEXT_BYTES);
    let store = SqliteStore::open(world.state_dir(), SqliteOptions::default());
    let store = store.await.unwrap();
    assert_eq!(store.read_blob(digest).await.unwrap(), long.as_bytes());
}

/// Also after a restart: the session has the variant and every byte, the model a readable preview.
#[tokio::test]
async fn t14_long_json_stays_json() {
    let long = json!({"lines": long_text().lines().collect::<Vec<_>>()});
    for (form, expected) in [
        (1, ToolResultOutput::json(long.clone())),
        (4, ToolResultOutput::error_json(long.clone())),
    ] {
        let written = long.to_string();
        let dump = returning("dump", Body::Text(form, written.as_bytes()));
        let replies = vec![calls(&[("a", "dump", "")]), says("ok")];
        let mut world = World::new(&[dump], replies).await;
        world.say("go").await;
        let mut world = world.restart().await;
        let results = &world
            .session
            .state()
            .messages()
            .last()
            .unwrap()
            .tool_results;
        let [preview] = results.as_slice() else {
            panic!("{results:?}");
        };
        assert_eq!(preview.output.tag(), expected.tag());
        let whole = world.session.whole_result(preview.clone()).await.unwrap();
        assert_eq!((whole.output, whole.whole), (expected.clone(), None));
        world.resume().await;
        let [(_, shown)] = world.shown().try_into().unwrap();
        let (ToolResultOutput::Text(shown) | ToolResultOutput::ErrorText(shown)) = &shown else {
            panic!("{shown:?}");
        };
        assert!(shown.starts_with(&written[..INLINE_TEXT_BYTES / 5 * 3]));
    }
}

#[tokio::test]
async fn t15_already_cancelled_asks_no_model() {
    let mut world = World::new(&[look()], vec![says("hello")]).await;
    world.cancel.cancel();
    let cancelled = TurnReport {
        summary: unasked(&world),
        end: TurnEnd::Cancelled,
    };
    assert_eq!(world.say("go").await, cancelled);
    assert_eq!(world.script.asked(), Vec::new());
    // The message is kept, and a turn that is not cancelled answers it.
    let mut world = world.restart().await;
    assert_eq!(kind(&world.resume().await), "done");
}

/// Invalid results: each is refused before anything is recorded.
#[tokio::test]
async fn t16_submitted_result_must_match_the_union() {
    let mut world = World::new(&[outside("outside")], vec![calls(&[("a", "outside", "")])]).await;
    let continuation = waiting(world.say("go").await);
    let deep = (0..101).fold(json!(1), |inner, _| json!([inner]));
    let no_picture = ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data: FileData::Bytes(b"no picture".to_vec()),
        filename: None,
    });
    let blob = json!({"type": "blob", "value": {"digest": Digest::of(b""), "size": 0}});
    let content = |part: Value| json!({"type": "content", "value": [part]});
    let table = [
        (
            content(json!(no_picture)),
            "part 0 of the result is declared as `image/png`, but its bytes do not look like it",
        ),
        (
            content(json!({"type": "file", "media_type": "image/png", "data": blob})),
            "part 0 of the result refers to a stored blob, which only the host may do",
        ),
        (
            json!({"type": "json", "value": deep}),
            "the JSON of the result nests more than 100 levels deep",
        ),
    ];
    let events = world.watcher.events();
    let mut seen = HashSet::new();
    for (output, expected) in table {
        let results = json!([{"call_id": "a", "output": output}]);
        let message = refusal(world.submit(&continuation, &results).await);
        assert_eq!(message, format!("invalid result for call a: {expected}"));
        assert!(seen.insert(message));
    }
    let unknown = json!({"call_id": "a", "output": {"type": "words", "value": "x"}});
    let error = serde_json::from_value::<SubmittedResult>(unknown).unwrap_err();
    assert!(
        error.to_string().contains("unknown variant `words`"),
        "{error}"
    );
    assert_eq!(world.watcher.events(), events);
    // Text and JSON keep their kinds.
    let results = json!([{"call_id": "a", "value": {"type": "text", "value": "x"}}]);
    world.submit(&continuation, &results).await;
    let expected = value(json!({"type": "text", "value": "x"}));
    assert_eq!(world.results(), pairs([("a", expected)]));
}

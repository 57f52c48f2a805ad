//! Section M: the pipeline, shared state, and runs that end through a tool.

use super::{
    components::{crash, look, note, note_and_ask, note_and_crash, note_and_fail, send},
    endings::{KINDS, endings},
    script::{calls, says},
    world::*,
};
use agent_host_engine::turn::{UntilEnd, UntilTool};
use agent_host_types::{
    budget::Budget,
    event::Event,
    message::ToolResult,
    model::ModelReply,
    turn::{TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The end of a turn equals its last step's end and the journaled one, and no step follows.
#[tokio::test]
async fn m08_terminals_pass_through_unchanged() {
    let mut seen = Vec::new();
    for (world, outcome) in endings().await {
        seen.push(kind(&outcome));
        let ends = |line: &String| line.ends_with(": end");
        let path = world.watcher.path();
        let recorded = world.watcher.events().pop().unwrap();
        let Event::TurnEnded { outcome: kept } = recorded else {
            panic!("{recorded:?}");
        };
        let untimed = |outcome: &TurnReport| {
            let mut form = json!(outcome);
            if let Some(summary) = form.get_mut("summary") {
                summary["duration_ms"] = json!(0);
            }
            form
        };
        assert_eq!(untimed(&kept), json!(outcome));
        if let TurnEnd::Error { .. } = outcome.end {
            assert_eq!(path, ["check-budgets: call-model"]);
            continue;
        }
        assert_eq!(path.iter().filter(|line| ends(line)).count(), 1, "{path:?}");
        assert!(path.last().is_some_and(ends), "{path:?}");
        let mut form = json!(outcome);
        form.as_object_mut().unwrap().remove("summary");
        let (_, last) = world.watcher.steps().pop().unwrap();
        assert_eq!(
            json!(last.transition),
            json!({"action": "end", "end": form})
        );
    }
    assert_eq!(seen, KINDS);
}

fn notes(tool: &str, deltas: &[&str]) -> Vec<ModelReply> {
    let ids = ["a", "b", "c", "d"];
    let pair = |(id, delta): (&&str, &&str)| calls(&[(*id, tool, *delta)]);
    ids.iter().zip(deltas).map(pair).collect()
}

/// The shared state of the session after a restart.
async fn state(world: World) -> (World, Value) {
    let world = world.restart().await;
    let state = json!(**world.session.state().shared());
    (world, state)
}

#[tokio::test]
async fn m09_maps_merge_deeply_and_lists_replace() {
    let table: [(&[&str], Value); 4] = [
        (
            &[r#"{"a":{"x":1}}"#, r#"{"a":{"y":2}}"#],
            json!({"a": {"x": 1, "y": 2}}),
        ),
        (&[r#"{"l":[1,2]}"#, r#"{"l":[3]}"#], json!({"l": [3]})),
        (&[r#"{"l":[1,2]}"#, r#"{"l":[]}"#], json!({"l": []})),
        (&[r#"{"a":{"x":1}}"#, r#"{"a":7}"#], json!({"a": 7})),
    ];
    for (deltas, expected) in table {
        let mut replies = notes("note", deltas);
        replies.push(calls(&[("z", "note", "")]));
        let mut world = World::new(&[note()], replies).await;
        world.say("go").await;
        world.resume().await;
        let (mut world, got) = state(world).await;
        assert_eq!(got, expected);
        // The next call sees it.
        world.resume().await;
        assert_eq!(world.results(), pairs([("z", value(expected))]));
    }
}

#[tokio::test]
async fn m10_interrupted_call_merges_nothing() {
    for (component, expected) in [
        (note_and_crash(), "error-json"),
        (note_and_fail(), "error-text"),
    ] {
        let replies = notes(component.name, &[r#"{"n":1}"#]);
        let mut world = World::new(&[component], replies).await;
        assert_eq!(kind(&world.say("go").await), "needs-more-turns");
        assert_eq!(world.results()[0].1.tag(), expected);
        let (world, got) = state(world).await;
        assert_eq!(got, json!({}));
        assert_eq!(world.watcher.count("state-merged"), 0);
    }

    // A call that waits for an answer merges once, when it has its result.
    let replies = notes("note_and_ask", &[r#"{"n":1}"#]);
    let mut world = World::new(&[note_and_ask()], replies).await;
    let continuation = waiting(world.say("go").await);
    let (mut world, got) = state(world).await;
    assert_eq!(got, json!({}));
    world.answer(&continuation, "red").await;
    let (world, got) = state(world).await;
    assert_eq!(got, json!({"n": 1}));
    assert_eq!(world.watcher.count("state-merged"), 1);
}

fn until(world: &mut World, tools: &[&str], end: UntilEnd) {
    world.agent.settings.until_tool = Some(UntilTool {
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        end,
    });
}

/// The result with which a run ended.
fn ended(outcome: TurnReport) -> ToolResult {
    match outcome.end {
        TurnEnd::Done {
            result: Some(result),
            ..
        } => result,
        other => panic!("it did not end through a tool: {other:?}"),
    }
}

#[tokio::test]
async fn m11_failed_target_does_not_end_the_run() {
    let replies = vec![
        calls(&[("a", "crash", "")]),
        calls(&[("b", "look", r#"{"n": "two"}"#)]),
        calls(&[("c", "look", r#"{"n": 3}"#)]),
    ];
    let mut world = World::new(&[crash(), look()], replies.clone()).await;
    until(&mut world, &["crash", "look"], UntilEnd::FirstSuccess);
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(kind(&world.resume().await), "needs-more-turns");
    let expected = ToolResult {
        call_id: id("c"),
        name: "look".into(),
        output: value(json!({"n": 3})),
        whole: None,
    };
    assert_eq!(ended(world.resume().await), expected);
    // With `any`, the first call ends it, whatever its result.
    let mut world = World::new(&[crash(), look()], replies).await;
    until(&mut world, &["crash", "look"], UntilEnd::AnyCall);
    let first = ended(world.say("go").await);
    assert_eq!((first.call_id, first.output.is_error()), (id("a"), true));
}

#[tokio::test]
async fn m12_model_stop_without_target_is_an_error() {
    let replies = vec![calls(&[("a", "look", "")]), says("that is all")];
    let mut world = World::new(&[look(), send()], replies).await;
    until(&mut world, &["send"], UntilEnd::FirstSuccess);
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    let error = TurnError::UntilToolNotCalled {
        tools: vec!["send".into()],
    };
    let told = "until-tool-not-called: the model stopped without `send`; send another message, or run without `until-tool`";
    assert_eq!(error.to_string(), told);
    assert_eq!(world.resume().await.end, TurnEnd::Error { error });
}

/// N model calls, of which the last may be the answer.
#[tokio::test]
async fn m13_max_turns_allows_that_many_useful_calls() {
    let replies = || {
        vec![
            calls(&[("a", "look", "")]),
            calls(&[("b", "look", "")]),
            says("ok"),
        ]
    };
    for (turns, asked, expected) in [(3, 3, "done"), (2, 2, "budget-exceeded")] {
        let mut world = World::new(&[look()], replies()).await;
        world.agent.settings.budgets.turns = turns;
        let mut outcome = world.say("go").await;
        while outcome.end == TurnEnd::NeedsMoreTurns {
            outcome = world.resume().await;
        }
        assert_eq!(kind(&outcome), expected);
        assert_eq!(world.script.asked().len(), asked);
        if let TurnEnd::BudgetExceeded { budget, .. } = outcome.end {
            assert_eq!(budget, Budget::Turns { limit: turns });
        }
    }
}

#[tokio::test]
async fn m16_approved_target_ends_the_run() {
    let mut world = World::new(&[send()], vec![calls(&[("a", "send", r#"{"n": 1}"#)])]).await;
    until(&mut world, &["send"], UntilEnd::FirstSuccess);
    let continuation = waiting(world.say("go").await);
    let mut world = world.restart().await;
    let expected = ToolResult {
        call_id: id("a"),
        name: "send".into(),
        output: value(json!({"n": 1})),
        whole: None,
    };
    let outcome = world.decide(&continuation, &[approve("a")]).await;
    assert_eq!(ended(outcome), expected);
    assert_eq!(world.made(), ["a"]);
}

#[tokio::test]
async fn m17_unknown_target_is_refused_at_start() {
    let mut world = World::new(&[look()], vec![says("never")]).await;
    until(&mut world, &["look", "lok"], UntilEnd::FirstSuccess);
    let message = "the run is to end through `lok`, and there is no such tool; correct `until-tool`, or add the tool";
    assert_eq!(refusal(world.say("go").await), message);
    assert_eq!(world.script.asked(), Vec::new());
    assert_eq!(world.watcher.kinds(), Vec::<String>::new());
}

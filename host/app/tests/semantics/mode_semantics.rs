//! Section M: the pipeline, shared state, and runs that end through a tool.

use super::{
    components::{crash, look, note, note_and_ask, note_and_crash, note_and_fail, send, slow_note},
    endings::{KINDS, agent_waits, endings},
    script::{calls, says},
    world::*,
};
use agent_host_engine::turn::{Transition, UntilEnd, UntilTool};
use agent_host_types::{
    budget::Budget,
    continuation::Awaiting,
    event::Event,
    message::{Role, ToolResult},
    model::ModelReply,
    turn::{TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The path of a turn to each end, in the order of the outcomes: it ends where the end arose. A
/// failure of a step is no end of its own.
const PATHS: [&[&str]; 9] = [
    &[BUDGETS, MODEL, APPROVAL, "execute-tools: end"],
    &[BUDGETS, "call-model: end"],
    &["check-budgets: end"],
    &[BUDGETS, MODEL, "check-approval: end"],
    &[BUDGETS, MODEL, APPROVAL, "execute-tools: end"],
    &[BUDGETS, MODEL, APPROVAL, "execute-tools: end"],
    &[BUDGETS, "call-model: end"],
    &[BUDGETS, "call-model: end"],
    &[BUDGETS],
];
const BUDGETS: &str = "check-budgets: call-model";
const MODEL: &str = "call-model: check-approval";
const APPROVAL: &str = "check-approval: execute-tools";

/// Asserts that a turn took this path, and that the end of its last step is the end that the caller
/// and the journal have.
fn ended_by(world: &World, outcome: &TurnReport, path: &[&str]) {
    assert_eq!(world.watcher.path(), path, "{}", kind(outcome));
    let recorded = world.watcher.events().pop().unwrap();
    let Event::TurnEnded {
        outcome: mut kept, ..
    } = recorded
    else {
        panic!("{recorded:?}");
    };
    kept.summary.duration_ms = 0;
    assert_eq!((&kept, json!(kept)), (outcome, json!(outcome)));
    let (_, last) = world.watcher.steps().pop().unwrap();
    let end = Box::new(outcome.end.clone());
    match outcome.end {
        TurnEnd::Error { .. } => {}
        _ => assert_eq!(last.transition, Transition::End { end }),
    }
}

#[tokio::test]
async fn m08_terminals_pass_through_unchanged() {
    let mut seen = Vec::new();
    for ((world, outcome), path) in endings().await.into_iter().zip(PATHS) {
        seen.push(kind(&outcome));
        ended_by(&world, &outcome, path);
        let (TurnEnd::AwaitingConfirmation { .. }
        | TurnEnd::AwaitingAnswer { .. }
        | TurnEnd::PendingToolCalls { .. }) = outcome.end
        else {
            continue;
        };
        // Another process offers the same end, by no step at all.
        let mut world = world.restart().await;
        assert_eq!(world.resume().await, outcome);
        assert_eq!(world.watcher.path(), path);
    }
    assert_eq!(seen, KINDS);
}

/// The end of an agent, inside the end of the one that started it.
#[tokio::test]
async fn m08_terminal_of_an_agent_passes_through_unchanged() {
    let (world, outcome) = agent_waits().await;
    assert_eq!(kind(&outcome), "awaiting-children");
    let continuation = waiting(outcome.clone());
    let Awaiting::Children { children } = &continuation.awaiting else {
        panic!("{continuation:?}");
    };
    let [child] = children.as_slice() else {
        panic!("{children:?}");
    };
    let inside = TurnEnd::AwaitingConfirmation {
        continuation: child.continuation.clone(),
    };
    let Some(Event::TurnEnded { outcome: ended, .. }) =
        world.journal(child.continuation.session).await.pop()
    else {
        panic!("the agent's turn did not end");
    };
    assert_eq!(ended.end, inside);
    let path = [BUDGETS, MODEL, APPROVAL, "execute-tools: end"];
    ended_by(&world, &outcome, &path);
    let mut world = world.restart().await;
    assert_eq!(world.resume().await.end, outcome.end);
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

/// The changes that the journal has, by their calls.
fn merged(world: &World) -> Vec<(String, Value)> {
    let events = world.watcher.events().into_iter();
    let merged = events.filter_map(|event| match event {
        Event::StateMerged { call_id, delta, .. } => Some((call_id.0, json!(delta))),
        _ => None,
    });
    merged.collect()
}

#[tokio::test]
async fn m09_maps_merge_deeply_and_lists_replace() {
    let table: [([&str; 2], Value); 11] = [
        (
            [r#"{"a":{"x":1}}"#, r#"{"a":{"y":2}}"#],
            json!({"a": {"x": 1, "y": 2}}),
        ),
        (
            [r#"{"a":{"x":1}}"#, r#"{"a":{"x":2}}"#],
            json!({"a": {"x": 2}}),
        ),
        (
            [
                r#"{"a":{"b":{"c":{"x":1}},"k":0}}"#,
                r#"{"a":{"b":{"c":{"y":[]}}}}"#,
            ],
            json!({"a": {"b": {"c": {"x": 1, "y": []}}, "k": 0}}),
        ),
        ([r#"{"l":[1,2]}"#, r#"{"l":[3]}"#], json!({"l": [3]})),
        ([r#"{"l":[1,2]}"#, r#"{"l":[]}"#], json!({"l": []})),
        (
            [r#"{"a":{"l":[1]}}"#, r#"{"a":{"l":[]}}"#],
            json!({"a": {"l": []}}),
        ),
        // The maps of a list are part of the list.
        (
            [r#"{"l":[{"x":1}]}"#, r#"{"l":[{"y":2}]}"#],
            json!({"l": [{"y": 2}]}),
        ),
        // An empty map changes nothing, and `null` is a value.
        ([r#"{"a":{"x":1}}"#, r#"{"a":{}}"#], json!({"a": {"x": 1}})),
        ([r#"{"a":{"x":1}}"#, r#"{"a":null}"#], json!({"a": null})),
        ([r#"{"a":{"x":1}}"#, r#"{"a":7}"#], json!({"a": 7})),
        ([r#"{"a":7}"#, r#"{"a":{"x":1}}"#], json!({"a": {"x": 1}})),
    ];
    for (deltas, expected) in table {
        let mut replies = notes("note", &deltas);
        replies.push(calls(&[("z", "note", "")]));
        let mut world = World::new(&[note()], replies).await;
        world.say("go").await;
        let first: Value = serde_json::from_str(deltas[0]).unwrap();
        assert_eq!(json!(**world.session.state().shared()), first);
        world.resume().await;
        let (mut world, got) = state(world).await;
        assert_eq!(got, expected);
        // The journal has the changes as the calls made them.
        let changes = deltas.map(|delta| serde_json::from_str::<Value>(delta).unwrap());
        let [one, other] = changes;
        assert_eq!(
            merged(&world),
            [("a".to_owned(), one), ("b".to_owned(), other)]
        );
        // The next call sees the merged state.
        world.resume().await;
        assert_eq!(world.results(), pairs([("z", value(expected))]));
    }
}

/// Of calls that run at the same time, that of the later call wins, though it ends first. Both see
/// the state of before, and their messages are appended in the order of the calls.
#[tokio::test]
async fn m09_changes_of_a_batch_merge_in_the_order_of_calls() {
    let (one, other) = (r#"{"l":[1],"m":{"x":1}}"#, r#"{"l":[],"m":{"y":2}}"#);
    let batch = calls(&[("a", "slow_note", one), ("b", "note", other)]);
    let components = [slow_note(), note()];
    let mut world = World::new(&components, vec![batch.clone(), says("ok")]).await;
    world.say("go").await;
    assert_eq!(world.watcher.ended(), ["b", "a"]);
    let (mut world, got) = state(world).await;
    assert_eq!(got, json!({"l": [], "m": {"x": 1, "y": 2}}));
    let changes = [("a", one), ("b", other)]
        .map(|(id, delta)| (id.to_owned(), serde_json::from_str::<Value>(delta).unwrap()));
    assert_eq!(merged(&world), changes);
    assert_eq!(kind(&world.resume().await), "done");
    let expected = pairs([("a", value(changes[0].1.clone())), ("b", value(json!({})))]);
    assert_eq!(world.results_at(2), expected);
    let messages = world.session.state().messages();
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::ToolResult,
            Role::Assistant
        ]
    );
    assert_eq!(messages[1], batch.to_message());
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
    let message = "the run should end through `lok`, which does not exist; correct `until-tool`, or add the tool";
    assert_eq!(refusal(world.say("go").await), message);
    assert_eq!(world.script.asked(), Vec::new());
    assert_eq!(world.watcher.kinds(), Vec::<String>::new());
}

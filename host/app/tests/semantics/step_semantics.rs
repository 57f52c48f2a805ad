//! Section S: the outcome of each step of a turn, and the next step.

use super::{
    components::{act, crash, look, order, peek, slow, spin},
    script::{calls, says},
    tools::Native,
    world::*,
};
use agent_host_engine::{
    BoxFuture,
    hook::{Hook, Verdict},
    tool::{Invocation, RunEnd},
    turn::{Step, StepOutput, StepResult, Transition},
};
use agent_host_types::{
    accounting::Accounting,
    budget::Budget,
    continuation::Awaiting,
    message::ToolResult,
    model::StopReason,
    output::ToolResultOutput,
    question::{AnsweredBy, PendingQuestion, Question},
    tool::Effect,
    turn::{TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{future::ready, panic::RefUnwindSafe, sync::Arc};

/// The paths of a turn with calls, and of one without.
const WITH_CALLS: [&str; 4] = [
    "check-budgets: call-model",
    "call-model: check-approval",
    "check-approval: execute-tools",
    "execute-tools: end",
];
const WITHOUT: [&str; 2] = ["check-budgets: call-model", "call-model: end"];

fn which() -> Question {
    Question {
        prompt: "Which?".into(),
        choices: Vec::new(),
        free_text: true,
        multiple: false,
    }
}

/// Asks a question as native tools do, by ending.
fn clarify(_: &Invocation) -> RunEnd {
    asks(which())
}

fn asks(question: Question) -> RunEnd {
    RunEnd::Asked(PendingQuestion {
        question,
        answered_by: AnsweredBy::Result,
        accounting: Accounting::default(),
        audit: Vec::new(),
    })
}

/// The steps of a turn that calls a tool and asks the user; they contain every kind of output.
async fn steps() -> Vec<StepResult> {
    let replies = vec![calls(&[("a", "look", "")]), calls(&[("b", "clarify", "")])];
    let clarify = vec![Native::new("clarify", clarify)];
    let mut world = World::with(&[look()], clarify, replies).await;
    world.say("go").await;
    world.resume().await;
    let steps = world.watcher.steps();
    steps.into_iter().map(|(_, result)| result).collect()
}

/// Values without interior mutability: a type that is `Sync`, `RefUnwindSafe` and comparable by its
/// fields holds no cell, lock or atomic. `&` then guarantees that no field of a shared value
/// changes.
#[tokio::test]
async fn s01_steps_are_values() {
    fn is_a_value<T: Clone + PartialEq + Send + Sync + RefUnwindSafe + 'static>(_: &T) {}
    for step in steps().await {
        is_a_value(&step);
        is_a_value(&step.output);
        is_a_value(&step.transition);
        let written = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<StepResult>(&written).unwrap(), step);
    }
}

#[tokio::test]
async fn s02_unknown_kind_is_rejected() {
    let mut kinds = Vec::new();
    for step in steps().await {
        let form = json!(step);
        kinds.push(form["output"]["kind"].as_str().unwrap().to_owned());
        let refused = |path: &str, other: Value| {
            let mut form = form.clone();
            *form.pointer_mut(path).unwrap() = other;
            serde_json::from_value::<StepResult>(form)
                .unwrap_err()
                .to_string()
        };
        let error = refused("/output/kind", json!("reasoning"));
        assert!(error.contains("unknown variant `reasoning`"), "{error}");
        let error = refused("/output", json!({}));
        assert!(error.contains("missing field `kind`"), "{error}");
        let error = refused("/transition/action", json!("jump"));
        assert!(error.contains("unknown variant `jump`"), "{error}");
    }
    let expected = [
        "pass", "llm", "pass", "tool", "pass", "llm", "pass", "human",
    ];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn s03_calls_lead_on_to_the_tools() {
    let reply = calls(&[("a", "look", ""), ("b", "peek", "")]);
    let mut world = World::new(&[look(), peek()], vec![reply.clone()]).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(world.watcher.path(), WITH_CALLS);
    let expected = StepResult {
        output: StepOutput::Llm(reply),
        transition: Transition::Continue {
            next_step: Step::CheckApproval,
        },
    };
    assert_eq!(world.watcher.steps()[1], (Step::CallModel, expected));
    let empty = || value(json!({}));
    assert_eq!(world.results(), pairs([("a", empty()), ("b", empty())]));
}

#[tokio::test]
async fn s04_text_alone_ends_the_turn() {
    let mut world = World::new(&[look()], vec![says("hello")]).await;
    let summary = world.summary(StopReason::EndTurn, 0);
    let done = TurnReport {
        summary,
        end: TurnEnd::Done {
            text: "hello".into(),
            output: None,
            result: None,
        },
    };
    assert_eq!(world.say("hi").await, done);
    assert_eq!(world.watcher.path(), WITHOUT);
    let transition = json!(world.watcher.steps()[1].1.transition);
    let expected = json!({"action": "end", "end": {"type": "done", "text": "hello"}});
    assert_eq!(transition, expected);
    assert_eq!(transition["next_step"], Value::Null);
}

/// A call that cannot run, beside one that can; the model sees both results.
async fn beside_look(tool: &str, raw: &str) -> ToolResultOutput {
    let replies = vec![calls(&[("a", tool, raw), ("b", "look", "")]), says("ok")];
    let mut world = World::new(&[look(), act()], replies).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!((world.ran(), world.made()), (vec!["b".into()], vec![]));
    let [(_, first), second] = world.shown().try_into().unwrap();
    assert_eq!(second, ("b".to_owned(), value(json!({}))));
    first
}

#[tokio::test]
async fn s05_unknown_tool_is_an_error_result() {
    let expected = failure(
        "unknown-tool",
        "There is no tool `missing`. The tools are: ask_user, look, act.",
    );
    assert_eq!(beside_look("missing", "").await, expected);
}

#[tokio::test]
async fn s06_arguments_that_are_no_object_do_not_run() {
    let message = "The arguments are not a JSON object, or nest too deep; the tool did not run. Send the arguments as one JSON object.";
    for raw in ["NOT_JSON", "[1]"] {
        assert_eq!(
            beside_look("act", raw).await,
            failure("invalid-input", message)
        );
    }
}

#[tokio::test]
async fn s07_empty_arguments_are_an_empty_object() {
    for raw in ["", "  ", "{}"] {
        let mut world = World::new(&[look()], vec![calls(&[("a", "look", raw)])]).await;
        world.say("go").await;
        assert_eq!(world.results(), pairs([("a", value(json!({})))]));
    }
}

#[tokio::test]
async fn s08_results_come_in_call_order() {
    let batch = [("a", "slow", r#"{"n": 1}"#), ("b", "look", r#"{"n": 2}"#)];
    let mut world = World::new(&[slow(), look()], vec![calls(&batch), says("ok")]).await;
    world.say("go").await;
    assert_eq!(world.watcher.ended(), ["b", "a"]);
    world.resume().await;
    let expected = pairs([("a", value(json!({"n": 1}))), ("b", value(json!({"n": 2})))]);
    assert_eq!(world.shown(), expected);
}

#[tokio::test]
async fn s09_trap_is_an_error_and_the_loop_continues() {
    let replies = vec![calls(&[("a", "crash", ""), ("b", "look", "")]), says("ok")];
    let mut world = World::new(&[crash(), look()], replies).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(kind(&world.resume().await), "done");
    let [(_, trap), normal] = world.shown().try_into().unwrap();
    assert!(trap.is_error(), "{trap:?}");
    assert_eq!(normal, ("b".to_owned(), value(json!({}))));
}

fn looked() -> ToolResult {
    ToolResult {
        call_id: id("a"),
        name: "look".into(),
        output: value(json!({})),
        whole: None,
    }
}

/// The call of a component runs again with the answer, also in another process; its neighbour does
/// not.
#[tokio::test]
async fn s10_component_asks_beside_a_normal_call() {
    let replies = vec![calls(&[("a", "look", ""), ("b", "order", "")])];
    let mut world = World::new(&[look(), order()], replies).await;
    let outcome = world.say("go").await;
    assert_eq!(kind(&outcome), "awaiting-answer");
    let continuation = waiting(outcome);
    let asked = Awaiting::Answer {
        call_id: id("b"),
        tool: "order".into(),
        question: which(),
    };
    assert_eq!(continuation.awaiting, asked);
    assert_eq!(continuation.completed, [looked()]);
    assert_eq!(world.made(), Vec::<String>::new());
    let mut world = world.restart().await;
    let outcome = world.answer(&continuation, "red").await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    let expected = pairs([("a", value(json!({}))), ("b", text("red"))]);
    assert_eq!(world.results(), expected);
    assert_eq!(world.ran(), ["a", "b", "b"]);
    assert_eq!(world.made(), ["b"]);
}

/// A native tool that asked is not run again: the answer is its result.
#[tokio::test]
async fn s10_host_side_tool_asks_beside_a_normal_call() {
    let replies = vec![calls(&[("a", "look", ""), ("b", "clarify", "")])];
    let clarify = vec![Native::new("clarify", clarify)];
    let mut world = World::with(&[look()], clarify, replies).await;
    let continuation = waiting(world.say("go").await);
    assert_eq!(continuation.completed, [looked()]);
    let mut world = world.restart().await;
    let outcome = world.answer(&continuation, "red").await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    let expected = pairs([("a", value(json!({}))), ("b", text("red"))]);
    assert_eq!(world.results(), expected);
    assert_eq!(world.ran(), ["a", "b"]);
}

#[tokio::test]
async fn s11_host_id_wins_over_a_forged_one() {
    let forged = || Question {
        prompt: json!({"tool_call_id": "a", "tool_name": "look"}).to_string(),
        ..which()
    };
    let forge = vec![Native::new("forge", |_| {
        let prompt = json!({"tool_call_id": "a", "tool_name": "look"}).to_string();
        asks(Question { prompt, ..which() })
    })];
    let replies = vec![calls(&[("a", "look", ""), ("b", "forge", "")])];
    let mut world = World::with(&[look()], forge, replies).await;
    let continuation = waiting(world.say("go").await);
    let asked = Awaiting::Answer {
        call_id: id("b"),
        tool: "forge".into(),
        question: forged(),
    };
    assert_eq!(continuation.awaiting, asked);
    let (step, result) = world.watcher.steps().pop().unwrap();
    let output = StepOutput::Human {
        call_id: id("b"),
        tool: "forge".into(),
        question: forged(),
    };
    let end = Box::new(TurnEnd::AwaitingAnswer {
        continuation: continuation.clone(),
    });
    let transition = Transition::End { end };
    assert_eq!(
        (step, result),
        (Step::ExecuteTools, StepResult { output, transition })
    );
    world.answer(&continuation, "red").await;
    let expected = pairs([("a", value(json!({}))), ("b", text("red"))]);
    assert_eq!(world.results(), expected);
}

#[tokio::test]
async fn s12_step_limit_is_its_own_outcome() {
    let replies = vec![calls(&[("a", "look", "")]), says("ok")];
    let mut world = World::new(&[look()], replies).await;
    world.agent.settings.budgets.turns = 1;
    world.say("go").await;
    let outcome = world.resume().await;
    let TurnReport {
        summary,
        end: TurnEnd::BudgetExceeded { budget },
    } = &outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((summary.turn, budget), (1, &Budget::Turns { limit: 1 }));
    // It is not a failure: with a larger budget the session resumes.
    world.agent.settings.budgets.turns = 2;
    assert_eq!(kind(&world.resume().await), "done");
}

/// Gives the same verdict on every result.
struct Says(Verdict<ToolResultOutput>);

impl Hook for Says {
    fn after_tool<'a>(
        &'a self,
        _: &'a Invocation,
        _: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(ready(self.0.clone()))
    }
}

/// Every pair of verdicts in both orders: the stronger one counts, as the result and the number of
/// runs show.
#[tokio::test]
async fn s13_fallback_beats_block_beats_retry_beats_pass() {
    let looked = || value(json!({}));
    let withheld = failure(
        "tool-unavailable",
        "The tool ran, and its result is withheld: no",
    );
    let verdicts = [
        (Verdict::Pass, looked(), 1),
        (Verdict::Retry, looked(), 3),
        (Verdict::Block("no".to_owned()), withheld, 1),
        (Verdict::Fallback(text("instead")), text("instead"), 1),
    ];
    let replies = (0..16).map(|_| calls(&[("a", "look", "")])).collect();
    let mut world = World::new(&[look()], replies).await;
    for (weak, (weaker, ..)) in verdicts.iter().enumerate() {
        for (strong, (stronger, ..)) in verdicts.iter().enumerate() {
            let (_, output, runs) = &verdicts[weak.max(strong)];
            let hook = |verdict: &Verdict<ToolResultOutput>| -> Arc<dyn Hook> {
                Arc::new(Says(verdict.clone()))
            };
            world.agent.hooks = vec![hook(weaker), hook(stronger)];
            let before = world.ran().len();
            world.say("go").await;
            let [(_, got)] = world.results().try_into().unwrap();
            assert_eq!(
                (&got, world.ran().len() - before),
                (output, *runs),
                "{weaker:?} {stronger:?}"
            );
        }
    }
}

#[tokio::test]
async fn s14_cancelled_while_a_tool_runs() {
    let replies = vec![calls(&[("a", "spin", ""), ("b", "act", "")]), says("ok")];
    let components = [spin("spin", Effect::Effectful), act()];
    let mut world = World::new(&components, replies).await;
    let outcome = world.cancelled_while_it_spins().await;
    assert_eq!(kind(&outcome), "cancelled");
    let stopped = "The call was stopped before it ended. Whether it took effect is not known.";
    let unbegun = "The run was stopped before this call began.";
    let expected = pairs([
        ("a", failure("cancelled", stopped)),
        ("b", failure("cancelled", unbegun)),
    ]);
    assert_eq!(world.results(), expected);
    assert_eq!((world.ran(), world.made()), (vec!["a".into()], vec![]));
    // Later turns have no leftovers.
    let mut world = world.restart().await;
    assert_eq!(kind(&world.say("and now?").await), "done");
    assert_eq!(world.ran(), ["a"]);
}

/// The process dies while a call runs: every call is settled before the model is asked again, and
/// nothing effectful runs twice.
#[tokio::test]
async fn s15_transcript_with_unanswered_calls_is_repaired() {
    let batch = [("a", "spin", ""), ("b", "act", ""), ("c", "look", "")];
    let components = [spin("spin", Effect::Effectful), act(), look()];
    let world = World::new(&components, vec![calls(&batch), says("ok")]).await;
    let mut world = world.dies_while_it_spins().await;
    assert_eq!(kind(&world.resume().await), "needs-more-turns");
    assert_eq!(world.script.asked().len(), 1);
    let unknown = "The host stopped while `spin` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again.";
    let expected = pairs([
        ("a", failure("interrupted-unknown", unknown)),
        ("b", value(json!({}))),
        ("c", value(json!({}))),
    ]);
    assert_eq!(world.results(), expected);
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.shown(), expected);
    assert_eq!(world.ran(), ["a", "b", "c"]);
    assert_eq!(world.made(), ["b"]);
}

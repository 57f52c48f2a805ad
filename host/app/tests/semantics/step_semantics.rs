//! Section S: the outcome of each step of a turn, and the next step.

use super::{
    components::{act, crash, look, peek, slow, spin},
    question_semantics::clarify,
    script::{calls, says},
    tools::Native,
    world::*,
};
use agent_host_engine::{
    BoxFuture,
    hook::{Hook, Verdict},
    tool::Invocation,
    turn::{Step, StepOutput, StepResult, Transition},
};
use agent_host_types::{
    budget::Budget,
    message::{Message, Role, ToolResult},
    model::StopReason,
    output::ToolResultOutput,
    tool::Effect,
    turn::{TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{future::ready, panic::RefUnwindSafe, sync::Arc};

/// The path of a turn without calls.
const WITHOUT: [&str; 2] = ["check-budgets: call-model", "call-model: end"];

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

/// The source of every type that a step consists of.
const SOURCES: [&str; 12] = [
    include_str!("../../../core/engine/src/turn/step.rs"),
    include_str!("../../../core/types/src/approval.rs"),
    include_str!("../../../core/types/src/budget.rs"),
    include_str!("../../../core/types/src/continuation.rs"),
    include_str!("../../../core/types/src/id.rs"),
    include_str!("../../../core/types/src/json/text.rs"),
    include_str!("../../../core/types/src/message.rs"),
    include_str!("../../../core/types/src/model.rs"),
    include_str!("../../../core/types/src/output.rs"),
    include_str!("../../../core/types/src/question.rs"),
    include_str!("../../../core/types/src/tool.rs"),
    include_str!("../../../core/types/src/turn.rs"),
];

/// The types have no public method that changes a value, and nothing that changes behind `&`; the
/// latter also holds for the types of other crates in them, as far as the compiler tells.
#[tokio::test]
async fn s01_steps_have_no_setter_and_no_cell() {
    fn is_a_value<T: Clone + PartialEq + Send + Sync + RefUnwindSafe + 'static>() {}
    is_a_value::<StepResult>();
    is_a_value::<StepOutput>();
    is_a_value::<Transition>();
    let cells = ["Cell", "Mutex", "RwLock", "Atomic", "OnceLock", "LazyLock"];
    let changes = |line: &&str| {
        line.contains("pub") && line.contains("&mut self")
            || cells.iter().any(|cell| line.contains(cell))
    };
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let lines = SOURCES.iter().flat_map(|source| source.lines());
    assert_eq!(
        lines.filter(code).filter(changes).collect::<Vec<_>>(),
        [""; 0]
    );
}

/// A step that an observer keeps stays as it is while the session continues, and a copy that
/// the observer changes changes nothing else.
#[tokio::test]
async fn s01_kept_steps_never_change() {
    let replies = vec![
        calls(&[("a", "look", r#"{"n": 1}"#)]),
        calls(&[("b", "clarify", "")]),
        says("ok"),
    ];
    let native = vec![Native::new("clarify", clarify)];
    let mut world = World::with(&[look()], native, replies).await;
    world.say("go").await;
    let kept = world.watcher.steps();
    let text = json!(kept).to_string();
    let looked = world.results();

    let mut copy = kept.clone();
    for (_, step) in &mut copy {
        match &mut step.output {
            StepOutput::Pass | StepOutput::Human { .. } | StepOutput::Program { .. } => {}
            StepOutput::Llm(reply) => reply.tool_calls.clear(),
            StepOutput::Tool { results } => results[0].output = value(json!({"n": 2})),
        }
        step.transition = Transition::Continue {
            next_step: Step::CallModel,
        };
    }
    assert_eq!(json!(kept).to_string(), text);
    assert_eq!(
        (world.results(), world.watcher.steps()),
        (looked.clone(), kept.clone())
    );

    let continuation = waiting(world.resume().await);
    world.answer(&continuation, "red").await;
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!(world.watcher.steps()[..kept.len()], kept);
    assert_eq!(json!(kept).to_string(), text);
    assert_eq!(
        serde_json::from_str::<Vec<(Step, StepResult)>>(&text).unwrap(),
        kept
    );
    // The model was shown what the step had, not what the copy has.
    let asked = world.script.asked().pop().unwrap();
    let shown = &asked.messages[2].tool_results[0];
    assert_eq!((shown.call_id.0.clone(), shown.output.clone()), looked[0]);
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

/// Absent fields have the defaults of the reference system.
#[test]
fn s02_absent_fields_have_their_defaults() {
    let read = |form: Value| serde_json::from_value::<StepResult>(form).unwrap();
    let first = Transition::Continue {
        next_step: Step::CheckBudgets,
    };
    let tool = StepOutput::Tool {
        results: Vec::new(),
    };
    let question = json!({ "prompt": "Which?", "choices": [], "free_text": true });
    let human = StepOutput::Human {
        call_id: id(""),
        tool: String::new(),
        question: serde_json::from_value(question.clone()).unwrap(),
    };
    let cases = [
        (json!({ "output": { "kind": "tool" } }), tool, first.clone()),
        (
            json!({ "output": { "kind": "human", "question": question }, "transition": { "action": "continue" } }),
            human,
            first,
        ),
    ];
    for (form, output, transition) in cases {
        assert_eq!(read(form), StepResult { output, transition });
    }
}

/// Every step of the turn, as a value and in JSON; the next turn shows both results to the model.
#[tokio::test]
async fn s03_calls_lead_on_to_the_tools() {
    let reply = calls(&[("a", "look", r#"{"n": 1}"#), ("b", "peek", "")]);
    let mut world = World::new(&[look(), peek()], vec![reply.clone(), says("ok")]).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    let result = |call: &str, tool: &str, output: Value| ToolResult {
        call_id: id(call),
        name: tool.into(),
        output: value(output),
        whole: None,
    };
    let results = vec![
        result("a", "look", json!({"n": 1})),
        result("b", "peek", json!({})),
    ];
    let to = |next_step| Transition::Continue { next_step };
    let end = Transition::End {
        end: Box::new(TurnEnd::NeedsMoreTurns),
    };
    let step = |step, output, transition| (step, StepResult { output, transition });
    let expected = [
        step(Step::CheckBudgets, StepOutput::Pass, to(Step::CallModel)),
        step(
            Step::CallModel,
            StepOutput::Llm(reply.clone()),
            to(Step::CheckApproval),
        ),
        step(
            Step::CheckApproval,
            StepOutput::Pass,
            to(Step::ExecuteTools),
        ),
        step(
            Step::ExecuteTools,
            StepOutput::Tool {
                results: results.clone(),
            },
            end,
        ),
    ];
    assert_eq!(world.watcher.steps(), expected);
    let transitions = expected.map(|(_, step)| json!(step.transition));
    let to = |next: &str| json!({"action": "continue", "next_step": next});
    let end = json!({"action": "end", "end": {"type": "needs-more-turns"}});
    let expected = [
        to("call-model"),
        to("check-approval"),
        to("execute-tools"),
        end,
    ];
    assert_eq!(transitions, expected);
    assert_eq!(world.ran(), ["a", "b"]);
    assert_eq!(kind(&world.resume().await), "done");
    let asked = world.script.asked();
    assert_eq!(asked[0].messages, [Message::text(Role::User, "go")]);
    let expected = [
        Message::text(Role::User, "go"),
        reply.to_message(),
        Message::results(results),
    ];
    assert_eq!(asked[1].messages, expected);
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
        (Verdict::Retry(None), looked(), 3),
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

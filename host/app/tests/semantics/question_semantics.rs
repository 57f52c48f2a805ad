//! Section S: questions of calls to the user.

use super::{
    components::{FORGED, forge, look, order},
    script::{calls, says},
    tools::Native,
    world::*,
};
use agent_host_engine::{
    tool::{Invocation, RunEnd},
    turn::{Step, StepOutput, StepResult, Transition},
};
use agent_host_types::{
    accounting::Accounting,
    continuation::Awaiting,
    event::Event,
    message::ToolResult,
    question::{AnsweredBy, PendingQuestion, Question},
    turn::TurnEnd,
};
use pretty_assertions::assert_eq;
use serde_json::json;

pub(super) fn which() -> Question {
    Question {
        prompt: "Which?".into(),
        choices: Vec::new(),
        free_text: true,
        multiple: false,
        form: None,
    }
}

/// Asks a question as native tools do, by ending.
pub(super) fn clarify(_: &Invocation) -> RunEnd {
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

/// A native tool and a component whose question names another call, which has its result. In the
/// step, the continuation and the journal it is the question of the call that asked, and so is the
/// answer. No tool can say more: a question has no field for an id.
#[tokio::test]
async fn s11_host_id_wins_over_a_forged_one() {
    let forged = || Question {
        prompt: FORGED.into(),
        ..which()
    };
    let native = |_: &Invocation| {
        asks(Question {
            prompt: FORGED.into(),
            ..which()
        })
    };
    for (components, natives, answered_by, ran) in [
        (
            vec![look(), forge()],
            vec![],
            AnsweredBy::Rerun,
            vec!["a", "b", "b"],
        ),
        (
            vec![look()],
            vec![Native::new("forge", native)],
            AnsweredBy::Result,
            vec!["a", "b"],
        ),
    ] {
        let replies = vec![calls(&[("a", "look", ""), ("b", "forge", "")]), says("ok")];
        let mut world = World::with(&components, natives, replies).await;
        let continuation = waiting(world.say("go").await);
        let asked = |call| Awaiting::Answer {
            call_id: id(call),
            tool: "forge".into(),
            question: forged(),
        };
        assert_eq!(continuation.awaiting, asked("b"));
        assert_eq!(continuation.completed, [looked()]);
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
        let questions = world
            .watcher
            .events()
            .into_iter()
            .filter_map(|event| match event {
                Event::QuestionAsked {
                    call_id,
                    tool,
                    question,
                    answered_by,
                    ..
                } => Some((call_id, tool, question, answered_by)),
                _ => None,
            });
        let expected = (id("b"), "forge".to_owned(), forged(), answered_by);
        assert_eq!(questions.collect::<Vec<_>>(), [expected]);

        // A client that believes the text answers nothing.
        let mut believed = continuation.clone();
        believed.awaiting = asked("a");
        let before = world.watcher.events();
        let refused = refusal(world.answer(&believed, "red").await);
        let altered = format!(
            "the continuation of request {} was altered, or signed by another host; get it from the session again",
            continuation.request
        );
        assert_eq!((refused, world.watcher.events()), (altered, before));

        let mut world = world.restart().await;
        world.answer(&continuation, "red").await;
        assert_eq!(kind(&world.resume().await), "done");
        let expected = pairs([("a", value(json!({}))), ("b", text("red"))]);
        assert_eq!(world.shown(), expected);
        assert_eq!(world.ran(), ran);
    }
}

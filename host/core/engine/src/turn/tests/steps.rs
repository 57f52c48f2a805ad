//! The steps of turns, read from the journal: they equal those that the loop reported.

use super::harness::*;
use crate::turn::{Prompts, Step, StepReader, StepResult, Transition, TurnStep};
use agent_host_types::{
    approval::Decision,
    event::Event,
    id::CallId,
    turn::{AgentInput, TurnEnd},
};
use pretty_assertions::assert_eq;

/// Reads the steps of a journal.
fn read(bench: &Bench) -> Vec<TurnStep> {
    let mut reader = StepReader::default();
    let records = bench.journal.durable();
    let steps = records
        .into_iter()
        .flat_map(|record| reader.read(record.event));
    steps.collect()
}

/// Returns the steps that the loop reported.
fn reported(bench: &Bench) -> Vec<(Step, StepResult)> {
    bench.observer.steps.lock().unwrap().clone()
}

fn without_turns(steps: Vec<TurnStep>) -> Vec<(Step, StepResult)> {
    steps
        .into_iter()
        .map(|step| (step.step, step.result))
        .collect()
}

#[tokio::test]
async fn steps_of_calls_and_an_answer_are_read_from_events() {
    let mut bench = Bench::new(vec![
        calls(&[
            ("a", "look", r#"{"n": 1}"#),
            ("b", "act", ""),
            ("c", "none", ""),
        ]),
        says("done"),
    ]);
    bench.say("go").await;
    bench.turn(AgentInput::Continue).await;
    let steps = read(&bench);
    let turns: Vec<u64> = steps.iter().map(|step| step.turn).collect();
    assert_eq!(turns, [1, 1, 1, 1, 2, 2]);
    assert_eq!(without_turns(steps), reported(&bench));
}

#[tokio::test]
async fn steps_of_an_approval_are_read_from_events() {
    let mut bench = Bench::new(vec![
        calls(&[("a", "look", ""), ("b", "send", "")]),
        says("done"),
    ]);
    bench.agent.settings.prompts = Prompts::Ask;
    let continuation = bench.ask().await;
    let approve = Decision::approve(CallId("b".into()));
    bench.decide(&continuation, vec![approve]).await;
    bench.turn(AgentInput::Continue).await;
    assert_eq!(without_turns(read(&bench)), reported(&bench));
}

/// A failed model call ends its step, although the loop reports none.
#[tokio::test]
async fn step_of_a_failed_model_call_has_the_error() {
    let mut bench = Bench::new(Vec::new());
    let end = bench.say("go").await.end;
    assert!(matches!(end, TurnEnd::Error { .. }));
    let steps = without_turns(read(&bench));
    let expected = [
        (Step::CheckBudgets, StepResult::go(Step::CallModel)),
        (Step::CallModel, StepResult::end(end)),
    ];
    assert_eq!(steps, expected);
}

/// A turn during which the program ended leaves no step behind.
#[test]
fn interrupted_step_is_left_out() {
    let mut reader = StepReader::default();
    let requested = |turn| {
        let text = format!(
            r#"{{"kind": "model-requested", "turn": {turn}, "messages": 1, "tools": 0,
                "provenance": {{"provider": "p", "model": "m"}}, "estimated_tokens": 0,
                "request_digest": "sha256:{}"}}"#,
            "0".repeat(64)
        );
        serde_json::from_str::<Event>(&text).unwrap()
    };
    let passed = |turn| TurnStep {
        turn,
        step: Step::CheckBudgets,
        result: StepResult {
            output: crate::turn::StepOutput::Pass,
            transition: Transition::to(Step::CallModel),
        },
    };
    assert_eq!(reader.read(requested(1)), [passed(1)]);
    let interrupted = Event::TurnInterrupted { lost_tokens: 0 };
    assert_eq!(reader.read(interrupted), []);
    assert_eq!(reader.read(requested(1)), [passed(1)]);
}

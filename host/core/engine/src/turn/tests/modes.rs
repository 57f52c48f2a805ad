//! Modes of an embedder: other orders of the steps, pauses, and the checks that hold in each.

use super::harness::*;
use crate::{
    BoxFuture,
    hook::{CallVerdict, Hook, RequestedCall},
    turn::{Mode, Step, StepOutput, Transition, Turn},
};
use agent_host_types::turn::{AgentInput, TurnEnd, TurnError};
use pretty_assertions::assert_eq;
use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A mode that is a function of the step which just ran and its transition.
struct Routed<F>(F);

impl<F> Mode for Routed<F>
where
    F: Fn(&StepOutput, Transition) -> Transition + Send + Sync,
{
    fn run<'a>(
        &'a self,
        turn: &'a mut Turn<'_>,
        first: Step,
    ) -> BoxFuture<'a, Result<TurnEnd, TurnError>> {
        Box::pin(async move {
            let mut next = first;
            loop {
                let result = turn.step(next).await?;
                match self.0(&result.output, result.transition) {
                    Transition::Continue { next_step } => next = next_step,
                    Transition::End { end } => return Ok(*end),
                }
            }
        })
    }
}

fn routed(
    route: impl Fn(&StepOutput, Transition) -> Transition + Send + Sync + 'static,
) -> Arc<dyn Mode> {
    Arc::new(Routed(route))
}

fn steps(bench: &Bench) -> Vec<Step> {
    let steps = bench.observer.steps.lock().unwrap();
    steps.iter().map(|(step, _)| *step).collect()
}

/// A pause between a reply and its calls. The next turn continues with the calls; the model is not
/// asked again for them.
#[tokio::test]
async fn mode_that_pauses_after_each_reply_is_continued() {
    let mut bench = Bench::new(vec![calls(&[("a", "act", "")]), says("done")]);
    bench.is_unreplayable = true;
    bench.agent.mode = routed(|output, transition| match (output, &transition) {
        (StepOutput::Llm(_), Transition::Continue { .. }) => {
            Transition::end(TurnEnd::NeedsMoreTurns)
        }
        _ => transition,
    });
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!((bench.ran(), bench.requests().len()), (vec![], 1));
    let mut bench = {
        let mode = bench.agent.mode.clone();
        let mut again = Bench::resume(&bench.journal, vec![says("done")], standard()).await;
        again.is_unreplayable = true;
        again.agent.mode = mode;
        again
    };
    assert_eq!(
        kind(&bench.turn(AgentInput::Continue).await),
        "needs-more-turns"
    );
    assert_eq!(
        (bench.ran(), bench.requests().len()),
        (vec!["a".to_owned()], 0)
    );
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    assert_eq!(bench.requests().len(), 1);
}

/// The whole run in one turn, with a bound of its own.
#[tokio::test]
async fn mode_runs_several_model_calls_in_one_turn() {
    let replies = (0..5).map(|n| calls(&[(&format!("c{n}"), "look", "")]));
    let mut bench = Bench::new(replies.collect());
    let asked = Arc::new(AtomicUsize::new(0));
    bench.is_unreplayable = true;
    bench.agent.mode = routed(move |output, transition| match output {
        StepOutput::Llm(_) => {
            asked.fetch_add(1, Ordering::SeqCst);
            transition
        }
        StepOutput::Tool { .. } if asked.load(Ordering::SeqCst) < 3 => {
            Transition::to(Step::CheckBudgets)
        }
        _ => transition,
    });
    let report = bench.say("go").await;
    assert_eq!(
        (kind(&report).as_str(), report.summary.turn),
        ("needs-more-turns", 3)
    );
    assert_eq!(bench.ran(), ["c0", "c1", "c2"]);
    let once = [
        Step::CheckBudgets,
        Step::CallModel,
        Step::CheckApproval,
        Step::ExecuteTools,
    ];
    assert_eq!(steps(&bench), once.repeat(3));
}

/// Skipping the approval step denies what needs approval: the tool step decides again.
#[tokio::test]
async fn mode_that_skips_approval_runs_no_gated_call() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", ""), ("b", "look", "")])]);
    bench.is_unreplayable = true;
    bench.agent.mode = routed(|output, transition| match (output, &transition) {
        (StepOutput::Llm(_), Transition::Continue { .. }) => Transition::to(Step::ExecuteTools),
        _ => transition,
    });
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(bench.ran(), ["b"]);
    let (id, output) = bench.results().remove(0);
    assert_eq!((id.as_str(), output.tag()), ("a", "execution-denied"));
}

/// A hook that reviews every call and passes it.
struct Reviews;

impl Hook for Reviews {
    fn reviews(&self, _: &str) -> bool {
        true
    }

    fn review_call<'a>(&'a self, _: RequestedCall<'a>) -> BoxFuture<'a, CallVerdict> {
        Box::pin(ready(CallVerdict::Pass))
    }
}

/// Skipping the review runs nothing that a hook wants to see.
#[tokio::test]
async fn mode_that_skips_review_runs_no_reviewed_call() {
    let mut bench = Bench::new(vec![calls(&[("a", "look", "")])]);
    bench.agent.hooks.push(Arc::new(Reviews));
    bench.is_unreplayable = true;
    bench.agent.mode = routed(|output, transition| match (output, &transition) {
        (StepOutput::Llm(_), Transition::Continue { .. }) => Transition::to(Step::CheckApproval),
        _ => transition,
    });
    bench.say("go").await;
    assert_eq!(bench.ran(), Vec::<String>::new());
}

#[tokio::test]
async fn steps_out_of_order_end_the_turn_with_the_reason() {
    let cases = [
        (
            Step::CallModel,
            "the agent's mode calls the model while calls of its last reply are open; run `ExecuteTools` first",
        ),
        (
            Step::RunWorkflow,
            "the agent's mode runs a workflow, but the agent has none",
        ),
    ];
    for (wrong, expected) in cases {
        let mut bench = Bench::new(vec![calls(&[("a", "look", "")]), says("done")]);
        bench.is_unreplayable = true;
        bench.agent.mode = routed(move |output, transition| match (output, &transition) {
            (StepOutput::Llm(_), Transition::Continue { .. }) => Transition::to(wrong),
            _ => transition,
        });
        assert_eq!(refusal(bench.say("go").await), expected);
        assert_eq!((bench.ran(), bench.requests().len()), (vec![], 1));
        // The calls are not lost: the standard mode runs them.
        bench.agent.mode = Arc::new(crate::turn::StandardMode);
        assert_eq!(
            kind(&bench.turn(AgentInput::Continue).await),
            "needs-more-turns"
        );
        assert_eq!(bench.ran(), ["a"]);
    }
}

/// A mode that begins the turn anew does not hide that it is drained.
#[tokio::test]
async fn drained_turn_starts_no_step_of_any_mode() {
    let mut bench = Bench::new(vec![calls(&[("a", "look", "")])]);
    bench.is_unreplayable = true;
    bench.agent.mode = routed(|output, transition| match output {
        StepOutput::Tool { .. } => Transition::to(Step::CheckBudgets),
        _ => transition,
    });
    *bench.model.drain_when_asked.lock().unwrap() = Some(bench.drain.clone());
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!((bench.ran(), bench.requests().len()), (vec![], 1));
}

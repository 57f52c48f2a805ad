//! Calls that end the run: what still runs, what is recorded, and when nothing is ended.

use super::harness::*;
use crate::{
    BoxFuture,
    hook::{Hook, Verdict},
    tool::{CallReport, Invocation, RunEnd, SessionChange},
    turn::{Timing, UntilEnd, UntilTool},
};
use agent_host_types::{
    event::Event,
    output::{ContentPart, MAX_PARTS, ToolResultOutput},
    question::{AnsweredBy, PendingQuestion, Question},
    tool::{Approval, Effect},
    turn::{AgentInput, Durability, TurnEnd, TurnError},
};
use pretty_assertions::assert_eq;
use std::sync::{Arc, atomic::Ordering};

/// A tool that asks to end the run, and returns this.
pub(super) fn stopper(effect: Effect, approval: Approval, output: ToolResultOutput) -> Tool {
    tool("stop", effect, approval).ends(move |_| {
        CallReport {
            changes: vec![
                SessionChange::Halt("too early".into()),
                SessionChange::Halt("enough".into()),
            ],
            ..CallReport::of(output.clone())
        }
        .into()
    })
}

pub(super) fn halted() -> TurnEnd {
    TurnEnd::Halted {
        message: "enough".into(),
    }
}

pub(super) const NOT_RUN: &str = "This call did not run: another call ended the run.";

fn own(results: Vec<(&str, ToolResultOutput)>) -> Vec<(String, ToolResultOutput)> {
    let results = results.into_iter();
    results
        .map(|(id, output)| (id.to_owned(), output))
        .collect()
}

fn with_stopper() -> Vec<Tool> {
    let mut tools = standard();
    tools.push(stopper(Effect::Effectful, Approval::Never, text("stopped")));
    tools
}

#[tokio::test]
async fn halt_ends_the_run_and_every_call_has_its_result() {
    let batch = [
        ("a", "look", ""),
        ("b", "stop", ""),
        ("c", "act", ""),
        ("d", "look", ""),
        ("e", "send", ""),
    ];
    for timing in [Timing::Batch, Timing::InOrder] {
        let replies = vec![calls(&batch[..4]), says("more")];
        let mut bench = Bench::with(replies, with_stopper());
        if timing == Timing::InOrder {
            // No one is asked about a call after the end.
            bench = Bench::with(vec![calls(&batch), says("more")], with_stopper());
        }
        bench.agent.settings.timing = timing;

        assert_eq!(bench.say("go").await.end, halted());

        assert_eq!(bench.ran(), ["a", "b"]);
        let mut expected = own(vec![
            ("a", text("look {}")),
            ("b", text("stopped")),
            ("c", denied(NOT_RUN)),
            ("d", denied(NOT_RUN)),
        ]);
        if timing == Timing::InOrder {
            expected.extend(own(vec![("e", denied(NOT_RUN))]));
        }
        assert_eq!(bench.results(), expected);
        let records = bench.journal.durable();
        let halts = records.iter().filter_map(|record| match &record.event {
            Event::RunHalted { call_id, message } => Some((call_id.0.clone(), message.clone())),
            _ => None,
        });
        let halt = |message: &str| ("b".to_owned(), message.to_owned());
        assert_eq!(
            halts.collect::<Vec<_>>(),
            [halt("too early"), halt("enough")]
        );

        let again = bench.turn(AgentInput::Continue).await;
        let why =
            "a tool has ended the run, so there is nothing to continue; send a message".to_owned();
        let refused = TurnEnd::Error {
            error: TurnError::Input { message: why },
        };
        assert_eq!(again.end, refused);
        assert_eq!(bench.requests().len(), 1);
        // The user's next message begins anew.
        assert_eq!(kind(&bench.say("on").await), "done");
        assert_eq!(bench.session.state().halt(), None);
    }
}

/// A result that a hook puts in the place of another one.
struct Replaces(Verdict<ToolResultOutput>);

impl Hook for Replaces {
    fn after_tool<'a>(
        &'a self,
        _: &'a Invocation,
        _: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

#[tokio::test]
async fn halt_without_a_success_ends_nothing() {
    let part = ContentPart::Text { text: "x".into() };
    let fails = [
        ToolResultOutput::ErrorText("broken".into()),
        failure("trap", "The tool crashed."),
        denied("no"),
        // More parts than a result may have.
        ToolResultOutput::Content(vec![part; MAX_PARTS + 1]),
    ];
    let mut benches: Vec<Bench> = fails
        .into_iter()
        .map(|output| {
            let stop = stopper(Effect::Effectful, Approval::Never, output);
            Bench::with(vec![calls(&[("b", "stop", "")])], vec![stop])
        })
        .collect();
    for verdict in [
        Verdict::Block("secret".into()),
        Verdict::Fallback(ToolResultOutput::ErrorText("hidden".into())),
    ] {
        let mut bench = Bench::with(vec![calls(&[("b", "stop", "")])], with_stopper());
        bench.agent.hooks = vec![Arc::new(Replaces(verdict))];
        benches.push(bench);
    }
    for mut bench in benches {
        let end = bench.say("go").await.end;
        assert_eq!(end, TurnEnd::NeedsMoreTurns, "{:?}", bench.results());
        assert!(!bench.kinds().contains(&"run-halted".to_owned()));
    }
}

/// A read-only call beside one that ends the run asks no one, and one for outside is not sent.
#[tokio::test]
async fn halt_leaves_no_question_and_no_dispatched_call() {
    let asks = tool("wonder", Effect::ReadOnly, Approval::ByEffect).ends(|_| {
        RunEnd::Asked(PendingQuestion {
            question: Question {
                prompt: "which?".into(),
                choices: Vec::new(),
                free_text: true,
                multiple: false,
                form: None,
            },
            answered_by: AnsweredBy::Rerun,
            accounting: agent_host_types::accounting::Accounting::default(),
            audit: Vec::new(),
        })
    });
    let outside = tool("pay", Effect::Effectful, Approval::Never).outside();
    let stop = stopper(Effect::ReadOnly, Approval::Never, text("stopped"));
    let batch = [("a", "wonder", ""), ("b", "stop", ""), ("c", "pay", "")];
    let mut bench = Bench::with(vec![calls(&batch)], vec![asks, outside, stop]);

    assert_eq!(bench.say("go").await.end, halted());

    let expected = [
        ("a", denied(NOT_RUN)),
        ("b", text("stopped")),
        ("c", denied(NOT_RUN)),
    ];
    assert_eq!(bench.results(), pairs(expected));
}

/// The halt goes before the tool that ends the run otherwise.
#[tokio::test]
async fn halt_goes_before_until_tool() {
    let mut bench = Bench::with(vec![calls(&[("b", "stop", "")])], with_stopper());
    bench.agent.settings.until_tool = Some(UntilTool {
        tools: vec!["stop".into()],
        end: UntilEnd::FirstSuccess,
    });
    assert_eq!(bench.say("go").await.end, halted());
}

/// Once the result is durable, so is the end: the run does not go on in another process.
#[tokio::test]
async fn halt_survives_the_end_of_the_program() {
    let batch = [("b", "stop", ""), ("c", "act", "")];
    // After the intent, and after the result.
    for (barriers, end) in [(3, "done"), (4, "halted")] {
        let mut bench = Bench::with(vec![calls(&batch)], with_stopper());
        bench.agent.settings.durability = Durability::Strict;
        let fails_from = &bench.journal.fails_from;
        fails_from.store(barriers + 1, Ordering::SeqCst);
        assert_eq!(kind(&bench.say("go").await), "error");
        let mut again = Bench::resume(&bench.journal, vec![says("ok")], with_stopper()).await;
        let mut report = again.turn(AgentInput::Continue).await;
        if report.end == TurnEnd::NeedsMoreTurns {
            report = again.turn(AgentInput::Continue).await;
        }
        assert_eq!(kind(&report), end, "{barriers}: {:?}", again.kinds());
        assert_eq!(again.requests().len(), usize::from(end == "done"));
    }
}

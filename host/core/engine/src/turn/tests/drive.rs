//! The driver of runs: what each end of a turn leads to.

use super::{drain::draining, harness::*};
use crate::{
    BoxFuture,
    session::Session,
    turn::{Actors, RunFront, TurnContext, drive},
};
use agent_host_types::{
    budget::Budget,
    continuation::Continuation,
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;
use std::{collections::VecDeque, future::ready, time::Instant};
use tokio_util::sync::CancellationToken;

/// A front whose turns have these reports; the turn after the last one cannot start.
struct ScriptedFront {
    reports: VecDeque<TurnReport>,
    inputs: Vec<AgentInput>,
    is_drained: bool,
    response: Option<AgentInput>,
}

impl RunFront for ScriptedFront {
    type Error = &'static str;

    fn run_turn<'a>(
        &'a mut self,
        _: &'a mut Session,
        input: AgentInput,
    ) -> BoxFuture<'a, Result<TurnReport, &'static str>> {
        self.inputs.push(input);
        let report = self.reports.pop_front();
        Box::pin(ready(report.ok_or("no report is left")))
    }

    fn is_drained(&self) -> bool {
        self.is_drained
    }

    fn respond<'a>(&'a self, _: &'a Continuation) -> BoxFuture<'a, Option<AgentInput>> {
        Box::pin(ready(self.response.clone()))
    }
}

/// The input that follows an end.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Continue,
    Response,
    Nothing,
}

/// Every end of a turn, with what follows it.
fn ends(continuation: &Continuation) -> Vec<(TurnEnd, Next)> {
    let continuation = || continuation.clone();
    let error = |error| TurnEnd::Error { error };
    let [text, message] = ["no".to_owned(), "enough".to_owned()];
    let done = TurnEnd::Done {
        text: text.clone(),
        output: None,
        result: None,
    };
    let confirmation = TurnEnd::AwaitingConfirmation {
        continuation: continuation(),
    };
    let answer = TurnEnd::AwaitingAnswer {
        continuation: continuation(),
    };
    let results = TurnEnd::PendingToolCalls {
        continuation: continuation(),
    };
    let children = TurnEnd::AwaitingChildren {
        continuation: continuation(),
    };
    let budget = Budget::Turns { limit: 1 };
    vec![
        (TurnEnd::NeedsMoreTurns, Next::Continue),
        (confirmation, Next::Response),
        (answer, Next::Response),
        (results, Next::Response),
        (children, Next::Response),
        (done, Next::Nothing),
        (TurnEnd::BudgetExceeded { budget }, Next::Nothing),
        (TurnEnd::Refusal { text }, Next::Nothing),
        (TurnEnd::Cancelled, Next::Nothing),
        (error(failing("down").into()), Next::Nothing),
        (
            error(TurnError::Input {
                message: message.clone(),
            }),
            Next::Nothing,
        ),
        (
            error(TurnError::Journal {
                message: message.clone(),
            }),
            Next::Nothing,
        ),
        (TurnEnd::Halted { message }, Next::Nothing),
    ]
}

#[tokio::test]
async fn driver_after_each_end_continues_responds_or_ends() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", "")])]);
    let ends = ends(&bench.ask().await);
    let first = AgentInput::Text("go".into());
    let response = AgentInput::Text("the response".into());
    let last = TurnEnd::Halted {
        message: "last".into(),
    };
    for (end, next) in ends {
        for (is_drained, responds) in [(false, false), (false, true), (true, false), (true, true)] {
            let report = |end: &TurnEnd| {
                let session = &bench.session;
                bench.agent.report(session, end.clone(), Instant::now())
            };
            let mut front = ScriptedFront {
                reports: [report(&end), report(&last)].into(),
                inputs: Vec::new(),
                is_drained,
                response: responds.then(|| response.clone()),
            };
            let second = match next {
                Next::Continue => (!is_drained).then_some(AgentInput::Continue),
                Next::Response => responds.then(|| response.clone()),
                Next::Nothing => None,
            };
            let expected = if second.is_some() { &last } else { &end };
            let ran = drive(&mut front, &mut bench.session, first.clone()).await;
            let case = format!("{} drained {is_drained} responds {responds}", end.kind());
            assert_eq!(
                ran.map(|report| report.end).as_ref(),
                Ok(expected),
                "{case}"
            );
            let inputs: Vec<_> = [first.clone()].into_iter().chain(second).collect();
            assert_eq!(front.inputs, inputs, "{case}");
        }
    }
}

#[tokio::test]
async fn turn_that_cannot_start_fails_the_run() {
    let mut bench = Bench::new(Vec::new());
    let more = TurnEnd::NeedsMoreTurns;
    let report = bench.agent.report(&bench.session, more, Instant::now());
    let mut front = ScriptedFront {
        reports: [report].into(),
        inputs: Vec::new(),
        is_drained: false,
        response: None,
    };
    let first = AgentInput::Text("go".into());
    let ran = drive(&mut front, &mut bench.session, first.clone()).await;
    assert_eq!(ran, Err("no report is left"));
    assert_eq!(front.inputs, [first, AgentInput::Continue]);
}

#[tokio::test]
async fn run_in_one_context_ends_pauses_or_is_drained() {
    let rows = [
        ("act", "done", 2),
        ("send", "awaiting-confirmation", 1),
        ("drain", "needs-more-turns", 1),
    ];
    for (tool, end, requests) in rows {
        let drain = CancellationToken::new();
        let mut tools = standard();
        tools.push(draining("drain", &drain));
        let mut bench = Bench::with(vec![calls(&[("a", tool, "")]), says("ok")], tools);
        let cx = TurnContext {
            observer: bench.observer.as_ref(),
            approvals: &[],
            cancel: &CancellationToken::new(),
            drain: &drain,
            actors: Actors::default(),
        };
        let input = AgentInput::Text("go".into());
        let report = bench.agent.run(&mut bench.session, input, &cx).await;
        assert_eq!((report.end.kind(), bench.requests().len()), (end, requests));
        assert_eq!(bench.session.state().last_report(), Some(&report));
    }
}

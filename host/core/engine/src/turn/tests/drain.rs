//! Turns that are drained: what runs ends, nothing else starts, and the next turn continues.

use super::harness::*;
use agent_host_types::{
    approval::Decision,
    model::ModelReply,
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd},
};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// A tool that drains the turn while it runs.
pub(super) fn draining(name: &str, drain: &CancellationToken) -> Tool {
    let drain = drain.clone();
    tool(name, Effect::Effectful, Approval::Never).body(move |_| {
        drain.cancel();
        async { text("drained") }
    })
}

impl Bench {
    /// A bench among whose tools is `drain`, which drains its turns.
    fn drained_by_tool(replies: Vec<ModelReply>) -> Self {
        let drain = CancellationToken::new();
        let mut tools = standard();
        tools.push(draining("drain", &drain));
        let mut bench = Self::with(replies, tools);
        bench.drain = drain;
        bench
    }

    /// Runs the turns of a program that starts after a drained one.
    pub(super) async fn after_drain(&mut self) -> TurnEnd {
        self.drain = CancellationToken::new();
        let mut end = self.turn(AgentInput::Continue).await.end;
        while end == TurnEnd::NeedsMoreTurns {
            end = self.turn(AgentInput::Continue).await.end;
        }
        end
    }
}

fn done(text: &str) -> TurnEnd {
    TurnEnd::Done {
        text: text.into(),
        output: None,
        result: None,
    }
}

#[tokio::test]
async fn drained_turn_ends_its_batch_and_asks_no_model() {
    let batch = [("a", "drain", ""), ("b", "act", ""), ("c", "look", "")];
    let mut bench = Bench::drained_by_tool(vec![calls(&batch), says("ok")]);
    assert_eq!(bench.say("go").await.end, TurnEnd::NeedsMoreTurns);
    assert_eq!(
        bench.turn(AgentInput::Continue).await.end,
        TurnEnd::NeedsMoreTurns
    );
    assert_eq!(bench.requests().len(), 1);
    let results = [
        ("a", text("drained")),
        ("b", text("act {}")),
        ("c", text("look {}")),
    ];
    assert_eq!(bench.results(), pairs(results));
    assert_eq!(bench.kinds().last().unwrap(), "turn-ended");

    assert_eq!(bench.after_drain().await, done("ok"));
    assert_eq!(bench.ran(), ["a", "b", "c"]);
}

#[tokio::test]
async fn reply_during_drain_is_kept_and_its_calls_run_later() {
    let mut bench = Bench::new(vec![calls(&[("a", "act", "")]), says("ok")]);
    *bench.model.drain_when_asked.lock().unwrap() = Some(bench.drain.clone());
    assert_eq!(bench.say("go").await.end, TurnEnd::NeedsMoreTurns);
    assert_eq!((bench.ran(), bench.requests().len()), (vec![], 1));

    assert_eq!(bench.after_drain().await, done("ok"));
    assert_eq!((bench.ran(), bench.requests().len()), (vec!["a".into()], 2));
}

#[tokio::test]
async fn answer_during_drain_is_the_end() {
    let mut bench = Bench::new(vec![says("ok")]);
    *bench.model.drain_when_asked.lock().unwrap() = Some(bench.drain.clone());
    assert_eq!(bench.say("go").await.end, done("ok"));
}

#[tokio::test]
async fn message_to_a_drained_turn_is_kept() {
    let mut bench = Bench::new(vec![says("ok")]);
    bench.drain.cancel();
    assert_eq!(bench.say("go").await.end, TurnEnd::NeedsMoreTurns);
    let kinds = ["session-started", "input-received", "turn-ended"];
    assert_eq!(bench.kinds(), kinds);
    assert_eq!(bench.after_drain().await, done("ok"));
}

/// The decision counts, and is not asked for again.
#[tokio::test]
async fn decided_call_of_a_drained_turn_runs_later() {
    let mut bench = Bench::new(vec![calls(&[("a", "send", "")]), says("ok")]);
    let continuation = bench.ask().await;
    bench.drain.cancel();
    let approved = vec![Decision::approve(continuation.calls()[0].call_id.clone())];
    let outcome = bench.decide(&continuation, approved).await;
    assert_eq!(outcome.end, TurnEnd::NeedsMoreTurns);
    assert_eq!(bench.agent.continuation(&bench.session), None);
    assert_eq!(bench.ran(), [""; 0]);

    assert_eq!(bench.after_drain().await, done("ok"));
    assert_eq!(bench.ran(), ["a"]);
}

#[tokio::test]
async fn cancelled_turn_answers_its_calls_though_drained() {
    let batch = [("a", "drain", ""), ("b", "stop", ""), ("c", "act", "")];
    let (drain, cancel) = (CancellationToken::new(), CancellationToken::new());
    let stop = cancel.clone();
    let stop = tool("stop", Effect::Effectful, Approval::Never).body(move |_| {
        stop.cancel();
        async { text("stopped") }
    });
    let mut tools = standard();
    tools.extend([draining("drain", &drain), stop]);
    let mut bench = Bench::with(vec![calls(&batch)], tools);
    (bench.drain, bench.cancel) = (drain, cancel);
    assert_eq!(bench.say("go").await.end, TurnEnd::Cancelled);
    let skipped = "The run was stopped before this call began.";
    let results = [
        ("a", text("drained")),
        ("b", text("stopped")),
        ("c", failure("cancelled", skipped)),
    ];
    assert_eq!(bench.results(), pairs(results));
}

//! Workflows of a turn that is drained: no further node starts, and the next turn continues it.

use super::*;
use crate::{session::Session, turn::tests::drain::draining};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// A flow among whose tools is `drain`, which drains its turns.
fn drained_by_tool(nodes: &Value) -> Flow {
    let drain = CancellationToken::new();
    let mut tools = standard();
    tools.push(draining("drain", &drain));
    let mut bench = Bench::with(Vec::new(), tools);
    bench.drain = drain;
    Flow::around(bench, Arc::default(), nodes, Parts::default())
}

#[tokio::test]
async fn drained_workflow_starts_no_further_node() {
    let nodes = json!([
        {"id": "a", "tool": "drain", "input": {}, "next": "b"},
        {"id": "b", "tool": "act", "input": {}},
    ]);
    let mut flow = drained_by_tool(&nodes);
    assert_eq!(flow.say().await.end, TurnEnd::NeedsMoreTurns);
    assert_eq!(flow.lines(), own(&["+a", "-a drained"]));

    let end = flow.bench.after_drain().await;

    assert_eq!(TurnEnd::kind(&end), "done");
    let lines = ["+a", "-a drained", "+b", "-b act {}", "=completed"];
    assert_eq!(flow.lines(), own(&lines));
    assert_eq!(flow.bench.ran(), ["a", "b"]);
}

/// The reply of its model is kept, and its call runs once.
#[tokio::test]
async fn drained_agent_of_a_node_goes_on_where_it_was() {
    let nodes = json!([{"id": "draft", "agent": "helper"}]);
    let mut flow = Flow::new(&nodes, Parts::default());
    flow.helper
        .replies
        .lock()
        .unwrap()
        .extend([Ok(calls(&[("c", "act", "")])), Ok(says("bees"))]);
    *flow.helper.drain_when_asked.lock().unwrap() = Some(flow.bench.drain.clone());
    assert_eq!(flow.say().await.end, TurnEnd::NeedsMoreTurns);
    assert_eq!(flow.lines(), own(&["+draft"]));

    assert_eq!(flow.bench.after_drain().await, done("bees"));
    assert_eq!(flow.lines(), own(&["+draft", "-draft bees", "=completed"]));
    assert_eq!(flow.helper.requests.lock().unwrap().len(), 2);
}

/// A node that is to be tried again does not hold the turn until then.
#[tokio::test]
async fn drained_workflow_does_not_wait_to_try_again() {
    let nodes = json!([
        {"id": "a", "tool": "drain-and-fail", "input": {},
         "retry": {"times": 1, "backoff-ms": 3_600_000}},
    ]);
    let drain = CancellationToken::new();
    let token = drain.clone();
    let failing = tool("drain-and-fail", Effect::Idempotent, Approval::Never).body(move |_| {
        let is_first = !token.is_cancelled();
        token.cancel();
        async move {
            match is_first {
                true => failure("busy", "not now"),
                false => text("at last"),
            }
        }
    });
    let mut bench = Bench::with(Vec::new(), vec![failing]);
    bench.drain = drain;
    let mut flow = Flow::around(bench, Arc::default(), &nodes, Parts::default());
    assert_eq!(flow.say().await.end, TurnEnd::NeedsMoreTurns);
    assert_eq!(flow.lines(), own(&["+a", "~a 1 busy"]));

    assert_eq!(TurnEnd::kind(&flow.bench.after_drain().await), "done");
    let lines = ["+a", "~a 1 busy", "+a", "-a at last", "=completed"];
    assert_eq!(flow.lines(), own(&lines));
}

/// The second signal of two: the drained agent is stopped for good, like what still runs.
#[tokio::test]
async fn cancel_after_drain_stops_drained_agents() {
    let nodes = json!([
        {"id": "draft", "agent": "helper", "mode": "parallel"},
        {"id": "stop", "tool": "stop", "input": {}, "mode": "parallel"},
    ]);
    let (drain, cancel) = (CancellationToken::new(), CancellationToken::new());
    let (drained, cancelled) = (drain.clone(), cancel.clone());
    let stop = tool("stop", Effect::ReadOnly, Approval::Never).body(move |_| {
        let (drained, cancelled) = (drained.clone(), cancelled.clone());
        async move {
            drained.cancelled().await;
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            cancelled.cancel();
            text("stopped")
        }
    });
    let mut bench = Bench::with(Vec::new(), vec![stop]);
    (bench.drain, bench.cancel) = (drain, cancel);
    bench.is_unreplayable = true;
    let mut flow = Flow::around(bench, Arc::default(), &nodes, Parts::default());
    let reply = Ok(calls(&[("c", "act", "")]));
    flow.helper.replies.lock().unwrap().push_back(reply);
    *flow.helper.drain_when_asked.lock().unwrap() = Some(flow.bench.drain.clone());
    assert_eq!(flow.say().await.end, TurnEnd::Cancelled);
    let mut lines = flow.lines();
    lines.sort();
    let expected = [
        "+draft",
        "+stop",
        "-draft ! cancelled",
        "-stop stopped",
        "=cancelled",
    ];
    assert_eq!(lines, own(&expected));
    let child = Session::resume(flow.journals.only().after_crash())
        .await
        .unwrap();
    assert_eq!(child.state().last_report().unwrap().end, TurnEnd::Cancelled);
}

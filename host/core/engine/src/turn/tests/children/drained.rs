//! Agents of a turn that is drained: their calls stay open, and they continue with the turn.

use super::*;
use crate::turn::tests::drain::draining;
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// A family whose child drains its parent's turn, with what the child says afterwards.
fn drained_by_child() -> Family {
    let mut parent = Bench::new(vec![start(), says("done")]);
    parent.drain = CancellationToken::new();
    let mut tools = standard();
    tools.push(draining("drain", &parent.drain));
    let replies = vec![calls(&[("a", "drain", "")]), says("found it")];
    Family::with(parent, Arc::default(), replies, tools, |_| {})
}

fn done() -> TurnEnd {
    TurnEnd::Done {
        text: "done".into(),
        output: None,
        result: None,
    }
}

#[tokio::test]
async fn drained_agent_goes_on_with_its_parent() {
    let mut family = drained_by_child();
    assert_eq!(family.parent.say("go").await.end, TurnEnd::NeedsMoreTurns);
    let kinds = family.parent.kinds();
    assert_eq!(kinds[kinds.len() - 2..], ["agent-spawned", "turn-ended"]);
    let child = family.child().await;
    let last = &child.state().last_report().unwrap().end;
    assert_eq!(last, &TurnEnd::NeedsMoreTurns);
    assert_eq!(family.parent.session.state().batch().len(), 1);

    assert_eq!(family.parent.after_drain().await, done());
    assert_eq!(family.ran(), ["a"]);
    let requests = family.parent.requests();
    let results = &requests[1].messages.last().unwrap().tool_results;
    assert_eq!(results[0].output, text("found it"));
    assert_eq!(
        family
            .parent
            .kinds()
            .iter()
            .filter(|kind| *kind == "agent-spawned")
            .count(),
        1
    );
}

/// As after SIGTERM: the next process opens both sessions.
#[tokio::test]
async fn drained_agent_goes_on_in_another_process() {
    let mut family = drained_by_child();
    assert_eq!(family.parent.say("go").await.end, TurnEnd::NeedsMoreTurns);
    let mut again = family
        .resumed(vec![says("done")], vec![says("found it")])
        .await;
    assert_eq!(again.parent.after_drain().await, done());
    assert_eq!((family.ran(), again.ran()), (vec!["a".into()], vec![]));
}

#[tokio::test]
async fn agent_of_a_drained_batch_is_not_started() {
    let mut parent = Bench::with(vec![], vec![]);
    let batch = calls(&[("d", "drain", ""), ("p", "agent_helper", START)]);
    let bench = Bench::with(
        vec![batch, says("done")],
        vec![draining("drain", &parent.drain)],
    );
    parent = Bench {
        drain: parent.drain,
        ..bench
    };
    let mut family = Family::with(
        parent,
        Arc::default(),
        vec![says("found it")],
        standard(),
        |_| {},
    );
    assert_eq!(family.parent.say("go").await.end, TurnEnd::NeedsMoreTurns);
    assert!(!family.parent.kinds().contains(&"agent-spawned".to_owned()));
    assert_eq!(family.parent.after_drain().await, done());
    assert_eq!(family.parent.ran(), ["d"]);
}

/// The agent that waits for the user is listed, and the decision resumes the drained one as well.
#[tokio::test]
async fn waiting_agent_is_listed_beside_a_drained_one() {
    let batch = [("p", "agent_one", START), ("q", "agent_two", START)];
    let mut parent = Bench::new(vec![calls(&batch), says("done")]);
    let one = Bench::new(vec![calls(&[("s", "send", "")]), says("sent")]);
    let tools = vec![draining("drain", &parent.drain)];
    let two = Bench::with(vec![calls(&[("a", "drain", "")]), says("found it")], tools);
    let agents = vec![("one", one.agent.clone()), ("two", two.agent.clone())];
    parent.adopt(agents, Arc::default());

    let (continuation, waiting) = children(&parent.say("go").await);
    let calls: Vec<&str> = waiting
        .iter()
        .map(|child| child.call_id.0.as_str())
        .collect();
    assert_eq!(calls, ["p"]);

    parent.drain = CancellationToken::new();
    let inputs = vec![approve(&waiting[0])];
    let input = AgentInput::Children {
        continuation,
        inputs,
    };
    assert_eq!(parent.turn(input).await.end, TurnEnd::NeedsMoreTurns);
    assert_eq!(
        parent.results(),
        pairs([("p", text("sent")), ("q", text("found it"))])
    );
    assert_eq!((one.ran(), two.ran()), (vec!["s".into()], vec!["a".into()]));
}

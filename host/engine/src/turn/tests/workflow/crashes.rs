//! The end of the program at every barrier of a run: nothing is lost, and nothing happens twice.

use super::*;
use pretty_assertions::assert_eq;

/// A look, two effects, an agent, and a loop of effects.
fn chain() -> Value {
    json!([
        {"id": "a", "tool": "look", "input": {"n": 1}, "next": "b"},
        {"id": "b", "tool": "act", "input": {"n": 2}, "next": "c"},
        {"id": "c", "agent": "helper", "message": "'say three numbers'", "next": "list"},
        {"id": "list", "tool": "three", "next": "d"},
        {"id": "d", "tool": "act", "foreach": "list.output", "input": {"n": "loop.item"}},
    ])
}

fn tools() -> Vec<Tool> {
    let mut tools = standard();
    tools.push(
        tool("three", Effect::ReadOnly, Approval::Never)
            .body(|_| async { ToolResultOutput::from_value(json!([3, 4, 5])) }),
    );
    tools
}

fn parts() -> Parts {
    Parts {
        tools,
        helper: vec!["three numbers"],
        ..Parts::default()
    }
}

#[tokio::test]
async fn crash_at_every_barrier_loses_and_doubles_nothing() {
    let mut whole = Flow::new(chain(), parts());
    let expected = whole.say().await.end;
    let barriers = whole.bench.journal.barriers();
    assert_eq!(kind_of(&expected), "done");
    assert_eq!(barriers, 7);
    for fails_from in 1..=barriers {
        let mut flow = Flow::new(chain(), parts());
        let journal = flow.bench.journal.clone();
        journal
            .fails_from
            .store(fails_from, std::sync::atomic::Ordering::SeqCst);
        let report = flow.say().await;
        assert_eq!(kind(&report), "error", "{fails_from}");
        let before = acted(&flow);
        if flow.bench.journal.durable().is_empty() {
            assert_eq!(before, [0; 0]);
            continue;
        }
        let mut flow = flow.resumed(chain(), parts()).await;
        let report = flow.bench.turn(AgentInput::Continue).await;
        // What was intended and did not settle is not repeated, and is not taken for done.
        let after = acted(&flow);
        let all: Vec<i64> = before.iter().chain(&after).copied().collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(
            all.len(),
            once.len(),
            "an effect ran twice: {fails_from} {before:?} {after:?}"
        );
        let doubted = flow
            .lines()
            .iter()
            .any(|line| line.ends_with("! interrupted-unknown"));
        match doubted {
            false => assert_eq!((report.end, all), (expected.clone(), vec![2, 3, 4, 5])),
            true => assert!(all.len() < 4 || kind(&report) == "error", "{fails_from}"),
        }
    }
}

fn kind_of(end: &TurnEnd) -> &'static str {
    end.kind()
}

/// The arguments of the effects that ran.
fn acted(flow: &Flow) -> Vec<i64> {
    let ran = flow.bench.ran.invocations.lock().unwrap();
    let acts = ran.iter().filter(|call| call.tool == "act");
    acts.map(|call| call.input["n"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn interrupted_effect_is_in_doubt_and_a_look_runs_again() {
    let nodes = json!([
        {"id": "a", "tool": "look", "input": {}, "mode": "parallel"},
        {"id": "b", "tool": "act", "input": {}, "mode": "parallel"},
        {"id": "c", "tool": "put", "input": {}, "mode": "parallel"},
    ]);
    let mut flow = Flow::new(nodes.clone(), Parts::default());
    // The last barrier of the turn fails: the intents are durable, and no end is.
    let journal = flow.bench.journal.clone();
    journal
        .fails_from
        .store(3, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(kind(&flow.say().await), "error");
    assert_eq!(flow.lines(), own(&["+a", "+b", "+c"]));

    let mut flow = flow.resumed(nodes, Parts::default()).await;
    let report = flow.bench.turn(AgentInput::Continue).await;

    assert_eq!(report.end, done("[a]\nlook {}\n\n[c]\nput {}"));
    assert_eq!(flow.bench.ran(), ["a", "c"]);
    let failed = summary(&report).failed;
    assert_eq!(failed["b"].code, "interrupted-unknown");
}

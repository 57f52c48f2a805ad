//! The end of the program at every barrier of a run: nothing is lost, and nothing happens twice.

use super::*;
use crate::flow::FlowPolicy;
use agent_host_types::flow::{FlowMode, LabelledFile};
use pretty_assertions::assert_eq;
use std::sync::{OnceLock, atomic::Ordering};

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

/// The barrier that fails; the acts before the crash and after it; the node in doubt, which is not
/// repeated; the end.
type Case = (
    u64,
    &'static [i64],
    &'static [i64],
    Option<&'static str>,
    &'static str,
);

#[tokio::test]
async fn crash_at_every_barrier_loses_and_doubles_nothing() {
    let cases: [Case; 6] = [
        (2, &[2], &[3, 4, 5], Some("b"), "done"),
        (3, &[2], &[3, 4, 5], None, "done"),
        (4, &[2], &[3, 4, 5], None, "done"),
        // The other items do not depend on the one in doubt.
        (5, &[2, 3], &[4, 5], Some("d[0]"), "error"),
        (6, &[2, 3, 4], &[5], Some("d[1]"), "error"),
        (7, &[2, 3, 4, 5], &[], Some("d[2]"), "error"),
    ];
    let mut whole = Flow::new(&chain(), parts());
    assert_eq!(kind(&whole.say().await), "done");
    assert_eq!(whole.bench.journal.barriers(), 7);
    for (fails_from, before, after, doubted, end) in cases {
        let mut flow = Flow::new(&chain(), parts());
        let journal = flow.bench.journal.clone();
        journal.fails_from.store(fails_from, Ordering::SeqCst);
        assert_eq!(kind(&flow.say().await), "error", "{fails_from}");
        assert_eq!(acted(&flow), before, "{fails_from}");

        let mut flow = flow.resumed(&chain(), parts()).await;
        let report = flow.bench.turn(AgentInput::Continue).await;

        assert_eq!(acted(&flow), after, "{fails_from}");
        let doubts = flow.lines().into_iter().filter_map(|line| {
            let node = line.strip_suffix(" ! interrupted-unknown")?;
            Some(node.trim_start_matches('-').to_owned())
        });
        let doubts: Vec<String> = doubts.collect();
        assert_eq!(doubts, Vec::from_iter(doubted.map(str::to_owned)));
        assert_eq!(kind(&report), end, "{fails_from}");
    }
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
    let mut flow = Flow::new(&nodes, Parts::default());
    // The last barrier of the turn fails: the intents are durable, and no end is.
    let journal = flow.bench.journal.clone();
    journal.fails_from.store(3, Ordering::SeqCst);
    assert_eq!(kind(&flow.say().await), "error");
    assert_eq!(flow.lines(), own(&["+a", "+b", "+c"]));

    let mut flow = flow.resumed(&nodes, Parts::default()).await;
    let report = flow.bench.turn(AgentInput::Continue).await;

    assert_eq!(report.end, done("[a]\nlook {}\n\n[c]\nput {}"));
    assert_eq!(flow.bench.ran(), ["a", "c"]);
    let failed = summary(&report).failed;
    assert_eq!(failed["b"].code, "interrupted-unknown");
}

/// All that the effect in doubt may have written is untrusted, whether the run continues or a
/// message ends it.
#[tokio::test]
async fn files_of_an_effect_in_doubt_are_untrusted() {
    let nodes = json!([{"id": "b", "tool": "act", "input": {}}]);
    fn tools() -> Vec<Tool> {
        vec![tool("act", Effect::Effectful, Approval::Never).writes("/workspace")]
    }
    let parts = || Parts {
        tools,
        ..Parts::default()
    };
    let observe = || {
        Arc::new(FlowPolicy {
            mode: FlowMode::Observe,
            ..FlowPolicy::default()
        })
    };
    for input in [AgentInput::Continue, AgentInput::Text("Stop.".into())] {
        let mut flow = Flow::new(&nodes, parts());
        flow.bench.agent.settings.flow = observe();
        let journal = flow.bench.journal.clone();
        journal.fails_from.store(2, Ordering::SeqCst);
        flow.say().await;
        let mut flow = flow.resumed(&nodes, parts()).await;
        flow.bench.agent.settings.flow = observe();
        flow.bench.turn(input).await;
        let records = flow.bench.journal.durable().into_iter();
        let files = records.filter_map(|record| match record.event {
            Event::FilesLabelled { files, .. } => Some(files),
            _ => None,
        });
        let expected = LabelledFile {
            path: "/workspace".to_owned(),
            sources: vec!["workflow".to_owned()],
        };
        assert_eq!(files.collect::<Vec<_>>().concat(), [expected]);
    }
}

/// A node beside an effect that has ended may run for hours: a crash meanwhile must not leave the
/// effect in doubt.
#[tokio::test]
async fn ended_effect_is_durable_while_others_run() {
    let nodes = json!([
        {"id": "a", "tool": "act", "input": {}, "mode": "parallel"},
        {"id": "b", "handler": "hold", "mode": "parallel"},
    ]);
    let journal = Arc::new(OnceLock::<Arc<TestJournal>>::new());
    let of_handler = Arc::clone(&journal);
    let hold = move |input: HandlerInput| {
        let journal = of_handler.get().unwrap().clone();
        async move {
            let is_durable = || {
                let durable = journal.durable();
                durable
                    .iter()
                    .filter_map(line)
                    .any(|line| line == "-a act {}")
            };
            // The other node and the barrier take far fewer turns of the runtime.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            NodeOutput::of_text(&input.node, None, is_durable().to_string())
        }
    };
    let parts = Parts {
        handlers: handlers(vec![("hold", hold)]),
        ..Parts::default()
    };
    let mut flow = Flow::new(&nodes, parts);
    journal.set(flow.bench.journal.clone()).ok();

    assert_eq!(flow.say().await.end, done("[a]\nact {}\n\n[b]\ntrue"));
    // The intent of the effect, its end, and that of the turn.
    assert_eq!(flow.bench.journal.barriers(), 3);
}

//! Measures what a run costs besides its nodes, which return at once: graphs of 1,000 nodes, and
//! loops over 10,000 items. Prints the median and the maximum of each, and fails if a median
//! exceeds the bound. `cargo bench -p agent-host-workflow`.
#![expect(clippy::print_stdout, reason = "figures are the output of a benchmark")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run panics")]

use agent_host_types::{
    output::ToolResultOutput, reason::Reason, tool::Effect, workflow::NodeOutput,
};
use agent_host_workflow::{
    check::{Catalog, check},
    definition::{EdgeDefinition, Inputs, NodeDefinition, NodeMode, WorkflowDefinition},
    run::{Fact, Run},
    workflow::Workflow,
};
use serde_json::{Map, Value, json};
use std::{
    fs,
    hint::black_box,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

/// The bound on the median of a run.
const BOUND: Duration = Duration::from_millis(10);

/// The bound on the median of a loop over 10,000 items.
const LOOP_BOUND: Duration = Duration::from_millis(50);

/// The number of measured runs of each kind.
const RUNS: usize = 50;

/// A catalog that has every name.
struct Any;

impl Catalog for Any {
    fn agent(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn tool(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn handler(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn check_tool_input(&self, _: &str, _: &Map<String, Value>) -> Result<(), Reason> {
        Ok(())
    }
}

fn id(index: usize) -> String {
    format!("n{index:05}")
}

/// Returns a definition of parallel nodes with these edges; each has the text of the first node
/// before it.
fn definition(count: usize, edges: &[(usize, usize)], mode: NodeMode) -> WorkflowDefinition {
    let mut nodes: Vec<NodeDefinition> = (0..count)
        .map(|index| NodeDefinition {
            id: id(index),
            handler: Some("no-op".into()),
            mode,
            ..NodeDefinition::default()
        })
        .collect();
    for &(from, to) in edges {
        nodes.get_mut(from).unwrap().next.0.push(EdgeDefinition {
            to: id(to),
            when: None,
        });
        let inputs = &mut nodes.get_mut(to).unwrap().inputs;
        if inputs.0.is_empty() {
            *inputs = Inputs(vec![("before".into(), format!("{}.text", id(from)))]);
        }
    }
    WorkflowDefinition {
        name: "bench".into(),
        node: nodes,
        ..WorkflowDefinition::default()
    }
}

fn chain() -> WorkflowDefinition {
    let edges: Vec<_> = (1..1_000).map(|to| (to - 1, to)).collect();
    definition(1_000, &edges, NodeMode::Sync)
}

fn fan() -> WorkflowDefinition {
    let out = (1..999).map(|to| (0, to));
    let edges: Vec<_> = out.chain((1..999).map(|from| (from, 999))).collect();
    definition(1_000, &edges, NodeMode::Parallel)
}

/// Ten layers of 100 nodes, with 10 edges from each.
fn layered() -> WorkflowDefinition {
    let edges = (0..900).flat_map(|from: usize| {
        let layer = (from / 100 + 1) * 100;
        (0..10).map(move |edge| (from, layer + (from + edge * 7) % 100))
    });
    definition(1_000, &edges.collect::<Vec<_>>(), NodeMode::Parallel)
}

/// A node that returns 10,000 items, and one that loops over them.
fn each(at_once: Option<u32>) -> WorkflowDefinition {
    let mut definition = definition(2, &[(0, 1)], NodeMode::Sync);
    let node = definition.node.get_mut(1).unwrap();
    let mode = if at_once.is_some() {
        "parallel"
    } else {
        "sequential"
    };
    let foreach = json!({"over": format!("{}.output.items", id(0)), "mode": mode});
    let mut foreach: agent_host_workflow::definition::ForeachDefinition =
        serde_json::from_value(foreach).unwrap();
    foreach.at_once = at_once.and_then(NonZeroU32::new);
    node.foreach = Some(foreach);
    node.inputs = Inputs(vec![
        ("item".into(), "loop.item".into()),
        // A part of the output that has the list, too.
        ("title".into(), format!("{}.output.title", id(0))),
    ]);
    definition
}

/// Runs to the end, and returns the number of starts.
fn run(workflow: &Arc<Workflow>, items: &ToolResultOutput, facts: Option<&mut Vec<Fact>>) -> usize {
    let mut run = Run::new(Arc::clone(workflow), "hello", Vec::new());
    let (mut count, mut recorded) = (0, Vec::new());
    loop {
        let starts = run.ready();
        if starts.is_empty() {
            break;
        }
        for start in starts {
            count += 1;
            let output = match start.iteration {
                None => NodeOutput::of_result("", None, items.clone()),
                Some(_) => NodeOutput::of_text("", None, "done"),
            };
            if facts.is_some() {
                let (run, attempt) = (start.run.clone(), start.attempt);
                recorded.push(Fact::Intended { run, attempt });
                recorded.push(Fact::Settled {
                    run: start.run.clone(),
                    output: Box::new(output.clone()),
                });
            }
            run.settled(&start.run, output).unwrap();
        }
    }
    assert!(run.is_done());
    black_box(run.outcome());
    if let Some(facts) = facts {
        *facts = recorded;
    }
    count
}

/// Measures, prints, and checks the bound.
fn measure(name: &str, bound: Duration, mut step: impl FnMut()) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            step();
            start.elapsed()
        })
        .collect();
    times.sort();
    let (median, max) = (*times.get(RUNS / 2).unwrap(), *times.last().unwrap());
    println!("{name:<28} median {median:>9.2?}  max {max:>9.2?}  bound {bound:?}");
    assert!(
        median < bound,
        "{name} takes {median:?}, more than {bound:?}"
    );
}

/// The resident memory in KiB.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Prints the memory of a loop whose 10,000 results have 1,000 bytes each: before its last
/// iteration, and with the output of the node.
fn print_memory(workflow: &Arc<Workflow>, items: &ToolResultOutput) {
    let mut run = Run::new(Arc::clone(workflow), "hello", Vec::new());
    let first = run.ready().remove(0);
    let output = NodeOutput::of_result("", None, items.clone());
    run.settled(&first.run, output).unwrap();
    let (before, text) = (resident().unwrap_or_default(), "x".repeat(1_000));
    let mut during = before;
    while let Some(start) = run.ready().pop() {
        if start.run.iteration == Some(9_999) {
            during = resident().unwrap_or_default();
        }
        let output = NodeOutput::of_text("", None, text.as_str());
        run.settled(&start.run, output).unwrap();
    }
    let after = resident().unwrap_or_default().saturating_sub(before);
    let during = during.saturating_sub(before);
    println!("10,000 results of 1,000 bytes: {during} KiB, {after} KiB with the output");
}

fn main() {
    let text = ToolResultOutput::Text("x".into());
    let graphs = [("chain", chain()), ("fan", fan()), ("layered", layered())];
    for (name, definition) in &graphs {
        let workflow = Arc::new(check(definition, &Any).unwrap());
        measure(&format!("{name}, 1,000 nodes: check"), BOUND, || {
            black_box(check(definition, &Any).unwrap());
        });
        measure(&format!("{name}, 1,000 nodes: run"), BOUND, || {
            assert_eq!(run(&workflow, &text, None), 1_000);
        });
        let mut facts = Vec::new();
        run(&workflow, &text, Some(&mut facts));
        measure(&format!("{name}, 1,000 nodes: replay"), BOUND, || {
            let mut run = Run::new(Arc::clone(&workflow), "hello", Vec::new());
            for fact in &facts {
                run.replay(fact.clone()).unwrap();
            }
            assert!(run.resume(|_| false).is_empty() && run.is_done());
        });
    }
    let items: Vec<u32> = (0..10_000).collect();
    let items = ToolResultOutput::json(json!({"items": items, "title": "bees"}));
    for (name, at_once) in [("sequential", None), ("parallel", Some(64))] {
        let workflow = Arc::new(check(&each(at_once), &Any).unwrap());
        measure(&format!("10,000 items, {name}"), LOOP_BOUND, || {
            assert_eq!(run(&workflow, &items, None), 10_001);
        });
    }
    let workflow = Arc::new(check(&each(None), &Any).unwrap());
    print_memory(&workflow, &items);
}

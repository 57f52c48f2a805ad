//! Random graphs, settled in random orders.

use super::*;
use crate::definition::NodeMode;
use agent_host_types::workflow::Artifact;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json as value;
use std::collections::{BTreeMap, BTreeSet};

/// A node of a random graph, and what happens when it runs.
#[derive(Clone, Debug)]
struct Shape {
    mode: &'static str,
    /// The nodes that may follow, as offsets, and whether each has a condition.
    edges: Vec<(usize, bool)>,
    needs_success: bool,
    /// The items of the loop, and the iterations at once.
    foreach: Option<(u8, u8)>,
    retries: u8,
    aborts: bool,
    /// The attempts that fail, and the first item that does.
    failures: u8,
    failing_item: u8,
    waits: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let mode = prop::sample::select(vec!["sync", "parallel", "async"]);
    let edges = prop::collection::vec((1_usize..6, any::<bool>()), 0..4);
    let foreach = prop::option::weighted(0.3, (0_u8..5, 1_u8..4));
    let flags = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.2),
    );
    let failures = (0_u8..3, 0_u8..4, prop::bool::weighted(0.3), 0_u8..6);
    (mode, edges, foreach, flags, failures).prop_map(
        |(mode, edges, foreach, (needs_success, aborts, waits), failures)| Shape {
            mode,
            edges,
            needs_success,
            foreach,
            retries: failures.0,
            aborts,
            failures: if failures.2 { failures.1 } else { 0 },
            failing_item: failures.3,
            waits,
        },
    )
}

/// Ids whose order is not that of the graph.
fn id(index: usize) -> String {
    format!("n{}", (index * 7 + 3) % 31)
}

fn toml(shapes: &[Shape]) -> String {
    let mut toml = "reduce = { list = 'append', count = 'sum' }\n".to_owned();
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); shapes.len()];
    for (index, shape) in shapes.iter().enumerate() {
        for (offset, _) in &shape.edges {
            if let Some(predecessors) = before.get_mut(index + offset) {
                predecessors.insert(index);
            }
        }
    }
    for (index, shape) in shapes.iter().enumerate() {
        let targets = shape
            .edges
            .iter()
            .map(|(offset, when)| (index + offset, when));
        let edges = targets
            .filter(|(to, _)| *to < shapes.len())
            .map(|(to, when)| {
                let (from, to) = (id(index), id(to));
                let when = if *when {
                    format!("{from}.artifacts.even or {from}.error != null")
                } else {
                    "true".into()
                };
                format!("{{ to = '{to}', when = \"{when}\" }}")
            });
        let edges: Vec<String> = edges.collect();
        let mut keys = format!(
            "id = '{}'\nagent = 'a'\nmode = '{}'\nnext = [{}]\n",
            id(index),
            shape.mode,
            edges.join(", ")
        );
        let inputs = before[index].iter().map(|before| {
            let before = id(*before);
            format!("{{ {before} = '{before}.text' }}, {{ {before}-all = '{before}.artifacts.results' }}")
        });
        let mut inputs: Vec<String> = inputs.collect();
        inputs.push("{ state = 'state.list' }".into());
        keys += &format!("inputs = [{}]\n", inputs.join(", "));
        if let (Some((_, at_once)), Some(first)) = (shape.foreach, before[index].first()) {
            let over = format!("over = '{}.artifacts.items'", id(*first));
            keys += &match at_once {
                1 => format!("foreach = {{ {over} }}\n"),
                n => format!("foreach = {{ {over}, mode = 'parallel', at-once = {n} }}\n"),
            };
        }
        if shape.retries > 0 {
            keys += &format!("retry = {{ times = {} }}\n", shape.retries);
        }
        if shape.needs_success {
            keys += "needs = 'success'\n";
        }
        if shape.aborts {
            keys += "on-error = 'abort'\n";
        }
        toml += &format!("[[node]]\n{keys}");
    }
    toml
}

/// Depends on the node, the item and the attempt only.
fn output(shapes: &[Shape], start: &Start) -> NodeOutput {
    let index = (0..shapes.len()).find(|index| *id(*index) == *start.run.node);
    let shape = &shapes[index.unwrap()];
    let item = start.run.iteration.unwrap_or_default();
    let fails_here = start.iteration.is_none() || item >= u32::from(shape.failing_item);
    if fails_here && start.attempt <= u32::from(shape.failures) {
        return NodeOutput::of_failure("", NodeFailure::new("broken", start.run.to_string()));
    }
    let items: Vec<u8> = (0..shape.foreach.map_or(3, |(items, _)| items)).collect();
    let mut output = NodeOutput::of_text("", None, format!("text of {}", start.run));
    let artifacts = [
        ("even", value!(index.unwrap() % 2 == 0)),
        ("items", value!(items)),
        ("list", value!(start.run.to_string())),
        ("count", value!(1)),
    ];
    for (key, value) in artifacts {
        let artifact = Artifact::value(&value).unwrap();
        output.artifacts.insert(key.to_owned(), artifact);
    }
    output
}

/// One run, with what a driver would have journaled.
struct Simulation<'a> {
    shapes: &'a [Shape],
    run: Run,
    under_way: Vec<Start>,
    waiting: Vec<Start>,
    /// The runs of nodes that the user decided on and that have not started again.
    decided: Vec<Start>,
    facts: Vec<Fact>,
    /// The number of facts and the outcome, after each step.
    steps: Vec<(usize, Outcome)>,
    texts: BTreeMap<NodeRun, String>,
    waited: BTreeSet<NodeRun>,
}

impl<'a> Simulation<'a> {
    fn new(shapes: &'a [Shape]) -> Self {
        Self {
            run: begin_toml(&toml(shapes)),
            shapes,
            under_way: Vec::new(),
            waiting: Vec::new(),
            decided: Vec::new(),
            facts: Vec::new(),
            steps: Vec::new(),
            texts: BTreeMap::new(),
            waited: BTreeSet::new(),
        }
    }

    /// Runs to the end; `choices` decide what settles next.
    fn finish(mut self, choices: &[u8]) -> Self {
        let mut choices = choices.iter().cycle();
        for _ in 0..10_000 {
            self.start();
            let skipped = self.run.take_skipped().into_iter();
            self.facts
                .extend(skipped.map(|node| Fact::Skipped { node }));
            let outcome = self.run.outcome();
            self.steps.push((self.facts.len(), outcome));
            let choice = usize::from(*choices.next().unwrap_or(&0));
            if self.under_way.is_empty() && self.waiting.is_empty() {
                break;
            }
            let is_decision = choice % 3 == 0 || self.under_way.is_empty();
            if is_decision && !self.waiting.is_empty() {
                self.decide(choice);
            } else {
                self.settle(choice);
            }
        }
        assert!(self.run.is_done(), "{:#?}", self.run);
        self
    }

    fn start(&mut self) {
        for start in self.run.ready() {
            self.check_predecessors(&start);
            let text = start.input.text().unwrap().to_owned();
            match self.texts.insert(start.run.clone(), text.clone()) {
                None => assert_eq!((start.attempt, start.is_resumed), (1, false)),
                Some(first) => {
                    assert!(start.attempt > 1 || start.is_resumed, "{start:?} ran twice");
                    assert_eq!(first, text);
                }
            }
            self.facts.push(Fact::Intended {
                run: start.run.clone(),
                attempt: start.attempt,
            });
            self.decided.retain(|decided| decided.run != start.run);
            self.under_way.push(start);
        }
        // Their calls are open, so they are cancelled and settle.
        let cancelled = self.run.take_cancelled();
        let (cancelled, decided) = std::mem::take(&mut self.decided)
            .into_iter()
            .partition(|start| cancelled.contains(&start.run));
        self.under_way.extend::<Vec<Start>>(cancelled);
        self.decided = decided;
        let sync = self.under_way.iter();
        let sync = sync.filter(|start| start.node.mode == NodeMode::Sync);
        let sync: BTreeSet<_> = sync.map(|start| &start.run.node).collect();
        let has_ended = !matches!(self.run.outcome().end, WorkflowEnd::Completed);
        assert!(sync.len() <= 1 || has_ended, "{sync:?} overlap");
    }

    /// All predecessors settled or were skipped, and an edge of one that settled fired.
    fn check_predecessors(&self, start: &Start) {
        let workflow = Arc::clone(self.run.workflow());
        let predecessors = start.node.predecessors.iter();
        let states: Vec<NodeState> = predecessors
            .map(|&index| state(&self.run, &workflow.at(index).unwrap().id))
            .collect();
        let has_ended = |state: &NodeState| {
            matches!(
                state,
                NodeState::Done | NodeState::Failed | NodeState::Skipped
            )
        };
        assert!(states.iter().all(has_ended), "{start:?}: {states:?}");
        let all_skipped = states.iter().all(|state| *state == NodeState::Skipped);
        assert!(states.is_empty() || !all_skipped, "{start:?}: {states:?}");
    }

    fn settle(&mut self, choice: usize) {
        let start = self.under_way.remove(choice % self.under_way.len());
        let index = (0..self.shapes.len()).find(|index| *id(*index) == *start.run.node);
        if self.shapes[index.unwrap()].waits && self.waited.insert(start.run.clone()) {
            self.run.waiting(&start.run).unwrap();
            self.waiting.push(start);
            return;
        }
        let output = output(self.shapes, &start);
        if self.run.settled(&start.run, output.clone()).unwrap() == Progress::Settled {
            let (run, output) = (start.run, Box::new(output));
            self.facts.push(Fact::Settled { run, output });
        }
    }

    fn decide(&mut self, choice: usize) {
        let start = self.waiting.remove(choice % self.waiting.len());
        let has_ended = !matches!(self.run.outcome().end, WorkflowEnd::Completed);
        self.run.decided(&start.run).unwrap();
        match has_ended {
            true => self.under_way.push(start),
            false => self.decided.push(start),
        }
    }
}

/// Checks that messages are equal. Items after a failure may or may not have started.
fn check_texts(one: &BTreeMap<NodeRun, String>, other: &BTreeMap<NodeRun, String>) {
    for (run, text) in one {
        let same = other.get(run);
        assert!(
            same.is_none_or(|same| same == text),
            "{run}: {text}, {same:?}"
        );
    }
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    prop::collection::vec(shape(), 1..16)
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..40)
}

proptest! {
    #[test]
    fn run_of_any_graph_ends_and_starts_each_node_once(shapes in shapes(), choices in choices()) {
        Simulation::new(&shapes).finish(&choices);
    }

    #[test]
    fn replay_of_any_prefix_gives_the_same_state(shapes in shapes(), choices in choices()) {
        let simulation = Simulation::new(&shapes).finish(&choices);
        for (count, outcome) in &simulation.steps {
            let mut run = begin_toml(&toml(&shapes));
            for fact in &simulation.facts[..*count] {
                prop_assert_eq!(run.replay(fact.clone()), Ok(()));
            }
            prop_assert_eq!(run.take_skipped(), Vec::<Arc<str>>::new());
            prop_assert_eq!(&run.outcome(), outcome);
        }
    }

    #[test]
    fn resume_of_any_prefix_ends_as_the_run_did(
        mut shapes in shapes(), choices in choices(), at in any::<prop::sample::Index>(),
    ) {
        // An abort cancels what is under way, which depends on timing.
        shapes.iter_mut().for_each(|shape| shape.aborts = false);
        let whole = Simulation::new(&shapes).finish(&choices);
        let mut resumed = Simulation::new(&shapes);
        resumed.facts = whole.facts[..at.index(whole.facts.len() + 1)].to_vec();
        for fact in resumed.facts.clone() {
            prop_assert_eq!(resumed.run.replay(fact), Ok(()));
        }
        for (run, output) in resumed.run.resume(|_| true) {
            // Of a loop that failed at an earlier item.
            let code = output.error.clone().unwrap().code;
            prop_assert_eq!(code, "cancelled", "{}", &run);
            resumed.facts.push(Fact::Settled { run, output: Box::new(output) });
        }
        // What ran before the crash may start again.
        let before = resumed.facts.iter().filter_map(|fact| match fact {
            Fact::Intended { run, .. } => Some(run.clone()),
            Fact::Settled { .. } | Fact::Skipped { .. } => None,
        });
        let before: Vec<NodeRun> = before.collect();
        resumed.texts = whole.texts.clone();
        resumed.texts.retain(|run, _| before.contains(run));
        let resumed = resumed.finish(&choices);
        prop_assert_eq!(resumed.run.outcome(), whole.run.outcome());
        check_texts(&resumed.texts, &whole.texts);
    }

    #[test]
    fn order_of_settlement_changes_neither_state_nor_texts(
        mut shapes in shapes(), one in choices(), other in choices(),
    ) {
        shapes.iter_mut().for_each(|shape| shape.aborts = false);
        let one = Simulation::new(&shapes).finish(&one);
        let other = Simulation::new(&shapes).finish(&other);
        prop_assert_eq!(one.run.outcome(), other.run.outcome());
        check_texts(&one.texts, &other.texts);
    }
}

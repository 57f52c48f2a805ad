//! A *story*: the account of a session's calls that its journal gives, and the comparison of two
//! runs of one play.

use super::counter::Hit;
use agent_host_engine::session::SessionState;
use agent_host_types::{
    event::{Event, EventRecord},
    id::{CallId, SessionId, json_digest},
    message::Message,
    output::ToolResultOutput,
    tool::Effect,
    workflow::{NodeFailure, NodeOutput, WorkflowSummary},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// One call in the journal, or one node of a workflow.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallStory {
    tool: String,
    input: Arc<Map<String, Value>>,
    keys: BTreeSet<String>,
    effect: Option<Effect>,
    /// Whether it was about to run, and has neither ended nor asked since.
    running: bool,
    /// The results as nodes have them.
    results: Vec<NodeOutput>,
}

impl CallStory {
    /// Whether the process died while the call might have had an effect; its outcome is unknown.
    fn is_interrupted(&self) -> bool {
        self.running && self.effect == Some(Effect::Effectful) && self.results.is_empty()
    }

    /// Whether its result says that its outcome is unknown.
    fn is_unknown(&self) -> bool {
        let failures = self
            .results
            .iter()
            .filter_map(|output| output.error.as_ref());
        failures
            .map(|failure| failure.code.as_str())
            .eq(["interrupted-unknown"])
    }

    /// The key of the call's requests at the service: the idempotency key of a call that posts or
    /// is counted, the page of one that reads.
    fn hits(&self, hits: &BTreeMap<Hit, usize>) -> usize {
        let page = self.input.get("url").and_then(Value::as_str);
        let page = page.and_then(|url| Some(format!("/{}", url.rsplit_once('/')?.1)));
        let is_its = |(path, key): &Hit| match key.as_str() {
            "" => page.as_ref() == Some(path),
            key => self.keys.contains(key),
        };
        let own = hits.iter().filter(|(hit, _)| is_its(hit));
        own.map(|(_, count)| count).sum()
    }
}

/// The contents of a journal.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) state: SessionState,
    /// The calls by their ids; in the session of another call its id and `/` go before theirs.
    pub(crate) calls: BTreeMap<String, CallStory>,
    /// The kinds of events in it.
    pub(crate) kinds: BTreeSet<String>,
    /// The ends of runs of workflows.
    ends: Vec<WorkflowSummary>,
    /// The beginning of the names of calls whose events follow.
    path: String,
}

/// The name of the call in a session that a node of a workflow has for its call.
const CALL_OF_NODE: &str = "call";

impl Story {
    /// Tells the records of a session, followed by those of its agents.
    pub(crate) fn of(records: &[EventRecord]) -> Self {
        let mut story = Self::default();
        for record in records {
            if let Event::SessionStarted { parent, .. } = &record.event {
                let parent = parent.as_ref();
                story.path = parent.map_or_else(String::new, |call| format!("{}/", call.call_id));
            }
            if story.path.is_empty() {
                story.state.apply(&record.event);
            }
            let event = json!(record.event);
            story
                .kinds
                .insert(event["kind"].as_str().unwrap().to_owned());
            story.follow(&record.event);
            story.follow_workflow(record.session, &record.event);
        }
        story
    }

    fn call(&mut self, id: &CallId) -> &mut CallStory {
        let name = format!("{}{id}", self.path);
        self.calls.entry(name).or_default()
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::ModelReplied { reply, .. } => {
                for call in &reply.tool_calls {
                    let story = self.call(&call.id);
                    story.tool.clone_from(&call.name);
                    story.input = call.input.clone().unwrap_or_default();
                }
            }
            Event::ProgramCalled { calls } => {
                for call in calls {
                    let story = self.call(&call.id);
                    story.tool.clone_from(&call.name);
                    story.input = call.input.clone().unwrap_or_default();
                }
            }
            Event::CallIntended {
                call_id,
                effect,
                idempotency_key,
                ..
            } => {
                let story = self.call(call_id);
                story.effect = Some(*effect);
                story.running = true;
                story.keys.insert(idempotency_key.clone());
            }
            // An agent knows how far it is.
            Event::QuestionAsked { call_id, .. } | Event::AgentSpawned { call_id, .. } => {
                self.call(call_id).running = false;
            }
            Event::CallsDispatched { calls, .. } => {
                for call in calls {
                    self.call(&call.call_id).running = false;
                }
            }
            Event::CallSettled {
                call_id, output, ..
            } => {
                let story = self.call(call_id);
                story.running = false;
                let output = NodeOutput::of_result("", None, output.clone());
                story.results.push(output);
            }
            // They say nothing about a call of a model.
            _ => {}
        }
    }

    fn follow_workflow(&mut self, session: SessionId, event: &Event) {
        match event {
            Event::NodeIntended {
                call_id,
                tool,
                input,
                effect,
                ..
            } => {
                let story = self.call(call_id);
                story.tool.clone_from(tool);
                story.input = input.clone().unwrap_or_default();
                story.effect = Some(*effect);
                story.running = true;
                // The key of its requests; the event leaves it out.
                let key = json_digest(&json!([session, call_id])).hex();
                story.keys.insert(key);
            }
            Event::NodeSettled {
                call_id, output, ..
            } => {
                let story = self.call(call_id);
                story.running = false;
                story.results.push(output.clone());
            }
            Event::WorkflowEnded { summary } => self.ends.push(summary.clone()),
            // They say nothing about a node.
            _ => {}
        }
    }

    /// The calls that a process that died here leaves in doubt.
    pub(crate) fn interrupted(&self) -> impl Iterator<Item = String> {
        let calls = self.calls.iter();
        calls
            .filter(|(_, call)| call.is_interrupted())
            .map(|(id, _)| id.clone())
    }

    /// How many calls have a result.
    pub(crate) fn settled(&self) -> usize {
        let calls = self.calls.values();
        calls.filter(|call| !call.results.is_empty()).count()
    }

    /// The conversation, without the results of the calls in doubt, which cannot be compared.
    fn conversation(&self, doubtful: &BTreeSet<String>) -> Vec<Message> {
        let mut messages = self.state.messages().to_vec();
        for result in messages
            .iter_mut()
            .flat_map(|message| &mut message.tool_results)
            .filter(|result| doubtful.contains(&result.call_id.0))
        {
            result.output = ToolResultOutput::Text("in doubt".to_owned());
        }
        messages
    }

    /// The shared state without the merges of these calls.
    fn shared(&self, without: &BTreeSet<String>) -> Map<String, Value> {
        let without: BTreeSet<&str> = without
            .iter()
            .map(|name| name.rsplit_once('/').map_or(name.as_str(), |(_, id)| id))
            .collect();
        let shared = self.state.shared().iter();
        shared
            .filter(|(id, _)| !without.contains(id.as_str()))
            .map(|(id, value)| (id.clone(), value.clone()))
            .collect()
    }

    /// The ends of the workflows if these calls are unknown, with the messages of another run.
    fn ends_without(
        &self,
        unknown: &BTreeSet<String>,
        others: &[WorkflowSummary],
    ) -> Vec<WorkflowSummary> {
        let calls = unknown.iter().filter(|id| !id.contains('/'));
        let nodes = calls.map(|id| id.split_once('[').map_or(id.as_str(), |(node, _)| node));
        let nodes: BTreeSet<&str> = nodes.collect();
        let failed = |node: &str, other: &WorkflowSummary| NodeFailure {
            code: "interrupted-unknown".to_owned(),
            ..other.failed[node].clone()
        };
        let ends = self.ends.iter().zip(others);
        ends.map(|(end, other)| WorkflowSummary {
            done: end.done - nodes.len() as u64,
            failed: nodes
                .iter()
                .map(|node| ((*node).to_owned(), failed(node, other)))
                .collect(),
            ..end.clone()
        })
        .collect()
    }

    /// The iterations of a `foreach` that never began because one beside them is in doubt.
    fn unstarted(&self, whole: &Self, doubtful: &BTreeSet<String>) -> BTreeSet<String> {
        let absent = whole
            .calls
            .keys()
            .filter(|id| !self.calls.contains_key(*id));
        let is_after_doubt = |id: &&String| {
            let node = id.split_once('[').map(|(node, _)| format!("{node}["));
            node.is_some_and(|node| doubtful.iter().any(|doubt| doubt.starts_with(&node)))
        };
        absent.filter(is_after_doubt).cloned().collect()
    }
}

/// The result of a play: its journal, and the service's counts.
pub(crate) struct Run {
    pub(crate) story: Story,
    pub(crate) hits: BTreeMap<Hit, usize>,
}

impl Run {
    /// Asserts that each request at the service is one of a call in the journal.
    pub(crate) fn assert_accounted(&self, what: &str) {
        let calls = self.story.calls.values();
        let of_calls: usize = calls.map(|call| call.hits(&self.hits)).sum();
        let all: usize = self.hits.values().sum();
        pretty_assertions::assert_eq!(of_calls, all, "{what}: {:?}", self.hits);
    }
}

/// Totals over many disturbed runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultStats {
    /// Faults injected.
    pub(crate) faults: usize,
    /// Calls without a result, or whose effect never came about.
    pub(crate) lost: usize,
    /// Effectful calls that reached the service twice, and calls with two results.
    pub(crate) twice: usize,
    /// Effectful calls whose outcome was reported to the model as unknown.
    pub(crate) in_doubt: usize,
    /// Iterations of a `foreach` that did not begin because one of it is in doubt.
    pub(crate) unstarted: usize,
    /// Runs of repeatable calls beyond the first of each.
    pub(crate) repeated: usize,
}

impl FaultStats {
    /// Compares a disturbed run with the undisturbed one. `doubtful` are the calls left in doubt.
    pub(crate) fn add(&mut self, what: &str, whole: &Run, run: &Run, doubtful: &BTreeSet<String>) {
        self.faults += 1;
        self.in_doubt += doubtful.len();
        let unstarted = run.story.unstarted(&whole.story, doubtful);
        self.unstarted += unstarted.len();
        let mut unknown = BTreeSet::new();
        for (id, expected) in &whole.story.calls {
            if unstarted.contains(id) {
                continue;
            }
            let wanted = expected.hits(&whole.hits);
            let call = run.story.calls.get(id).cloned().unwrap_or_default();
            let found = call.hits(&run.hits);
            // A node has the result of the call in its session.
            let in_doubt =
                doubtful.contains(id) || doubtful.contains(&format!("{id}/{CALL_OF_NODE}"));
            let is_lost = call.results.is_empty() || (found < wanted && !in_doubt);
            let may_repeat = wanted > 0 && expected.effect != Some(Effect::Effectful);
            let is_twice = call.results.len() > 1 || (found > wanted && !may_repeat);
            self.lost += usize::from(is_lost);
            self.twice += usize::from(is_twice);
            self.repeated += found.saturating_sub(wanted);
            assert!(
                !is_lost && !is_twice && call.keys.len() <= 1,
                "{what}: {id} was lost or ran twice: {found} times, {call:?}"
            );
            assert_eq!(call.is_unknown(), in_doubt, "{what}: {id}: {call:?}");
            if in_doubt {
                unknown.insert(id.clone());
            } else {
                pretty_assertions::assert_eq!(call.results, expected.results, "{what}: {id}");
            }
        }
        run.assert_accounted(what);
        let without = &doubtful.union(&unstarted).cloned().collect();
        pretty_assertions::assert_eq!(
            (
                run.story.conversation(doubtful),
                run.story.shared(without),
                run.story.state.remembered(),
                &run.story.ends,
            ),
            (
                whole.story.conversation(doubtful),
                whole.story.shared(without),
                whole.story.state.remembered(),
                &whole.story.ends_without(&unknown, &run.story.ends),
            ),
            "{what}"
        );
    }
}

impl std::fmt::Display for FaultStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} faults, {} calls lost, {} run twice, {} in doubt and said so, {} harmless repetitions",
            self.faults, self.lost, self.twice, self.in_doubt, self.repeated
        )?;
        match self.unstarted {
            0 => Ok(()),
            unstarted => write!(f, ", {unstarted} not begun after one in doubt"),
        }
    }
}

//! A *story*: the account of a session's calls that its journal gives, and the comparison of two
//! runs of one play.

use super::counter::Hit;
use agent_host_engine::session::SessionState;
use agent_host_types::{
    event::{Event, EventRecord},
    id::CallId,
    message::Message,
    output::ToolResultOutput,
    tool::Effect,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// One call in the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallStory {
    tool: String,
    input: Map<String, Value>,
    keys: BTreeSet<String>,
    effect: Option<Effect>,
    /// Whether it was about to run, and has neither ended nor asked since.
    running: bool,
    results: Vec<ToolResultOutput>,
}

impl CallStory {
    /// Whether the process died while the call might have had an effect; its outcome is unknown.
    fn is_interrupted(&self) -> bool {
        self.running && self.effect == Some(Effect::Effectful) && self.results.is_empty()
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
    /// The calls by their ids; those of an agent have `agent/` before theirs.
    pub(crate) calls: BTreeMap<String, CallStory>,
    /// The kinds of events in it.
    pub(crate) kinds: BTreeSet<String>,
    /// The beginning of the names of calls whose events follow.
    path: &'static str,
}

/// The beginning of the names of an agent's calls.
const AGENT: &str = "agent/";

impl Story {
    /// Tells the records of a session, followed by those of its agent.
    pub(crate) fn of(records: &[EventRecord]) -> Self {
        let mut story = Self::default();
        for record in records {
            let is_agents = records
                .first()
                .is_some_and(|first| first.session != record.session);
            if !is_agents {
                story.state.apply(&record.event);
            }
            story.path = if is_agents { AGENT } else { "" };
            let event = serde_json::json!(record.event);
            story
                .kinds
                .insert(event["kind"].as_str().unwrap().to_owned());
            story.follow(&record.event);
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
                story.results.push(output.clone());
            }
            // They say nothing about a run.
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

    /// The shared state without the merges of the calls in doubt.
    fn shared(&self, doubtful: &BTreeSet<String>) -> Map<String, Value> {
        let shared = self.state.shared().iter();
        shared
            .filter(|(id, _)| {
                !doubtful.contains(*id) && !doubtful.contains(&format!("{AGENT}{id}"))
            })
            .map(|(id, value)| (id.clone(), value.clone()))
            .collect()
    }
}

/// The result of a play: its journal, and the service's counts.
pub(crate) struct Run {
    pub(crate) story: Story,
    pub(crate) hits: BTreeMap<Hit, usize>,
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
    /// Runs of repeatable calls beyond the first of each.
    pub(crate) repeated: usize,
}

impl FaultStats {
    /// Compares a disturbed run with the undisturbed one. `doubtful` are the calls left in doubt.
    pub(crate) fn add(&mut self, what: &str, whole: &Run, run: &Run, doubtful: &BTreeSet<String>) {
        self.faults += 1;
        self.in_doubt += doubtful.len();
        for (id, expected) in &whole.story.calls {
            let wanted = expected.hits(&whole.hits);
            let call = run.story.calls.get(id).cloned().unwrap_or_default();
            let found = call.hits(&run.hits);
            let in_doubt = doubtful.contains(id);
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
            let is_unknown = matches!(
                call.results.as_slice(),
                [ToolResultOutput::ErrorJson(error)] if error.to_value()["code"] == "interrupted-unknown"
            );
            assert_eq!(is_unknown, in_doubt, "{what}: {id}: {call:?}");
        }
        pretty_assertions::assert_eq!(
            (
                run.story.conversation(doubtful),
                run.story.shared(doubtful),
                run.story.state.remembered(),
            ),
            (
                whole.story.conversation(doubtful),
                whole.story.shared(doubtful),
                whole.story.state.remembered(),
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
        )
    }
}

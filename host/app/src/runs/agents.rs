//! The feeds of the sessions of agents. Their lines come in the feed of the session that the user
//! talks to, with the path of the agent, and go to the feed of the agent's own session, too.

#[cfg(test)]
mod tests;

use super::{Feed, Runs, lock};
use agent_host_engine::stream::{StreamContent, StreamLine};
use agent_host_types::{
    event::Event,
    id::{CallId, SessionId},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// The feeds of the agents that work in one run.
pub(super) struct AgentFeeds<'r> {
    runs: &'r Runs,
    /// By the calls that started them.
    working: Mutex<HashMap<Vec<CallId>, Working<'r>>>,
}

impl<'r> AgentFeeds<'r> {
    pub(super) fn new(runs: &'r Runs) -> Self {
        Self {
            runs,
            working: Mutex::default(),
        }
    }

    /// Passes a line of the run to the agents that it is about.
    pub(super) fn publish(&self, line: &StreamLine) {
        let mut working = lock(&self.working);
        let mut begin = |path: Vec<CallId>, session| {
            let new = || Working::new(self.runs, session);
            working.entry(path).or_insert_with(new);
        };
        if let StreamContent::Record(record) = &line.content {
            if !line.path.is_empty() {
                // It may have begun in an earlier run.
                begin(line.path.to_vec(), record.session);
            }
            if let Event::AgentSpawned {
                call_id, session, ..
            } = &record.event
            {
                begin(below(line, call_id), *session);
            }
        }
        for depth in 1..=line.path.len() {
            let (path, rest) = line.path.split_at(depth);
            if let Some(agent) = working.get(path) {
                let line = StreamLine::new(line.content.clone(), rest.into());
                agent.feed.publish(Arc::new(line));
            }
        }
        if let StreamContent::Record(record) = &line.content
            && let Some(end) = record.event.call_end()
        {
            working.remove(&below(line, end.call_id));
        }
    }
}

/// Returns the path of the agent of a call.
fn below(line: &StreamLine, call_id: &CallId) -> Vec<CallId> {
    line.path.iter().chain([call_id]).cloned().collect()
}

/// The feed of an agent that works, which is kept without a reader: one that comes gets the reply
/// that arrives from its start.
struct Working<'r> {
    runs: &'r Runs,
    session: SessionId,
    feed: Arc<Feed>,
}

impl<'r> Working<'r> {
    fn new(runs: &'r Runs, session: SessionId) -> Self {
        let feed = runs.hold_feed(session);
        Self {
            runs,
            session,
            feed,
        }
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.feed.forget_recent();
        self.feed.release();
        self.runs.forget_unwatched(self.session);
    }
}

//! Tools that a server changed or added since they were first listed.

use agent_host_engine::definitions::Definitions;
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// The tools that differ from the first list, under the names for models.
#[derive(Debug, Default)]
pub(crate) struct ToolChanges {
    changed: Mutex<BTreeSet<String>>,
    /// The added tools, of which the operator was told.
    added: Mutex<BTreeSet<String>>,
}

impl ToolChanges {
    pub(crate) fn is_changed(&self, tool: &str) -> bool {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.contains(tool)
    }

    /// Compares the tools of a server with those as first listed; all changed if `now` is `None`.
    pub(crate) fn record(&self, server: &str, first: &Definitions, now: Option<&Definitions>) {
        self.record_changed(server, first, now);
        if let Some(now) = now {
            self.announce_added(server, first, now);
        }
    }

    fn record_changed(&self, server: &str, first: &Definitions, now: Option<&Definitions>) {
        let now = now.map_or(&[][..], Definitions::all);
        let others = first.all().iter().filter(|tool| !now.contains(tool));
        let others: BTreeSet<String> = others.map(|tool| tool.name.clone()).collect();
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.is_empty() && *changed != others {
            let names: Vec<&str> = others.iter().map(String::as_str).collect();
            tracing::warn!(
                "the MCP server `{server}` changed these tools while in use, so they are no longer called: {}. \
                 Review them with `agent-host lock`, and accept them with `agent-host lock --accept {server}`",
                names.join(", "),
            );
        }
        *changed = others;
    }

    /// Tells the operator once of each tool that is not offered since the lock does not have it.
    fn announce_added(&self, server: &str, first: &Definitions, now: &Definitions) {
        let mut told = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let names = now.all().iter().map(|tool| tool.name.as_str());
        let added: Vec<&str> = names
            .filter(|name| first.schemas(name).is_none())
            .filter(|name| told.insert((*name).to_owned()))
            .collect();
        if !added.is_empty() {
            tracing::warn!(
                "the MCP server `{server}` added these tools while in use, so they are not offered yet: {}. Review \
                 them with `agent-host lock`, accept them with `agent-host lock --accept {server}`, and restart",
                added.join(", "),
            );
        }
    }
}

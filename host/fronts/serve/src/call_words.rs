//! Calls in words for the readers of a session's events: `agent_host_engine::call_summary` is the
//! only reader of templates, so that no client needs one. Words are never in the journal.

use crate::Service;
use agent_host_app::{CallKind, ConfiguredAgents};
use agent_host_engine::{
    call_summary::CallSummary,
    stream::{StreamContent, StreamLine},
    text::escape_line,
    tool_set::ToolSet,
    turn::Prompts,
};
use agent_host_journal::JournalStore;
use agent_host_types::{
    event::{CallRequest, EventRecord},
    id::{CallId, SessionId},
    tool::RegisteredTool,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};

/// The most open calls whose arguments are kept; beyond, the arguments are read again.
const MAX_OPEN: usize = 4_096;

/// The events before a result in which the arguments of its call are looked for, and the pages that
/// are read for that, of about 1 MiB each.
const LOOK_BACK: u64 = 256;
const LOOK_BACK_PAGES: usize = 4;

/// A line of a session's events with its calls in words.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventLine<'a> {
    /// The line.
    #[serde(flatten)]
    line: &'a StreamLine,
    /// The calls that the event starts or ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallWords>,
}

/// A call in words, on one line and escaped.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CallWords {
    /// The call.
    call_id: CallId,
    /// The words about the call, and with its result about that.
    words: String,
    /// The tool's name, to be shown behind the words; absent before the result, whose words begin
    /// with it, and for words that are the host's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The kind of the call, which its tool has no say in.
    kind: CallKind,
}

type Arguments = Arc<Map<String, Value>>;

/// Tells the calls of one stream of events.
pub(crate) struct CallTeller {
    service: Service,
    tools: Arc<ToolSet>,
    /// The arguments of the calls that have no result yet, also of agents' sessions.
    open: HashMap<(SessionId, CallId), Option<Arguments>>,
}

impl CallTeller {
    pub(crate) fn new(service: &Service) -> Self {
        Self {
            tools: service.host.agents().agent(Prompts::Ask).tools,
            service: service.clone(),
            open: HashMap::new(),
        }
    }

    /// Returns the JSON of a line, with the words of its calls.
    pub(crate) async fn json(&mut self, line: &StreamLine) -> Arc<str> {
        let calls = match &line.content {
            StreamContent::Record(record) => self.calls(record).await,
            StreamContent::Live(_) => Vec::new(),
        };
        if calls.is_empty() {
            return Arc::clone(line.json());
        }
        // Only a map with other keys than text cannot be written, and there is none.
        let text = serde_json::to_string(&EventLine { line, calls });
        text.map_or_else(|_| Arc::clone(line.json()), Arc::from)
    }

    async fn calls(&mut self, record: &EventRecord) -> Vec<CallWords> {
        let started = record.event.call_requests();
        if self.open.len() + started.len() > MAX_OPEN {
            self.open.clear();
        }
        for call in &started {
            let key = (record.session, call.call_id.clone());
            self.open.insert(key, call.input.cloned());
        }
        let mut calls: Vec<CallWords> = started.iter().map(|call| self.pending(call)).collect();
        if let Some(end) = record.event.call_end()
            && let (Some(tool), Some(output)) = (end.tool, end.output)
        {
            let input = self.take_arguments(record, end.call_id).await;
            let known = self.tool(tool);
            let told =
                CallSummary::new(tool, known, input.as_deref(), output, end.whole, end.audit);
            calls.push(CallWords {
                call_id: end.call_id.clone(),
                words: in_node(end.node, told.words),
                tool: told.tool,
                kind: self.kind(tool),
            });
        }
        calls
    }

    fn pending(&self, call: &CallRequest<'_>) -> CallWords {
        let input = call.input.map(AsRef::as_ref);
        CallWords {
            call_id: call.call_id.clone(),
            words: in_node(
                call.node,
                CallSummary::pending(call.tool, self.tool(call.tool), input),
            ),
            tool: None,
            kind: self.kind(call.tool),
        }
    }

    fn tool(&self, name: &str) -> Option<&RegisteredTool> {
        let own = self.tools.get(name).map(|entry| &entry.tool);
        own.or_else(|| self.agents().registry().tool(name))
    }

    fn kind(&self, name: &str) -> CallKind {
        CallKind::new(self.agents().registry(), name, self.tool(name))
    }

    fn agents(&self) -> &ConfiguredAgents {
        self.service.host.agents()
    }

    /// Takes the arguments of a call that has its result. A stream that began behind them reads
    /// them from the journal.
    async fn take_arguments(&mut self, ended: &EventRecord, call: &CallId) -> Option<Arguments> {
        match self.open.remove(&(ended.session, call.clone())) {
            Some(input) => input,
            None => read_arguments(self.service.store(), ended, call).await,
        }
    }
}

/// Puts the id of a call's node before its words.
fn in_node(node: Option<&str>, words: String) -> String {
    match node {
        Some(node) => format!("{} · {words}", escape_line(node)),
        None => words,
    }
}

/// Looks for the arguments of a call in the events before its result; their number is bounded, since
/// a call runs soon after it was requested.
async fn read_arguments(
    store: &dyn JournalStore,
    ended: &EventRecord,
    call: &CallId,
) -> Option<Arguments> {
    let (mut next, mut found) = (ended.seq.saturating_sub(LOOK_BACK), None);
    for _ in 0..LOOK_BACK_PAGES {
        // What cannot be read is missing in the words alone.
        let page = store.read(ended.session, next).await.ok()?;
        let Some(last) = page.last().map(|record| record.seq) else {
            break;
        };
        for record in page.iter().take_while(|record| record.seq < ended.seq) {
            let mut started = record.event.call_requests().into_iter();
            let input = started.find(|started| started.call_id == call);
            found = input.and_then(|started| started.input.cloned()).or(found);
        }
        next = last.saturating_add(1);
        if next >= ended.seq {
            break;
        }
    }
    found
}

//! The entries of a session's receipts, from its events.

use crate::explain::outcome;
use agent_host_engine::setup::LoopSetup;
use agent_host_journal::JournalStore;
use agent_host_types::{
    approval::Decision,
    continuation::PendingCall,
    event::{CallEnd, EXPIRY, Event, EventRecord},
    id::{CallId, Digest, SessionId},
    output::{BlobRef, ToolResultOutput},
    tool::DecisionKind,
    workflow::NodeOutput,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// An entry: what the journal has of a settled call, or of a decision.
#[derive(Debug, Default, Serialize)]
pub(super) struct Entry {
    kind: &'static str,
    /// The position of the event in the session.
    position: u64,
    at_ms: u64,
    call_id: CallId,
    tool: String,
    /// The caller, or the one who decided, after a word that says what they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    /// The sender of the input that the call came from, as the front end names it; absent for the
    /// user of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ruling: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    setup: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// The session of the agent that the call ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<SessionId>,
    /// The contents by name, each as text. They are committed to, and can be removed.
    #[serde(skip)]
    pub(super) contents: BTreeMap<&'static str, String>,
}

/// The facts of a session that are needed before its first entry.
#[derive(Debug, Default)]
pub(super) struct SessionOutline {
    setups: BTreeSet<Digest>,
    /// The position of the last event. A session that runs has more of them meanwhile.
    last: u64,
    /// The position of the last copy, before which the events are those of another journal.
    copied: Option<u64>,
}

impl SessionOutline {
    pub(super) fn add(&mut self, record: &EventRecord) {
        self.last = record.seq;
        match &record.event {
            Event::LoopConfigured { setup, .. } => drop(self.setups.insert(setup.digest)),
            Event::SessionForked { .. } => self.copied = Some(record.seq),
            _ => {}
        }
    }
}

/// Makes entries of the events of a session.
pub(super) struct EntryReader {
    last: u64,
    copied: Option<u64>,
    /// The components of the tools, by setup and name.
    components: HashMap<Digest, HashMap<String, Digest>>,
    setup: Option<Digest>,
    /// The caller, if it is not the model.
    client: Option<String>,
    model: Option<String>,
    sender: Option<String>,
    /// The calls that have no result yet.
    calls: HashMap<CallId, OpenCall>,
    /// The calls that wait for approval, by request.
    requests: HashMap<String, Vec<PendingCall>>,
}

/// A call that has no result yet.
#[derive(Default)]
struct OpenCall {
    who: Option<String>,
    input: Option<Arc<Map<String, Value>>>,
    ruling: Option<&'static str>,
    rule: Option<String>,
}

/// The result of a call as it is committed to.
#[derive(Serialize)]
struct CallResult<'a> {
    output: &'a ToolResultOutput,
    /// The whole result, where `output` is a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<&'a BlobRef>,
}

/// The output of a node of a workflow as it is committed to.
#[derive(Serialize)]
struct NodeResult<'a> {
    output: &'a NodeOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<&'a BlobRef>,
}

impl EntryReader {
    pub(super) async fn new(store: &dyn JournalStore, outline: SessionOutline) -> Self {
        let mut components = HashMap::new();
        for digest in outline.setups {
            // A setup that this version cannot read names no components.
            let setup = store.read_blob(digest).await.ok();
            let setup = setup.and_then(|json| LoopSetup::parse(&json).ok());
            components.extend(setup.map(|setup| (digest, components_of(&setup))));
        }
        Self {
            last: outline.last,
            copied: outline.copied,
            components,
            setup: None,
            client: None,
            model: None,
            sender: None,
            calls: HashMap::new(),
            requests: HashMap::new(),
        }
    }

    /// Returns the entries of the next event.
    pub(super) fn read(&mut self, record: &EventRecord) -> Vec<Entry> {
        self.keep(&record.event);
        let mut entries: Vec<Entry> = match &record.event {
            Event::DecisionRecorded {
                request,
                decisions,
                by,
            } => {
                let waiting = self.requests.remove(request).unwrap_or_default();
                let decided = decisions
                    .iter()
                    .map(|decision| self.decision(decision, &waiting, by.as_deref()));
                decided.collect()
            }
            event => {
                let end = event.call_end();
                // After an attempt that another one follows, the call continues.
                let end = end.filter(|end| end.tool.is_some());
                end.map(|end| self.call(&end, event)).into_iter().collect()
            }
        };
        // The events of another journal were believed without it.
        let is_copied = self.copied.is_some_and(|copied| record.seq < copied);
        if is_copied || record.seq > self.last {
            return Vec::new();
        }
        for entry in &mut entries {
            (entry.position, entry.at_ms) = (record.seq, record.at_ms);
        }
        entries
    }

    /// Keeps what later entries need of an event.
    fn keep(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { client, .. } => self.client.clone_from(client),
            Event::SessionForked { .. } => self.requests.clear(),
            Event::LoopConfigured { setup, .. } => self.setup = Some(setup.digest),
            Event::InputReceived { by, .. } => self.sender.clone_from(by),
            Event::SenderNamed { by, .. } => self.sender = Some(by.clone()),
            Event::ModelRequested { provenance, .. } => {
                let (provider, model) = (&provenance.provider, &provenance.model);
                self.model = Some(format!("model:{provider}:{model}"));
            }
            Event::ApprovalRequested { request, calls, .. } => {
                self.requests.insert(request.clone(), calls.clone());
            }
            Event::ProgramCalled { calls } => {
                for call in calls {
                    let open = self.calls.entry(call.id.clone()).or_default();
                    open.input.clone_from(&call.input);
                    open.who = Some("program".to_owned());
                }
            }
            _ => {}
        }
        for call in event.call_requests() {
            let open = self.calls.entry(call.call_id.clone()).or_default();
            open.input = call.input.cloned().or(open.input.take());
            if let Some(node) = call.node {
                open.who = Some(format!("node:{node}"));
            } else if open.who.is_none() {
                let client = self.client.as_ref().map(|name| format!("client:{name}"));
                open.who = client.or_else(|| self.model.clone());
            }
        }
        if let Some(start) = event.call_start() {
            let open = self.calls.entry(start.call_id.clone()).or_default();
            open.ruling.get_or_insert("allow");
            open.rule = start.rule.map(str::to_owned).or(open.rule.take());
        }
    }

    /// Returns the entry of a decision.
    fn decision(
        &mut self,
        decision: &Decision,
        waiting: &[PendingCall],
        by: Option<&str>,
    ) -> Entry {
        let id = decision.call_id();
        let call = waiting.iter().find(|call| call.call_id == *id);
        let rule = call.map(|call| call.rule.clone());
        let open = self.calls.entry(id.clone()).or_default();
        (open.ruling, open.rule) = (Some("ask"), rule.clone());
        let tool = call.map(|call| call.tool.clone()).unwrap_or_default();
        let mut contents = BTreeMap::from([("decision", text(decision))]);
        contents.extend(call.map(|call| ("shown", text(call))));
        Entry {
            kind: "decision",
            call_id: id.clone(),
            who: Some(match by {
                None => "user".to_owned(),
                Some(EXPIRY) => "host:expiry".to_owned(),
                Some(by) => format!("sender:{by}"),
            }),
            ruling: Some(match decision.kind() {
                DecisionKind::Approve => "approve",
                DecisionKind::Edit => "edit",
                DecisionKind::Reject => "reject",
                DecisionKind::Respond => "respond",
            }),
            rule,
            setup: self.setup,
            component: self.component(&tool),
            tool,
            contents,
            ..Entry::default()
        }
    }

    /// Returns the entry of a call that settled.
    fn call(&mut self, end: &CallEnd<'_>, event: &Event) -> Entry {
        let open = self.calls.remove(end.call_id).unwrap_or_default();
        let (ruling, rule) = match end.rule {
            Some(rule) => (Some("deny"), Some(rule.to_owned())),
            None => (open.ruling, open.rule),
        };
        let tool = end.tool.unwrap_or_default();
        let mut contents = BTreeMap::new();
        contents.extend(open.input.map(|input| ("arguments", text(&input))));
        let whole = end.whole;
        let result = match (event, end.output) {
            (Event::NodeSettled { output, .. }, _) => Some(text(&NodeResult { output, whole })),
            (_, Some(output)) => Some(text(&CallResult { output, whole })),
            (_, None) => None,
        };
        contents.extend(result.map(|result| ("result", result)));
        if !end.audit.is_empty() {
            contents.insert("audit", text(&end.audit));
        }
        Entry {
            kind: "call",
            call_id: end.call_id.clone(),
            tool: tool.to_owned(),
            who: open.who,
            sender: self.sender.clone(),
            ruling,
            rule,
            setup: self.setup,
            component: self.component(tool),
            outcome: Some(outcome(end).to_owned()),
            agent: end.child.map(|child| child.session),
            contents,
            ..Entry::default()
        }
    }

    fn component(&self, tool: &str) -> Option<Digest> {
        self.components.get(&self.setup?)?.get(tool).copied()
    }
}

/// Returns the components of the tools of the session's agent, by name.
fn components_of(setup: &LoopSetup) -> HashMap<String, Digest> {
    let tools = setup.main().into_iter().flat_map(|agent| &agent.tools);
    let tools = tools.filter_map(|digest| setup.tool(digest));
    let with_digest = tools.filter_map(|known| {
        let name = known.tool.definition.name.clone();
        Some((name, known.tool.component?))
    });
    with_digest.collect()
}

/// Returns the JSON of a content. Values of the journal can always be written.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

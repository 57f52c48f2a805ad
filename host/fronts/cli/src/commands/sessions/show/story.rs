//! A session as a story: who said what, each call in words, what was denied and what changed, and
//! the totals.

use super::{SHOWN_CHARACTERS, event};
use crate::terminal::{
    BOLD, DIM, YELLOW, audit_line, call_line, count, counted, date, dollars, duration, escape,
    escape_line, one_line, truncated,
};
use agent_host_engine::{call_summary::CallSummary, setup::LoopSetup};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::AuditRequest,
    event::{CallEnd, Event, EventRecord},
    id::CallId,
    message::Message,
    model::Usage,
    output::{ContentPart, FilePart},
    tool::RegisteredTool,
    turn::TurnEnd,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The most changed files that the totals name.
const SHOWN_FILES: usize = 10;

/// The lines below a call.
const DETAIL: &str = "\n    ";

/// The story so far.
#[derive(Debug, Default)]
pub(in crate::commands::sessions) struct Story {
    /// The tools by name, as the setups of the session have them.
    tools: HashMap<String, RegisteredTool>,
    /// The arguments of the calls that have no result yet.
    inputs: HashMap<CallId, Arc<Map<String, Value>>>,
    calls: u64,
    denied: u64,
    failed: u64,
    changed: BTreeSet<String>,
    turns: u64,
    usage: Usage,
    duration_ms: u64,
}

impl Story {
    /// Adds the tools of a recorded setup, if this version can read it.
    pub(in crate::commands::sessions) fn add_setup(&mut self, setup: &[u8]) {
        let Ok(setup) = LoopSetup::parse(setup) else {
            return;
        };
        for agent in setup.agents() {
            let tools = agent.tools.iter().filter_map(|tool| setup.tool(tool));
            for known in tools {
                let name = known.tool.definition.name.clone();
                self.tools.insert(name, known.tool.clone());
            }
        }
    }

    /// Returns the text of the next event; `None` for one that the story leaves out.
    pub(in crate::commands::sessions) fn tell(&mut self, record: &EventRecord) -> Option<String> {
        self.keep_inputs(&record.event);
        if let Some(end) = record.event.call_end() {
            return self.call(&end, &record.event);
        }
        match &record.event {
            Event::SessionStarted { .. } | Event::SessionForked { .. } => Some(format!(
                "{DIM}{}{DIM:#} {}",
                date(record.at_ms),
                event(&record.event)
            )),
            Event::InputReceived { message, by, .. } => {
                let who = by.as_deref().map_or_else(|| "You".to_owned(), escape_line);
                Some(format!("\n{BOLD}{who}: {}{BOLD:#}", said(message)))
            }
            Event::ModelReplied { reply, .. } => {
                let text = reply.text.trim_end();
                (!text.is_empty()).then(|| escape(text))
            }
            Event::ModelRequested { .. } => {
                self.turns += 1;
                None
            }
            Event::TurnEnded { outcome, .. } => {
                self.usage = outcome.summary.total_usage;
                let taken = outcome.summary.duration_ms;
                self.duration_ms = self.duration_ms.saturating_add(taken);
                let is_usual = matches!(
                    outcome.end,
                    TurnEnd::NeedsMoreTurns
                        | TurnEnd::Done { .. }
                        | TurnEnd::AwaitingConfirmation { .. }
                        | TurnEnd::AwaitingAnswer { .. }
                        | TurnEnd::PendingToolCalls { .. }
                        | TurnEnd::AwaitingChildren { .. }
                );
                (!is_usual).then(|| event(&record.event))
            }
            Event::ResultsReferenced { .. } => {
                Some(format!("{DIM}old results are now references{DIM:#}"))
            }
            Event::HistorySummarised { messages, .. } => Some(format!(
                "{DIM}the first {messages} messages are now a summary{DIM:#}"
            )),
            Event::KeyTaken { .. }
            | Event::SenderNamed { .. }
            | Event::RunConfigured { .. }
            | Event::RunPlaced { .. }
            | Event::LoopConfigured { .. }
            | Event::ContextSet { .. }
            | Event::FilesLabelled { .. }
            | Event::StateMerged { .. }
            | Event::CallReceived { .. }
            | Event::CallReviewed { .. }
            | Event::FactsRead { .. }
            | Event::CallIntended { .. }
            | Event::NodeIntended { .. }
            | Event::HookDecided { .. }
            | Event::ProgramCalled { .. } => None,
            told => Some(event(told)),
        }
    }

    /// Keeps the arguments of calls for their results.
    fn keep_inputs(&mut self, event: &Event) {
        for call in event.call_requests() {
            // A handler has no arguments; a model's that are not an object are shown as none.
            if call.node.is_none() || call.input.is_some() {
                let input = call.input.cloned().unwrap_or_default();
                self.inputs.insert(call.call_id.clone(), input);
            }
        }
    }

    fn call(&mut self, end: &CallEnd<'_>, ended: &Event) -> Option<String> {
        let input = self.inputs.remove(end.call_id);
        self.calls += 1;
        self.denied += u64::from(end.is_denied());
        self.failed += u64::from(!end.is_denied() && !end.is_success());
        self.changed.extend(end.audit.iter().filter_map(changed));
        let (Some(tool), Some(output)) = (end.tool, end.output) else {
            return Some(event(ended));
        };
        let known = self.tools.get(tool);
        let told = CallSummary::new(tool, known, input.as_deref(), output, end.whole, end.audit);
        let line = call_line(&told, output, Some(end.accounting.wall_us));
        let node = end
            .node
            .map(|node| format!("{BOLD}{}{BOLD:#} ", escape_line(node)));
        let rule = end
            .rule
            .map(|rule| format!("{DETAIL}{YELLOW}denied{YELLOW:#} by {}", escape_line(rule)));
        let sources = (!end.labels.is_empty()).then(|| {
            let sources = escape_line(&end.labels.join(", "));
            format!("{DETAIL}{YELLOW}text{YELLOW:#} from {sources}")
        });
        let denied = end.audit.iter().filter(|entry| is_denied(entry));
        let denied: String = denied
            .map(|entry| format!("{DETAIL}{}", audit_line(entry)))
            .collect();
        Some(format!(
            "{}{line}{}{}{denied}",
            node.unwrap_or_default(),
            rule.unwrap_or_default(),
            sources.unwrap_or_default()
        ))
    }

    /// Returns the totals.
    pub(in crate::commands::sessions) fn totals(&self) -> String {
        let mut parts = vec![counted(self.turns, "model call")];
        let mut calls = vec![counted(self.calls, "tool call")];
        calls.extend((self.denied > 0).then(|| format!("{} denied", self.denied)));
        calls.extend((self.failed > 0).then(|| format!("{} failed", self.failed)));
        parts.push(calls.join(", "));
        if !self.usage.is_none() {
            parts.push(format!(
                "{} tokens in, {} out",
                count(self.usage.input_tokens),
                count(self.usage.output_tokens)
            ));
        }
        parts.extend(self.usage.cost_micros.map(dollars));
        parts.push(duration(self.duration_ms));
        let totals = format!("\n{DIM}{}{DIM:#}", parts.join(" · "));
        if self.changed.is_empty() {
            return totals;
        }
        let shown = self.changed.iter().take(SHOWN_FILES);
        let mut shown: Vec<String> = shown.map(|path| one_line(path, SHOWN_CHARACTERS)).collect();
        let more = self.changed.len() - shown.len();
        shown.extend((more > 0).then(|| format!("{more} more")));
        format!("{totals}\n{DIM}changed: {}{DIM:#}", shown.join(", "))
    }
}

/// Returns the text of a message, and the names of its files.
fn said(message: &Message) -> String {
    let parts = message.content.iter().map(|part| match part {
        ContentPart::Text { text } => truncated(escape(text), SHOWN_CHARACTERS),
        ContentPart::File(FilePart {
            filename,
            media_type,
            ..
        }) => format!(
            "[{}]",
            escape_line(filename.as_deref().unwrap_or(media_type))
        ),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn is_denied(entry: &AuditEntry) -> bool {
    entry.verdict == AuditVerdict::Denied
}

/// Returns the file that a request changed.
fn changed(entry: &AuditEntry) -> Option<String> {
    match &entry.request {
        AuditRequest::File { action, path, to } if action.changes() && !is_denied(entry) => {
            Some(to.as_ref().unwrap_or(path).clone())
        }
        _ => None,
    }
}

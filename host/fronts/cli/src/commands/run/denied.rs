//! The calls of a run that were denied. Of those for which no one could give approval, or whose
//! directory is read-only: the flags that would have allowed them.

use super::{RunParts, arguments::same_command};
use crate::{commands::shell_quoted, terminal::escape_line};
use agent_host_app::allowing_flag;
use agent_host_engine::{
    flow::{AUDIENCE_RULE, is_flow_rule},
    observer::{Live, Observer},
    policy::{DirGrant, DirMode, RuleDecision},
    turn::Settings,
};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    event::{CallEnd, Event, EventRecord},
    hook::{CallReview, ReviewEnd},
    id::CallId,
    tool::DecisionKind,
};
use serde_json::{Map, Value};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

/// The maximum number of calls that are kept, and of flags that are shown.
const MAX_CALLS: usize = 20;

/// The line of a suggested grant that a read-only directory lacks.
const WRITABLE: &str = "mode = \"read-write\"";

/// The calls of a run that lacked an approval.
#[derive(Debug, Default)]
pub(super) struct DeniedCalls(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    /// The arguments of the calls of the last replies.
    inputs: HashMap<CallId, Arc<Map<String, Value>>>,
    /// The calls that hooks blocked and that are not settled yet.
    blocked: HashSet<CallId>,
    denied: Vec<(String, Arc<Map<String, Value>>)>,
    count: usize,
    /// All calls that were denied, or made a request that was.
    all: usize,
    /// The calls among them that untrusted text had reached.
    flows: usize,
    write: WriteNote,
}

/// The note on a directory that is read-only.
#[derive(Debug, Default, PartialEq, Eq)]
enum WriteNote {
    #[default]
    None,
    /// A call was denied for it.
    Due,
    Told,
}

impl DeniedCalls {
    /// Returns an observer that notes denied calls. `settings` have the rules: what they deny,
    /// no approval allows.
    pub(super) fn observer<'a>(&'a self, settings: &'a Settings) -> DenialObserver<'a> {
        let calls = self;
        DenialObserver { calls, settings }
    }

    fn follow(&self, event: &Event, settings: &Settings) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::ModelReplied { reply, .. } => {
                let asked = reply.tool_calls.iter();
                let inputs = asked.filter_map(|call| Some((call.id.clone(), call.input.clone()?)));
                calls.inputs.extend(inputs);
            }
            // A hook blocks a call whatever the user approves.
            Event::CallReviewed {
                call_id,
                review:
                    CallReview {
                        end: ReviewEnd::Block { .. },
                        ..
                    },
                ..
            } => {
                calls.blocked.insert(call_id.clone());
            }
            event => {
                if let Some(end) = event.call_end() {
                    calls.settle(&end, settings);
                }
            }
        }
    }
}

impl Calls {
    fn settle(&mut self, end: &CallEnd<'_>, settings: &Settings) {
        let input = self.inputs.remove(end.call_id).unwrap_or_default();
        let is_blocked = self.blocked.remove(end.call_id);
        let denied = |entry: &AuditEntry| entry.verdict == AuditVerdict::Denied;
        self.all += usize::from(end.is_denied() || end.audit.iter().any(denied));
        let mut suggested = end.audit.iter().filter_map(|entry| entry.grant.as_ref());
        let is_read_only = suggested.any(|lines| lines.contains(WRITABLE));
        if is_read_only && self.write == WriteNote::None {
            self.write = WriteNote::Due;
        }
        if let (Some(tool), Some(rule)) = (end.tool, end.rule)
            && end.is_denied()
            && !is_blocked
            && !denies(settings, rule)
        {
            self.count += 1;
            // A rule about calls allows none that untrusted text has reached.
            match is_flow_rule(rule) {
                true => self.flows += 1,
                false => self.add(tool, input),
            }
        }
    }

    fn add(&mut self, tool: &str, input: Arc<Map<String, Value>>) {
        if self.denied.len() < MAX_CALLS {
            self.denied.push((tool.to_owned(), input));
        }
    }
}

fn denies(settings: &Settings, name: &str) -> bool {
    let calls = settings.rules.iter();
    let calls = calls.map(|rule| (&rule.name, rule.decision));
    let flows = settings.flow.rules.iter();
    let flows = flows.map(|rule| (&rule.name, rule.decision));
    let mut rules = calls.chain(flows);
    name == AUDIENCE_RULE
        || rules.any(|(known, decision)| known == name && decision == RuleDecision::Deny)
}

/// Notes the denied calls of a session and of its agents.
#[derive(Clone, Copy)]
pub(super) struct DenialObserver<'a> {
    calls: &'a DeniedCalls,
    settings: &'a Settings,
}

impl Observer for DenialObserver<'_> {
    fn recorded(&self, record: &Arc<EventRecord>) {
        self.calls.follow(&record.event, self.settings);
    }

    fn live(&self, _live: Live<'_>) {}

    fn child<'a>(
        &'a self,
        _call_id: &'a CallId,
        _agent: &'a str,
    ) -> Option<Box<dyn Observer + 'a>> {
        Some(Box::new(*self))
    }
}

impl RunParts<'_> {
    /// Names the flags that would have allowed what was denied for lack of an approval. Returns
    /// whether there is any.
    pub(super) fn note_denied(&self) -> bool {
        let calls = self.denied.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match calls.count {
            0 if calls.all > 0 && self.fails_on_denial => {
                self.terminal.note(&format!(
                    "{} denied, or made a request that was: agent-host explain latest",
                    match calls.all {
                        1 => "1 call was".to_owned(),
                        all => format!("{all} calls were"),
                    }
                ));
                return true;
            }
            0 => return false,
            1 => "1 call was denied".to_owned(),
            count => format!("{count} calls were denied"),
        };
        let mut flags: Vec<String> = Vec::new();
        for (tool, input) in &calls.denied {
            if !self.may_be_approved(tool) {
                continue;
            }
            let rule = allowing_flag(&self.agent.tools, tool, input);
            let flag = format!("--allow {}", shell_quoted(&rule));
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        let flows = match calls.flows {
            0 => "",
            _ => {
                " Text from an untrusted source had reached some: `agent-host explain latest` names it, and what would \
                 allow them."
            }
        };
        if flags.is_empty() && calls.flows > 0 {
            self.terminal.note(&format!(
                "{count}, because no one could give approval in this run.{flows}"
            ));
            return true;
        }
        if flags.is_empty() {
            self.terminal.note(&format!(
                "{count}, because approval is needed but the configuration lets no one give it."
            ));
            return true;
        }
        self.terminal.note(&format!(
            "{count}, because no one could give approval in this run.{flows} To allow such calls: {}",
            escape_line(&same_command(&flags))
        ));
        true
    }

    /// Names `--write` once after a call could not write because the working directory is read-only.
    pub(super) fn note_read_only(&self) {
        let mut calls = self.denied.0.lock().unwrap_or_else(PoisonError::into_inner);
        let work = &self.host.config().working_dir;
        let is_work = |dir: &DirGrant| dir.host == *work && dir.mode == DirMode::ReadOnly;
        let mut components = self.host.agents().registry().components();
        if calls.write != WriteNote::Due
            || !components.any(|entry| entry.grants.dirs.iter().any(is_work))
        {
            return;
        }
        calls.write = WriteNote::Told;
        let command = same_command(&["--write".to_owned()]);
        self.terminal.note(&format!(
            "Tools may only read in this directory. To let them write, too: {}",
            escape_line(&command)
        ));
    }

    /// Whether calls of a tool may be approved; true for one of an agent, which has tools of its
    /// own.
    fn may_be_approved(&self, tool: &str) -> bool {
        let mut tools = self.agent.tools.tools();
        let tool = tools.find(|known| known.definition.name == tool);
        tool.is_none_or(|tool| tool.decisions.contains(&DecisionKind::Approve))
    }
}

//! The calls of a run that were denied since no one could approve them, and the flags that would
//! have allowed them.

use super::{Run, arguments::same_command};
use crate::{commands::shell_quoted, terminal::escape_line};
use agent_host_app::allowing_flag;
use agent_host_engine::{
    observer::{Live, Observer},
    policy::{CallRule, RuleDecision},
    turn::{Step, StepResult},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::CallId,
    output::ToolResultOutput,
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The maximum number of calls that are kept, and of flags that are shown.
const MAX_CALLS: usize = 20;

/// The calls of a run that lacked an approval.
#[derive(Debug, Default)]
pub(super) struct DeniedCalls(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    /// The arguments of the calls of the last replies.
    inputs: HashMap<CallId, Map<String, Value>>,
    denied: Vec<(String, Map<String, Value>)>,
    count: usize,
}

impl DeniedCalls {
    /// Returns an observer that notes denied calls, and passes everything to `view`. `rules` are
    /// those about calls: what they deny, no approval allows.
    pub(super) fn watching<'a>(
        &'a self,
        view: &'a dyn Observer,
        rules: &'a [CallRule],
    ) -> impl Observer + 'a {
        Watching {
            calls: self,
            view: Some(View::Own(view)),
            rules,
        }
    }

    fn follow(&self, event: &Event, rules: &[CallRule]) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::ModelReplied { reply, .. } => {
                let asked = reply.tool_calls.iter();
                let inputs = asked.filter_map(|call| Some((call.id.clone(), call.input.clone()?)));
                calls.inputs.extend(inputs);
            }
            Event::CallSettled {
                call_id,
                tool,
                output: ToolResultOutput::ExecutionDenied(_),
                rule: Some(rule),
                ..
            } if !denies(rules, rule) => {
                let input = calls.inputs.remove(call_id).unwrap_or_default();
                calls.add(tool, input);
            }
            Event::CallSettled { call_id, .. } => {
                calls.inputs.remove(call_id);
            }
            Event::NodeSettled {
                tool,
                output,
                rule: Some(rule),
                ..
            } if !denies(rules, rule)
                && matches!(output.output, Some(ToolResultOutput::ExecutionDenied(_))) =>
            {
                calls.add(tool, Map::new());
            }
            _ => {}
        }
    }
}

impl Calls {
    fn add(&mut self, tool: &str, input: Map<String, Value>) {
        self.count += 1;
        if self.denied.len() < MAX_CALLS {
            self.denied.push((tool.to_owned(), input));
        }
    }
}

/// Whether a rule of this name denies.
fn denies(rules: &[CallRule], name: &str) -> bool {
    let mut rules = rules.iter();
    rules.any(|rule| rule.name == name && rule.decision == RuleDecision::Deny)
}

/// The observer of a run, or of one of its agents.
struct Watching<'a> {
    calls: &'a DeniedCalls,
    view: Option<View<'a>>,
    rules: &'a [CallRule],
}

enum View<'a> {
    Own(&'a dyn Observer),
    Child(Box<dyn Observer + 'a>),
}

impl Watching<'_> {
    fn view(&self) -> Option<&dyn Observer> {
        Some(match self.view.as_ref()? {
            View::Own(view) => *view,
            View::Child(view) => view.as_ref(),
        })
    }
}

impl Observer for Watching<'_> {
    fn recorded(&self, record: &EventRecord) {
        self.calls.follow(&record.event, self.rules);
        if let Some(view) = self.view() {
            view.recorded(record);
        }
    }

    fn live(&self, live: Live<'_>) {
        if let Some(view) = self.view() {
            view.live(live);
        }
    }

    fn child<'a>(&'a self, call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        let view = self.view().and_then(|view| view.child(call_id, agent));
        Some(Box::new(Watching {
            calls: self.calls,
            view: view.map(View::Child),
            rules: self.rules,
        }))
    }

    fn step(&self, step: Step, result: &StepResult) {
        if let Some(view) = self.view() {
            view.step(step, result);
        }
    }
}

impl Run<'_> {
    /// Names the flags that would have allowed what was denied for lack of an approval. Returns
    /// whether there is any.
    pub(super) fn note_denied(&self) -> bool {
        let calls = self.denied.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match calls.count {
            0 => return false,
            1 => "1 call was denied".to_owned(),
            count => format!("{count} calls were denied"),
        };
        let mut flags: Vec<String> = Vec::new();
        for (tool, input) in &calls.denied {
            let rule = allowing_flag(self.agent.tools.tools(), tool, input);
            let flag = format!("--allow {}", shell_quoted(&rule));
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        self.terminal.note(&format!(
            "{count}, since no one could approve it in this run. To allow such calls: {}",
            escape_line(&same_command(&flags))
        ));
        true
    }
}

//! The approval step: which calls a person has to confirm before anything of the batch runs.

use super::{Agent, End, PendingCall, Prompts, Step, StepResult};
use crate::{
    event::Event,
    id::json_digest,
    policy::{Ruling, decide_call},
    session::{BatchCall, Session},
    tool::Effect,
};
use serde_json::Value;

impl Agent {
    pub(super) fn check_approval(&self, session: &mut Session) -> StepResult {
        let calls: Vec<PendingCall> = match self.settings.prompts {
            Prompts::Ask => session
                .state()
                .batch()
                .iter()
                .filter_map(|entry| self.pending(entry))
                .collect(),
            Prompts::Deny => Vec::new(),
        };
        if calls.is_empty() {
            return StepResult::go(Step::ExecuteTools);
        }
        let turn = session.state().turns();
        // The place of the request in the journal names it: unique, also when one turn asks twice.
        let request = format!("{}/{}", session.id(), session.next_seq());
        session.record(
            Event::ApprovalRequested {
                request,
                turn,
                calls,
            },
            Vec::new(),
        );
        match session.state().continuation(session.id()) {
            Some(continuation) => StepResult::end(End::AwaitingConfirmation(continuation)),
            None => StepResult::go(Step::ExecuteTools),
        }
    }

    /// What a person has to be shown of a call; nothing when they need not be asked. Calls that cannot run anyway (unknown
    /// tool, invalid arguments) are answered without asking anybody.
    fn pending(&self, entry: &BatchCall) -> Option<PendingCall> {
        let interrupted = entry.intended == Some(Effect::Effectful);
        if entry.decision.is_some() || interrupted || entry.result.is_some() {
            return None;
        }
        let tool = self.tool(&entry.call.name)?;
        let input = entry.call.input.clone()?;
        self.tools.validate(&entry.call.name, &input).ok()?;
        let Ruling::Ask { rule } = decide_call(tool.effect, tool.approval) else {
            return None;
        };
        Some(PendingCall {
            call_id: entry.call.id.clone(),
            tool: entry.call.name.clone(),
            title: tool.definition.title.clone(),
            effect: tool.effect,
            input_digest: json_digest(&Value::Object(input.clone())),
            input,
            rule,
        })
    }

    pub(super) fn tool(&self, name: &str) -> Option<&crate::tool::RegisteredTool> {
        self.tools
            .tools()
            .iter()
            .find(|tool| tool.definition.name == name)
    }
}

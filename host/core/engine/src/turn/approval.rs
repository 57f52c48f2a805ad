//! The approval step: selects the calls that the user must approve before they run.

use super::{Agent, Prompts, Step, StepResult, Timing, TurnContext, review::fallback_of};
use crate::{
    arguments::Arguments,
    policy::{CallRequest, Ruling, decide_call},
    schema::with_integers,
    session::{BatchCall, Session},
    text,
    tool::CallReport,
    tool_set::unknown,
};
use agent_host_types::{
    continuation::PendingCall,
    event::Event,
    failure::ToolFailure,
    id::object_digest,
    tool::{Effect, RegisteredTool, ToolRuntime},
    turn::TurnError,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The maximum size of a tool's description in a request for approval, in bytes; the rest is cut.
const MAX_DESCRIPTION_BYTES: usize = 300;

impl Agent {
    pub(super) async fn check_approval(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<StepResult, TurnError> {
        if session.state().halt().is_none() {
            let batch = session.state().batch().iter();
            let named = batch.filter(|entry| self.wanted_facts(&entry.call.name).is_some());
            for entry in named.cloned().collect::<Vec<_>>() {
                self.read_facts(session, &entry, cx).await?;
            }
        }
        Ok(self.ask_about(session, cx))
    }

    fn ask_about(&self, session: &mut Session, cx: &TurnContext<'_>) -> StepResult {
        if session.state().halt().is_some() {
            return StepResult::go(Step::ExecuteTools);
        }
        let mut rulings = std::mem::take(&mut session.rulings);
        let batch = session.state().batch();
        // The next call; with `Timing::Batch`, all calls are next.
        let next = batch.iter().position(|entry| entry.result.is_none());
        let asked_about = |index: usize| match self.settings.timing {
            Timing::Batch => true,
            Timing::InOrder => Some(index) == next,
        };
        let mut waiting = Vec::new();
        for (index, entry) in batch.iter().enumerate().filter(|of| asked_about(of.0)) {
            let known = rulings.remove(&entry.call.id);
            let ruling = known.or_else(|| self.ruling_before_run(session, entry, cx));
            match ruling {
                Some(ruling) if self.asks(session, entry, &ruling) => {
                    let call = self.describe(session, entry, ruling.rule().to_owned());
                    waiting.extend(call.map(|call| (index, call)));
                }
                // The tool step need not ask again.
                Some(ruling) => {
                    rulings.insert(entry.call.id.clone(), ruling);
                }
                None => {}
            }
        }
        session.rulings = rulings;
        let Some(index) = waiting.first().map(|(index, _)| *index) else {
            return StepResult::go(Step::ExecuteTools);
        };
        let expiry = self.settings.approval_expiry_ms;
        let event = Event::ApprovalRequested {
            request: request_name(session),
            turn: session.state().turns(),
            index,
            calls: waiting.into_iter().map(|(_, call)| call).collect(),
            expires_at_ms: expiry.map(|expiry| session.now_ms().saturating_add(expiry)),
        };
        session.record(event, Vec::new());
        match self.pause(session) {
            Some(end) => StepResult::end(end),
            None => StepResult::go(Step::ExecuteTools),
        }
    }

    /// Returns the view of a call for the user's decision; `None` if no decision is needed or
    /// possible. Calls that cannot run anyway (unknown tool, invalid arguments) are answered
    /// without asking.
    pub(super) fn pending(
        &self,
        session: &Session,
        entry: &BatchCall,
        cx: &TurnContext<'_>,
    ) -> Option<PendingCall> {
        let ruling = self.ruling_before_run(session, entry, cx)?;
        match self.asks(session, entry, &ruling) {
            true => self.describe(session, entry, ruling.rule().to_owned()),
            false => None,
        }
    }

    /// Returns the policy's decision about a call that may need the user's; `None` if it cannot run,
    /// or no decision is needed or possible.
    fn ruling_before_run(
        &self,
        session: &Session,
        entry: &BatchCall,
        cx: &TurnContext<'_>,
    ) -> Option<Ruling> {
        // A call that runs again with an answer was approved before its first run.
        let asked_before = entry.decision.is_some() || !entry.answers.is_empty();
        if self.settings.prompts == Prompts::Deny
            || asked_before
            || self.is_in_doubt(entry)
            || entry.result.is_some()
        {
            return None;
        }
        let tool = self.tools.get(&entry.call.name)?;
        let input = entry.effective_input()?;
        self.accepted(entry, input).ok()?;
        match self.lacks_review(entry) {
            true => None,
            false => Some(self.ruling(session, entry, self.request(&tool.tool, input), cx)),
        }
    }

    /// Whether a call may have changed something when its process died, so that it must not run
    /// again: its tool was effectful, or was idempotent and is not any more. A read-only run
    /// changed nothing, whatever its tool is now.
    pub(super) fn is_in_doubt(&self, entry: &BatchCall) -> bool {
        let tool = self.tool(&entry.call.name);
        // An agent's session knows how far it came.
        if entry.is_spawned && tool.is_some_and(|tool| tool.runtime == ToolRuntime::Agent) {
            return false;
        }
        matches!(
            (entry.intended, tool.map(|tool| tool.effect)),
            (Some(Effect::Effectful), _) | (Some(Effect::Idempotent), Some(Effect::Effectful))
        )
    }

    /// Returns the policy's decision about a call, given its review and the remembered approvals.
    pub(super) fn ruling(
        &self,
        session: &Session,
        entry: &BatchCall,
        call: CallRequest<'_>,
        cx: &TurnContext<'_>,
    ) -> Ruling {
        let call = CallRequest {
            facts: session.facts.get(&entry.call.id),
            ..call
        };
        let remembered = session.state().remembered().iter();
        let remembered = remembered.chain(cx.approvals);
        let (rules, approved) = (&self.settings.rules, &self.settings.approved);
        let ruling = Self::after_review(entry, decide_call(&call, rules, approved, remembered));
        self.after_flow(session, entry, call.tool, ruling)
    }

    /// Checks arguments of a call.
    pub(super) fn accepted(
        &self,
        entry: &BatchCall,
        input: &Arc<Map<String, Value>>,
    ) -> Result<Arguments, ToolFailure> {
        match self.tools.get(&entry.call.name) {
            Some(tool) => entry.check.accept(tool, input),
            None => Err(unknown(&entry.call.name)),
        }
    }

    /// Returns whether a call may need approval if none is remembered; false for an unknown tool.
    #[must_use]
    pub fn needs_approval(&self, tool: &str, input: &Map<String, Value>) -> bool {
        if self.wanted_facts(tool).is_some() {
            // Its rules decide when it runs.
            return true;
        }
        let tool = self.tool(tool);
        let ruling = tool.map(|tool| {
            let call = CallRequest {
                tool,
                input,
                // Compared with remembered approvals alone.
                input_digest: object_digest(&Map::new()),
                agent: self.settings.agent.as_deref(),
                facts: None,
            };
            decide_call(&call, &self.settings.rules, &self.settings.approved, [])
        });
        matches!(ruling, Some(Ruling::Ask { .. }))
    }

    /// Returns a call of this agent for the policy.
    pub(super) fn request<'a>(
        &'a self,
        tool: &'a RegisteredTool,
        input: &'a Map<String, Value>,
    ) -> CallRequest<'a> {
        CallRequest {
            tool,
            input,
            input_digest: object_digest(input),
            agent: self.settings.agent.as_deref(),
            facts: None,
        }
    }

    /// Whether the user is asked about a call that the policy decided on: not if its result is known.
    fn asks(&self, session: &Session, entry: &BatchCall, ruling: &Ruling) -> bool {
        let foreseen = || {
            let input = entry.effective_input()?;
            self.foreseen_denial(session, entry, input)
        };
        matches!(ruling, Ruling::Ask { .. }) && fallback_of(entry).is_none() && foreseen().is_none()
    }

    /// Returns the end of a call that approval would not change.
    pub(super) fn foreseen_denial(
        &self,
        session: &Session,
        entry: &BatchCall,
        input: &Map<String, Value>,
    ) -> Option<CallReport> {
        let flow = self.audience(session, entry).into();
        self.tools
            .foreseen_denial(session.id(), &entry.call, input, &flow)
    }

    /// Returns a call as the caller of the loop sees it.
    pub(super) fn describe(
        &self,
        session: &Session,
        entry: &BatchCall,
        rule: String,
    ) -> Option<PendingCall> {
        let tool = self.tool(&entry.call.name)?;
        let input = entry.effective_input()?.clone();
        let requested = entry.call.input.clone();
        Some(PendingCall {
            call_id: entry.call.id.clone(),
            tool: entry.call.name.clone(),
            title: tool.definition.title.clone(),
            description: summary(&tool.definition.description),
            effect: tool.effect,
            input_digest: object_digest(&input),
            requested_input: requested.filter(|requested| *requested != input),
            executables: self.tools.executables(&entry.call.name, &input),
            input,
            identity: Some(tool.identity()),
            sources: self.untrusted_arguments(session, entry),
            rule,
            decisions: tool.decisions.clone(),
        })
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&RegisteredTool> {
        Some(&self.tools.get(name)?.tool)
    }

    /// Returns the input of a tool with its integers as its schema has them.
    pub(in crate::turn) fn with_integers(
        &self,
        tool: &str,
        input: Map<String, Value>,
    ) -> Map<String, Value> {
        match self.tool(tool) {
            Some(tool) => with_integers(&tool.definition.input_schema, input),
            None => input,
        }
    }
}
/// Returns a tool's description of itself in one bounded line.
fn summary(description: &str) -> String {
    let words: Vec<&str> = description.split_whitespace().collect();
    text::sanitize(&words.join(" "), MAX_DESCRIPTION_BYTES)
}

/// Returns a unique name for a request: its position in the journal, since one turn may have
/// several requests.
pub(super) fn request_name(session: &Session) -> String {
    format!("{}/{}", session.id(), session.next_seq())
}

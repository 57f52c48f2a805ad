//! Plans a call of a batch, of a client or of a node: it is answered without running, or runs.

use super::{
    Agent, Prompts, TurnContext,
    flow::unanswerable,
    review::{fallback_of, idempotency_key, is_about_references, is_hook_rule, unreviewed},
};
use crate::{
    agents::SubAgent,
    arguments::Arguments,
    flow::{CallFlow, is_flow_rule},
    policy::{Ruling, denied_call},
    session::{BatchCall, Session},
    tool::CallReport,
};
use agent_host_types::{
    approval::Decision,
    failure::{ToolErrorCode, ToolFailure},
    id::Digest,
    output::{FilePart, ToolResultOutput},
    tool::{Effect, ToolRuntime},
    turn::AgentInput,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The plan for one call.
pub(super) enum CallPlan {
    /// Answer the call without running it.
    Answer(Box<CallReport>),
    /// Ask the user, by this rule.
    Ask(String),
    /// Run the call.
    Run(Box<CallRun>),
}

impl CallPlan {
    pub(super) fn answer(report: impl Into<CallReport>) -> Self {
        Self::Answer(Box::new(report.into()))
    }
}

/// A call that runs.
#[derive(Clone, Debug)]
pub(super) struct CallRun {
    pub(super) entry: BatchCall,
    /// The arguments as the journal has them.
    pub(super) input: Arc<Map<String, Value>>,
    /// The arguments as the tool gets them.
    pub(super) arguments: Arguments,
    pub(super) input_digest: Digest,
    /// Equal for every attempt of the call, unique among all calls of all sessions.
    pub(super) idempotency_key: String,
    pub(super) effect: Effect,
    /// The policy rule that allows it.
    pub(super) rule: String,
    pub(super) runtime: ToolRuntime,
    /// The sources of the arguments that are untrusted or have an audience.
    pub(super) sources: Vec<String>,
    /// Where the call may hand text.
    pub(super) flow: CallFlow,
    /// The files of the message to an agent.
    pub(super) files: Vec<FilePart>,
    /// The agent of a session for this call alone, in which the user decides on it.
    pub(super) in_session: Option<Box<SubAgent>>,
    /// The input that its session continues with.
    pub(super) resumed_with: Option<AgentInput>,
}

impl CallRun {
    /// Whether it runs side by side with others of its runtime. An agent does whatever its effect,
    /// since its session has the intents of its calls.
    pub(super) fn is_concurrent(&self) -> bool {
        self.effect == Effect::ReadOnly || self.runtime == ToolRuntime::Agent
    }
}

impl Agent {
    /// Plans a call. Asks the policy, unless it has decided in this turn: `ruled`. What it decided
    /// before a pause counts no more.
    pub(super) fn plan(
        &self,
        session: &Session,
        entry: &BatchCall,
        ruled: Option<Ruling>,
        cx: &TurnContext<'_>,
    ) -> CallPlan {
        let call = &entry.call;
        if let Some(output) = entry.decision.as_ref().and_then(answer_of) {
            return CallPlan::answer(output);
        }
        if self.is_in_doubt(entry) {
            return CallPlan::answer(self.interrupted(session, entry));
        }
        let Some(tool) = self.tool(&call.name) else {
            return CallPlan::answer(self.unknown(session, &call.name));
        };
        let Some(input) = entry.effective_input().cloned() else {
            return CallPlan::answer(not_an_object());
        };
        let arguments = match self.accepted(entry, &input) {
            Ok(arguments) => arguments,
            // The answer of a hook, or the reason why references stand for nothing.
            Err(failure) => match fallback_of(entry) {
                Some(output) => return CallPlan::answer(self.given(session, entry, output)),
                None => return CallPlan::answer(self.quoting(session, entry, failure)),
            },
        };
        if self.lacks_review(entry) {
            return CallPlan::answer(match cx.cancel.is_cancelled() {
                true => ToolFailure::not_started(),
                false => unreviewed(),
            });
        }
        if let Some(failure) = unanswerable(call, &input) {
            return CallPlan::answer(failure);
        }
        // A repeated run needs the same approval as the first one.
        let confirmed = entry.decision.is_some() || !entry.answers.is_empty();
        let request = self.request(tool, &input);
        let input_digest = request.input_digest;
        let ruling = ruled.unwrap_or_else(|| self.ruling(session, entry, request, cx));
        if let (Ruling::Ask { .. } | Ruling::Allow { .. }, Some(output)) =
            (&ruling, fallback_of(entry))
        {
            return CallPlan::answer(self.given(session, entry, output));
        }
        match ruling {
            Ruling::Deny { rule, reason, .. } => {
                let denied = CallReport::of(denied_call(&rule, &reason));
                let denied = match is_hook_rule(&rule) {
                    true => self.quoting(session, entry, denied),
                    false => denied,
                };
                CallPlan::answer(denied.denied_by(rule))
            }
            Ruling::Ask { rule } if !confirmed => {
                let foreseen = self.foreseen_denial(session, entry, &input);
                foreseen.map_or(CallPlan::Ask(rule), |denied| {
                    CallPlan::answer(self.quoting(session, entry, denied))
                })
            }
            Ruling::Ask { rule } | Ruling::Allow { rule } => CallPlan::Run(Box::new(CallRun {
                flow: self.call_flow(session, entry, tool.effect),
                entry: entry.clone(),
                input,
                arguments,
                input_digest,
                idempotency_key: idempotency_key(session.id(), entry),
                effect: tool.effect,
                rule,
                runtime: tool.runtime,
                sources: self.input_sources(session, entry),
                files: Vec::new(),
                in_session: None,
                resumed_with: None,
            })),
        }
    }

    /// Returns the report of the result that a review gave. That about the references is in the words
    /// of the host; a hook has seen their values.
    fn given(&self, session: &Session, entry: &BatchCall, output: &ToolResultOutput) -> CallReport {
        match is_about_references(entry) {
            true => output.clone().into(),
            false => self.quoting(session, entry, output.clone()),
        }
    }

    /// Returns the report of a call that was running when the host died.
    pub(super) fn interrupted(&self, session: &Session, entry: &BatchCall) -> CallReport {
        let (id, name) = (&entry.call.id, &entry.call.name);
        let message = format!(
            "The host stopped while `{name}` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again."
        );
        let failure = ToolFailure::new(ToolErrorCode::InterruptedUnknown, message);
        let sources = self.input_sources(session, entry);
        CallReport {
            files: self.possibly_written(session, id, name, sources),
            ..CallReport::of(failure.into())
        }
    }

    fn unknown(&self, session: &Session, name: &str) -> ToolFailure {
        let names = self.offered(session).map(|tool| tool.name.as_str());
        let names: Vec<&str> = names.collect();
        let name = name.escape_debug();
        let message = if names.is_empty() {
            format!("There is no tool `{name}`; this run has no tools.")
        } else {
            format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            )
        };
        ToolFailure::new(ToolErrorCode::UnknownTool, message)
    }

    /// Returns the result of a call that no one approves.
    pub(super) fn unapproved(&self, rule: &str) -> CallReport {
        let why = match self.settings.prompts {
            Prompts::Deny if is_hook_rule(rule) => {
                "no one can be asked in this run. The hook of this name requires it, whatever the rules allow"
            }
            Prompts::Deny if is_flow_rule(rule) => {
                "no one can be asked in this run. It depends on text from an untrusted source; to allow such calls, the user can add a [[flow.rule]] to agent.toml"
            }
            Prompts::Deny if self.settings.rules.iter().any(|known| known.name == rule) => {
                "no one can be asked in this run. To allow such calls, the user can change this [[rule]] in agent.toml"
            }
            Prompts::Deny => {
                "no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml"
            }
            Prompts::Ask => "no one has approved it",
        };
        let text = format!("This call needs the user's approval (rule {rule}), and {why}.");
        CallReport::of(ToolResultOutput::ExecutionDenied(Some(text))).denied_by(rule.to_owned())
    }
}

/// Returns the result that a decision itself provides; `None` if the call runs.
pub(super) fn answer_of(decision: &Decision) -> Option<ToolResultOutput> {
    match decision {
        Decision::Approve { .. } | Decision::Edit { .. } => None,
        Decision::Reject { reason, .. } => Some(ToolResultOutput::ExecutionDenied(reason.clone())),
        Decision::Respond { text, .. } => Some(ToolResultOutput::Text(text.clone())),
    }
}

fn not_an_object() -> ToolFailure {
    let message = "The arguments are not a JSON object, or nest too deep; the tool did not run. Send the arguments as one JSON object.";
    ToolFailure::new(ToolErrorCode::InvalidInput, message)
}

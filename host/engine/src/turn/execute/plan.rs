//! What is done with each call of a batch: what must not happen is answered without running, and what remains runs.

use crate::turn::TurnContext;
use crate::{
    policy::Ruling,
    session::{BatchCall, Session, Spent, identity},
    turn::{Agent, Prompts, budget},
};
use agent_host_types::{
    approval::Decision,
    budget::{Budget, Budgets},
    failure::{ToolErrorCode, ToolFailure},
    id::Digest,
    output::ToolResultOutput,
    tool::{Effect, ToolRuntime},
};
use serde_json::{Map, Value};

/// What is to be done with one call.
pub(in crate::turn) enum Plan {
    /// It is answered without running.
    Answer(ToolResultOutput),
    /// It runs.
    Run(Box<Run>),
}

/// A call that runs.
#[derive(Clone, Debug)]
pub(in crate::turn) struct Run {
    pub(in crate::turn) entry: BatchCall,
    pub(in crate::turn) input: Map<String, Value>,
    pub(in crate::turn) effect: Effect,
    /// The policy rule that allows it.
    pub(in crate::turn) rule: String,
    pub(in crate::turn) runtime: ToolRuntime,
}

/// What the budgets still allow in this batch. Calls are counted in the session when they begin, and a group of them is
/// planned before its first begins.
pub(super) struct Allowance {
    spent: Spent,
    admitted: Vec<(String, Digest)>,
    /// The first budget that kept a call from running.
    pub(super) used_up: Option<Budget>,
}

impl Allowance {
    pub(super) fn new(session: &Session) -> Self {
        Self {
            spent: session.state().spent().clone(),
            admitted: Vec::new(),
            used_up: None,
        }
    }

    /// Turns a call that a budget does not allow into an answer. A run that is repeated after a crash was allowed before.
    pub(super) fn admit(&mut self, budgets: &Budgets, entry: &BatchCall, plan: Plan) -> Plan {
        let Plan::Run(run) = plan else {
            return plan;
        };
        if entry.intended.is_some() {
            return Plan::Run(run);
        }
        let call = identity(&run.entry.call.name, &run.input);
        if let Some(budget) = budget::refusing(budgets, &self.spent, &call, &self.admitted) {
            let refusal = ToolResultOutput::ExecutionDenied(Some(budget::refusal(&budget)));
            self.used_up.get_or_insert(budget);
            return Plan::Answer(refusal);
        }
        self.admitted.push(call);
        Plan::Run(run)
    }
}

impl Agent {
    /// Decides what is done with a call. The policy is asked here again, whatever it said before the turn paused.
    pub(in crate::turn) fn plan(
        &self,
        session: &Session,
        entry: &BatchCall,
        cx: &TurnContext<'_>,
    ) -> Plan {
        let call = &entry.call;
        if let Some(output) = entry.decision.as_ref().and_then(answer_of) {
            return Plan::Answer(output);
        }
        if self.is_in_doubt(entry) {
            return Plan::Answer(interrupted(&call.name).into());
        }
        let Some(tool) = self.tool(&call.name) else {
            return Plan::Answer(self.unknown(&call.name).into());
        };
        let Some(input) = entry.effective_input().cloned() else {
            return Plan::Answer(not_an_object().into());
        };
        if let Err(failure) = self.tools.validate(&call.name, &input) {
            return Plan::Answer(failure.into());
        }
        // An interrupted run that is repeated needs no less than a first one.
        let confirmed = entry.decision.is_some() || !entry.answers.is_empty();
        match self.decide_call(session, tool, &input, cx) {
            Ruling::Deny { rule, reason, .. } => Plan::Answer(ToolResultOutput::ExecutionDenied(
                Some(format!("{reason} (rule {rule})")),
            )),
            Ruling::Ask { rule } if !confirmed => Plan::Answer(self.nobody_to_ask(&rule)),
            Ruling::Ask { rule } | Ruling::Allow { rule } => Plan::Run(Box::new(Run {
                entry: entry.clone(),
                input,
                effect: tool.effect,
                rule,
                runtime: tool.runtime,
            })),
        }
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let names: Vec<&str> = self
            .tools
            .tools()
            .iter()
            .map(|tool| tool.definition.name.as_str())
            .collect();
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

    fn nobody_to_ask(&self, rule: &str) -> ToolResultOutput {
        let why = match self.settings.prompts {
            Prompts::Deny => "nobody can be asked in this run",
            Prompts::Ask => "nobody has confirmed it",
        };
        ToolResultOutput::ExecutionDenied(Some(format!(
            "This call needs a person's approval (rule {rule}), and {why}."
        )))
    }
}

/// The result that a decision itself gives; nothing where the call is to run.
pub(in crate::turn) fn answer_of(decision: &Decision) -> Option<ToolResultOutput> {
    match decision {
        Decision::Approve { .. } | Decision::Edit { .. } => None,
        Decision::Reject { reason, .. } => Some(ToolResultOutput::ExecutionDenied(reason.clone())),
        Decision::Respond { text, .. } => Some(ToolResultOutput::Text(text.clone())),
    }
}

/// What the model is told about a call that ran when the host died.
pub(in crate::turn) fn interrupted(tool: &str) -> ToolFailure {
    let message = format!(
        "The host stopped while `{tool}` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again."
    );
    ToolFailure::new(ToolErrorCode::InterruptedUnknown, message)
}

fn not_an_object() -> ToolFailure {
    let message = "The arguments are not a JSON object, or nest too deep; the tool did not run. Send the arguments as one JSON object.";
    ToolFailure::new(ToolErrorCode::InvalidInput, message)
}

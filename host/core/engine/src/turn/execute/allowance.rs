//! The budgets for calls, as the calls of a batch use them up.

use crate::{
    session::{BatchCall, Session},
    turn::{budget, plan::CallPlan},
};
use agent_host_types::{
    budget::{Budget, Budgets},
    id::Digest,
    output::ToolResultOutput,
};
use std::collections::HashMap;

/// The use of the budgets for calls, with the calls of this batch. The session counts a call when
/// it starts, and a group is planned before its first call starts.
pub(super) struct Allowance {
    calls: u64,
    /// The runs of each tool with each arguments that the batch has.
    repeats: HashMap<(String, Digest), u64>,
    /// The first budget that refused a call.
    pub(super) used_up: Option<Budget>,
}

impl Allowance {
    pub(super) fn new(session: &Session) -> Self {
        Self {
            calls: session.state().spent().calls,
            repeats: HashMap::new(),
            used_up: None,
        }
    }

    /// Replaces the run of a call that a budget refuses by an answer. A repetition after a crash
    /// was admitted before.
    pub(super) fn admit(
        &mut self,
        budgets: &Budgets,
        session: &Session,
        entry: &BatchCall,
        plan: CallPlan,
    ) -> CallPlan {
        let CallPlan::Run(run) = plan else {
            return plan;
        };
        if entry.intended.is_some() {
            return CallPlan::Run(run);
        }
        // No equal call of the batch has started when the first one is planned.
        let before = |call: &(_, _)| session.state().spent().repeats(call);
        let call = (run.entry.call.name.clone(), run.input_digest);
        let repeats = self.repeats.entry(call).or_insert_with_key(before);
        let tool = &run.entry.call.name;
        if let Some(budget) = budget::refusing(budgets, self.calls, tool, *repeats) {
            let refusal = ToolResultOutput::ExecutionDenied(Some(budget::refusal(&budget)));
            self.used_up.get_or_insert(budget);
            return CallPlan::answer(refusal);
        }
        self.calls += 1;
        *repeats += 1;
        CallPlan::Run(run)
    }
}

//! One turn of the loop: at most one model call and the tool calls that it asked for.
//!
//! [`Agent::run_turn`] is the only way in: the CLI, tests and embedders all call it, and loop while the outcome is
//! `NeedsMoreTurns`. Inside, a short pipeline of steps runs: check budgets, call the model, check approval, execute tools.
//! Each step reads the session, adds events to it, and returns where the turn goes next.

mod approval;
mod begin;
mod budget;
mod client;
mod continuation;
mod execute;
mod fit;
mod hooks;
mod model;
mod resume;
mod shown;
mod step;
#[cfg(test)]
mod tests;
mod until;

use agent_host_types::{
    approval::ApprovalRule, context::ContextLimits, event::Event, tool::ToolRuntime,
};
use agent_host_types::{
    budget::Budgets,
    turn::{AgentInput, Outcome, TurnError, TurnSummary},
};
pub use client::{ClientCall, ClientCallEnd, ClientCallError};
pub use continuation::ContinuationKey;
pub use shown::{ShownCall, ShownQuestion, call_heading};
pub use step::{End, Step, StepOutput, StepResult, Transition};
pub use until::{UntilEnd, UntilTool};

use crate::{
    hook::Hook, journal::JournalError, model::Model, observer::Observer, schema::AnswerSchema,
    session::Session, tool::ToolRunner,
};
use std::{fmt, sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// What drives a session: a model, tools, and somebody who watches.
#[derive(Clone)]
pub struct Agent {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// What it may call.
    pub tools: Arc<dyn ToolRunner>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// Who may step in. None by default.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// What continuations are signed with.
    pub key: ContinuationKey,
    /// The rules of the loop.
    pub settings: Settings,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model.provenance())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The rules of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What one message of the person may cost.
    pub budgets: Budgets,
    /// The tool through which a run has to end.
    pub until_tool: Option<UntilTool>,
    /// The schema of the answer. An answer that does not fit is sent back once.
    pub output_schema: Option<Arc<AnswerSchema>>,
    /// Approvals that a person does not want to give again, besides those of the session.
    pub remembered: Vec<ApprovalRule>,
    /// What happens to calls that a person should confirm.
    pub prompts: Prompts,
    /// When they are asked.
    pub timing: Timing,
    /// How long they may take, in milliseconds; absent for ever. What nobody decided in time is denied.
    pub approval_expiry_ms: Option<u64>,
    /// How many read-only calls run side by side.
    pub parallel_calls: usize,
    /// How the conversation is kept within the model's window; absent where it has no end, as that of a script.
    pub context: Option<ContextLimits>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budgets: Budgets::default(),
            until_tool: None,
            output_schema: None,
            remembered: Vec::new(),
            prompts: Prompts::Deny,
            timing: Timing::default(),
            approval_expiry_ms: None,
            parallel_calls: 8,
            context: Some(ContextLimits::default()),
        }
    }
}

/// When a person is asked about the calls of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// About all of them before anything of the batch runs.
    #[default]
    Batch,
    /// About each when its turn comes: the calls before it have run.
    InOrder,
}

/// What happens to calls that a person should confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// The turn ends with `AwaitingConfirmation`.
    Ask,
    /// Nobody can be asked: they are denied.
    Deny,
}

impl Agent {
    /// Runs one turn.
    ///
    /// `cancel` stops it: running calls are stopped and answered, and the outcome is `Cancelled`. A failure is an outcome
    /// too; whatever happened before it is in the journal. When the journal itself fails, nothing further is done.
    pub async fn run_turn(
        &self,
        session: &mut Session,
        input: AgentInput,
        cancel: &CancellationToken,
    ) -> Outcome {
        let began = Instant::now();
        let end = match self.begin(session, input) {
            Ok(first) => self.pipeline(session, first, cancel, began).await,
            Err(error) => return Outcome::Error { error },
        };
        let outcome = match end {
            Ok(end) => self.outcome(session, end, began),
            Err(error) => Outcome::Error { error },
        };
        if let Outcome::Error {
            error: TurnError::Journal { .. },
        } = &outcome
        {
            return outcome;
        }
        session.record(
            Event::TurnEnded {
                outcome: outcome.clone(),
            },
            Vec::new(),
        );
        match session.barrier(self.observer.as_ref()).await {
            Ok(()) => outcome,
            Err(error) => Outcome::Error {
                error: error.into(),
            },
        }
    }

    async fn pipeline(
        &self,
        session: &mut Session,
        first: Transition,
        cancel: &CancellationToken,
        began: Instant,
    ) -> Result<End, TurnError> {
        let mut transition = first;
        loop {
            let step = match transition {
                Transition::Continue { next_step } => next_step,
                Transition::End { end } => return Ok(*end),
            };
            let result = match step {
                Step::CheckBudgets => self.check_budgets(session, began),
                Step::CallModel => self.call_model(session, cancel).await?,
                Step::CheckApproval => self.check_approval(session),
                Step::ExecuteTools => self.execute_tools(session, cancel).await?,
            };
            self.observer.step(step, &result);
            transition = result.transition;
        }
    }

    fn check_budgets(&self, session: &Session, began: Instant) -> StepResult {
        let budgets = &self.settings.budgets;
        match budget::exceeded(budgets, session.state(), began.elapsed()) {
            Some(budget) => StepResult::end(End::BudgetExceeded { budget }),
            None => StepResult::go(Step::CallModel),
        }
    }

    fn outcome(&self, session: &Session, end: End, began: Instant) -> Outcome {
        let state = session.state();
        let facts = state.facts();
        let summary = TurnSummary {
            session: session.id(),
            turn: state.turns(),
            total_turns: state.turns(),
            turn_usage: facts.usage,
            total_usage: state.usage(),
            provenance: facts
                .provenance
                .clone()
                .unwrap_or_else(|| self.model.provenance()),
            response_id: facts.response_id.clone(),
            stop_reason: facts.stop_reason,
            tool_calls: facts.tool_calls,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            tool_runtime: runtime_of(session),
        };
        match end {
            End::NeedsMoreTurns => Outcome::NeedsMoreTurns { summary },
            End::Done {
                text,
                output,
                result,
            } => Outcome::Done {
                summary,
                text,
                output,
                result,
            },
            End::BudgetExceeded { budget } => Outcome::BudgetExceeded { summary, budget },
            End::AwaitingConfirmation { continuation } => Outcome::AwaitingConfirmation {
                summary,
                continuation,
            },
            End::AwaitingAnswer { continuation } => Outcome::AwaitingAnswer {
                summary,
                continuation,
            },
            End::PendingToolCalls { continuation } => Outcome::PendingToolCalls {
                summary,
                continuation,
            },
            End::Refusal { text } => Outcome::Refusal { summary, text },
            End::Cancelled => Outcome::Cancelled { summary },
        }
    }
}

/// Where the calls of the open batch run.
fn runtime_of(session: &Session) -> ToolRuntime {
    let mut batch = session.state().batch().iter();
    if batch.any(|entry| entry.delegated) {
        ToolRuntime::External
    } else {
        ToolRuntime::Host
    }
}

impl From<JournalError> for TurnError {
    fn from(error: JournalError) -> Self {
        Self::Journal {
            message: error.to_string(),
        }
    }
}

//! One turn of the loop: at most one model call and the tool calls that it asked for.
//!
//! [`Agent::run_turn`] is the only way in: the CLI, servers, tests and embedders all call it, and loop while the outcome is
//! `NeedsMoreTurns`. Inside, a short pipeline of steps runs: check budgets, call the model, check approval, execute tools.
//! Each step reads the session, adds events to it, and returns where the turn goes next.

mod approval;
mod begin;
mod execute;
mod model;
mod outcome;
mod step;
#[cfg(test)]
mod tests;

pub use outcome::{
    AgentInput, Budget, CONTINUATION_VERSION, Continuation, ContinuationKind, Decision, Outcome,
    PendingCall, ToolRuntime, TurnError, TurnSummary,
};
pub use step::{End, Step, StepOutput, StepResult, Transition};

use crate::{
    event::Event, journal::JournalError, model::Model, observer::Observer, session::Session,
    tool::ToolRunner,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The model calls that one message of the person may lead to.
    pub max_turns: u64,
    /// What happens to calls that a person should confirm.
    pub prompts: Prompts,
    /// How many read-only calls run side by side.
    pub parallel_calls: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_turns: 50,
            prompts: Prompts::Deny,
            parallel_calls: 8,
        }
    }
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
            Ok(first) => self.pipeline(session, first, cancel).await,
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
    ) -> Result<End, TurnError> {
        let mut transition = first;
        loop {
            let step = match transition {
                Transition::Continue(step) => step,
                Transition::End(end) => return Ok(end),
            };
            transition = match step {
                Step::CheckBudgets => self.check_budgets(session),
                Step::CallModel => self.call_model(session, cancel).await?,
                Step::CheckApproval => self.check_approval(session),
                Step::ExecuteTools => self.execute_tools(session, cancel).await?,
            }
            .transition;
        }
    }

    /// The budget of turns allows that many useful model calls: a final answer on the last one is an answer.
    fn check_budgets(&self, session: &Session) -> StepResult {
        let limit = self.settings.max_turns;
        if session.state().turns_since_input() >= limit {
            return StepResult::end(End::BudgetExceeded(Budget::Turns { limit }));
        }
        StepResult::go(Step::CallModel)
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
            tool_runtime: ToolRuntime::Host,
        };
        match end {
            End::NeedsMoreTurns => Outcome::NeedsMoreTurns { summary },
            End::Done(text) => Outcome::Done { summary, text },
            End::BudgetExceeded(budget) => Outcome::BudgetExceeded { summary, budget },
            End::AwaitingConfirmation(continuation) => Outcome::AwaitingConfirmation {
                summary,
                continuation,
            },
            End::Refusal(text) => Outcome::Refusal { summary, text },
            End::Cancelled => Outcome::Cancelled { summary },
        }
    }
}

impl From<JournalError> for TurnError {
    fn from(error: JournalError) -> Self {
        Self::Journal {
            message: error.to_string(),
        }
    }
}

//! The order of the steps of a turn: the standard one, or one that an embedder composes.

use super::{Agent, Step, StepResult, Transition, TurnContext, begin::refuse};
use crate::{
    BoxFuture,
    session::{Session, SessionState},
};
use agent_host_types::turn::{TurnEnd, TurnError};
use std::time::{Duration, Instant};

/// Runs the steps of a turn in some order.
///
/// A mode decides on the order alone. It can run a step again, run code of its own between two,
/// and end the turn early; with [`TurnEnd::NeedsMoreTurns`] the caller can continue it. Policy,
/// approval and review apply in every order: [`Step::ExecuteTools`] runs no call that they do not
/// allow. What a mode needs beyond one turn is the state of the session.
///
/// ```
/// use agent_host_engine::{BoxFuture, turn::{Mode, StandardMode, Step, StepOutput, Transition, Turn}};
/// use agent_host_types::turn::{TurnEnd, TurnError};
///
/// /// Pauses before the calls of every reply, so that the caller can look at them.
/// struct Stepwise;
///
/// impl Mode for Stepwise {
///     fn run<'a>(
///         &'a self,
///         turn: &'a mut Turn<'_>,
///         first: Step,
///     ) -> BoxFuture<'a, Result<TurnEnd, TurnError>> {
///         Box::pin(async move {
///             let mut next = first;
///             loop {
///                 let result = turn.step(next).await?;
///                 match (result.output, result.transition) {
///                     (_, Transition::End { end }) => return Ok(*end),
///                     (StepOutput::Llm(_), _) => return Ok(TurnEnd::NeedsMoreTurns),
///                     (_, Transition::Continue { next_step }) => next = next_step,
///                 }
///             }
///         })
///     }
/// }
/// ```
pub trait Mode: Send + Sync {
    /// Runs a turn from its first step to its end. The first one depends on the input: a message
    /// begins with [`Step::CheckBudgets`], a decision with the calls that it is about.
    ///
    /// # Errors
    /// Those of the steps, unchanged. The turn then ends with the error.
    fn run<'a>(
        &'a self,
        turn: &'a mut Turn<'_>,
        first: Step,
    ) -> BoxFuture<'a, Result<TurnEnd, TurnError>>;
}

/// The mode in which each step says which one follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardMode;

impl Mode for StandardMode {
    fn run<'a>(
        &'a self,
        turn: &'a mut Turn<'_>,
        first: Step,
    ) -> BoxFuture<'a, Result<TurnEnd, TurnError>> {
        Box::pin(async move {
            let mut next = first;
            loop {
                match turn.step(next).await?.transition {
                    Transition::Continue { next_step } => next = next_step,
                    Transition::End { end } => return Ok(*end),
                }
            }
        })
    }
}

/// A turn that runs, for a [`Mode`].
pub struct Turn<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'a mut Session,
    pub(super) cx: &'a TurnContext<'a>,
    pub(super) started: Instant,
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn")
            .field("session", &self.session.id())
            .finish_non_exhaustive()
    }
}

impl Turn<'_> {
    /// Runs a step, and reports it to the observer. In a drained turn, a step that would start
    /// something ends the turn instead.
    ///
    /// # Errors
    /// The failure of the step, with which the turn is to end; or the step cannot follow here: the
    /// model cannot be called while calls of its last reply are open.
    pub async fn step(&mut self, step: Step) -> Result<StepResult, TurnError> {
        let Self {
            agent,
            session,
            cx,
            started,
        } = self;
        if cx.is_drained() && starts_work(step, session.state()) {
            return Ok(StepResult::end(TurnEnd::NeedsMoreTurns));
        }
        check_order(step, agent, session.state())?;
        let result = match step {
            Step::CheckBudgets => agent.check_budgets(session, *started),
            Step::CallModel => agent.call_model(session, cx).await?,
            Step::ReviewCalls => agent.review_calls(session, cx).await?,
            Step::CheckApproval => agent.check_approval(session, cx).await?,
            Step::ExecuteTools => agent.execute_tools(session, cx).await?,
            Step::RunProgram => agent.run_program(session, cx).await?,
            Step::RunWorkflow => agent.run_workflow(session, cx, *started).await?,
        };
        cx.observer.step(step, &result);
        Ok(result)
    }

    /// Returns the state of the session.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        self.session.state()
    }

    /// Returns the time since the turn began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Whether a step starts something. That of tools without a call ends the turn.
fn starts_work(step: Step, state: &SessionState) -> bool {
    step != Step::ExecuteTools || !state.batch().is_empty()
}

/// Checks that a mode has not lost the order: providers refuse a conversation with open calls, and
/// only a workflow can run in the place of the model.
fn check_order(step: Step, agent: &Agent, state: &SessionState) -> Result<(), TurnError> {
    match step {
        Step::CallModel | Step::RunProgram if !state.batch().is_empty() => Err(refuse(
            "the agent's mode calls the model while calls of its last reply are open; run `ExecuteTools` first",
        )),
        Step::RunProgram if agent.program.is_none() => Err(refuse(
            "the agent's mode runs a program, but the agent has none",
        )),
        Step::RunWorkflow if agent.workflow.is_none() => Err(refuse(
            "the agent's mode runs a workflow, but the agent has none",
        )),
        _ => Ok(()),
    }
}

//! The steps of a turn as values: what a step found, and where the turn goes from there.

use super::{Budget, Continuation};
use crate::{message::ToolResult, model::ModelReply};
use serde_json::Value;

/// A step of the standard pipeline, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Is there budget for another model call?
    CheckBudgets,
    /// Ask the model.
    CallModel,
    /// Does a person have to confirm calls?
    CheckApproval,
    /// Run the calls and answer every one of them.
    ExecuteTools,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// What it found.
    pub output: StepOutput,
    /// Where the turn goes.
    pub transition: Transition,
}

/// What a step found.
#[derive(Clone, Debug, PartialEq)]
pub enum StepOutput {
    /// Nothing that anybody has to know.
    Pass,
    /// The model's reply.
    Llm(ModelReply),
    /// The results of the batch, in the order of the calls.
    Tool(Vec<ToolResult>),
}

/// Where the turn goes after a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition {
    /// On to another step.
    Continue(Step),
    /// The turn is over.
    End(Box<End>),
}

/// How a turn is over; the summary is added outside the steps.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Another turn is needed.
    NeedsMoreTurns,
    /// The run has its answer.
    Done {
        /// The model's words.
        text: String,
        /// The value that was asked for.
        output: Option<Value>,
        /// The result, where the run had to end through a tool.
        result: Option<ToolResult>,
    },
    /// A budget is used up.
    BudgetExceeded(Budget),
    /// A person has to decide.
    AwaitingConfirmation(Continuation),
    /// A person has to answer.
    AwaitingAnswer(Continuation),
    /// Calls are to run outside.
    PendingToolCalls(Continuation),
    /// The model declined.
    Refusal(String),
    /// Stopped from outside.
    Cancelled,
}

impl StepResult {
    /// A step that found nothing and goes on.
    pub(crate) fn go(next: Step) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::Continue(next),
        }
    }

    /// A step that ends the turn.
    pub(crate) fn end(end: End) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::End(Box::new(end)),
        }
    }
}

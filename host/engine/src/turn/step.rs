//! The steps of a turn as values: what a step found, and where the turn goes from there. They are made once, are changed by
//! nobody, and can be written down.

use agent_host_types::{
    budget::Budget, continuation::Continuation, id::CallId, message::ToolResult, model::ModelReply,
    question::Question,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A step of the standard pipeline, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    /// What it found.
    pub output: StepOutput,
    /// Where the turn goes.
    pub transition: Transition,
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StepOutput {
    /// Nothing that anybody has to know.
    Pass,
    /// The model's reply.
    Llm(ModelReply),
    /// The results of the batch, in the order of the calls.
    Tool {
        /// One for each call.
        results: Vec<ToolResult>,
    },
    /// A call asks a person.
    Human {
        /// The call. It is the host's word: a tool has none in it.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// What it asks.
        question: Question,
    },
}

/// Where the turn goes after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transition {
    /// On to another step.
    Continue {
        /// Which one.
        next_step: Step,
    },
    /// The turn is over.
    End {
        /// How.
        end: Box<End>,
    },
}

/// How a turn is over; the summary is added outside the steps, and makes it an [`super::Outcome`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum End {
    /// Another turn is needed.
    NeedsMoreTurns,
    /// The run has its answer.
    Done {
        /// The model's words.
        text: String,
        /// The value that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// The result, where the run had to end through a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
    },
    /// A budget is used up.
    BudgetExceeded {
        /// Which one.
        budget: Budget,
    },
    /// A person has to decide.
    AwaitingConfirmation {
        /// What to resume with.
        continuation: Continuation,
    },
    /// A person has to answer.
    AwaitingAnswer {
        /// What to answer with.
        continuation: Continuation,
    },
    /// Calls are to run outside.
    PendingToolCalls {
        /// What to submit their results with.
        continuation: Continuation,
    },
    /// The model declined.
    Refusal {
        /// What it said.
        text: String,
    },
    /// Stopped from outside.
    Cancelled,
}

impl Transition {
    /// On to this step.
    pub(crate) fn to(next_step: Step) -> Self {
        Self::Continue { next_step }
    }

    /// Over, in this way.
    pub(crate) fn end(end: End) -> Self {
        Self::End { end: Box::new(end) }
    }
}

impl StepResult {
    /// A step that found nothing and goes on.
    pub(crate) fn go(next: Step) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::to(next),
        }
    }

    /// A step that ends the turn.
    pub(crate) fn end(end: End) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::end(end),
        }
    }
}

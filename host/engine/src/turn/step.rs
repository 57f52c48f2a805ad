//! The steps of a turn as values with a JSON form: the output of a step, and the transition that follows it.

use agent_host_types::{
    id::CallId, message::ToolResult, model::ModelReply, question::Question, turn::TurnEnd,
};
use serde::{Deserialize, Serialize};

/// A step of the standard pipeline, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Is there budget for another model call?
    CheckBudgets,
    /// Ask the model.
    CallModel,
    /// Do calls need approval?
    CheckApproval,
    /// Run the calls and answer every one of them.
    ExecuteTools,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    /// The output of the step.
    pub output: StepOutput,
    /// The transition that follows.
    pub transition: Transition,
}

/// The output of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StepOutput {
    /// No output.
    Pass,
    /// The model's reply.
    Llm(ModelReply),
    /// The results of the batch, in the order of the calls.
    Tool {
        /// One for each call.
        results: Vec<ToolResult>,
    },
    /// A call asks the user.
    Human {
        /// The call, as the host knows it: no text of the tool.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// What it asks.
        question: Question,
    },
}

/// The transition after a step.
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
        end: Box<TurnEnd>,
    },
}

impl Transition {
    /// On to this step.
    pub(crate) fn to(next_step: Step) -> Self {
        Self::Continue { next_step }
    }

    /// Over, in this way.
    pub(crate) fn end(end: TurnEnd) -> Self {
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
    pub(crate) fn end(end: TurnEnd) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::end(end),
        }
    }
}

//! The steps of a turn as values: what a step found, and where the turn goes from there. They are made once, are changed by
//! nobody, and can be written down.

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

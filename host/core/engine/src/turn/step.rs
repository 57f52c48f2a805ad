//! The steps of a turn as values with a JSON form: the output of a step, and the transition that
//! follows it.

use agent_host_types::{
    id::CallId, message::ToolResult, model::ModelReply, question::Question, tool::ToolCall,
    turn::TurnEnd,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step of the standard pipeline, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Check the budgets for another model call.
    #[default]
    CheckBudgets,
    /// Call the model.
    CallModel,
    /// Have hooks review the calls; only with hooks.
    ReviewCalls,
    /// Check which calls need approval.
    CheckApproval,
    /// Run the calls and answer every one of them.
    ExecuteTools,
    /// Run a program, which takes the place of the model, to its next calls.
    RunProgram,
    /// Run a workflow, which takes the place of the model and its calls.
    RunWorkflow,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    /// The output of the step.
    pub output: StepOutput,
    /// The transition that follows; in JSON, without it the turn continues with the first step.
    #[serde(default)]
    pub transition: Transition,
}

/// The output of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StepOutput {
    /// No output.
    Pass,
    /// The model's reply.
    Llm(ModelReply),
    /// The calls of a program.
    Program {
        /// The calls, in its order; none of a program that ended.
        #[serde(default)]
        calls: Vec<ToolCall>,
    },
    /// The results of the batch, in the order of the calls.
    Tool {
        /// One result per call.
        #[serde(default)]
        results: Vec<ToolResult>,
    },
    /// A call asks the user.
    Human {
        /// The call; the host's value, no text of the tool.
        #[serde(default)]
        call_id: CallId,
        /// The tool.
        #[serde(default)]
        tool: String,
        /// The question.
        question: Question,
    },
}

/// The transition after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transition {
    /// The turn continues with another step.
    Continue {
        /// The step.
        #[serde(default)]
        next_step: Step,
    },
    /// The turn ends.
    End {
        /// The end.
        end: Box<TurnEnd>,
    },
}

impl Default for Transition {
    fn default() -> Self {
        Self::to(Step::default())
    }
}

impl Transition {
    pub(crate) fn to(next_step: Step) -> Self {
        Self::Continue { next_step }
    }

    pub(crate) fn end(end: TurnEnd) -> Self {
        Self::End { end: Box::new(end) }
    }
}

impl StepResult {
    /// Returns a result without output that continues with a step.
    pub(crate) fn go(next: Step) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::to(next),
        }
    }

    /// Returns a result without output that ends the turn.
    pub(crate) fn end(end: TurnEnd) -> Self {
        Self {
            output: StepOutput::Pass,
            transition: Transition::end(end),
        }
    }
}

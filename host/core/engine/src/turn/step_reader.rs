//! The steps of a session's turns, read from its events.

use super::step::{Step, StepOutput, StepResult, Transition};
use agent_host_types::{event::Event, message::ToolResult, tool::ToolCall, turn::TurnReport};
use serde::Serialize;
use std::mem;

/// A step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TurnStep {
    /// The number of the turn's model call, from 1; 0 before the first one.
    pub turn: u64,
    /// The step.
    pub step: Step,
    /// Its output, and the transition that followed.
    pub result: StepResult,
}

/// Reads the steps of turns from the events of a session, in order. A step that passed and left no
/// event, such as the check of the budgets, is inferred from the one that followed. A step during
/// which the program ended is left out.
///
/// ```
/// use agent_host_engine::turn::{Step, StepReader};
/// use agent_host_types::event::Event;
///
/// let mut steps = StepReader::default();
/// let requested = Event::RepairRequested { message: "again".into() };
/// assert_eq!(steps.read(requested), []);
/// ```
#[derive(Debug, Default)]
pub struct StepReader {
    turn: u64,
    /// The step that the last events belong to.
    open: Option<OpenStep>,
    /// The results of its calls so far.
    results: Vec<ToolResult>,
}

/// A step whose end is not known yet.
#[derive(Debug)]
enum OpenStep {
    /// The model is called, and has replied if there is an output.
    Model(StepOutput),
    /// Hooks review calls.
    Review,
    /// Calls wait for approval.
    Approval,
    /// Calls run.
    Tools,
    /// A call asks the user.
    Question(StepOutput),
    /// A program runs, and made calls if there is an output.
    Program(StepOutput),
    /// A workflow runs.
    Workflow,
}

impl OpenStep {
    fn step(&self) -> Step {
        match self {
            Self::Model(_) => Step::CallModel,
            Self::Review => Step::ReviewCalls,
            Self::Approval => Step::CheckApproval,
            Self::Tools | Self::Question(_) => Step::ExecuteTools,
            Self::Program(_) => Step::RunProgram,
            Self::Workflow => Step::RunWorkflow,
        }
    }

    fn into_output(self, results: Vec<ToolResult>) -> StepOutput {
        match self {
            Self::Model(output) | Self::Question(output) | Self::Program(output) => output,
            Self::Tools => StepOutput::Tool { results },
            Self::Review | Self::Approval | Self::Workflow => StepOutput::Pass,
        }
    }
}

impl StepReader {
    /// Reads the next event, and returns the steps that it shows to have ended.
    #[expect(
        clippy::too_many_lines,
        reason = "one short arm for each kind of event"
    )]
    pub fn read(&mut self, event: Event) -> Vec<TurnStep> {
        let mut ended = Vec::new();
        match event {
            Event::ModelRequested { turn, .. } => {
                self.leave(Step::CheckBudgets, &mut ended);
                self.turn = turn;
                self.passed(Step::CheckBudgets, Step::CallModel, &mut ended);
                self.open = Some(OpenStep::Model(StepOutput::Pass));
            }
            Event::ModelReplied { reply, .. } => {
                self.open = Some(OpenStep::Model(StepOutput::Llm(reply)));
            }
            Event::ProgramCalled { calls } => self.run_program(calls, &mut ended),
            Event::ProgramEnded { .. } => self.run_program(Vec::new(), &mut ended),
            Event::CallReviewed { .. } if !self.runs_workflow() && !self.reviews() => {
                self.leave(Step::ReviewCalls, &mut ended);
                self.open = Some(OpenStep::Review);
            }
            Event::ApprovalRequested { .. } => {
                self.leave(Step::CheckApproval, &mut ended);
                self.open = Some(OpenStep::Approval);
            }
            Event::CallIntended { path, .. } if path.is_empty() => {
                self.run_tools(&mut ended);
            }
            Event::AgentSpawned { .. } if !self.runs_workflow() => {
                self.run_tools(&mut ended);
            }
            Event::CallsDispatched { .. } | Event::ChildrenWaiting { .. }
                if !self.runs_workflow() =>
            {
                self.run_tools(&mut ended);
            }
            Event::CallSettled {
                call_id,
                tool,
                output,
                whole,
                path,
                ..
            } if path.is_empty() => {
                self.run_tools(&mut ended);
                self.results.push(ToolResult {
                    call_id,
                    name: tool,
                    output,
                    whole,
                });
            }
            Event::QuestionAsked {
                call_id,
                tool,
                question,
                ..
            } => {
                self.run_tools(&mut ended);
                self.open = Some(OpenStep::Question(StepOutput::Human {
                    call_id,
                    tool,
                    question,
                }));
            }
            Event::WorkflowStarted { .. } | Event::NodeIntended { .. } if !self.runs_workflow() => {
                self.passed(Step::CheckBudgets, Step::RunWorkflow, &mut ended);
                self.open = Some(OpenStep::Workflow);
            }
            Event::TurnInterrupted { .. } => {
                self.open = None;
                self.results.clear();
            }
            Event::TurnEnded { outcome, .. } => self.end(outcome, &mut ended),
            _ => {}
        }
        ended
    }

    fn runs_workflow(&self) -> bool {
        matches!(self.open, Some(OpenStep::Workflow))
    }

    fn reviews(&self) -> bool {
        matches!(self.open, Some(OpenStep::Review))
    }

    /// Opens the step in which a program made calls or ended.
    fn run_program(&mut self, calls: Vec<ToolCall>, ended: &mut Vec<TurnStep>) {
        self.leave(Step::CheckBudgets, ended);
        self.passed(Step::CheckBudgets, Step::RunProgram, ended);
        self.open = Some(OpenStep::Program(StepOutput::Program { calls }));
    }

    /// Opens the step of tools, unless it is open.
    fn run_tools(&mut self, ended: &mut Vec<TurnStep>) {
        if !matches!(self.open, Some(OpenStep::Tools)) {
            self.leave(Step::CheckApproval, ended);
            self.passed(Step::CheckApproval, Step::ExecuteTools, ended);
            self.open = Some(OpenStep::Tools);
        }
    }

    /// Ends the open step with a transition to another one.
    fn leave(&mut self, next: Step, ended: &mut Vec<TurnStep>) {
        if let Some(open) = self.open.take() {
            let step = open.step();
            let output = open.into_output(mem::take(&mut self.results));
            self.push(step, output, Transition::to(next), ended);
        }
    }

    fn passed(&self, step: Step, next: Step, ended: &mut Vec<TurnStep>) {
        self.push(step, StepOutput::Pass, Transition::to(next), ended);
    }

    fn end(&mut self, outcome: TurnReport, ended: &mut Vec<TurnStep>) {
        let transition = Transition::end(outcome.end);
        let results = mem::take(&mut self.results);
        let (step, output) = match self.open.take() {
            Some(open) => (open.step(), open.into_output(results)),
            None => (Step::CheckBudgets, StepOutput::Pass),
        };
        self.push(step, output, transition, ended);
    }

    fn push(
        &self,
        step: Step,
        output: StepOutput,
        transition: Transition,
        ended: &mut Vec<TurnStep>,
    ) {
        ended.push(TurnStep {
            turn: self.turn,
            step,
            result: StepResult { output, transition },
        });
    }
}

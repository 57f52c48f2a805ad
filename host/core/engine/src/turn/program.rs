//! Runs a program in place of the model, up to its next calls or its end.
//!
//! Calls become durable as those of a model do, and no request precedes them, so a batch of
//! read-only calls needs no barrier. A program that does not run any more, after a pause or a
//! crash, runs again from its start: the recorded batches answer its calls, and have to be equal to
//! them.

use super::{Agent, MAX_UNDURABLE, StepOutput, StepResult, Transition, TurnContext, begin::refuse};
use crate::{
    artifact::result_name,
    program::{Program, ProgramProgress, RunningProgram, diverged},
    session::Session,
    spill::{SpilledOutput, spill_output},
    tool::CallReport,
};
use agent_host_types::{
    event::Event,
    id::CallId,
    message::{Message, Role, ToolResult},
    output::{ContentPart, ToolResultOutput},
    tool::ToolCall,
    turn::{TurnEnd, TurnError},
};
use std::collections::VecDeque;

/// The name of the program's result.
const PROGRAM: &str = "program";

/// Calls that ran, with their results.
type Round = (Vec<ToolCall>, Vec<ToolResult>);

impl Agent {
    pub(super) async fn run_program(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<StepResult, TurnError> {
        let Some(program) = &self.program else {
            return Err(refuse("this agent has no program"));
        };
        if session.undurable() >= MAX_UNDURABLE {
            session.barrier(cx.observer).await?;
        }
        let mut recorded = VecDeque::new();
        let mut running = match session.program.take() {
            Some(running) => running,
            None => {
                recorded = rounds(session.conversation()?);
                self.start_program(program, session)
            }
        };
        if running.is_waiting() {
            let results = last_results(session);
            running.answer(whole(session, results).await?);
        }
        loop {
            let progress = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Ok(StepResult::end(TurnEnd::Cancelled)),
                progress = running.next(program.max_calls) => progress,
            };
            if let ProgramProgress::Printed(text) = &progress {
                cx.observer.printed(text);
                continue;
            }
            match (progress, recorded.pop_front()) {
                (ProgramProgress::Printed(_), _) => {}
                (ProgramProgress::Called(calls), Some((earlier, results))) if calls == earlier => {
                    running.answer(whole(session, results).await?);
                }
                (_, Some(_)) => return Ok(ended(session, diverged())),
                (ProgramProgress::Ended(report), None) => return Ok(ended(session, *report)),
                (ProgramProgress::Called(calls), None) => {
                    let called = Event::ProgramCalled {
                        calls: calls.clone(),
                    };
                    session.record(called, Vec::new());
                    session.program = Some(running);
                    return Ok(StepResult {
                        output: StepOutput::Program { calls },
                        transition: Transition::to(self.before_approval()),
                    });
                }
            }
        }
    }

    fn start_program(&self, program: &Program, session: &Session) -> RunningProgram {
        let tools = self.tools.tools();
        let names = tools.map(|tool| tool.definition.name.clone()).collect();
        let code = session
            .state()
            .first_input()
            .map(source)
            .unwrap_or_default();
        RunningProgram::start(program, session.id(), session.started_ms(), code, names)
    }
}

/// Returns the source in a program's first message.
fn source(message: &Message) -> String {
    let texts = message.content.iter().filter_map(ContentPart::text);
    texts.collect()
}

/// Returns the calls of a conversation with their results.
fn rounds(messages: Vec<Message>) -> VecDeque<Round> {
    let mut rounds = VecDeque::new();
    let mut calls = Vec::new();
    for message in messages {
        match message.role {
            Role::Assistant => calls = message.tool_calls,
            Role::ToolResult => {
                rounds.push_back((std::mem::take(&mut calls), message.tool_results));
            }
            Role::User | Role::System => {}
        }
    }
    rounds
}

fn last_results(session: &Session) -> Vec<ToolResult> {
    let last = session.state().messages().last();
    let results = last.filter(|message| message.role == Role::ToolResult);
    results
        .map(|message| message.tool_results.clone())
        .unwrap_or_default()
}

/// Returns results without previews. Their files stay where they are.
async fn whole(
    session: &Session,
    results: Vec<ToolResult>,
) -> Result<Vec<ToolResultOutput>, TurnError> {
    let mut outputs = Vec::with_capacity(results.len());
    for result in results {
        outputs.push(session.whole_result(result).await?.output);
    }
    Ok(outputs)
}

/// Records the end of a program, which is that of its turn.
fn ended(session: &mut Session, report: CallReport) -> StepResult {
    let call_id = CallId(PROGRAM.to_owned());
    let SpilledOutput {
        output,
        whole,
        blobs,
    } = spill_output(report.output, &result_name(&call_id).to_string());
    let ended = Event::ProgramEnded {
        output: output.clone(),
        whole: whole.clone(),
        accounting: report.accounting,
        audit: report.audit,
    };
    session.record(ended, blobs);
    let end = TurnEnd::Done {
        text: String::new(),
        output: None,
        result: Some(ToolResult {
            call_id,
            name: PROGRAM.to_owned(),
            output,
            whole,
        }),
    };
    StepResult {
        output: StepOutput::Program { calls: Vec::new() },
        transition: Transition::end(end),
    }
}

//! Calls of agents: each runs as a child session, which has its own turns, journal and approvals.
//! The session is named after the call, so that after a pause or a crash the call finds it again:
//! an agent never starts anew.

mod in_session;
mod inputs;
mod loops;

pub(super) use in_session::{SESSION_RULE, in_session};

use super::{
    Actors, Agent, StepResult, Transition, TurnContext,
    approval::request_name,
    begin::refuse,
    budget::Share,
    job::{Caller, JobEnd, Unsettled, checked, files_labelled},
    plan::CallRun,
};
use crate::{
    agents::SubAgent,
    flow::{
        RunFiles,
        reference::{text_without_references, without_references},
    },
    observer::{Live, Observer, Unobserved},
    session::{FIRST_MERGE, Session, SessionStart, Snapshot},
    tool::CallReport,
};
use agent_host_types::{
    continuation::{Awaiting, WaitingChild},
    event::{Event, ParentCall},
    failure::{ToolErrorCode, ToolFailure},
    id::{CallId, SessionId},
    message::{Message, Role},
    output::{ContentPart, ToolResultOutput},
    turn::{AgentInput, ChildSummary, RunOutcome, TurnEnd, TurnError},
};
use serde_json::{Value, json};
use std::time::Instant;

impl Agent {
    /// Opens the session of a call's agent, or starts it.
    pub(super) async fn open_child(
        &self,
        child: &SubAgent,
        session: &Session,
        call_id: &CallId,
    ) -> Result<Session, TurnError> {
        let run = session.state().flow.files.run();
        self.open_in_run(child, session.id(), run, call_id).await
    }

    async fn open_in_run(
        &self,
        child: &SubAgent,
        parent: SessionId,
        run: RunFiles,
        call_id: &CallId,
    ) -> Result<Session, TurnError> {
        let id = self.key.child(parent, call_id);
        let Some(agents) = &self.agents else {
            return Err(refuse("this run has no agents"));
        };
        let journal = agents.journals().open(id).await?;
        let start = SessionStart {
            system: child.system.as_deref().map(str::to_owned),
            parent: Some(ParentCall {
                session: parent,
                call_id: call_id.clone(),
            }),
            ..SessionStart::default()
        };
        Ok(Session::of_agent(journal, start, run).await?)
    }

    /// Pauses the turn if agents wait.
    pub(super) fn wait_for_children(
        &self,
        session: &mut Session,
        children: Vec<WaitingChild>,
    ) -> Option<StepResult> {
        if children.is_empty() {
            return None;
        }
        let awaiting = Awaiting::Children {
            children: children.clone(),
        };
        let open = session.state().open.as_ref();
        if open.is_none_or(|open| open.awaiting != awaiting) {
            // A copy of this session has no others.
            if let Some(child) = children.first() {
                let labelled =
                    files_labelled(&child.call_id, session.state().flow.files.unrecorded());
                session.record_all(labelled.into_iter().collect(), Vec::new());
            }
            let waiting = Event::ChildrenWaiting {
                request: request_name(session),
                turn: session.state().turns(),
                children,
            };
            session.record(waiting, Vec::new());
        }
        let end = self.pause(session)?;
        Some(StepResult {
            output: super::StepOutput::Pass,
            transition: Transition::end(end),
        })
    }

    /// Runs an agent until it has its result or waits, with the hooks around it. A hook cannot have
    /// it run again.
    pub(super) async fn run_agent(
        &self,
        caller: &Caller,
        run: &CallRun,
        share: &Share,
        cx: &TurnContext<'_>,
    ) -> JobEnd {
        let call = &run.entry.call;
        let Some(child) = self.sub_agent(&call.name, &run.input) else {
            let failure = ToolFailure::new(ToolErrorCode::ToolUnavailable, "Unknown agent.");
            return Ok(CallReport::of(failure.into()).into());
        };
        let max = self.settings.max_agent_depth;
        if child.program_loop().is_none() && caller.agent_depth >= max {
            return Ok(CallReport::of(too_deep(max).into()).into());
        }
        let began = Instant::now();
        cx.observer.live(Live::CallStarted {
            call_id: &call.id,
            tool: &call.name,
            input: &run.input,
        });
        let invocation = self.invocation(caller, run, cx);
        let mut verdicts = Vec::new();
        let report = match self.may_run(&invocation).await {
            Ok(passed) => {
                verdicts = passed;
                let (session, end) = self.drive(&child, caller, run, share, cx).await?;
                let output = result_of(&session, run, end).await?;
                let mut report = report_of(&child, &session, output).await?;
                report.sources = self.sources_of_child(&session, &report);
                report
            }
            Err(mut report) => {
                verdicts.append(&mut report.verdicts);
                *report
            }
        };
        let (mut report, _) = self.judge_result(&invocation, report).await;
        verdicts.append(&mut report.verdicts);
        report.verdicts = verdicts;
        let mut report = checked(report);
        report.accounting.wall_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        cx.observer.live(Live::CallEnded {
            call_id: &call.id,
            tool: &call.name,
            input: Some(&run.input),
            output: &report.output,
            audit: &report.audit,
            wall_us: report.accounting.wall_us,
        });
        Ok(report.into())
    }

    /// Runs the turns of an agent's session, and returns it with its end.
    async fn drive(
        &self,
        child: &SubAgent,
        caller: &Caller,
        run: &CallRun,
        share: &Share,
        cx: &TurnContext<'_>,
    ) -> Result<(Box<Session>, TurnEnd), Unsettled> {
        let (call_id, input) = (&run.entry.call.id, run.resumed_with.clone());
        let run_files = caller.files.clone();
        let mut session = self
            .open_in_run(child, caller.session, run_files, call_id)
            .await?;
        let (agent, setup) = self.bounded(child, session.id(), share, caller)?;
        let snapshot = run.entry.snapshot.as_ref().unwrap_or(&caller.snapshot);
        let observer = cx.observer.child(call_id, &child.name);
        let observer: &dyn Observer = observer.as_deref().unwrap_or(&Unobserved);
        // The first input of an agent is its caller's.
        let sender = cx.actors.sender.filter(|_| input.is_some());
        let actors = Actors {
            sender,
            key: None,
            sources: &run.sources,
            ..cx.actors
        };
        let inherited = match agent.program {
            Some(_) => [cx.approvals, &caller.remembered].concat(),
            None => cx.approvals.to_vec(),
        };
        let cx = TurnContext {
            observer,
            actors,
            approvals: &inherited,
            ..*cx
        };
        let next = match (input, session.state().message_count()) {
            (Some(input), _) => Some(input),
            (None, 0) => {
                begin(&mut session, snapshot, run, &caller.shared_sources);
                session.set_context((*snapshot.context).clone());
                Some(first_input(run))
            }
            (None, _) if session.state().has_ended() => None,
            (None, _) => Some(AgentInput::Continue),
        };
        if let Some(setup) = setup {
            session.configure_loop(&setup, cx.approvals);
        }
        let Some(next) = next else {
            let last = session.state().last_report();
            let end = last.map_or(TurnEnd::Cancelled, |report| report.end.clone());
            return Ok((Box::new(session), end));
        };
        let end = agent.run(&mut session, next, &cx).await.end;
        match end.run_outcome() {
            RunOutcome::Unfinished => Err(Unsettled::Drained),
            RunOutcome::Paused(continuation) => Err(Unsettled::Waiting(Box::new(WaitingChild {
                call_id: call_id.clone(),
                agent: child.name.clone(),
                program: agent.program.as_ref().map(|_| instructions(&run.input)),
                continuation: continuation.clone(),
            }))),
            RunOutcome::Unrecorded(error) => Err(error.clone().into()),
            RunOutcome::Ended => Ok((Box::new(session), end)),
        }
    }
}

/// Returns the report of a call whose result is that of an agent's session.
async fn report_of(
    child: &SubAgent,
    session: &Session,
    output: ToolResultOutput,
) -> Result<CallReport, TurnError> {
    let mut report = CallReport::of(output);
    report.child = Some(summary(child, session));
    report.files = session.state().flow.files.recorded();
    if report.output.is_success() {
        report.changes = session.own_changes().await?;
    }
    Ok(report)
}

fn too_deep(max: u8) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::AgentFailed,
        format!(
            "The agent was not started: the maximum depth of agents that start agents is {max} (`agent-depth` in \
             agent.toml), counting those of other hosts. Do it without one."
        ),
    )
}

fn summary(child: &SubAgent, session: &Session) -> ChildSummary {
    let state = session.state();
    ChildSummary {
        agent: child.name.clone(),
        session: session.id(),
        turns: state.turns(),
        tool_calls: state.spent().calls,
        usage: state.usage(),
    }
}

/// Gives a new session the shared state as its parent sees it.
fn begin(session: &mut Session, snapshot: &Snapshot, run: &CallRun, sources: &[String]) {
    let shared = &snapshot.shared;
    // After a crash it may have that already, and nothing else.
    if session.next_seq() == FIRST_MERGE && !shared.is_empty() {
        let merged = Event::StateMerged {
            call_id: run.entry.call.id.clone(),
            delta: (**shared).clone(),
            labels: sources.to_vec(),
        };
        session.record(merged, Vec::new());
    }
}

/// Returns the only message of the user in an agent's session.
fn first_input(run: &CallRun) -> AgentInput {
    let text = instructions(&run.input);
    if run.files.is_empty() {
        return AgentInput::Text(text);
    }
    let files = run.files.iter().cloned().map(ContentPart::File);
    let mut message = Message::text(Role::User, text);
    message.content.extend(files);
    AgentInput::Message(message)
}

fn instructions(input: &serde_json::Map<String, Value>) -> String {
    // The source of a program stands in their place.
    let text = ["instructions", "code", "question"];
    let text = text.iter().find_map(|name| input.get(*name));
    let text = text.and_then(Value::as_str);
    let text = text.unwrap_or_default();
    match input.get("context").or_else(|| input.get("value")) {
        None => text.to_owned(),
        Some(context) => format!("{text}\n\n[context]\n{context:#}"),
    }
}

/// Returns the result of the call whose agent ended so.
async fn result_of(
    session: &Session,
    run: &CallRun,
    end: TurnEnd,
) -> Result<ToolResultOutput, TurnError> {
    let failed = |code: ToolErrorCode, message: String| {
        let partial = session.state().last_assistant_text();
        let failure = ToolFailure::new(code, message);
        let mut value = json!({ "code": code, "message": failure.message() });
        if !partial.is_empty()
            && let Value::Object(fields) = &mut value
        {
            fields.insert("partial".to_owned(), partial.into());
        }
        ToolResultOutput::error_json(value)
    };
    Ok(match end {
        TurnEnd::Done {
            result: Some(result),
            ..
        } => {
            let mut whole = session.whole_result(result).await?;
            session.hydrate_output(&mut whole.output).await?;
            whole.output
        }
        TurnEnd::Done {
            output: Some(value),
            ..
        } => ToolResultOutput::json(without_references(value)),
        TurnEnd::Done { text, .. } => ToolResultOutput::Text(text_without_references(text)),
        TurnEnd::Halted { message } => ToolResultOutput::Text(message),
        TurnEnd::Refusal { text } => ToolResultOutput::ExecutionDenied(Some(text)),
        TurnEnd::BudgetExceeded { budget } => failed(
            ToolErrorCode::AgentBudget,
            format!(
                "The agent used up its budget ({}) before it had its result.",
                budget.name()
            ),
        ),
        TurnEnd::Error { error } => failed(
            ToolErrorCode::AgentFailed,
            format!("The agent ended without a result: {error}."),
        ),
        // The others do not end a session.
        _ => ToolFailure::stopped(run.effect).into(),
    })
}

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
    budget::{self, Share},
    execute::{Caller, EndedBy, Run, call_intended, record_end},
};
use crate::{
    agents::SubAgent,
    journal::JournalError,
    observer::{Live, Observer, Unobserved},
    session::{FIRST_MERGE, Session, SessionStart, Snapshot},
    tool::{CallReport, SessionChange},
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
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::time::Instant;

/// The result of an agent that waited when another call ended the run.
const STOPPED: &str = "The agent was stopped: another call ended the run.";

/// The end of a call of an agent. Its figures are absent if the agent did not run.
pub(super) type ChildEnd = Result<(CallReport, Option<ChildSummary>), Unsettled>;

/// Why a call has no end yet.
pub(super) enum Unsettled {
    /// Its session waits for the user.
    Waiting(Box<WaitingChild>),
    /// The turn was drained. The call stays open, and its session continues with the next turn.
    Drained,
    Failed(TurnError),
}

impl From<TurnError> for Unsettled {
    fn from(error: TurnError) -> Self {
        Self::Failed(error)
    }
}

impl Agent {
    pub(super) fn sub_agent(&self, tool: &str) -> Option<&SubAgent> {
        self.agents.as_ref()?.of_tool(tool)
    }

    /// Opens the session of a call's agent, or starts it.
    pub(super) async fn open_child(
        &self,
        child: &SubAgent,
        parent: SessionId,
        call_id: &CallId,
    ) -> Result<Session, TurnError> {
        let id = self.key.child(parent, call_id);
        let Some(agents) = &self.agents else {
            return Err(refuse("this run has no agents"));
        };
        let journal = agents.journals().open(id).await?;
        match Session::resume(journal.clone()).await {
            Err(JournalError::NotFound(_)) => {
                let start = SessionStart {
                    system: child.system.as_deref().map(str::to_owned),
                    parent: Some(ParentCall {
                        session: parent,
                        call_id: call_id.clone(),
                    }),
                    ..SessionStart::default()
                };
                Ok(Session::start(journal, start))
            }
            resumed => Ok(resumed?),
        }
    }

    /// Runs agents concurrently and records their ends in the order of the calls. If some wait, the
    /// turn waits with them.
    pub(super) async fn run_agents(
        &self,
        session: &mut Session,
        group: Vec<Run>,
        cx: &TurnContext<'_>,
    ) -> Result<Option<StepResult>, TurnError> {
        if cx.is_drained() {
            return Ok(Some(StepResult::end(TurnEnd::NeedsMoreTurns)));
        }
        for run in group.iter().filter(|run| !run.entry.is_spawned) {
            let Some(child) = self.sub_agent(&run.entry.call.name) else {
                continue;
            };
            let spawned = Event::AgentSpawned {
                call_id: run.entry.call.id.clone(),
                session: self.key.child(session.id(), &run.entry.call.id),
                agent: child.name.clone(),
                definition: child.definition,
            };
            session.record_all(vec![call_intended(run), spawned], Vec::new());
        }
        if session.undurable() > 0 {
            session.barrier(cx.observer).await?;
        }
        let share = budget::share(&self.settings.budgets, session.state(), group.len(), &[]);
        let caller = Caller::of(session, &self.settings);
        let (caller, share) = (&caller, &share);
        // One that ends the run stops the others.
        let stop = &cx.cancel.child_token();
        let of_agents = &TurnContext {
            cancel: stop,
            ..*cx
        };
        let with_input: Vec<_> = group
            .into_iter()
            .map(|run| {
                let input = session.child_input(&run.entry.call.id);
                (run, input)
            })
            .collect();
        let mut ends = stream::iter(with_input.into_iter().map(|(run, input)| async move {
            let end = self.run_agent(caller, &run, input, share, of_agents).await;
            if let Ok((report, _)) = &end
                && report.changes.iter().any(SessionChange::is_halt)
            {
                stop.cancel();
            }
            (run, end)
        }))
        .buffered(self.settings.parallel_agents.max(1));
        let mut ended = Vec::new();
        while let Some(pair) = ends.next().await {
            ended.push(pair);
        }
        drop(ends);
        self.record_agents(session, ended, cx).await
    }

    /// Records the results of agents that ended, and returns what the others wait for.
    async fn record_agents(
        &self,
        session: &mut Session,
        ended: Vec<(Run, ChildEnd)>,
        cx: &TurnContext<'_>,
    ) -> Result<Option<StepResult>, TurnError> {
        let (mut waiting, mut is_drained, mut failed) = (Vec::new(), false, None);
        for (run, end) in ended {
            match end {
                Ok((report, summary)) => {
                    let report = self.within_quota(session, report);
                    let by = EndedBy {
                        child: summary,
                        ..EndedBy::default()
                    };
                    record_end(session, &run.entry.call, report, by);
                }
                Err(Unsettled::Waiting(child)) => waiting.push(*child),
                Err(Unsettled::Drained) => is_drained = true,
                Err(Unsettled::Failed(error)) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None if session.state().halt().is_some() => {
                // Those that wait or were drained do not continue.
                self.abandon_children(session, cx).await?;
                self.answer_agents(session, cx);
                Ok(None)
            }
            None => {
                let drained = is_drained.then(|| StepResult::end(TurnEnd::NeedsMoreTurns));
                Ok(self.wait_for_children(session, waiting).or(drained))
            }
        }
    }

    /// Answers the calls of agents that the end of the run stopped.
    fn answer_agents(&self, session: &mut Session, cx: &TurnContext<'_>) {
        for entry in session.state().batch().to_vec() {
            if entry.is_spawned && entry.result.is_none() {
                let stopped = ToolFailure::new(ToolErrorCode::Cancelled, STOPPED).into();
                self.settle_skipped(session, cx, &entry.call, stopped);
            }
        }
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
        run: &Run,
        input: Option<AgentInput>,
        share: &Share,
        cx: &TurnContext<'_>,
    ) -> ChildEnd {
        let call = &run.entry.call;
        let Some(child) = self.sub_agent(&call.name) else {
            let failure =
                ToolFailure::new(ToolErrorCode::ToolUnavailable, "There is no such agent.");
            return Ok((CallReport::of(failure.into()), None));
        };
        let max = self.settings.max_agent_depth;
        if child.program_loop().is_none() && caller.agent_depth >= max {
            return Ok((CallReport::of(too_deep(max).into()), None));
        }
        let began = Instant::now();
        cx.observer.live(Live::CallStarted {
            call_id: &call.id,
            tool: &call.name,
            input: &run.input,
        });
        let invocation = self.invocation(caller, run, cx);
        let mut verdicts = Vec::new();
        let (report, summary) = match self.may_run(&invocation).await {
            Ok(passed) => {
                verdicts = passed;
                let driven = self.drive(child, caller, run, input, share, cx).await;
                let (session, end) = driven?;
                let output = result_of(&session, run, end).await?;
                let report = report_of(&session, output).await?;
                (report, Some(summary(child, &session)))
            }
            Err(mut report) => {
                verdicts.append(&mut report.verdicts);
                (*report, None)
            }
        };
        let (mut report, _) = self.judge_result(&invocation, report).await;
        verdicts.append(&mut report.verdicts);
        report.verdicts = verdicts;
        let mut report = super::execute::checked(report);
        report.accounting.wall_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        cx.observer.live(Live::CallEnded {
            call_id: &call.id,
            tool: &call.name,
            input: Some(&run.input),
            output: &report.output,
            wall_us: report.accounting.wall_us,
        });
        Ok((report, summary))
    }

    /// Runs the turns of an agent's session, and returns it with its end.
    async fn drive(
        &self,
        child: &SubAgent,
        caller: &Caller,
        run: &Run,
        input: Option<AgentInput>,
        share: &Share,
        cx: &TurnContext<'_>,
    ) -> Result<(Box<Session>, TurnEnd), Unsettled> {
        let call_id = &run.entry.call.id;
        let mut session = self.open_child(child, caller.session, call_id).await?;
        let (agent, setup) = self.bounded(child, session.id(), share, caller)?;
        let snapshot = run.entry.snapshot.as_ref().unwrap_or(&caller.snapshot);
        let observer = cx.observer.child(call_id, &child.name);
        let observer: &dyn Observer = observer.as_deref().unwrap_or(&Unobserved);
        // The first input of an agent is its caller's.
        let sender = cx.actors.sender.filter(|_| input.is_some());
        let actors = Actors {
            sender,
            key: None,
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
                begin(&mut session, snapshot, run);
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

/// Returns the report of a call whose result is that of a session.
async fn report_of(session: &Session, output: ToolResultOutput) -> Result<CallReport, TurnError> {
    let mut report = CallReport::of(output);
    if report.output.is_success() {
        report.changes = session.own_changes().await?;
    }
    Ok(report)
}

fn too_deep(max: u8) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::AgentFailed,
        format!(
            "The agent was not started: agents start each other to a depth of {max} here (`agent-depth` in agent.toml), and those of other hosts count. Do it without one."
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
fn begin(session: &mut Session, snapshot: &Snapshot, run: &Run) {
    let shared = &snapshot.shared;
    // After a crash it may have that already, and nothing else.
    if session.next_seq() == FIRST_MERGE && !shared.is_empty() {
        let merged = Event::StateMerged {
            call_id: run.entry.call.id.clone(),
            delta: (**shared).clone(),
        };
        session.record(merged, Vec::new());
    }
}

/// Returns the only message of the user in an agent's session.
fn first_input(run: &Run) -> AgentInput {
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
    let text = input.get("instructions").or_else(|| input.get("code"));
    let text = text.and_then(Value::as_str);
    let text = text.unwrap_or_default();
    match input.get("context") {
        None => text.to_owned(),
        Some(context) => format!("{text}\n\n[context]\n{context:#}"),
    }
}

/// Returns the result of the call whose agent ended so.
async fn result_of(
    session: &Session,
    run: &Run,
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
        } => ToolResultOutput::json(value),
        TurnEnd::Done { text, .. } => ToolResultOutput::Text(text),
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

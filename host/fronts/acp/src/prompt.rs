//! A prompt: turns of a session until one ends that neither the loop nor the user continues.

use crate::{
    agent::AcpAgent,
    connection::NoAnswer,
    content::message,
    sessions::{Begin, Opened, running},
    wire::{ErrorCode, Prompt, RpcError, read},
};
use agent_host_app::runs::{self, Follower};
use agent_host_engine::turn::Prompts;
use agent_host_types::{
    budget::Budget,
    id::SessionId,
    turn::{AgentInput, TurnEnd, TurnError},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

/// Time in which a cancelled prompt has to end for the one that waits for it: a call that was
/// stopped gets a few seconds to record its end.
const NEXT_TIMEOUT: Duration = Duration::from_secs(30);

impl AcpAgent {
    /// Starts a prompt in a task of its own, which answers the request.
    pub(crate) fn prompt(self: &Arc<Self>, request: Value, params: Value) -> Result<(), RpcError> {
        self.check_initialized()?;
        let Prompt { session_id, prompt } = read("session/prompt", params)?;
        let message = message(prompt)?;
        let session = session_id
            .parse()
            .map_err(|_| RpcError::new(ErrorCode::NotFound, "pass the whole id of a session"))?;
        let (begin, cancel) = self.sessions.begin_prompt(session, request.clone())?;
        let agent = Arc::clone(self);
        self.prompts.spawn(async move {
            let begun = match begin {
                Begin::Now(opened) => Ok(opened),
                Begin::After(begun) => begun_later(begun).await,
            };
            let mut opened = match begun {
                Ok(opened) => opened,
                Err(result) => return agent.connection.respond(&request, result).await,
            };
            let input = AgentInput::Message(message);
            let ended = agent.run(session, &mut opened, input, &cancel).await;
            // The client may send the next prompt once it has the answer.
            agent.sessions.end_prompt(session, &request, opened);
            let result = ended.map(|reason| json!({ "stopReason": reason }));
            agent.connection.respond(&request, result).await;
        });
        Ok(())
    }

    /// Runs turns, and asks the client what they wait for. Returns the stop reason.
    async fn run(
        &self,
        session: SessionId,
        opened: &mut Opened,
        mut input: AgentInput,
        cancel: &CancellationToken,
    ) -> Result<&'static str, RpcError> {
        loop {
            let end = match self.run_turns(session, opened, input, cancel).await? {
                Some(end) => end,
                None => return Ok("cancelled"),
            };
            let Some(continuation) = end.continuation().cloned() else {
                return stop_reason(end);
            };
            let answered = self.ask(session, opened, &[], continuation, cancel);
            input = match answered.await {
                Ok(input) => input,
                // The request waits on: a cancelled turn is no decision about its calls.
                Err(NoAnswer::Cancelled) => return Ok("cancelled"),
                Err(NoAnswer::Failed(error)) => return Err(error),
            };
        }
    }

    /// Runs turns until one ends that the loop cannot continue, and shows them. Returns none if the
    /// prompt was cancelled before.
    async fn run_turns(
        &self,
        id: SessionId,
        opened: &mut Opened,
        input: AgentInput,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, RpcError> {
        let slot = self.reserve(id).await?;
        // A cancel from now on finds the slot.
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let session = match opened.fresh.take() {
            Some(session) => *session,
            None => self.host.sessions().resume(&id.to_string()).await?,
        };
        let agent = self.host.agents().session_agent(&session, Prompts::Ask)?;
        let mut follower = Follower::new(self.host.sessions(), &self.runs, id, opened.position);
        let host = Arc::clone(&self.host);
        let mut run = tokio::spawn(runs::run(slot, host, agent, session, input, None));
        let end = loop {
            tokio::select! {
                biased;
                followed = follower.next() => match followed? {
                    Some(followed) => self.show(id, &mut opened.transcript, followed).await,
                    None => break (&mut run).await,
                },
                end = &mut run => break end,
            }
        };
        while let Some(followed) = follower.queued().await? {
            self.show(id, &mut opened.transcript, followed).await;
        }
        opened.position = follower.position();
        match end {
            Ok(end) => Ok(Some(end)),
            Err(error) => Err(RpcError::new(ErrorCode::Internal, error.to_string())),
        }
    }
}

/// Waits until the prompt before has ended.
///
/// # Errors
/// The answer: the session was closed, or the prompt before does not end.
async fn begun_later(
    mut begun: oneshot::Receiver<Opened>,
) -> Result<Opened, Result<Value, RpcError>> {
    match timeout(NEXT_TIMEOUT, &mut begun).await {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(_)) => Err(Ok(json!({ "stopReason": "cancelled" }))),
        Err(_) => {
            begun.close();
            // It may have ended at that moment.
            begun.try_recv().map_err(|_| Err(running()))
        }
    }
}

/// Returns the stop reason of a turn that nothing continues.
fn stop_reason(end: TurnEnd) -> Result<&'static str, RpcError> {
    match end {
        TurnEnd::Done { .. } | TurnEnd::Halted { .. } => Ok("end_turn"),
        TurnEnd::Refusal { .. } => Ok("refusal"),
        TurnEnd::Cancelled => Ok("cancelled"),
        TurnEnd::BudgetExceeded { budget } => Ok(match budget {
            Budget::Tokens { .. } | Budget::Usd { .. } => "max_tokens",
            Budget::Turns { .. }
            | Budget::WallClock { .. }
            | Budget::ToolCalls { .. }
            | Budget::Repeats { .. } => "max_turn_requests",
        }),
        TurnEnd::NeedsMoreTurns => Err(RpcError::new(
            ErrorCode::ShuttingDown,
            "the program is stopping; the session can be loaded again",
        )),
        TurnEnd::Error { error } => Err(failed(&error)),
        TurnEnd::AwaitingConfirmation { .. }
        | TurnEnd::AwaitingAnswer { .. }
        | TurnEnd::PendingToolCalls { .. }
        | TurnEnd::AwaitingChildren { .. } => Err(RpcError::new(
            ErrorCode::Unanswered,
            "the session waits for an answer",
        )),
    }
}

fn failed(error: &TurnError) -> RpcError {
    let cause = json!(error)
        .get("cause")
        .and_then(Value::as_str)
        .map(str::to_owned);
    RpcError {
        code: ErrorCode::TurnFailed,
        message: error.to_string(),
        cause,
    }
}

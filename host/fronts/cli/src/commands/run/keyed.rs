//! `--idempotency-key`: a run that began before under its key.

use super::RunParts;
use crate::exit::{Exit, Failure};
use agent_host_engine::session::Session;
use agent_host_types::{
    message::{Message, Role},
    turn::{AgentInput, TurnEnd, TurnReport},
};

impl RunParts<'_> {
    /// Prints how the run ended, or continues it where it was interrupted.
    pub(super) async fn again(
        &mut self,
        session: &mut Session,
        input: &AgentInput,
    ) -> Result<Exit, Failure> {
        if !began_with(session, input) {
            return Err(Failure::usage(
                "another prompt ran under this `--idempotency-key`; use a different key for each prompt",
            ));
        }
        let Some(report) = recorded(session) else {
            return self.once(session, AgentInput::Continue).await;
        };
        self.terminal
            .note("This run has already ended; nothing runs again.");
        if let TurnEnd::Done { text, .. } | TurnEnd::Refusal { text } = &report.end
            && self.view.streams_text()
        {
            self.answer(text);
        }
        self.finish(session, report).await
    }
}

/// Returns how the run ended, if nothing of it can be continued.
fn recorded(session: &Session) -> Option<TurnReport> {
    let state = session.state();
    let is_answer = |report: &&TurnReport| {
        let workflow = state.workflow();
        matches!(
            report.end,
            TurnEnd::Done { .. } | TurnEnd::Halted { .. } | TurnEnd::Refusal { .. }
        ) || workflow.is_some_and(|run| run.has_ended)
    };
    state.last_report().filter(is_answer).cloned()
}

/// Whether the run began with this input.
fn began_with(session: &Session, input: &AgentInput) -> bool {
    let given = match input {
        AgentInput::Text(text) => &Message::text(Role::User, text),
        AgentInput::Message(message) => message,
        _ => return false,
    };
    let began = session.state().first_input();
    began.is_some_and(|began| began.has_content_of(given))
}

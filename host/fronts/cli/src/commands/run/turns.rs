//! The turns of a run at the terminal: what they show, what stops them, and who continues a paused
//! run.

use super::{RunParts, approval};
use crate::{args::OutputFormat, terminal::json_text};
use agent_host_app::{HostError, HostTurn};
use agent_host_engine::{
    BoxFuture,
    observer::Observer,
    session::Session,
    stream::{StreamLine, StreamObserver, WriteLine},
    turn::{Actors, RunFront},
};
use agent_host_types::{
    continuation::Continuation,
    output::Blob,
    turn::{AgentInput, TurnReport},
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The front of a run whose user is at the terminal.
pub(super) struct TerminalFront<'r, 'h> {
    pub(super) run: &'r mut RunParts<'h>,
    pub(super) setup: Blob,
}

impl RunFront for TerminalFront<'_, '_> {
    type Error = HostError;

    fn run_turn<'a>(
        &'a mut self,
        session: &'a mut Session,
        input: AgentInput,
    ) -> BoxFuture<'a, Result<TurnReport, HostError>> {
        Box::pin(async move {
            let (run, id) = (&mut *self.run, session.id());
            // Runs nothing, and keeps what was decided before the run was stopped.
            let only_records = CancellationToken::new();
            let cancel = match approval::is_partial(&input) {
                true => &only_records,
                false => &run.stop.token,
            };
            let write = |line: Arc<StreamLine>| run.terminal.println(&json_text(line.json()));
            let turn = HostTurn {
                host: run.host,
                agent: &run.agent,
                setup: &self.setup,
                observers: run.observers(&write),
                cancel,
                drain: &run.stop.drain,
                actors: Actors::default(),
            };
            let ran = run.note_drain(turn.run(session, input)).await?;
            run.view.end_output();
            run.figures.add(&ran.report);
            let first_text = run.view.take_first_text();
            run.figures.first_text = run.figures.first_text.or(first_text);
            if let Some(name) = run.name.take()
                && let Err(error) = run.host.sessions().store().name_session(id, name).await
            {
                // The answer is worth more than the name.
                run.terminal.error(&error.to_string());
            }
            if let Some(error) = ran.not_remembered {
                run.terminal.error(&error.to_string());
            }
            Ok(ran.report)
        })
    }

    fn is_drained(&self) -> bool {
        self.run.stop.drain.is_cancelled()
    }

    fn respond<'a>(&'a self, paused: &'a Continuation) -> BoxFuture<'a, Option<AgentInput>> {
        self.run.respond(paused)
    }
}

impl RunParts<'_> {
    /// Returns the observers of a turn: the view and, in `stream-json`, the lines on stdout.
    fn observers<'a>(&'a self, write: &'a WriteLine<'a>) -> Vec<Box<dyn Observer + 'a>> {
        let mut observers: Vec<Box<dyn Observer + 'a>> = vec![Box::new(&self.view)];
        if self.format == OutputFormat::StreamJson {
            observers.push(Box::new(StreamObserver::new(write)));
        }
        observers.push(Box::new(self.denied.observer(&self.agent.settings)));
        observers
    }

    /// Runs a turn, and says so if it is drained meanwhile: what runs may take long.
    async fn note_drain<T>(&self, mut turn: BoxFuture<'_, T>) -> T {
        tokio::select! {
            biased;
            ended = &mut turn => return ended,
            () = self.stop.drain.cancelled() => {}
        }
        self.view.end_output();
        self.terminal.note(
            "Stopping after the current step; nothing else starts. A second SIGTERM stops that step, too.",
        );
        turn.await
    }
}

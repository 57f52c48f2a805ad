//! Makes the agent of a recorded setup over the recording.

use super::{
    journal::ReplayJournals,
    model::ReplayModel,
    program::ReplayPrograms,
    recording::{Recording, Unreplayable},
    tape::Tape,
    tools::{Executables, executables, recorded_tools},
};
use crate::{
    agents::{LoopSource, MadeLoop},
    hook::Hook,
    session::Session,
    setup::{LoopSetup, SetupParts},
    turn::{Agent, ContinuationKey, RecordedKey},
};
use agent_host_types::{event::Event, id::SessionId, output::Blob, tool::Effect, turn::TurnError};
use std::sync::Arc;

/// The beginning of what the loop adds to the system prompt for an answer with a schema.
const SCHEMA: &str = "Your final answer must be one JSON value that fits this JSON Schema";

/// The parts that all agents of a replay share.
#[derive(Clone)]
pub(super) struct Common {
    tape: Arc<Tape>,
    executables: Arc<Executables>,
    key: ContinuationKey,
}

impl Common {
    pub(super) fn new(tape: &Arc<Tape>, recording: &Recording) -> Self {
        Self {
            tape: Arc::clone(tape),
            executables: Arc::new(executables(recording.events().map(|record| &record.event))),
            key: ContinuationKey::recorded(recorded_key(tape, recording)),
        }
    }

    /// Makes the agent of a setup.
    pub(super) fn agent(&self, setup: &LoopSetup) -> Result<Agent, Unreplayable> {
        let tape = &self.tape;
        let parts = SetupParts {
            model: &|provenance, small| {
                Arc::new(ReplayModel {
                    tape: Arc::clone(tape),
                    provenance: provenance.clone(),
                    small: small.cloned(),
                })
            },
            tools: &|tools| Arc::new(recorded_tools(tape, &self.executables, tools)),
            deferred: &|effect, bare| {
                Arc::new(RecordedLoop {
                    common: self.clone(),
                    effect,
                    bare,
                })
            },
            programs: Arc::new(ReplayPrograms(Arc::clone(tape))),
            hook: Arc::new(RecordedPrompt(Arc::clone(tape))),
            journals: Arc::new(ReplayJournals(Arc::clone(tape))),
            key: self.key.clone(),
        };
        Ok(setup.build(&parts)?)
    }
}

/// Returns what the key of the recording made.
fn recorded_key(tape: &Tape, recording: &Recording) -> RecordedKey {
    let mut key = RecordedKey {
        children: tape.children().clone(),
        ..RecordedKey::default()
    };
    for record in recording.events() {
        match &record.event {
            Event::TurnEnded { outcome, .. } => {
                if let Some(continuation) = outcome.end.continuation() {
                    key.add(continuation);
                }
            }
            Event::ChildrenWaiting { children, .. } => {
                children
                    .iter()
                    .for_each(|child| key.add(&child.continuation));
            }
            _ => {}
        }
    }
    key
}

/// The loop of an agent, whose session recorded its setup.
struct RecordedLoop {
    common: Common,
    effect: Effect,
    bare: LoopSetup,
}

impl LoopSource for RecordedLoop {
    fn effect(&self) -> Effect {
        self.effect
    }

    fn make(&self, session: SessionId) -> Result<MadeLoop, TurnError> {
        let unusable = |error: String| TurnError::Input {
            message: format!("cannot use the agent setup of session {session}: {error}"),
        };
        let tape = &self.common.tape;
        let digest = tape.track(session, |track| track.setup()).flatten();
        let Some(digest) = digest else {
            // Nothing of it ran.
            let agent = self.common.agent(&self.bare);
            let agent = agent.map_err(|error| unusable(error.to_string()))?;
            return Ok(MadeLoop { agent, setup: None });
        };
        let json = tape.blob(&digest).cloned().unwrap_or_default();
        let setup = LoopSetup::parse(&json).map_err(|error| unusable(error.to_string()))?;
        let agent = self.common.agent(&setup);
        Ok(MadeLoop {
            agent: agent.map_err(|error| unusable(error.to_string()))?,
            setup: Some(Blob::new(json)),
        })
    }
}

/// The text that hooks added to the system prompts.
struct RecordedPrompt(Arc<Tape>);

impl Hook for RecordedPrompt {
    fn prompt(&self, session: &Session) -> Option<String> {
        let blob = self.0.track(session.id(), |track| {
            let mut rest = track.records.iter().skip(track.position);
            rest.find_map(|record| match &record.event {
                Event::ModelRequested { system, .. } => Some(system.clone()),
                _ => None,
            })
        });
        let blob = self.0.blob(&blob.flatten().flatten()?.digest)?;
        let text = str::from_utf8(blob).ok()?;
        let added = match session.state().system() {
            Some(own) => text.strip_prefix(own)?.strip_prefix("\n\n")?,
            None => text,
        };
        let schema = added.rfind(SCHEMA);
        let added = schema.map_or(Some(added), |at| added.get(..at));
        let added = added?.trim_end_matches("\n\n");
        (!added.is_empty()).then(|| added.to_owned())
    }
}

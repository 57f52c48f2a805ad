//! The model of a replay: it gives the recorded replies.

use super::tape::{Tape, Track};
use crate::{
    BoxFuture,
    context::summary_text,
    model::{DeltaSink, Model},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    turn::{TurnEnd, TurnError},
};
use std::{future::pending, sync::Arc};

/// The message of a model that refused a request as too long, where the journal does not have it.
const TOO_LONG: &str = "the request exceeds the window of the model";

pub(super) struct ReplayModel {
    pub(super) tape: Arc<Tape>,
    pub(super) provenance: Provenance,
    pub(super) small: Option<Provenance>,
}

impl Model for ReplayModel {
    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    fn respond<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let reply = self.tape.asking().and_then(|session| self.reply(session));
        Box::pin(async move {
            match reply {
                Some(reply) => reply,
                // The turn is cancelled, or the program ends.
                None => pending().await,
            }
        })
    }

    fn small(&self) -> Option<Arc<dyn Model>> {
        let provenance = self.small.clone()?;
        Some(Arc::new(Self {
            tape: Arc::clone(&self.tape),
            provenance,
            small: None,
        }))
    }
}

impl ReplayModel {
    fn reply(&self, session: SessionId) -> Option<Result<ModelReply, ModelError>> {
        self.tape.track(session, recorded_reply).flatten()
    }
}

/// Returns the recorded reply to the request that a session makes now; `None` if there was none.
fn recorded_reply(track: &mut Track) -> Option<Result<ModelReply, ModelError>> {
    let records = Arc::clone(&track.records);
    let at = track.position;
    let rest = records.get(at..)?;
    let next = &rest.first()?.event;
    let before = at.checked_sub(1).and_then(|before| records.get(before));
    let is_request = before.is_some_and(|record| {
        matches!(record.event, Event::ModelRequested { .. }) && track.refused_at != Some(at)
    });
    match next {
        Event::ModelReplied { reply, .. } if is_request => Some(Ok(reply.clone())),
        Event::TurnEnded { outcome, .. } => match &outcome.end {
            TurnEnd::Error {
                error: TurnError::Model { error },
            } => Some(Err(error.clone())),
            TurnEnd::Error {
                error: TurnError::ContextWindow { said, .. },
            } => {
                let said = said.as_deref().unwrap_or(TOO_LONG);
                Some(Err(ModelError::new(ModelErrorKind::ContextWindow, said)))
            }
            _ => None,
        },
        // The request was too long: the conversation is compacted, and sent again.
        Event::ResultsReferenced { .. }
        | Event::HistorySummarised { .. }
        | Event::ModelRequested { .. }
            if is_request =>
        {
            track.refused_at = Some(at);
            Some(refused(rest))
        }
        Event::HistorySummarised {
            message,
            usage,
            provenance,
            ..
        } => {
            let text = summary_text(message)?;
            Some(Ok(ModelReply {
                text,
                usage: *usage,
                stop_reason: Some(StopReason::EndTurn),
                provenance: Some(provenance.clone()),
                ..ModelReply::default()
            }))
        }
        _ => None,
    }
}

/// Returns the first answer to a request that was made again after compaction: a reply without
/// space for it, whose tokens count, or an error.
fn refused(rest: &[EventRecord]) -> Result<ModelReply, ModelError> {
    let discarded = rest.iter().find_map(|record| match &record.event {
        Event::ModelReplied { discarded, .. } => Some(*discarded),
        Event::TurnEnded { .. } => Some(Usage::default()),
        _ => None,
    });
    let discarded = discarded.unwrap_or_default();
    match discarded.is_none() {
        true => Err(ModelError::new(ModelErrorKind::ContextWindow, TOO_LONG)),
        false => Ok(ModelReply {
            usage: discarded,
            stop_reason: Some(StopReason::ContextWindow),
            ..ModelReply::default()
        }),
    }
}

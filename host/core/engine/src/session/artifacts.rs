//! The artifacts of a session, and the changes that its calls made to it.

use super::{FIRST_MERGE, Session};
use crate::{
    artifact::{ArtifactName, NewArtifact, NewArtifactError, SessionArtifacts},
    journal::JournalError,
    tool::SessionChange,
};
use agent_host_types::event::Event;
use std::{collections::BTreeMap, sync::Arc};

impl Session {
    /// Returns the artifacts as they are now.
    #[must_use]
    pub fn artifacts(&self) -> SessionArtifacts {
        SessionArtifacts::new(
            Arc::clone(self.state().artifacts()),
            Arc::clone(&self.journal),
        )
    }

    /// Stores an artifact, in place of one with its name. It becomes durable with the next turn.
    ///
    /// # Errors
    /// When the name or the media type cannot be used.
    pub fn store_artifact(
        &mut self,
        name: &str,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Result<(), NewArtifactError> {
        let new = NewArtifact::new(name, media_type.to_owned(), bytes)?;
        let (event, blob) = new.into_event((None, None));
        self.record(event, vec![blob]);
        Ok(())
    }

    /// Deletes an artifact that is outside of the directory of results; returns whether there was
    /// one.
    pub fn delete_artifact(&mut self, name: &ArtifactName) -> bool {
        let is_there = name.clone().outside_results().is_ok()
            && self.state().artifacts().kept.contains_key(name);
        if is_there {
            let (call_id, name) = (None, name.clone());
            self.record(Event::ArtifactDeleted { call_id, name }, Vec::new());
        }
        is_there
    }

    /// Returns the changes that calls of this session made, in order; not the state that it began
    /// with. Of artifacts, those that are left of it.
    pub(crate) async fn own_changes(&self) -> Result<Vec<SessionChange>, JournalError> {
        let (mut changes, mut stored) = (Vec::new(), BTreeMap::new());
        let mut from = FIRST_MERGE + 1;
        loop {
            let page = self.journal.records(from).await?;
            let Some(last) = page.last() else {
                break;
            };
            from = last.seq.saturating_add(1);
            for record in page {
                match record.event {
                    Event::StateMerged { delta, .. } => changes.push(SessionChange::Merge(delta)),
                    Event::RunHalted { message, .. } => changes.push(SessionChange::Halt(message)),
                    Event::ArtifactStored {
                        name,
                        media_type,
                        blob,
                        ..
                    } => drop(stored.insert(name, (media_type, blob.digest))),
                    Event::ArtifactDeleted { name, .. } => drop(stored.remove(&name)),
                    _ => {}
                }
            }
        }
        for (name, (media_type, digest)) in stored {
            let bytes = self.journal.blob(digest).await?;
            let new = NewArtifact::new(name.as_str(), media_type, bytes);
            changes.extend(new.ok().map(SessionChange::Store));
        }
        Ok(changes)
    }
}

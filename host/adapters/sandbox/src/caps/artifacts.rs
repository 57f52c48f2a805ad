//! `agent:tool/artifacts`: the artifacts of the session. A call sees those of its session as they
//! were when its first run began, with its own changes; these go into the report, and the loop
//! applies them if the call succeeds.

#[cfg(test)]
mod tests;

use crate::{
    bindings::artifacts::{self, Artifact, ArtifactError},
    caps::unwind::Unwind,
    gate::Gate,
    secrets::Redactors,
};
use agent_host_engine::{
    artifact::{
        ArtifactName, DEFAULT_QUOTA_BYTES, NewArtifact, NewArtifactError, SessionArtifacts, Stored,
    },
    tool::SessionChange,
};
use agent_host_types::audit::ArtifactOp;
use std::{collections::BTreeMap, mem, sync::Arc};

/// The most changes of one call, so that a loop over small ones ends.
const MAX_CHANGES: usize = 1_000;

/// The artifacts of one call.
pub(crate) struct ArtifactsCtx {
    gate: Arc<Gate>,
    secrets: Redactors,
    /// Those of the session; absent for a call outside of one.
    session: Option<SessionArtifacts>,
    /// The most bytes that one `get` returns, and that all of `put` together take.
    max_bytes: u64,
    /// The sum of what the session has stored, with this call.
    stored: Stored,
    put_bytes: u64,
    /// The changes so far.
    changes: usize,
    /// The names that the call has stored and, without a value, deleted.
    own: BTreeMap<ArtifactName, Option<NewArtifact>>,
}

impl ArtifactsCtx {
    pub(crate) fn new(
        gate: Arc<Gate>,
        secrets: Redactors,
        session: Option<SessionArtifacts>,
        max_bytes: u64,
    ) -> Self {
        let stored = session.as_ref().map(SessionArtifacts::stored);
        Self {
            gate,
            secrets,
            session,
            max_bytes,
            stored: stored.unwrap_or_default(),
            put_bytes: 0,
            changes: 0,
            own: BTreeMap::new(),
        }
    }

    /// Returns the number of bytes that the changes hold.
    pub(crate) fn held_bytes(&self) -> u64 {
        let held = self.own.values().flatten();
        held.map(|new| new.bytes().len() as u64).sum()
    }

    /// Takes the changes: the last one of each name.
    pub(crate) fn take_changes(&mut self) -> impl Iterator<Item = SessionChange> {
        let own = mem::take(&mut self.own).into_iter();
        own.map(|(name, new)| match new {
            Some(new) => SessionChange::Store(new),
            None => SessionChange::Delete(name),
        })
    }

    fn check(&self, op: ArtifactOp, name: &str) -> Result<(), ArtifactError> {
        let allowed = self.gate.check_artifact(op, name);
        allowed.map_err(|_| ArtifactError::Denied)
    }

    fn count_change(&mut self) -> Result<(), ArtifactError> {
        self.changes = self.changes.saturating_add(1);
        match self.changes {
            0..=MAX_CHANGES => Ok(()),
            _ => Err(ArtifactError::QuotaExceeded),
        }
    }

    fn list_all(&self) -> Vec<Artifact> {
        let of_session = self.session.iter().flat_map(SessionArtifacts::list);
        let of_session = of_session
            .filter(|(name, _)| !self.own.contains_key(*name))
            .map(|(name, artifact)| (name, &artifact.media_type, artifact.blob.size));
        let own = self.own.iter().filter_map(|(name, new)| {
            let new = new.as_ref()?;
            Some((name, new.media_type(), new.bytes().len() as u64))
        });
        let mut all: Vec<Artifact> = of_session
            .map(|(name, media_type, size)| (name, media_type.as_str(), size))
            .chain(own)
            .map(|(name, media_type, size)| Artifact {
                name: name.to_string(),
                media_type: media_type.to_owned(),
                size,
            })
            .collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all
    }

    async fn read(&self, name: &str) -> Result<Result<Vec<u8>, ArtifactError>, Unwind> {
        if let Err(error) = self.check(ArtifactOp::ReadArtifact, name) {
            return Ok(Err(error));
        }
        let Ok(name) = name.parse::<ArtifactName>() else {
            return Ok(Err(ArtifactError::InvalidName));
        };
        if let Some(own) = self.own.get(&name) {
            let own = own.as_ref().map(|new| new.bytes().to_vec());
            return Ok(own.ok_or(ArtifactError::NotFound));
        }
        let found = self.session.as_ref();
        let found = found.and_then(|session| Some((session, session.list().get(&name)?)));
        let Some((session, artifact)) = found else {
            return Ok(Err(ArtifactError::NotFound));
        };
        if artifact.blob.size > self.max_bytes {
            return Ok(Err(ArtifactError::TooLarge));
        }
        let read = session.read(artifact).await;
        let bytes = read.map_err(|error| {
            tracing::error!("cannot read an artifact of the session: {error}");
            Unwind::ArtifactUnreadable
        })?;
        self.gate.count_in(bytes.len() as u64);
        // What other tools left may hold this tool's secrets, as a response may.
        Ok(Ok(self.secrets.granted.redacted(&bytes).unwrap_or(bytes)))
    }

    fn store(
        &mut self,
        name: &str,
        media_type: String,
        data: Vec<u8>,
    ) -> Result<(), ArtifactError> {
        self.check(ArtifactOp::StoreArtifact, name)?;
        // Later calls read them, as they read the shared state.
        let data = self.secrets.granted.redacted(&data).unwrap_or(data);
        let new = NewArtifact::new(name, media_type, data).map_err(|error| match error {
            NewArtifactError::Name(_) => ArtifactError::InvalidName,
            NewArtifactError::MediaType(_) => ArtifactError::InvalidMediaType,
        })?;
        // The name is listed to later calls, too.
        if self.secrets.granted.text(name) != name {
            return Err(ArtifactError::InvalidName);
        }
        let bytes = new.bytes().len() as u64;
        let put_bytes = self.put_bytes.saturating_add(bytes);
        if put_bytes > self.max_bytes {
            return Err(ArtifactError::TooLarge);
        }
        let quota = self.session.as_ref().map(SessionArtifacts::quota_bytes);
        let stored = self.stored.with(bytes);
        if !stored.is_within(quota.unwrap_or(DEFAULT_QUOTA_BYTES)) {
            return Err(ArtifactError::QuotaExceeded);
        }
        self.count_change()?;
        self.put_bytes = put_bytes;
        self.stored = stored;
        self.gate.count_out(bytes);
        self.own.insert(new.name().clone(), Some(new));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), ArtifactError> {
        self.check(ArtifactOp::DeleteArtifact, name)?;
        let name = name.parse().and_then(ArtifactName::outside_results);
        let name = name.map_err(|_| ArtifactError::InvalidName)?;
        let is_there = match self.own.get(&name) {
            Some(own) => own.is_some(),
            None => {
                let session = self.session.as_ref();
                session.is_some_and(|session| session.list().contains_key(&name))
            }
        };
        if !is_there {
            return Err(ArtifactError::NotFound);
        }
        self.count_change()?;
        self.own.insert(name, None);
        Ok(())
    }
}

impl artifacts::Host for ArtifactsCtx {
    async fn list(&mut self) -> wasmtime::Result<Result<Vec<Artifact>, ArtifactError>> {
        let allowed = self.check(ArtifactOp::ListArtifacts, "");
        Ok(allowed.map(|()| self.list_all()))
    }

    async fn get(&mut self, name: String) -> wasmtime::Result<Result<Vec<u8>, ArtifactError>> {
        Ok(self.read(&name).await?)
    }

    async fn put(
        &mut self,
        name: String,
        media_type: String,
        data: Vec<u8>,
    ) -> wasmtime::Result<Result<(), ArtifactError>> {
        Ok(self.store(&name, media_type, data))
    }

    async fn delete(&mut self, name: String) -> wasmtime::Result<Result<(), ArtifactError>> {
        Ok(self.remove(&name))
    }
}

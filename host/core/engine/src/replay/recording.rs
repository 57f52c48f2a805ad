//! A recorded session with those of its agents, and why one cannot be replayed.

use crate::{session::referenced_blobs, setup::LoopSetup};
use agent_host_types::{
    approval::ApprovalRule,
    event::{Event, EventRecord},
    id::{CallId, Digest, SessionId},
    output::Blob,
    reason::Reason,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A session that cannot be replayed. The messages follow "session ID cannot be replayed: ".
#[derive(Debug, thiserror::Error)]
pub enum Unreplayable {
    /// It has no events.
    #[error("it has no events")]
    Empty,
    /// A blob is gone, such as by `sessions prune`.
    #[error("blob {digest}, which event {seq} refers to, is missing; restore it from a backup")]
    BlobPruned {
        /// The blob.
        digest: Digest,
        /// The position of the event.
        seq: u64,
    },
    /// A turn has no setup of the loop.
    #[error(
        "the turn at event {0} was recorded without the setup of its loop, by an older version or another program; \
         only sessions from this version on can be replayed"
    )]
    NoSetup(u64),
    /// A setup cannot be used.
    #[error(transparent)]
    Setup(#[from] Reason),
    /// A client drives the loop.
    #[error("its loop belongs to the client `{}`, and only this program's loop can be replayed", .0.escape_debug())]
    OfClient(String),
    /// It is the session of an agent.
    #[error(
        "it belongs to an agent, whose limits come from its caller; replay session {0}, which started it"
    )]
    OfAgent(SessionId),
    /// The session of an agent is gone.
    #[error("session {0} of one of its agents is missing")]
    NoAgentSession(SessionId),
    /// A hook decided on a request, a reply or a call.
    #[error("a hook decided at event {0}, and hooks do not run in a replay")]
    Hooks(u64),
    /// The loop did not continue from records that it has.
    #[error("{0}")]
    Journal(String),
}

/// A recorded session, complete for a replay: its events, those of the sessions of its agents, and
/// the blobs of all.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) root: SessionId,
    pub(crate) sessions: BTreeMap<SessionId, Vec<EventRecord>>,
    pub(crate) blobs: HashMap<Digest, Vec<u8>>,
    /// The setups that hold from an event on where none is recorded.
    pub(crate) assumed: BTreeMap<usize, (Blob, Vec<ApprovalRule>)>,
}

impl Recording {
    /// Starts a recording with the records of the session.
    #[must_use]
    pub fn new(root: SessionId, records: Vec<EventRecord>) -> Self {
        Self {
            root,
            sessions: BTreeMap::from([(root, records)]),
            blobs: HashMap::new(),
            assumed: BTreeMap::new(),
        }
    }

    /// Has the turns from an event on run with a setup and approvals, for a session whose program
    /// does not record them ([`crate::session::Session::configure_loop`]).
    pub fn assume(&mut self, from: u64, setup: Blob, approvals: Vec<ApprovalRule>) {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        self.assumed.insert(from, (setup, approvals));
    }

    /// Returns the session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.root
    }

    /// Returns a session of an agent whose records are to be added.
    #[must_use]
    pub fn missing_session(&self) -> Option<SessionId> {
        let mut events = self.events().map(|record| &record.event);
        events.find_map(|event| match event {
            Event::AgentSpawned { session, .. } if !self.sessions.contains_key(session) => {
                Some(*session)
            }
            _ => None,
        })
    }

    /// Adds the records of a session of an agent; none of one that never recorded any.
    pub fn add_session(&mut self, session: SessionId, records: Vec<EventRecord>) {
        self.sessions.insert(session, records);
    }

    /// Returns the blobs to be added.
    #[must_use]
    pub fn missing_blobs(&self) -> BTreeSet<Digest> {
        let referenced = self
            .events()
            .flat_map(|record| referenced_blobs(&record.event));
        referenced
            .filter(|digest| !self.blobs.contains_key(digest))
            .collect()
    }

    /// Adds a blob.
    pub fn add_blob(&mut self, digest: Digest, bytes: Vec<u8>) {
        self.blobs.insert(digest, bytes);
    }

    /// Returns the records of all sessions.
    pub(crate) fn events(&self) -> impl Iterator<Item = &EventRecord> {
        self.sessions.values().flatten()
    }

    /// Returns the records of the session itself.
    #[must_use]
    pub fn records(&self) -> &[EventRecord] {
        self.sessions.get(&self.root).map_or(&[], Vec::as_slice)
    }

    /// Reads a recorded setup.
    pub(super) fn setup(&self, digest: &Digest) -> Result<LoopSetup, Unreplayable> {
        let json = self.blobs.get(digest).map_or(&[][..], Vec::as_slice);
        Ok(LoopSetup::parse(json)?)
    }

    /// Checks that nothing is missing, and that it is the session of a loop of this program.
    pub(super) fn check(&self) -> Result<(), Unreplayable> {
        match self.records().first().map(|record| &record.event) {
            None => return Err(Unreplayable::Empty),
            Some(Event::SessionStarted {
                client: Some(client),
                ..
            }) => return Err(Unreplayable::OfClient(client.clone())),
            Some(Event::SessionStarted {
                parent: Some(parent),
                ..
            }) => return Err(Unreplayable::OfAgent(parent.session)),
            Some(_) => {}
        }
        for record in self.events() {
            let mut blobs = referenced_blobs(&record.event).into_iter();
            if let Some(digest) = blobs.find(|digest| !self.blobs.contains_key(digest)) {
                return Err(Unreplayable::BlobPruned {
                    digest,
                    seq: record.seq,
                });
            }
            let is_of_hook = match &record.event {
                Event::HookDecided { .. } => true,
                // Without a verdict, it put values in place of references.
                Event::CallReviewed { review, .. } => !review.verdicts.is_empty(),
                _ => false,
            };
            if is_of_hook {
                return Err(Unreplayable::Hooks(record.seq));
            }
        }
        let spawned = self.events().filter_map(|record| match &record.event {
            Event::AgentSpawned {
                call_id, session, ..
            } => Some(((record.session, call_id), *session)),
            _ => None,
        });
        let spawned: HashMap<(SessionId, &CallId), SessionId> = spawned.collect();
        let gone = self.events().find_map(|record| {
            let end = record.event.call_end()?;
            end.child?;
            let session = spawned.get(&(record.session, end.call_id))?;
            let records = self.sessions.get(session);
            records.is_none_or(Vec::is_empty).then_some(*session)
        });
        match gone.or(self.missing_session()) {
            Some(session) => Err(Unreplayable::NoAgentSession(session)),
            None => Ok(()),
        }
    }
}

//! Typed errors of the stores: what failed, why, and what to do.

mod advice;
mod damage;
#[cfg(feature = "postgres")]
mod postgres;

pub use damage::Damage;
#[cfg(feature = "postgres")]
pub use postgres::PostgresError;

use advice::{io_advice, is_corrupt, sqlite_advice};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventError,
    id::{Digest, SessionId},
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Names where a store keeps its data, for messages: a database file, or memory.
pub(crate) type Location = Arc<str>;

/// Details of a [`JournalError`], which carries this error as its cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A database operation failed.
    #[error("cannot {action}: {}", sqlite_advice(location, source))]
    Sqlite {
        /// Completes "cannot ...", such as "write the journal".
        action: &'static str,
        /// The database file.
        location: Arc<str>,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// PostgreSQL failed, or cannot be used as it is set up.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The claim on a session has ended, or another host has it.
    #[error(
        "session {session} was released: this host did not renew its claim in time, and another host may continue \
         it; resume it to see its current state"
    )]
    LeaseLost {
        /// The session.
        session: SessionId,
    },
    /// An unfinished move took the session to another store.
    #[error(
        "session {session} is being moved to another store ({}), and the move did not finish; run `agent-host store move` with that address again",
        to.escape_debug()
    )]
    MovingElsewhere {
        /// The session.
        session: SessionId,
        /// Names the other store.
        to: String,
    },
    /// Two stores have other events under the id of one session.
    #[error(
        "session {session} has different events in {location}, so it was not moved; export one of the two copies and delete it"
    )]
    MovedDiffers {
        /// The session.
        session: SessionId,
        /// The other store.
        location: Arc<str>,
    },
    /// A file operation in the state directory failed.
    #[error("cannot {action} {}: {source}; {}", path.display(), io_advice(source))]
    Io {
        /// Completes "cannot ...".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the state directory belongs to another user, who could change the journal.
    #[error(
        "{} belongs to user {owner}, and this program runs as user {user}, so its owner could change the journal; \
         run as user {owner}, give it to user {user} with `chown`, or set `state-dir` to another directory",
        path.display()
    )]
    Owner {
        /// The file or directory.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// The user id of this process.
        user: u32,
    },
    /// Every user may write to a file of the state directory.
    #[error(
        "every user of this machine can write to {} (mode {mode:04o}), so anyone could change the journal; run \
         `chmod o-w` on it, or set `state-dir` to another directory",
        path.display()
    )]
    WorldWritable {
        /// The file or directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The writer thread could not be started.
    #[error(
        "cannot start the thread that writes the journal: {0}; stop other programs, or raise this user's limit on processes and threads (`ulimit -u`)"
    )]
    Thread(#[source] io::Error),
    /// The system provides no random bytes.
    #[error("cannot open the journal: the system cannot provide random bytes ({0})")]
    Random(String),
    /// The writer thread has ended.
    #[error("cannot write the journal: its writer has stopped; restart, then resume the session")]
    WriterStopped,
    /// The batch belongs to an attempt before the last
    /// [`agent_host_engine::journal::Journal::retry`].
    #[error("cannot write the journal: an earlier write has failed; try again")]
    Superseded,
    /// An open database file was removed or replaced.
    #[error(
        "cannot write the journal: {} was removed or replaced while this program had it open; put it back, or restart the program",
        .0.display()
    )]
    FileReplaced(PathBuf),
    /// The events are not the next ones of the stored session.
    #[error(
        "cannot write the journal: session {session} has changed in {location} since it was opened here, so another \
         process writes to it although the session is locked; if the directory is on a network file system, check \
         that it supports file locks"
    )]
    OutOfOrder {
        /// The session.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
    },
    /// An event has no stored form.
    #[error("cannot write session {session}: event {seq} cannot be encoded ({source})")]
    Unstorable {
        /// The session.
        session: SessionId,
        /// The number of the event.
        seq: u64,
        /// Why.
        source: serde_json::Error,
    },
    /// As many approvals are remembered as the store keeps: this number.
    #[error(
        "cannot remember the approval: the maximum of {0} remembered approvals is reached; revoke some with \
         `agent-host approvals revoke`"
    )]
    TooManyApprovals(u32),
    /// A blocking operation was aborted: the runtime ends, or the operation panicked.
    #[error("cannot use the journal: the operation was aborted ({0}); try again")]
    Aborted(#[source] tokio::task::JoinError),
    /// An exported session cannot be written out.
    #[error("cannot export the session: {0}; choose another file, or free some space")]
    ExportWrite(#[source] io::Error),
    /// A line of an exported session would be longer than an import reads.
    #[error(
        "cannot export the session: one of its events or blobs takes {bytes} bytes, and the maximum is {limit}; fork \
         the session at an earlier turn, and export the copy"
    )]
    ExportLine {
        /// The length of the line.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// An exported session cannot be read.
    #[error("cannot read line {line} of the file: {source}")]
    ImportRead {
        /// The line, from 1.
        line: u64,
        /// The error of the file.
        source: io::Error,
    },
    /// The database belongs to another program.
    #[error(
        "{0} is another program's database; move it away, or set `state-dir` to another directory"
    )]
    ForeignDatabase(Arc<str>),
    /// The tables have a version that this program does not know.
    #[error(
        "the journal {location} has format {found}, and this program supports format {known}: another version of \
         agent-host, probably a newer one, wrote it; use that version, or set `state-dir` to another directory"
    )]
    SchemaVersion {
        /// The database file.
        location: Arc<str>,
        /// The version of its tables.
        found: i64,
        /// The version that this program knows.
        known: i64,
    },
    /// The file of a key does not hold a key.
    #[error("{} does not contain a key of {bytes} bytes; restore it from a backup, or delete it, and {then}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The size of a key.
        bytes: usize,
        /// The end of the sentence: the consequence of another key.
        then: &'static str,
    },
    /// Something other than a host of this store wrote the last event of a session.
    #[error(
        "session {session} has no valid signature in {location}: another program wrote or changed its row, or the \
         key was replaced; review it with `agent-host sessions show {session}`, and continue a copy without its \
         approvals: `agent-host sessions fork {session}`"
    )]
    Unsigned {
        /// The session.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
    },
    /// Something other than a host of this store wrote the counted calls of a tool, there.
    #[error(
        "the counted calls of `{0}` in {1} have no valid signature: another program changed them, or the key was \
         replaced; no rule can count them until `agent-host store check --remove-unsigned` removes them"
    )]
    UnsignedTally(String, Arc<str>),
    /// A sealed session was continued here further than the file goes, and removed.
    #[error(
        "session {session} was already here, with {events} events, and has been removed: this file has fewer, and \
         importing it would run the later ones again; import the newest export of the session"
    )]
    SealUsed {
        /// The session.
        session: SessionId,
        /// The number of events that the store had.
        events: u64,
    },
    /// A sealed session is older than what the store remembers.
    #[error(
        "session {session} is older than the sealed sessions that {location} remembers, so it may already have been \
         continued here; import it into another store, or export it again from its source"
    )]
    SealForgotten {
        /// The session.
        session: SessionId,
        /// The store.
        location: Arc<str>,
    },
    /// A stored session is damaged.
    #[error(
        "cannot read session {session} from {location}: {damage}; restore the file from a backup, or start another \
         session (other sessions can still be read)"
    )]
    Damaged {
        /// The session.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
        /// The fault.
        #[source]
        damage: Damage,
    },
    /// A newer program wrote an event of the session.
    #[error("cannot read session {session}: its event {seq} {source}")]
    NewerEvent {
        /// The session.
        session: SessionId,
        /// The number of the event.
        seq: i64,
        /// The version.
        source: EventError,
    },
    /// The session has fewer events than were durable.
    #[error(
        "cannot read session {session} from {location}: its last {} events are missing ({left} of {stored} are \
         left): the file's write-ahead log was damaged or removed, or the file was replaced by an older one; restore \
         it from a backup, or accept the session as it is: `agent-host sessions recover {session}`",
        stored - left
    )]
    LostEvents {
        /// The session.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
        /// The events that it has.
        left: u64,
        /// The events that it had.
        stored: u64,
    },
    /// The last event of a session is another one than was durable.
    #[error(
        "cannot read session {session} from {location}: its event {seq} is not the one that was stored, so the file \
         was replaced by another copy; put the right one back, or accept the session as it is: `agent-host sessions \
         recover {session}`"
    )]
    ReplacedEvent {
        /// The session.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
        /// The number of the event.
        seq: u64,
    },
    /// Events are lost, so another session may have been the latest one.
    #[error(
        "cannot tell which session is the latest: {location} has lost the last {missing} events of session \
         {session}; name a session, restore the file from a backup, or accept the session as it is with `agent-host \
         sessions recover {session}`"
    )]
    LatestUnknown {
        /// A session that lost events.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
        /// How many of its events are missing.
        missing: u64,
    },
    /// The bytes of a blob do not have its digest.
    #[error(
        "the bytes of blob {digest} in {location} have changed since they were stored; restore the file from a backup"
    )]
    ChangedBlob {
        /// The digest.
        digest: Digest,
        /// Where it is stored.
        location: Arc<str>,
    },
    /// A session refers to blobs that do not exist.
    #[error(
        "cannot export session {session}: {location} lacks some of its blobs ({}); restore the file from a backup",
        named(missing)
    )]
    MissingBlobs {
        /// The session.
        session: SessionId,
        /// Where it is stored.
        location: Arc<str>,
        /// The blobs, in order.
        missing: Vec<Digest>,
    },
    /// An imported file is not an exported session.
    #[error(
        "cannot import the session: line {line} {reason}; nothing was stored; export the session again"
    )]
    Import {
        /// The line, from 1.
        line: u64,
        /// Follows "line 3".
        reason: String,
    },
    /// A stored approval is not what this program writes.
    #[error(
        "cannot read the remembered approvals in {location}: {source}; restore the file from a backup"
    )]
    ApprovalForm {
        /// Where it is stored.
        location: Arc<str>,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// There is no such session.
    #[error("no session {0}; `agent-host sessions list` shows all sessions")]
    NoSession(SessionId),
    /// The session of an agent, which is removed with the one that started it.
    #[error("session {session} belongs to an agent of session {parent}; remove that one instead")]
    OfAgent {
        /// The session.
        session: SessionId,
        /// The session that started it.
        parent: SessionId,
    },
    /// There is no session at all, so none is the latest.
    #[error("there are no sessions yet; start one with `agent-host run`")]
    NoSessions,
    /// No session has an id with this prefix.
    #[error(
        "no session is named `{}` or has an id that begins or ends with it; `agent-host sessions list` shows all sessions",
        .0.escape_debug()
    )]
    NoMatch(String),
    /// Several sessions have an id with the prefix.
    #[error(
        "several sessions are named `{}` or have an id that begins or ends with it: {}{}; give the whole id",
        prefix.escape_debug(),
        named(sessions),
        if *has_more { ", ..." } else { "" }
    )]
    Ambiguous {
        /// The prefix.
        prefix: String,
        /// The first of the sessions.
        sessions: Vec<SessionId>,
        /// True if there are more.
        has_more: bool,
    },
    /// No session was started in the directory.
    #[error(
        "there are no sessions of this directory yet ({}); start one with `agent-host run`, or list those of all \
         directories: agent-host sessions list",
        .0.escape_debug()
    )]
    NoSessionIn(String),
    /// Another session of the directory has the name.
    #[error(
        "session {other} already has the name `{name}`; choose another name, or rename that session: agent-host \
         sessions name {other} NAME"
    )]
    NameTaken {
        /// The other session.
        other: SessionId,
        /// The name.
        name: String,
    },
    /// There is no such blob.
    #[error("no blob {digest} in {location}; check the digest")]
    NoBlob {
        /// The digest.
        digest: Digest,
        /// Where it was looked for.
        location: Arc<str>,
    },
    /// No turn ends at the event at which a session is to be forked.
    #[error(
        "no turn of session {session} ends at event {at}; `agent-host sessions show {session}` numbers its events"
    )]
    NoTurnEnd {
        /// The session.
        session: SessionId,
        /// The number of the event.
        at: u64,
    },
}

impl StoreError {
    /// Makes the error of a file operation.
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns a conversion of SQLite's errors for `map_err`.
    pub(crate) fn sqlite(
        location: &Location,
        action: &'static str,
    ) -> impl Fn(rusqlite::Error) -> Self + Copy {
        move |source| Self::Sqlite {
            action,
            location: Arc::clone(location),
            source,
        }
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        match error {
            E::Sqlite { ref source, .. } if is_corrupt(source) => Self::corrupt(error),
            #[cfg(feature = "postgres")]
            E::Postgres(PostgresError::SecretForm(_)) => Self::corrupt(error),
            E::ForeignDatabase(_)
            | E::SchemaVersion { .. }
            | E::KeyFile { .. }
            | E::Unsigned { .. }
            | E::UnsignedTally(..)
            | E::Damaged { .. }
            | E::NewerEvent { .. }
            | E::LostEvents { .. }
            | E::ReplacedEvent { .. }
            | E::LatestUnknown { .. }
            | E::ChangedBlob { .. }
            | E::MissingBlobs { .. }
            | E::Import { .. }
            | E::ApprovalForm { .. } => Self::corrupt(error),
            E::NoSession(_)
            | E::OfAgent { .. }
            | E::NoSessions
            | E::NoSessionIn(_)
            | E::NameTaken { .. }
            | E::NoMatch(_)
            | E::Ambiguous { .. }
            | E::NoBlob { .. }
            | E::NoTurnEnd { .. } => Self::not_found(error),
            _ => Self::storage(error),
        }
    }
}

/// Joins ids or digests for a message.
fn named(items: &[impl ToString]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

//! An exported session: one self-contained file of JSON lines with a header, the events, the blobs,
//! the same of the sessions of its agents, and the digest of all that.
//!
//! An import may come from an untrusted source. It is a copy (see [`SessionCopy`]), so nothing in
//! it is approved or pending here; and it is stored only if every line of it is valid. A session
//! that moves between hosts of one operator keeps both; its file is sealed (see
//! [`crate::SealKey`]).

use crate::{
    copy::{Copies, SessionSink, SessionSource, records},
    error::StoreError,
    sealed::SealedSession,
    transcript::Transcript,
};
use agent_host_engine::{
    journal::JournalError,
    session::{SessionCopy, referenced_blobs},
    text::escape_json,
};
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::{Digest, SessionId},
    output::Blob,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fmt,
    io::{BufRead, Read as _, Write},
};

/// The name of the format, in the first line.
const FORMAT: &str = "agent-host-session";
/// The version of the format of a session without agents, and of one with agents, which an older
/// program cannot read.
const VERSION: u32 = 1;
const VERSION_WITH_AGENTS: u32 = 2;
/// The longest line, in bytes: more than any event or blob that the host makes.
const MAX_LINE_BYTES: usize = 128 * 1024 * 1024;

/// The fields of the first line in every version.
#[derive(Deserialize)]
struct Form {
    format: String,
    version: u32,
}

/// The first line, and the first one of each session of an agent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    session: SessionId,
    /// How many lines of events follow.
    events: u64,
    /// How many lines of blobs follow those.
    blobs: u64,
    /// How many sessions of agents follow those, each with a header of its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    agents: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A session that is imported.
pub enum ImportSource {
    /// A file that [`crate::JournalStore::export`] wrote.
    File(Box<dyn BufRead + Send>),
    /// A conversation of another program, which is always a copy.
    Conversation(Transcript),
}

impl fmt::Debug for ImportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(_) => f.write_str("File(..)"),
            Self::Conversation(transcript) => {
                f.debug_tuple("Conversation").field(transcript).finish()
            }
        }
    }
}

/// How a session is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportAs {
    /// As a copy without authority, under its id.
    Copy,
    /// As a copy without authority, under a new id.
    NewCopy,
    /// As it is, with what waits in it and was approved in it: for a file from a host that the
    /// operator trusts, on which the session does not continue.
    Moved,
    /// As [`Self::Moved`], from a sealed file, which may be imported several times. A session that
    /// was here already, was continued and removed is refused.
    Sealed,
    /// As it is, with all that it waits for: as [`Self::Moved`], and the key that signs
    /// continuations moves along, without which a host does not find the sessions of agents that
    /// run.
    MovedWithKey,
}

/// The line of an event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    v: u32,
    session: SessionId,
    seq: u64,
    at_ms: u64,
    event: Value,
}

/// The line of a blob.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine {
    digest: Digest,
    /// In standard base64.
    bytes: String,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trailer {
    /// The BLAKE3 digest of everything before this line, in hexadecimal digits.
    blake3: String,
}

/// A session that is written out, as far as it goes now: it may grow meanwhile.
struct Exported<'a> {
    source: &'a dyn SessionSource,
    events: u64,
    blobs: Vec<Digest>,
}

impl<'a> Exported<'a> {
    /// Checks that a session has all blobs that it refers to.
    fn open(source: &'a dyn SessionSource) -> Result<Self, JournalError> {
        let (events, blobs) = (source.events()?, source.blobs()?);
        check_complete(source, events, &blobs)?;
        Ok(Self {
            source,
            events,
            blobs,
        })
    }

    fn write(self, agents: u64, lines: &mut LinesOut<'_>) -> Result<(), JournalError> {
        let Self {
            source,
            events,
            blobs,
        } = self;
        lines.write(&Header {
            format: FORMAT.to_owned(),
            version: match agents {
                0 => VERSION,
                _ => VERSION_WITH_AGENTS,
            },
            session: source.session(),
            events,
            blobs: blobs.len() as u64,
            agents,
        })?;
        for record in records(source).take(usize::try_from(events).unwrap_or(usize::MAX)) {
            lines.write(&record?)?;
        }
        for digest in blobs {
            let bytes = STANDARD.encode(source.blob(digest)?);
            lines.write(&BlobLine { digest, bytes })?;
        }
        Ok(())
    }
}

/// Writes a session with its blobs, and those of its agents. Nothing is written if a blob is
/// missing or damaged.
pub(crate) fn export(source: &dyn SessionSource, out: &mut dyn Write) -> Result<(), JournalError> {
    let agents = source.agents()?;
    let all = std::iter::once(source).chain(agents.iter().map(AsRef::as_ref));
    let all = all.map(Exported::open).collect::<Result<Vec<_>, _>>()?;
    let mut lines = LinesOut {
        out,
        hasher: blake3::Hasher::new(),
    };
    let mut following = agents.len() as u64;
    for session in all {
        session.write(std::mem::take(&mut following), &mut lines)?;
    }
    let blake3 = lines.hasher.finalize().to_hex().to_string();
    lines.write(&Trailer { blake3 })?;
    let flushed = lines.out.flush();
    Ok(flushed.map_err(StoreError::ExportWrite)?)
}

/// Checks that a session has all blobs that it refers to.
fn check_complete(
    source: &dyn SessionSource,
    events: u64,
    blobs: &[Digest],
) -> Result<(), JournalError> {
    let mut missing = BTreeSet::new();
    let events = usize::try_from(events).unwrap_or(usize::MAX);
    for record in records(source).take(events) {
        missing.extend(referenced_blobs(&record?.event));
    }
    for digest in blobs {
        match source.blob(*digest) {
            Ok(_) => missing.remove(digest),
            Err(JournalError::NotFound(_)) => missing.insert(*digest),
            Err(error) => return Err(error),
        };
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(StoreError::MissingBlobs {
        session: source.session(),
        location: source.location().clone(),
        missing: missing.into_iter().collect(),
    }
    .into())
}

/// Stores a session, with those of its agents, and returns the id under which it is stored.
pub(crate) fn import(
    source: ImportSource,
    how: ImportAs,
    sink: &mut dyn SessionSink,
) -> Result<SessionId, JournalError> {
    match source {
        ImportSource::File(mut file) => import_file(&mut file, how, sink),
        ImportSource::Conversation(transcript) => import_conversation(transcript, how, sink),
    }
}

fn import_conversation(
    transcript: Transcript,
    how: ImportAs,
    sink: &mut dyn SessionSink,
) -> Result<SessionId, JournalError> {
    let (session, records, blobs) = transcript.into_parts();
    let into = match how {
        ImportAs::NewCopy => SessionId::new(),
        ImportAs::Copy | ImportAs::Moved | ImportAs::Sealed | ImportAs::MovedWithKey => session,
    };
    let mut copy = SessionCopy::new(session, into);
    sink.begin(into)?;
    for record in records {
        sink.event(&copy.next(record)?)?;
    }
    for record in copy.finish()? {
        sink.event(&record)?;
    }
    for blob in blobs {
        sink.blob(blob)?;
    }
    Ok(into)
}

/// Reads an exported session with those of its agents, and checks that the file is complete.
fn import_file(
    file: &mut dyn BufRead,
    how: ImportAs,
    sink: &mut dyn SessionSink,
) -> Result<SessionId, JournalError> {
    let mut lines = LinesIn {
        file,
        line: 0,
        last_ms: 0,
        hasher: blake3::Hasher::new(),
    };
    let header = lines.read_header()?;
    let (into, copy) = match how {
        ImportAs::Copy => (
            header.session,
            SessionCopy::new(header.session, header.session),
        ),
        ImportAs::NewCopy => {
            let new = SessionId::new();
            (new, SessionCopy::new(header.session, new))
        }
        ImportAs::Moved | ImportAs::Sealed => (header.session, SessionCopy::moved(header.session)),
        ImportAs::MovedWithKey => (
            header.session,
            SessionCopy::moved(header.session).with_key(),
        ),
    };
    let mut copies = Copies::default();
    sink.begin(into)?;
    copies.add(&lines.read_session(&header, copy, sink)?);
    if how == ImportAs::Sealed {
        sink.take_sealed(SealedSession {
            session: into,
            events: header.events,
            last_ms: lines.last_ms,
        })?;
    }
    for _ in 0..header.agents {
        let header = lines.read_header()?;
        let Some((into, copy)) = copies.begin(header.session) else {
            return Err(lines.wrong(format!(
                "starts session {}, which no earlier session has spawned",
                header.session
            )));
        };
        sink.begin(into)?;
        copies.add(&lines.read_session(&header, copy, sink)?);
    }
    lines.end()?;
    Ok(into)
}

/// The lines that are written.
struct LinesOut<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl LinesOut<'_> {
    fn write(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let json =
            serde_json::to_string(line).map_err(|error| StoreError::ExportWrite(error.into()))?;
        // It may be written to a terminal.
        let mut text = escape_json(&json).into_owned();
        text.push('\n');
        if text.len() > MAX_LINE_BYTES {
            return Err(StoreError::ExportLine {
                bytes: text.len(),
                limit: MAX_LINE_BYTES,
            });
        }
        self.hasher.update(text.as_bytes());
        let written = self.out.write_all(text.as_bytes());
        written.map_err(StoreError::ExportWrite)
    }
}

/// The lines that are read.
struct LinesIn<'a> {
    file: &'a mut dyn BufRead,
    /// The number of the last line read, from 1.
    line: u64,
    /// The time of the last event read, in milliseconds since 1970 (UTC).
    last_ms: u64,
    hasher: blake3::Hasher,
}

impl LinesIn<'_> {
    /// Reads the next line with its end; an empty one at the end of the file.
    fn next(&mut self) -> Result<Vec<u8>, JournalError> {
        self.line += 1;
        let mut line = Vec::new();
        let mut bounded = self.file.take(MAX_LINE_BYTES as u64);
        bounded
            .read_until(b'\n', &mut line)
            .map_err(|source| StoreError::ImportRead {
                line: self.line,
                source,
            })?;
        if line.last().is_some_and(|last| *last != b'\n') {
            return Err(
                self.wrong("is incomplete: the file was cut off there, or the line is too long")
            );
        }
        Ok(line)
    }

    /// Reads what follows the header of a session, and returns its copy.
    fn read_session(
        &mut self,
        header: &Header,
        mut copy: SessionCopy,
        sink: &mut dyn SessionSink,
    ) -> Result<SessionCopy, JournalError> {
        for _ in 0..header.events {
            let record = self.read_event()?;
            let record = copy.next(record).map_err(|error| self.refused(error))?;
            sink.event(&record).map_err(|error| self.refused(error))?;
        }
        let mut missing = copy.blobs().clone();
        for record in copy.finish().map_err(|error| self.refused(error))? {
            sink.event(&record)?;
        }
        for _ in 0..header.blobs {
            let blob = self.read_blob()?;
            missing.remove(&blob.digest);
            sink.blob(blob)?;
        }
        match missing.iter().min() {
            Some(digest) => Err(self.wrong(format!(
                "ends the blobs, but {digest}, which an event refers to, is missing"
            ))),
            None => Ok(copy),
        }
    }

    fn read<T: DeserializeOwned>(&mut self) -> Result<T, JournalError> {
        let line = self.next()?;
        self.hasher.update(&line);
        self.parse(&line)
    }

    fn parse<T: DeserializeOwned>(&self, line: &[u8]) -> Result<T, JournalError> {
        if line.is_empty() {
            return Err(self.wrong("is missing: the file was cut off before it"));
        }
        serde_json::from_slice(line)
            .map_err(|error| self.wrong(format!("is not what is expected here ({error})")))
    }

    fn read_header(&mut self) -> Result<Header, JournalError> {
        let line = self.next()?;
        let Form { format, version } = self.parse(&line)?;
        if format != FORMAT || ![VERSION, VERSION_WITH_AGENTS].contains(&version) {
            return Err(self.wrong(format!(
                "says that the file is `{}` {version}, and this program reads `{FORMAT}` {VERSION} and {VERSION_WITH_AGENTS}",
                format.escape_debug()
            )));
        }
        self.hasher.update(&line);
        self.parse(&line)
    }

    fn read_event(&mut self) -> Result<EventRecord, JournalError> {
        let line: EventLine = self.read()?;
        let event = Event::from_stored(line.v, line.event.to_string().as_bytes())
            .map_err(|error| self.wrong(format!("has an event that {error}")))?;
        self.last_ms = line.at_ms;
        Ok(EventRecord {
            v: EVENT_VERSION,
            session: line.session,
            seq: line.seq,
            at_ms: line.at_ms,
            event,
        })
    }

    fn read_blob(&mut self) -> Result<Blob, JournalError> {
        let BlobLine { digest, bytes } = self.read()?;
        let bytes = STANDARD
            .decode(bytes)
            .map_err(|error| self.wrong(format!("is not base64 ({error})")))?;
        let blob = Blob::new(bytes);
        if blob.digest != digest {
            return Err(self.wrong("does not match its digest"));
        }
        Ok(blob)
    }

    /// Checks the last line, and that it is the last.
    fn end(&mut self) -> Result<(), JournalError> {
        let found = self.hasher.finalize().to_hex().to_string();
        let line = self.next()?;
        let Trailer { blake3 } = self.parse(&line)?;
        if blake3 != found {
            return Err(self
                .wrong("has a digest that does not match the lines before it: they were changed"));
        }
        if !self.next()?.is_empty() {
            return Err(self.wrong("comes after the last one"));
        }
        Ok(())
    }

    /// Makes the error of the line that was read last.
    fn wrong(&self, reason: impl Into<String>) -> JournalError {
        StoreError::Import {
            line: self.line,
            reason: reason.into(),
        }
        .into()
    }

    /// Names the line that the copy or the store refuses.
    fn refused(&self, error: JournalError) -> JournalError {
        match error {
            JournalError::Corrupt(why) => self.wrong(format!("cannot be imported ({why})")),
            other => other,
        }
    }
}

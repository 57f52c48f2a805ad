//! An exported session: one self-contained file of JSON lines with a header, the events, the blobs, and
//! the digest of all that.
//!
//! An import may come from an untrusted source. It is a copy (see [`SessionCopy`]), so nothing in it is
//! approved or pending here; and it is stored only if every line of it is valid.

use crate::{
    copy::{SessionSink, SessionSource, records},
    error::StoreError,
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
    io::{BufRead, Read as _, Write},
};

/// The name of the format, in the first line.
const FORMAT: &str = "agent-host-session";
/// The version of the format.
const VERSION: u32 = 1;
/// The longest line, in bytes: more than any event or blob that the host makes.
const MAX_LINE_BYTES: usize = 128 * 1024 * 1024;

/// The fields of the first line in every version.
#[derive(Deserialize)]
struct Form {
    format: String,
    version: u32,
}

/// The first line.
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

/// Writes a session with its blobs. Nothing is written if a blob is missing or damaged.
pub(crate) fn export(source: &dyn SessionSource, out: &mut dyn Write) -> Result<(), JournalError> {
    let (session, events) = (source.session(), source.events()?);
    let blobs = source.blobs()?;
    check_complete(source, events, &blobs)?;
    let mut lines = LinesOut {
        out,
        hasher: blake3::Hasher::new(),
    };
    lines.write(&Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        session,
        events,
        blobs: blobs.len() as u64,
    })?;
    // A session may grow while it is written out.
    for record in records(source).take(usize::try_from(events).unwrap_or(usize::MAX)) {
        lines.write(&record?)?;
    }
    for digest in blobs {
        let bytes = STANDARD.encode(source.blob(digest)?);
        lines.write(&BlobLine { digest, bytes })?;
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

/// An exported session that is read.
pub(crate) struct Import<'a> {
    lines: LinesIn<'a>,
    header: Header,
    into: SessionId,
}

impl<'a> Import<'a> {
    /// Reads the header of a session that is stored under its own id or a new one.
    pub(crate) fn open(file: &'a mut dyn BufRead, as_new: bool) -> Result<Self, JournalError> {
        let mut lines = LinesIn {
            file,
            line: 0,
            hasher: blake3::Hasher::new(),
        };
        let header = lines.read_header()?;
        let into = if as_new {
            SessionId::new()
        } else {
            header.session
        };
        Ok(Self {
            lines,
            header,
            into,
        })
    }

    /// The session under whose id it is stored.
    pub(crate) fn target(&self) -> SessionId {
        self.into
    }

    /// Reads everything behind the header into a session, and checks that it is complete.
    pub(crate) fn read(mut self, sink: &mut dyn SessionSink) -> Result<(), JournalError> {
        let Self {
            lines,
            header,
            into,
        } = &mut self;
        let mut copy = SessionCopy::new(header.session, *into);
        for _ in 0..header.events {
            let record = lines.read_event()?;
            let record = copy.next(record).map_err(|error| lines.refused(error))?;
            sink.event(&record).map_err(|error| lines.refused(error))?;
        }
        let mut missing = copy.blobs().clone();
        for record in copy.finish().map_err(|error| lines.refused(error))? {
            sink.event(&record)?;
        }
        for _ in 0..header.blobs {
            let blob = lines.read_blob()?;
            missing.remove(&blob.digest);
            sink.blob(blob)?;
        }
        if let Some(digest) = missing.iter().min() {
            return Err(lines.wrong(format!(
                "ends the blobs, and {digest}, which an event refers to, is not among them"
            )));
        }
        lines.end()
    }
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
                self.wrong("has no end: the file was cut off there, or the line is too long")
            );
        }
        Ok(line)
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
            .map_err(|error| self.wrong(format!("is not what is expected there ({error})")))
    }

    fn read_header(&mut self) -> Result<Header, JournalError> {
        let line = self.next()?;
        let Form { format, version } = self.parse(&line)?;
        if format != FORMAT || version != VERSION {
            return Err(self.wrong(format!(
                "says that the file is `{}` {version}, and this program reads `{FORMAT}` {VERSION}",
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
            return Err(self.wrong("has bytes that do not have its digest"));
        }
        Ok(blob)
    }

    /// Checks the last line, and that it is the last.
    fn end(&mut self) -> Result<(), JournalError> {
        let found = self.hasher.finalize().to_hex().to_string();
        let line = self.next()?;
        let Trailer { blake3 } = self.parse(&line)?;
        if blake3 != found {
            return Err(
                self.wrong("has another digest than the lines before it: they were changed")
            );
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
            JournalError::Corrupt(why) => self.wrong(format!("cannot be taken over ({why})")),
            other => other,
        }
    }
}

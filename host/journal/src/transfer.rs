//! A session as one file of JSON lines that needs nothing else: a header, the events, the blobs, and the digest of all that.
//!
//! What comes in may come from anybody. It is a copy (see [`SessionCopy`]), so nothing in it is allowed or waits here; and it
//! is stored only if every line of it is right.

use crate::{Store, whole::Whole};
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

/// Marks the file.
const FORMAT: &str = "agent-host-session";
/// The version of its form.
const VERSION: u32 = 1;
/// The longest line, in bytes: more than any event or blob that the host makes.
const MAX_LINE_BYTES: usize = 128 * 1024 * 1024;

/// What every version has in its first line.
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

impl Store {
    /// Writes a session with its blobs as one file.
    ///
    /// # Errors
    /// As for [`Self::read`], also when a blob is missing or damaged; nothing was written then. [`JournalError::Storage`] when it
    /// cannot be written to `out`.
    pub fn export(&self, session: SessionId, out: &mut dyn Write) -> Result<(), JournalError> {
        let events = self.reader().count(session)?;
        let blobs = self.reader().blobs_of(session)?;
        self.check_whole(session, events, &blobs)?;
        let records = self.read(session)?;
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
        for record in records.take(usize::try_from(events).unwrap_or(usize::MAX)) {
            lines.write(&record?)?;
        }
        for digest in blobs {
            let bytes = STANDARD.encode(self.read_blob(digest)?);
            lines.write(&BlobLine { digest, bytes })?;
        }
        let blake3 = lines.hasher.finalize().to_hex().to_string();
        lines.write(&Trailer { blake3 })?;
        lines.out.flush().map_err(|error| unwritten(&error))
    }

    /// Checks that a session has all that it refers to.
    fn check_whole(
        &self,
        session: SessionId,
        events: u64,
        blobs: &[Digest],
    ) -> Result<(), JournalError> {
        let mut missing = BTreeSet::new();
        let events = usize::try_from(events).unwrap_or(usize::MAX);
        for record in self.read(session)?.take(events) {
            missing.extend(referenced_blobs(&record?.event));
        }
        for digest in blobs {
            match self.read_blob(*digest) {
                Ok(_) => missing.remove(digest),
                Err(JournalError::NotFound(_)) => missing.insert(*digest),
                Err(error) => return Err(error),
            };
        }
        if missing.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = missing.iter().map(ToString::to_string).collect();
        Err(JournalError::Corrupt(format!(
            "cannot export session {session}: {} has not all blobs that it refers to ({}); restore the file from a backup",
            self.file().display(),
            named.join(", ")
        )))
    }

    /// Stores the session of a file that [`Self::export`] wrote, under its own id or a new one, and gives that id.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] names the line that is not right; [`JournalError::Storage`] when there is a session of this
    /// id. Nothing is stored then.
    pub fn import(&self, file: &mut dyn BufRead, as_new: bool) -> Result<SessionId, JournalError> {
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
        let lock = self.claim(into)?;
        self.whole(into, &lock, |new| read_in(&mut lines, &header, new, into))?;
        Ok(into)
    }
}

/// Stores what follows the header, and checks that it is whole.
fn read_in(
    lines: &mut LinesIn<'_>,
    header: &Header,
    new: &Whole<'_>,
    into: SessionId,
) -> Result<(), JournalError> {
    let mut copy = SessionCopy::new(header.session, into);
    for _ in 0..header.events {
        let record = lines.read_event()?;
        let record = copy.next(record).map_err(|error| lines.refused(&error))?;
        new.event(&record).map_err(|error| lines.refused(&error))?;
    }
    let mut missing = copy.blobs().clone();
    for record in copy.finish().map_err(|error| lines.refused(&error))? {
        new.event(&record)?;
    }
    for _ in 0..header.blobs {
        let BlobLine { digest, bytes } = lines.read()?;
        let bytes = STANDARD
            .decode(bytes)
            .map_err(|error| lines.wrong(&format!("is not base64 ({error})")))?;
        let blob = Blob::new(bytes);
        if blob.digest != digest {
            return Err(lines.wrong("has bytes that do not have its digest"));
        }
        missing.remove(&digest);
        new.blob(blob)?;
    }
    if let Some(digest) = missing.iter().min() {
        return Err(lines.wrong(&format!(
            "ends the blobs, and {digest}, which an event refers to, is not among them"
        )));
    }
    lines.end()
}

/// The file that is written.
struct LinesOut<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl LinesOut<'_> {
    fn write(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        let json = serde_json::to_string(line).map_err(|error| unwritten(&error))?;
        // It may be written to a terminal.
        let mut text = escape_json(&json).into_owned();
        text.push('\n');
        if text.len() > MAX_LINE_BYTES {
            return Err(JournalError::Storage(format!(
                "cannot write the session out: an event or a blob of it takes {} bytes there, and {MAX_LINE_BYTES} is the \
                 most; fork the session at a turn before it, and export that",
                text.len()
            )));
        }
        self.hasher.update(text.as_bytes());
        self.out
            .write_all(text.as_bytes())
            .map_err(|error| unwritten(&error))
    }
}

fn unwritten(error: &dyn std::fmt::Display) -> JournalError {
    JournalError::Storage(format!(
        "cannot write the session out: {error}; give another file, or free some space"
    ))
}

/// The file that is read.
struct LinesIn<'a> {
    file: &'a mut dyn BufRead,
    /// The line that was read last, from 1.
    line: u64,
    hasher: blake3::Hasher,
}

impl LinesIn<'_> {
    /// The next line, as it stands there. Nothing at the end.
    fn next(&mut self) -> Result<Vec<u8>, JournalError> {
        self.line += 1;
        let mut line = Vec::new();
        let mut bounded = self.file.take(MAX_LINE_BYTES as u64);
        bounded.read_until(b'\n', &mut line).map_err(|error| {
            JournalError::Storage(format!(
                "cannot read line {} of the file: {error}",
                self.line
            ))
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
            .map_err(|error| self.wrong(&format!("is not what is expected there ({error})")))
    }

    fn read_header(&mut self) -> Result<Header, JournalError> {
        let line = self.next()?;
        let Form { format, version } = self.parse(&line)?;
        if format != FORMAT || version != VERSION {
            return Err(self.wrong(&format!(
                "says that the file is `{}` {version}, and this program reads `{FORMAT}` {VERSION}",
                format.escape_debug()
            )));
        }
        self.hasher.update(&line);
        self.parse(&line)
    }

    fn read_event(&mut self) -> Result<EventRecord, JournalError> {
        let EventLine {
            v,
            session,
            seq,
            at_ms,
            event,
        } = self.read()?;
        let event = Event::from_stored(v, event.to_string().as_bytes())
            .map_err(|error| self.wrong(&format!("has an event that {error}")))?;
        Ok(EventRecord {
            v: EVENT_VERSION,
            session,
            seq,
            at_ms,
            event,
        })
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

    fn wrong(&self, what: &str) -> JournalError {
        JournalError::Corrupt(format!(
            "cannot import the session: line {} {what}; nothing was stored, export the session again",
            self.line
        ))
    }

    /// An error of what stores the line.
    fn refused(&self, error: &JournalError) -> JournalError {
        match error {
            JournalError::Corrupt(why) => self.wrong(&format!("cannot be taken over ({why})")),
            JournalError::Storage(why)
            | JournalError::Locked(why)
            | JournalError::NotFound(why) => JournalError::Storage(why.clone()),
        }
    }
}

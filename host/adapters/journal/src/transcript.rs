//! Conversations of other programs: reads the messages of the AI SDK, OpenAI or Anthropic as the
//! events of a session. Nothing is run, and no model is called.
//!
//! A conversation may come from an untrusted source. Its session is stored by an import, which
//! copies it without authority; nothing in it is pending or approved.

mod message;
mod records;
#[cfg(test)]
mod tests;

use agent_host_types::{
    event::EventRecord,
    id::{CallId, SessionId},
    output::{Blob, ContentPart, ToolResultOutput},
    reason::Reason,
    tool::ToolCall,
};
use records::Records;
use serde_json::Value;
use std::io::{self, BufRead, Read as _};

/// The largest conversation, in bytes. As a tree of values it takes up to 100 times the memory.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The beginning of a session that [`crate::JournalStore::export`] wrote.
const EXPORTED: &[u8] = b"{\"format\":";

/// A conversation of another program, as a session of this one.
#[derive(Debug)]
pub struct Transcript {
    session: SessionId,
    records: Vec<EventRecord>,
    blobs: Vec<Blob>,
    warnings: Vec<String>,
}

/// A file that is neither an exported session nor a conversation that can be read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file has more than 32 MiB.
    #[error("a conversation can have at most {MAX_BYTES} bytes; remove its large files")]
    TooLarge,
    /// The file has another content.
    #[error(
        "it is neither a session from `sessions export` nor a conversation ({0}); a conversation is a JSON array of \
         messages, or an object with `messages`, in the format of the AI SDK, OpenAI's Chat Completions or \
         Anthropic"
    )]
    Unknown(String),
    /// A message has another form, or cannot follow the one before it.
    #[error(
        "message {index} of the conversation {reason}; nothing was stored; correct the message"
    )]
    Message {
        /// The position of the message, from 0.
        index: usize,
        /// Follows "message 3".
        reason: Reason,
    },
}

/// A part of a conversation, in the order of the original.
#[derive(Debug, PartialEq)]
enum TranscriptEntry {
    System(String),
    Input(Vec<ContentPart>),
    Reply {
        text: String,
        calls: Vec<ToolCall>,
    },
    Result {
        call_id: CallId,
        output: ToolResultOutput,
    },
    Warning(String),
}

impl Transcript {
    /// Reads a conversation; `None` if the file is empty or begins as an exported session does.
    ///
    /// # Errors
    /// See [`TranscriptError`].
    pub fn read(file: &mut dyn BufRead) -> Result<Option<Self>, TranscriptError> {
        let beginning = file.fill_buf()?;
        if beginning.is_empty() || beginning.starts_with(EXPORTED) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(TranscriptError::TooLarge);
        }
        let json = serde_json::from_slice(&bytes);
        let json = json.map_err(|error| TranscriptError::Unknown(error.to_string()))?;
        Self::from_json(json).map(Some)
    }

    /// Reads an array of messages, or an object such as the body of a request to a model.
    ///
    /// # Errors
    /// See [`TranscriptError`].
    pub fn from_json(json: Value) -> Result<Self, TranscriptError> {
        let unknown = |why: &str| TranscriptError::Unknown(why.to_owned());
        let (messages, system) = match json {
            Value::Array(messages) => (messages, None),
            Value::Object(mut body) => match body.remove("messages") {
                Some(Value::Array(messages)) => (messages, body.remove("system")),
                Some(_) => return Err(unknown("its `messages` are not a list")),
                None => return Err(unknown("it has no `messages`")),
            },
            _ => return Err(unknown("it is neither a list nor an object")),
        };
        if messages.is_empty() {
            return Err(unknown("it has no messages"));
        }
        let mut records = Records::default();
        let mut add = |index, entries: Result<Vec<TranscriptEntry>, Reason>| {
            let entries = entries.map(Vec::into_iter);
            let added = entries.and_then(|mut all| all.try_for_each(|entry| records.add(entry)));
            added.map_err(|reason| TranscriptError::Message { index, reason })
        };
        if let Some(system) = system {
            add(0, message::system(system))?;
        }
        for (index, message) in messages.into_iter().enumerate() {
            add(index, message::read(message))?;
        }
        Ok(records.finish())
    }

    /// Gives its session another id.
    #[must_use]
    pub fn with_session(mut self, session: SessionId) -> Self {
        self.session = session;
        for record in &mut self.records {
            record.session = session;
        }
        self
    }

    /// Returns what was changed, as sentences for the user. They quote the file.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns its session, the records and the blobs that they refer to.
    pub(crate) fn into_parts(self) -> (SessionId, Vec<EventRecord>, Vec<Blob>) {
        (self.session, self.records, self.blobs)
    }
}

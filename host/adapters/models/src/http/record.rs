//! Records exchanges as lines of JSON: the models, then per exchange the request, the head of the
//! response, and its pieces as they arrived. The key is redacted everywhere, also where a server or
//! a tool repeats it.

#[cfg(test)]
mod tests;

use super::{
    entry::{ModelEntry, Piece, RECORDED_HEADERS, RecordedError, RecordingEntry, VERSION},
    failure::{AttemptError, REDACTED},
};
use crate::wire::response::BodyEnd;
use reqwest::{StatusCode, header::HeaderMap};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::{
    fmt,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

/// Writes a recording. It holds the whole conversation: the caller restricts access to it.
pub struct Recorder(Mutex<RecorderState>);

struct RecorderState {
    /// Absent after an error.
    writer: Option<Box<dyn Write + Send>>,
    models: usize,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Recorder {
    /// Starts a recording. Each line is flushed, so that a killed run loses at most its last one.
    #[must_use]
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        let recorder = Self(Mutex::new(RecorderState {
            writer: Some(writer),
            models: 0,
        }));
        recorder.write(&RecordingEntry::Recording { version: VERSION });
        recorder
    }

    /// Writes an entry. After a failed write the recording ends with a warning, and the run
    /// continues.
    fn write(&self, entry: &RecordingEntry) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = &mut state.writer else {
            return;
        };
        let written = serde_json::to_vec(entry)
            .map_err(std::io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                writer.write_all(&line)?;
                writer.flush()
            });
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write the recording; it ends here, and the run continues");
            state.writer = None;
        }
    }
}

/// Records the exchanges of one model.
#[derive(Debug)]
pub(crate) struct ModelRecorder {
    recorder: Arc<Recorder>,
    /// Its index among the recorded models.
    model: usize,
    /// The key and the other secrets of requests.
    secrets: Vec<SecretString>,
}

impl ModelRecorder {
    /// Records the model.
    pub(crate) fn new(
        recorder: &Arc<Recorder>,
        model: ModelEntry,
        secrets: Vec<SecretString>,
    ) -> Self {
        let index = {
            let mut state = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.models += 1;
            state.models - 1
        };
        recorder.write(&RecordingEntry::Model(Box::new(model)));
        Self {
            recorder: Arc::clone(recorder),
            model: index,
            secrets,
        }
    }

    /// Records a request and returns the recorder of its response.
    pub(super) fn request(&self, body: &Value) -> ResponseRecorder<'_> {
        let secrets: Vec<&str> = self
            .secrets
            .iter()
            .map(ExposeSecret::expose_secret)
            .collect();
        let mut body = body.clone();
        for secret in &secrets {
            redact_value(&mut body, secret);
        }
        let model = self.model;
        self.recorder
            .write(&RecordingEntry::Request { model, body });
        ResponseRecorder {
            recorder: &self.recorder,
            secrets,
            tail: Vec::new(),
        }
    }
}

/// Records a response.
pub(super) struct ResponseRecorder<'a> {
    recorder: &'a Recorder,
    secrets: Vec<&'a str>,
    /// The end of the last piece, where a secret may start.
    tail: Vec<u8>,
}

impl ResponseRecorder<'_> {
    /// Records the head of the response, limited to the headers that are read.
    pub(super) fn head(&self, status: StatusCode, headers: &HeaderMap) {
        let recorded = RECORDED_HEADERS.iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), self.redact(value)))
        });
        self.recorder.write(&RecordingEntry::Answer {
            status: status.as_u16(),
            headers: recorded.collect(),
        });
    }

    /// Records a piece. Its end is withheld until the next piece while it may be the start of a
    /// secret.
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        let mut piece = std::mem::take(&mut self.tail);
        piece.extend_from_slice(bytes);
        for secret in &self.secrets {
            piece = redact_bytes(&piece, secret.as_bytes());
        }
        let secrets = self.secrets.iter();
        let tail = secrets.map(|secret| prefix_at_end(&piece, secret.as_bytes()));
        let tail = tail.max().unwrap_or(0);
        self.tail = piece.split_off(piece.len() - tail);
        if !piece.is_empty() {
            self.recorder
                .write(&RecordingEntry::Piece(Piece::from_bytes(&piece)));
        }
    }

    /// Records the end of the response; an end that may have come early is not recorded.
    pub(super) fn end(&mut self, end: BodyEnd) {
        self.flush_tail();
        if end == BodyEnd::Complete {
            self.recorder.write(&RecordingEntry::End);
        }
    }

    /// Records why the response did not arrive, or broke off.
    pub(super) fn error(&mut self, error: &AttemptError) {
        self.flush_tail();
        let mut recorded = RecordedError::from_error(error);
        recorded.message = self.redact(&recorded.message);
        self.recorder.write(&RecordingEntry::Fault(recorded));
    }

    fn flush_tail(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        if !tail.is_empty() {
            self.recorder
                .write(&RecordingEntry::Piece(Piece::from_bytes(&tail)));
        }
    }

    fn redact(&self, text: &str) -> String {
        let secrets = self.secrets.iter();
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(secret, REDACTED)
        })
    }
}

impl Drop for ResponseRecorder<'_> {
    /// A reader that has read enough does not read the end.
    fn drop(&mut self) {
        self.flush_tail();
    }
}

/// Redacts the key in every string of a value.
fn redact_value(value: &mut Value, key: &str) {
    match value {
        Value::String(text) if text.contains(key) => *text = text.replace(key, REDACTED),
        Value::Array(values) => values.iter_mut().for_each(|value| redact_value(value, key)),
        Value::Object(values) => {
            for value in values.values_mut() {
                redact_value(value, key);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_bytes(bytes: &[u8], key: &[u8]) -> Vec<u8> {
    let mut redacted = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(index) = memchr::memmem::find(rest, key) {
        let (before, found) = rest.split_at(index);
        redacted.extend_from_slice(before);
        redacted.extend_from_slice(REDACTED.as_bytes());
        rest = found.get(key.len()..).unwrap_or_default();
    }
    redacted.extend_from_slice(rest);
    redacted
}

/// Returns the length of the longest proper prefix of the key at the end of the bytes.
fn prefix_at_end(bytes: &[u8], key: &[u8]) -> usize {
    let longest = key.len().saturating_sub(1).min(bytes.len());
    (1..=longest)
        .rev()
        .find(|length| {
            key.get(..*length)
                .is_some_and(|prefix| bytes.ends_with(prefix))
        })
        .unwrap_or(0)
}

//! Writes down what goes over the wire, as lines of JSON: which models there are, and of each exchange the request, the head of the
//! answer, and its pieces as they arrived. The key is struck out of all of it, wherever a server or a tool repeats it.

#[cfg(test)]
mod tests;

use super::entry::{Entry, KEPT_HEADERS, KeptFault, ModelEntry, Piece, VERSION};
use crate::fault::Fault;
use reqwest::{StatusCode, header::HeaderMap};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::{
    fmt,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

/// What stands in place of the key.
pub(super) const STRUCK: &str = "[the key]";

/// A recording that is being made. Whoever opens it sees to it that nobody else can read it: it has the whole conversation.
pub struct Recorder(Mutex<State>);

struct State {
    /// Absent after a failure.
    writer: Option<Box<dyn Write + Send>>,
    models: usize,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begins a recording. Each line is written at once, so that a run that is killed leaves all but its last.
    #[must_use]
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        let recorder = Self(Mutex::new(State {
            writer: Some(writer),
            models: 0,
        }));
        recorder.write(&Entry::Recording { version: VERSION });
        recorder
    }

    /// Writes an entry. A run is worth more than its recording: if that fails, it is told once and the run goes on.
    fn write(&self, entry: &Entry) {
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
            tracing::warn!(%error, "the recording cannot be written; it ends here, and the run goes on");
            state.writer = None;
        }
    }
}

/// What one model adds to a recording.
#[derive(Debug)]
pub(crate) struct Tap {
    recorder: Arc<Recorder>,
    /// Its place among the recorded models.
    model: usize,
    key: Option<SecretString>,
}

impl Tap {
    /// Writes down the model.
    pub(crate) fn new(
        recorder: &Arc<Recorder>,
        model: ModelEntry,
        key: Option<SecretString>,
    ) -> Self {
        let place = {
            let mut state = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.models += 1;
            state.models - 1
        };
        recorder.write(&Entry::Model(model));
        Self {
            recorder: Arc::clone(recorder),
            model: place,
            key,
        }
    }

    /// Writes down a request, and waits for its answer.
    pub(super) fn request(&self, body: &Value) -> Exchange<'_> {
        let key = self.key.as_ref().map(ExposeSecret::expose_secret);
        let mut body = body.clone();
        if let Some(key) = key {
            strike_all(&mut body, key);
        }
        let model = self.model;
        self.recorder.write(&Entry::Request { model, body });
        Exchange {
            recorder: &self.recorder,
            key,
            held: Vec::new(),
        }
    }
}

/// An answer that is being written down.
pub(super) struct Exchange<'a> {
    recorder: &'a Recorder,
    key: Option<&'a str>,
    /// The end of the last piece, where the key may begin.
    held: Vec<u8>,
}

impl Exchange<'_> {
    /// Writes down the head of the answer, as far as anything here reads it.
    pub(super) fn answer(&self, status: StatusCode, headers: &HeaderMap) {
        let kept = KEPT_HEADERS.iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), self.struck(value)))
        });
        self.recorder.write(&Entry::Answer {
            status: status.as_u16(),
            headers: kept.collect(),
        });
    }

    /// Writes down a piece; its end waits for the next one where it may be the beginning of the key.
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        let mut piece = std::mem::take(&mut self.held);
        piece.extend_from_slice(bytes);
        if let Some(key) = self.key {
            piece = strike_bytes(&piece, key.as_bytes());
            let held = beginning_at_end(&piece, key.as_bytes());
            self.held = piece.split_off(piece.len() - held);
        }
        if !piece.is_empty() {
            self.recorder.write(&Entry::Piece(Piece::of(&piece)));
        }
    }

    /// Writes down that the answer ended.
    pub(super) fn end(&mut self) {
        self.release();
        self.recorder.write(&Entry::End);
    }

    /// Writes down why no answer, or nothing more of it, came.
    pub(super) fn fault(&mut self, fault: &Fault) {
        self.release();
        let mut kept = KeptFault::of(fault);
        kept.message = self.struck(&kept.message);
        self.recorder.write(&Entry::Fault(kept));
    }

    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.recorder.write(&Entry::Piece(Piece::of(&held)));
        }
    }

    fn struck(&self, text: &str) -> String {
        match self.key {
            Some(key) => text.replace(key, STRUCK),
            None => text.to_owned(),
        }
    }
}

impl Drop for Exchange<'_> {
    /// A reader that has read enough leaves without the end.
    fn drop(&mut self) {
        self.release();
    }
}

/// Strikes the key out of every text in a value.
fn strike_all(value: &mut Value, key: &str) {
    match value {
        Value::String(text) if text.contains(key) => *text = text.replace(key, STRUCK),
        Value::Array(values) => values.iter_mut().for_each(|value| strike_all(value, key)),
        Value::Object(values) => {
            for value in values.values_mut() {
                strike_all(value, key);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn strike_bytes(bytes: &[u8], key: &[u8]) -> Vec<u8> {
    let mut struck = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(place) = memchr::memmem::find(rest, key) {
        let (before, found) = rest.split_at(place);
        struck.extend_from_slice(before);
        struck.extend_from_slice(STRUCK.as_bytes());
        rest = found.get(key.len()..).unwrap_or_default();
    }
    struck.extend_from_slice(rest);
    struck
}

/// How many of the last bytes may be the beginning of the key.
fn beginning_at_end(bytes: &[u8], key: &[u8]) -> usize {
    let longest = key.len().saturating_sub(1).min(bytes.len());
    (1..=longest)
        .rev()
        .find(|length| {
            key.get(..*length)
                .is_some_and(|begin| bytes.ends_with(begin))
        })
        .unwrap_or(0)
}

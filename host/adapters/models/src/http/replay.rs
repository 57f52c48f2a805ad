//! Replays a recording: each request gets the recorded response, whatever it contains, and nothing
//! is sent. Paths and times differ from run to run, so a request that is not the recorded one is
//! answered all the same, with a warning that names the first difference.

#[cfg(test)]
mod tests;

use super::{
    entry::{ModelEntry, RecordedError, RecordingEntry, VERSION},
    failure::{AttemptError, quote},
};
use crate::retry::Retry;
use agent_host_types::model::{ModelError, ModelErrorKind};
use bytes::Bytes;
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use std::{
    collections::{BTreeSet, VecDeque},
    error::Error,
    fmt::Display,
    sync::{Mutex, PoisonError},
};

/// The fault of an entry that cannot follow the lines before it.
const MISPLACED: &str = "it is out of place";

/// Returns the error of a recording that cannot be replayed.
pub(crate) fn unplayable(why: &str) -> ModelError {
    let text = format!("Cannot play the recording: {why}.");
    ModelError::new(ModelErrorKind::Script, text)
}

/// The fault of a recording without models.
pub(crate) const NO_MODEL: &str = "it names no model";

/// The exchanges of a recording that were not replayed yet.
#[derive(Debug)]
pub(crate) struct ModelRecording {
    exchanges: Mutex<VecDeque<Exchange>>,
}

/// A recorded request and its outcome.
#[derive(Debug)]
struct Exchange {
    model: usize,
    body: Value,
    /// Absent if the recorded run ended before the response began.
    outcome: Option<Result<RecordedResponse, RecordedError>>,
}

/// A recorded response.
#[derive(Debug)]
pub(super) struct RecordedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pieces: VecDeque<Bytes>,
    /// Its end was received.
    pub(super) is_whole: bool,
    /// The error that broke it off.
    error: Option<RecordedError>,
}

impl RecordedResponse {
    /// Returns the next piece; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, AttemptError> {
        match self.pieces.pop_front() {
            Some(piece) => Ok(Some(piece)),
            None => match self.error.take() {
                Some(error) => Err(error.into_error()),
                None => Ok(None),
            },
        }
    }
}

impl ModelRecording {
    /// Reads a recording. Returns it with its models in the order in which they are asked.
    ///
    /// # Errors
    /// The first invalid line, or a recording without models.
    pub(crate) fn parse(text: &str) -> Result<(Self, Vec<ModelEntry>), ModelError> {
        let mut models = Vec::new();
        let mut exchanges = VecDeque::new();
        let mut lines = (1_usize..).zip(text.lines()).peekable();
        match lines.next().map(|(_, line)| serde_json::from_str(line)) {
            Some(Ok(RecordingEntry::Recording { version: VERSION })) => {}
            Some(Ok(RecordingEntry::Recording { version })) => {
                return Err(unplayable(&format!(
                    "its format has version {version}, and this program reads version {VERSION}"
                )));
            }
            Some(Ok(_) | Err(_)) | None => {
                let why = "it does not start like a recording; `run --record FILE` writes one";
                return Err(unplayable(why));
            }
        }
        while let Some((number, line)) = lines.next() {
            let read = serde_json::from_str(line).map_err(Box::from);
            let added = read.and_then(|entry| add(entry, &mut models, &mut exchanges));
            // A run that was killed leaves half a line at the end.
            if added.is_err() && lines.peek().is_none() && !text.ends_with('\n') {
                break;
            }
            added.map_err(|why| unplayable(&format!("line {number}: {why}")))?;
        }
        if models.is_empty() {
            return Err(unplayable(NO_MODEL));
        }
        let exchanges = Mutex::new(exchanges);
        Ok((Self { exchanges }, models))
    }

    /// Returns the response to the next request.
    ///
    /// # Errors
    /// The recorded error; or the recording has ended, or continues with another model.
    pub(super) fn next(
        &self,
        model: usize,
        body: &Value,
    ) -> Result<RecordedResponse, AttemptError> {
        let next = {
            let mut exchanges = self
                .exchanges
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            exchanges.pop_front()
        };
        let permanent = |why: &str| AttemptError {
            error: unplayable(why),
            retry: Retry::Never,
        };
        let exchange = next.ok_or_else(|| {
            permanent("it ends here, and this run asks for more than the recorded one did")
        })?;
        if exchange.model != model {
            return Err(permanent("the recorded run used another model here"));
        }
        if let Some(pointer) = difference(&exchange.body, body) {
            let place = quote(&pointer, None);
            tracing::warn!(%place, "the request differs from the recorded one; the recorded answer is used anyway");
        }
        exchange
            .outcome
            .ok_or_else(|| permanent("the recorded run ended before this answer began"))?
            .map_err(RecordedError::into_error)
    }
}

/// Adds an entry to the exchange or the models that it belongs to.
fn add(
    entry: RecordingEntry,
    models: &mut Vec<ModelEntry>,
    exchanges: &mut VecDeque<Exchange>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let last = exchanges.back_mut();
    match (entry, last) {
        (RecordingEntry::Model(model), None) => models.push(*model),
        (RecordingEntry::Request { model, body }, _) if model < models.len() => {
            exchanges.push_back(Exchange {
                model,
                body,
                outcome: None,
            });
        }
        (RecordingEntry::Answer { status, headers }, Some(exchange))
            if exchange.outcome.is_none() =>
        {
            let mut response = http::Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            let (head, pieces) = response.body(VecDeque::new())?.into_parts();
            exchange.outcome = Some(Ok(RecordedResponse {
                status: head.status,
                headers: head.headers,
                pieces,
                is_whole: false,
                error: None,
            }));
        }
        (RecordingEntry::Fault(error), Some(exchange)) if exchange.outcome.is_none() => {
            exchange.outcome = Some(Err(error));
        }
        (RecordingEntry::Fault(error), last) => open_response(last)?.error = Some(error),
        (RecordingEntry::Piece(piece), last) => {
            open_response(last)?.pieces.push_back(piece.bytes()?)
        }
        (RecordingEntry::End, last) => open_response(last)?.is_whole = true,
        (
            RecordingEntry::Recording { .. }
            | RecordingEntry::Model(_)
            | RecordingEntry::Request { .. }
            | RecordingEntry::Answer { .. },
            _,
        ) => return Err(MISPLACED.into()),
    }
    Ok(())
}

/// Returns the response that is being read.
fn open_response(last: Option<&mut Exchange>) -> Result<&mut RecordedResponse, &'static str> {
    let outcome = last.and_then(|exchange| exchange.outcome.as_mut());
    outcome
        .and_then(|outcome| outcome.as_mut().ok())
        .ok_or(MISPLACED)
}

/// Returns a JSON pointer to the first difference of two values; none if they are equal.
fn difference(one: &Value, other: &Value) -> Option<String> {
    let in_member = |key: &dyn Display, one: Option<&Value>, other: Option<&Value>| {
        let rest = match (one, other) {
            (Some(one), Some(other)) => difference(one, other)?,
            _ => String::new(),
        };
        Some(format!("/{key}{rest}"))
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let mut names = names.into_iter();
            names.find_map(|name| in_member(name, one.get(name), other.get(name)))
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut indices = 0..one.len().max(other.len());
            indices.find_map(|index| in_member(&index, one.get(index), other.get(index)))
        }
        _ => (one != other).then(String::new),
    }
}

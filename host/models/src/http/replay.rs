//! Plays a recording: a request gets the answer that the recorded one got, whatever is in it, and nothing is sent. Paths and times
//! differ from run to run, so a request that is not the recorded one is answered all the same, and it is told where it differs.

#[cfg(test)]
mod tests;

use super::entry::{Entry, KeptFault, ModelEntry, VERSION};
use crate::fault::{Fault, quote};
use agent_host_types::model::{ModelError, ModelErrorKind};
use bytes::Bytes;
use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// Why a line of a known form is refused.
const MISPLACED: &str = "it is not where such a line belongs";

/// What is left of a recording.
#[derive(Debug)]
pub(crate) struct Recording {
    exchanges: Mutex<VecDeque<Exchange>>,
}

/// A request and what came of it.
#[derive(Debug)]
struct Exchange {
    model: usize,
    body: Value,
    /// Absent where the recorded run ended before the answer began.
    came: Option<Result<Answer, KeptFault>>,
}

/// An answer as it arrived.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pieces: VecDeque<Bytes>,
    /// What broke it off.
    fault: Option<KeptFault>,
}

impl Answer {
    /// The next piece; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        match (self.pieces.pop_front(), self.fault.take()) {
            (Some(piece), fault) => {
                self.fault = fault;
                Ok(Some(piece))
            }
            (None, Some(fault)) => Err(fault.into_fault()),
            (None, None) => Ok(None),
        }
    }
}

impl Recording {
    /// Reads a recording, and gives its models in the order in which they are asked.
    ///
    /// # Errors
    /// Which line is wrong, and why.
    pub(crate) fn parse(text: &str) -> Result<(Self, Vec<ModelEntry>), ModelError> {
        let mut models = Vec::new();
        let mut exchanges = VecDeque::new();
        let mut lines = (1_usize..).zip(text.lines()).peekable();
        match lines.next().map(|(_, line)| serde_json::from_str(line)) {
            Some(Ok(Entry::Recording { version: VERSION })) => {}
            Some(Ok(Entry::Recording { version })) => {
                return Err(unusable(&format!(
                    "it has version {version} of the format, and this program reads version {VERSION}"
                )));
            }
            Some(Ok(_) | Err(_)) | None => {
                return Err(unusable(
                    "it does not begin as a recording does; `run --record FILE` writes one",
                ));
            }
        }
        while let Some((number, line)) = lines.next() {
            let read = serde_json::from_str(line).map_err(|error| error.to_string());
            let taken = read.and_then(|entry| take(entry, &mut models, &mut exchanges));
            // A run that was killed leaves half a line at the end.
            if taken.is_err() && lines.peek().is_none() && !text.ends_with('\n') {
                break;
            }
            taken.map_err(|why| unusable(&format!("line {number}: {why}")))?;
        }
        if models.is_empty() {
            return Err(unusable("it names no model"));
        }
        let exchanges = Mutex::new(exchanges);
        Ok((Self { exchanges }, models))
    }

    /// The answer to the next request.
    ///
    /// # Errors
    /// The recorded fault; or that the recording has ended, or goes on with another model.
    pub(super) fn answer(&self, model: usize, body: &Value) -> Result<Answer, Fault> {
        let next = {
            let mut exchanges = self
                .exchanges
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            exchanges.pop_front()
        };
        let ended = "it ends here, and this run asks for more than the recorded one did";
        let lasting = |why: &str| Fault {
            error: unusable(why),
            retry: crate::retry::Retry::Never,
        };
        let exchange = next.ok_or_else(|| lasting(ended))?;
        if exchange.model != model {
            return Err(lasting("the recorded run asked another model here"));
        }
        if let Some(place) = difference(&exchange.body, body) {
            let place = quote(&place, None);
            tracing::warn!(%place, "the request is not the recorded one; it gets the recorded answer");
        }
        let unanswered = "the recorded run ended before this answer began";
        exchange
            .came
            .ok_or_else(|| lasting(unanswered))?
            .map_err(KeptFault::into_fault)
    }
}

/// Puts an entry where it belongs.
fn take(
    entry: Entry,
    models: &mut Vec<ModelEntry>,
    exchanges: &mut VecDeque<Exchange>,
) -> Result<(), String> {
    let last = exchanges.back_mut();
    match (entry, last) {
        (Entry::Model(model), None) => models.push(model),
        (Entry::Request { model, body }, _) if model < models.len() => {
            exchanges.push_back(Exchange {
                model,
                body,
                came: None,
            });
        }
        (Entry::Answer { status, headers }, Some(exchange)) if exchange.came.is_none() => {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                let name: HeaderName = name.parse().map_err(|_| "it has an odd header")?;
                let value = HeaderValue::from_str(&value).map_err(|_| "it has an odd header")?;
                map.insert(name, value);
            }
            exchange.came = Some(Ok(Answer {
                status: StatusCode::from_u16(status).map_err(|error| error.to_string())?,
                headers: map,
                pieces: VecDeque::new(),
                fault: None,
            }));
        }
        (Entry::Fault(fault), Some(exchange)) if exchange.came.is_none() => {
            exchange.came = Some(Err(fault));
        }
        (Entry::Fault(fault), last) => answer_of(last)?.fault = Some(fault),
        (Entry::Piece(piece), last) => {
            let bytes = piece.bytes().map_err(|error| error.to_string())?;
            answer_of(last)?.pieces.push_back(bytes);
        }
        (Entry::End, last) => drop(answer_of(last)?),
        (
            Entry::Recording { .. }
            | Entry::Model(_)
            | Entry::Request { .. }
            | Entry::Answer { .. },
            _,
        ) => return Err(MISPLACED.to_owned()),
    }
    Ok(())
}

/// The answer that is under way.
fn answer_of(last: Option<&mut Exchange>) -> Result<&mut Answer, &'static str> {
    let came = last.and_then(|exchange| exchange.came.as_mut());
    came.and_then(|came| came.as_mut().ok()).ok_or(MISPLACED)
}

/// Where two values differ first, as a JSON pointer; none where they are the same.
fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys());
            let mut names: Vec<&String> = names.collect();
            names.sort_unstable();
            names.dedup();
            names.into_iter().find_map(|name| {
                let place = match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) => difference(one, other)?,
                    _ => String::new(),
                };
                Some(format!("/{name}{place}"))
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            let length = one.len().max(other.len());
            (0..length).find_map(|index| {
                let place = match (one.get(index), other.get(index)) {
                    (Some(one), Some(other)) => difference(one, other)?,
                    _ => String::new(),
                };
                Some(format!("/{index}{place}"))
            })
        }
        _ => (one != other).then(String::new),
    }
}

fn unusable(why: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Script,
        format!("The recording cannot be played: {why}."),
    )
}

//! Stored events, of this version and of the earlier ones. What was written once can be read ever after, or is refused with
//! the reason; a form that is not of this version is brought into this one before anything looks at it.

use super::{EVENT_VERSION, Event};
use crate::{id::Digest, tool::DecisionKind};
use serde_json::{Value, json};

/// Why a stored event cannot be read. The texts follow "event 3 of the session".
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// A newer program wrote it.
    #[error(
        "has version {0} and this program knows versions up to {EVENT_VERSION}; use the agent-host that wrote it, probably a newer one"
    )]
    Newer(u32),
    /// It is not what any program writes.
    #[error("is not in the form that was written ({0})")]
    Form(#[from] serde_json::Error),
}

impl Event {
    /// Reads the JSON form that a program of version `v` wrote.
    ///
    /// # Errors
    /// See [`EventError`].
    pub fn from_stored(v: u32, json: &[u8]) -> Result<Self, EventError> {
        match v {
            // Versions 2 to 4 differ from this one in kinds and optional fields that they do not have.
            2..=EVENT_VERSION => Ok(serde_json::from_slice(json)?),
            0 | 1 => {
                let mut event = serde_json::from_slice(json)?;
                upgrade_1(&mut event);
                Ok(serde_json::from_value(event)?)
            }
            _ => Err(EventError::Newer(v)),
        }
    }
}

/// Brings an event of version 1 into the present form. What has another form than that version wrote stays as it is, and
/// reading it names the difference.
fn upgrade_1(event: &mut Value) {
    let text = |pointer| event.pointer(pointer).and_then(Value::as_str);
    let (kind, outcome) = (text("/kind"), text("/outcome/type"));
    match kind {
        Some("approval-requested") => upgrade_1_request(event),
        Some("turn-ended") if outcome == Some("awaiting-confirmation") => {
            if let Some(continuation) = event.pointer_mut("/outcome/continuation") {
                upgrade_1_continuation(continuation);
            }
        }
        Some("call-settled") => {
            if let Some(limits) = event.pointer_mut("/accounting/limits") {
                upgrade_1_limits(limits);
            }
        }
        Some(_) | None => {}
    }
}

/// Version 1 did not note the place in the batch, by which nothing goes, and let people decide everything about every call.
fn upgrade_1_request(request: &mut Value) {
    let Value::Object(fields) = request else {
        return;
    };
    fields.insert("index".to_owned(), json!(0));
    let calls = fields.get_mut("calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Value::Object(call) = call {
            call.insert("decisions".to_owned(), json!(DecisionKind::ALL));
        }
    }
}

/// A continuation of version 1 was not signed. It keeps its version, so nobody resumes with it; what it waited for is in the
/// request, from which a new one is made.
fn upgrade_1_continuation(continuation: &mut Value) {
    upgrade_1_request(continuation);
    let Value::Object(fields) = continuation else {
        return;
    };
    let mut awaiting = serde_json::Map::new();
    for name in ["kind", "index", "calls"] {
        if let Some(value) = fields.remove(name) {
            awaiting.insert(name.to_owned(), value);
        }
    }
    fields.insert("awaiting".to_owned(), Value::Object(awaiting));
    fields.insert("signature".to_owned(), json!(Digest::of(&[])));
}

/// Limits that came later were not in force then; without this they would read as today's defaults.
fn upgrade_1_limits(limits: &mut Value) {
    let Value::Object(limits) = limits else {
        return;
    };
    for name in [
        "http-connections",
        "http-timeout-ms",
        "file-write-bytes",
        "file-creates",
    ] {
        limits.entry(name).or_insert(json!(u64::MAX));
    }
}

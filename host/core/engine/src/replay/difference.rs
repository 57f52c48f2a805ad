//! The first difference between a recorded and a replayed event.

use agent_host_types::id::SessionId;
use serde::Serialize;
use serde_json::Value;

/// The first difference of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The session: the replayed one, or that of one of its agents.
    pub session: SessionId,
    /// The position of the event.
    pub seq: u64,
    /// The JSON pointer to the first field that differs; empty where one has no such event.
    pub field: String,
    /// The recorded value; absent where nothing was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    /// The replayed value; absent where nothing was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Value>,
    /// The reason why the loop recorded nothing, if it said one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Difference {
    /// Returns the first difference between the JSON forms of two events; `None` if they are equal.
    pub(super) fn between(
        session: SessionId,
        seq: u64,
        recorded: &Value,
        replayed: &Value,
    ) -> Option<Self> {
        let (field, recorded, replayed) = first(String::new(), recorded, replayed)?;
        Some(Self {
            session,
            seq,
            field,
            recorded: recorded.cloned(),
            replayed: replayed.cloned(),
            reason: None,
        })
    }
}

/// The pointer to two values that differ, and the values.
type Found<'v> = (String, Option<&'v Value>, Option<&'v Value>);

fn first<'v>(pointer: String, left: &'v Value, right: &'v Value) -> Option<Found<'v>> {
    let below = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
    let pair = |key: String, left: Option<&'v Value>, right: Option<&'v Value>| match (left, right)
    {
        (Some(left), Some(right)) => first(key, left, right),
        (None, None) => None,
        (left, right) => Some((key, left, right)),
    };
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            // The kind first: the other fields follow from it.
            let kind = pair(below("kind"), left.get("kind"), right.get("kind"));
            let keys = left.keys().chain(right.keys());
            let mut rest = keys.map(|key| pair(below(key), left.get(key), right.get(key)));
            kind.or_else(|| rest.find_map(|found| found))
        }
        (Value::Array(left), Value::Array(right)) => {
            let longest = left.len().max(right.len());
            let mut pairs =
                (0..longest).map(|at| pair(below(&at.to_string()), left.get(at), right.get(at)));
            pairs.find_map(|found| found)
        }
        _ => (left != right).then_some((pointer, Some(left), Some(right))),
    }
}

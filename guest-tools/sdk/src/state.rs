//! The state that the tools of a session share: one JSON object. A change is applied when the call
//! settles, and not at all if it fails; [`get`] shows the state as it was when the call began.

use serde_json::{Map, Value};

/// The state as it was when the call began.
#[must_use]
pub fn get() -> Map<String, Value> {
    read()
}

/// Asks for a change, as names and values: `state::merge([("count", 3)])`. Objects merge deeply,
/// arrays and other values replace.
pub fn merge<K: Into<String>, V: Into<Value>>(delta: impl IntoIterator<Item = (K, V)>) {
    let delta = delta.into_iter();
    write(
        delta
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    );
}

#[cfg(target_family = "wasm")]
fn read() -> Map<String, Value> {
    // The host's state is an object by contract; anything else holds nothing that a tool could
    // name.
    serde_json::from_str(&crate::bindings::state::get()).unwrap_or_default()
}

#[cfg(target_family = "wasm")]
fn write(delta: Map<String, Value>) {
    crate::bindings::state::merge(&Value::Object(delta).to_string());
}

#[cfg(not(target_family = "wasm"))]
fn read() -> Map<String, Value> {
    crate::testing::state()
}

#[cfg(not(target_family = "wasm"))]
fn write(delta: Map<String, Value>) {
    crate::testing::record_delta(delta);
}

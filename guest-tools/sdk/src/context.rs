//! The custom context of the session, which the operator's program sets: the user, the tenant or
//! the id of the request that it serves. The model neither sees nor sets it.

use serde_json::{Map, Value};

/// The context of the session when the call began; empty where none was given.
#[must_use]
pub fn get() -> Map<String, Value> {
    read()
}

#[cfg(target_family = "wasm")]
fn read() -> Map<String, Value> {
    // An object by contract; anything else holds nothing that a tool could name.
    serde_json::from_str(&crate::bindings::context::get()).unwrap_or_default()
}

#[cfg(not(target_family = "wasm"))]
fn read() -> Map<String, Value> {
    crate::testing::context()
}

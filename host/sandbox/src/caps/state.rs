//! `agent:tool/state`: the state that the tools of a session share.
//!
//! The loop keeps no state yet, so every call sees an empty one. What a tool merges is checked and bounded, so that a tool
//! that works today works when it is kept; it is not reported to anybody.

use crate::{bindings::state, failure::Stop, store::CallState};
use serde_json::{Map, Value};

/// What one call may merge, all deltas together, in bytes.
const MAX_DELTA_BYTES: usize = 64 * 1024;

/// What a call merged so far.
#[derive(Default)]
pub(crate) struct Deltas {
    bytes: usize,
}

impl state::Host for CallState {
    async fn get(&mut self) -> wasmtime::Result<String> {
        Ok("{}".to_owned())
    }

    async fn merge(&mut self, delta: String) -> wasmtime::Result<()> {
        let bytes = self.deltas.bytes.saturating_add(delta.len());
        if bytes > MAX_DELTA_BYTES {
            return Err(Stop::StateTooLarge {
                limit: MAX_DELTA_BYTES,
            }
            .into());
        }
        serde_json::from_str::<Map<String, Value>>(&delta)
            .map_err(|error| Stop::StateNotAnObject(error.to_string()))?;
        self.deltas.bytes = bytes;
        Ok(())
    }
}

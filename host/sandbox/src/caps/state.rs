//! `agent:tool/state`: the state that the tools of a session share. A call sees it as it was when its first run began; what it
//! merges goes into its report, and the loop merges that if the call settles.

use crate::{bindings::state, caps::unwind::Unwind, instance::store::CallState};
use agent_host_core::json;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What one call may merge, all deltas together, in bytes.
const MAX_DELTA_BYTES: usize = 64 * 1024;

/// The shared state of one call.
pub(crate) struct SharedState {
    seen: Arc<Map<String, Value>>,
    merged_bytes: usize,
    merges: Vec<Map<String, Value>>,
}

impl SharedState {
    /// The state as the call sees it.
    pub(crate) fn new(seen: Arc<Map<String, Value>>) -> Self {
        Self {
            seen,
            merged_bytes: 0,
            merges: Vec::new(),
        }
    }

    /// What the call merged, in its order.
    pub(crate) fn take_merges(&mut self) -> Vec<Map<String, Value>> {
        std::mem::take(&mut self.merges)
    }
}

impl state::Host for CallState {
    async fn get(&mut self) -> wasmtime::Result<String> {
        Ok(serde_json::to_string(&*self.shared.seen)?)
    }

    async fn merge(&mut self, delta: String) -> wasmtime::Result<()> {
        let bytes = self.shared.merged_bytes.saturating_add(delta.len());
        if bytes > MAX_DELTA_BYTES {
            return Err(Unwind::StateTooLarge {
                limit: MAX_DELTA_BYTES,
            }
            .into());
        }
        let mut delta: Map<String, Value> = serde_json::from_str(&delta).map_err(|error| {
            Unwind::StateNotAnObject(self.secrets.all.text(&error.to_string()).into_owned())
        })?;
        if json::is_object_too_deep(&delta) {
            let why = format!("it nests more than {} levels deep", json::MAX_DEPTH);
            return Err(Unwind::StateNotAnObject(why).into());
        }
        // A later call reads the state, so that of another tool's secrets nothing may show in it.
        self.secrets.granted.object(&mut delta);
        self.shared.merged_bytes = bytes;
        self.shared.merges.push(delta);
        Ok(())
    }
}

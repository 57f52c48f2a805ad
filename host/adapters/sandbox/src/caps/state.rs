//! `agent:tool/state`: the state that the tools of a session share. A call sees a snapshot from the
//! start of its first run; its deltas go into the report, and the loop merges them if the call
//! settles.

use crate::{bindings::state, caps::unwind::Unwind, gate::Gate, secrets::Redactors};
use agent_host_types::json;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The most bytes that one call may merge, all deltas together.
pub(super) const MAX_DELTA_BYTES: usize = 64 * 1024;

/// The shared state of one call.
pub(crate) struct StateCtx {
    /// The state when the first run of the call began.
    snapshot: Arc<Map<String, Value>>,
    secrets: Redactors,
    merged_bytes: usize,
    gate: Arc<Gate>,
    /// The merged deltas, in the order of the calls of `merge`.
    pub(crate) merges: Vec<Map<String, Value>>,
}

impl StateCtx {
    pub(crate) fn new(
        snapshot: Arc<Map<String, Value>>,
        secrets: Redactors,
        gate: Arc<Gate>,
    ) -> Self {
        Self {
            snapshot,
            secrets,
            merged_bytes: 0,
            gate,
            merges: Vec::new(),
        }
    }
}

impl state::Host for StateCtx {
    async fn get(&mut self) -> wasmtime::Result<String> {
        self.gate.note_state_read();
        Ok(serde_json::to_string(&*self.snapshot)?)
    }

    async fn merge(&mut self, delta: String) -> wasmtime::Result<()> {
        let bytes = self.merged_bytes.saturating_add(delta.len());
        if bytes > MAX_DELTA_BYTES {
            return Err(Unwind::StateTooLarge.into());
        }
        let mut delta: Map<String, Value> = serde_json::from_str(&delta).map_err(|error| {
            Unwind::StateNotAnObject(self.secrets.all.text(&error.to_string()).into_owned())
        })?;
        if json::is_object_too_deep(&delta) {
            let why = format!("it nests more than {} levels deep", json::MAX_DEPTH);
            return Err(Unwind::StateNotAnObject(why).into());
        }
        // Later calls read the state, so it must not depend on other tools' secrets.
        self.secrets.granted.object(&mut delta);
        self.merged_bytes = bytes;
        self.merges.push(delta);
        Ok(())
    }
}

//! `agent:tool/context`: what the operator's program says of the request that the session serves.
//! Tools only read it.

use crate::bindings::context;
use agent_host_types::custom_context::CustomContext;
use std::sync::Arc;

/// The custom context of one call.
pub(crate) struct ContextCtx {
    /// The context of the session when the first run of the call began.
    pub(crate) snapshot: Arc<CustomContext>,
}

impl context::Host for ContextCtx {
    async fn get(&mut self) -> wasmtime::Result<String> {
        Ok(serde_json::to_string(&*self.snapshot)?)
    }
}

//! Bounds the calls in flight on a transport, so that a flood takes no memory and no tool's flood
//! reaches another tool: a tool may have at most as many calls in flight as are free. One tool gets
//! half of all, two get a third each, and some are always left for the next tool. A call beyond
//! that is answered at once, as `busy`; nothing waits here, since the sandbox has the queues.

#[cfg(test)]
mod tests;

use crate::result::{Structured, StructuredAs, call_result};
use agent_host_types::failure::{ToolErrorCode, ToolFailure};
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Bytes of the arguments of all calls in flight, at which no further call is admitted.
pub(crate) const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The error code of a request other than a call that is refused because too much runs; of the
/// range that JSON-RPC leaves to servers.
pub(crate) const BUSY: ErrorCode = ErrorCode(-32000);

/// The calls in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    max_calls: usize,
    state: Mutex<InFlightState>,
    /// Notified when no call is in flight.
    idle: Notify,
}

#[derive(Debug, Default)]
struct InFlightState {
    all: CallsUsage,
    /// The tools with calls in flight.
    tools: HashMap<String, CallsUsage>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CallsUsage {
    calls: usize,
    bytes: usize,
}

/// Held by a call until its response is sent. Clones share one place.
#[derive(Clone, Debug)]
pub(crate) struct CallPermit {
    _place: Arc<CallSlot>,
}

/// The place of one call; freed on drop.
#[derive(Debug)]
struct CallSlot {
    in_flight: Arc<InFlight>,
    tool: String,
    bytes: usize,
}

/// A tool has its share of the calls in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    calls: usize,
    free: usize,
}

impl InFlight {
    /// Makes the bounds of a transport.
    pub(crate) fn new(max_calls: usize) -> Arc<Self> {
        Arc::new(Self {
            max_calls,
            state: Mutex::default(),
            idle: Notify::new(),
        })
    }

    /// Admits a call of `tool` whose request has `bytes` bytes.
    ///
    /// # Errors
    /// The tool has as many calls in flight as are free, or as many bytes.
    pub(crate) fn admit(self: &Arc<Self>, tool: &str, bytes: usize) -> Result<CallPermit, Busy> {
        let mut state = self.lock();
        let used = state.tools.get(tool).copied().unwrap_or_default();
        let free = self.max_calls.saturating_sub(state.all.calls);
        let free_bytes = MAX_BYTES.saturating_sub(state.all.bytes);
        if used.calls >= free || used.bytes >= free_bytes {
            return Err(Busy {
                calls: used.calls,
                free,
            });
        }
        state.all.add(bytes);
        state.tools.entry(tool.to_owned()).or_default().add(bytes);
        let place = CallSlot {
            in_flight: Arc::clone(self),
            tool: tool.to_owned(),
            bytes,
        };
        Ok(CallPermit {
            _place: Arc::new(place),
        })
    }

    /// Waits until no call is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.lock().all.calls == 0 {
                return;
            }
            idle.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, InFlightState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallsUsage {
    fn add(&mut self, bytes: usize) {
        self.calls += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.calls -= 1;
        self.bytes -= bytes;
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        let mut state = self.in_flight.lock();
        state.all.remove(self.bytes);
        if let Some(used) = state.tools.get_mut(&self.tool) {
            used.remove(self.bytes);
            if used.calls == 0 {
                state.tools.remove(&self.tool);
            }
        }
        if state.all.calls == 0 {
            self.in_flight.idle.notify_waiters();
        }
    }
}

impl Busy {
    /// Returns the response to a request that is not admitted: of a call its result, which is
    /// `busy` like one of the sandbox.
    pub(crate) fn response(self, request: &ClientRequest, id: RequestId) -> ServerJsonRpcMessage {
        let ClientRequest::CallToolRequest(_) = request else {
            let error = ErrorData::new(BUSY, "too many requests are running; try again", None);
            return ServerJsonRpcMessage::error(error, Some(id));
        };
        let Self { calls, free } = self;
        let message = format!(
            "This call was not started, because {calls} calls of this tool are running, and the limit allows only {free} more calls of all tools, or fewer with arguments this long. Call the tool again when others have ended."
        );
        let failure = ToolFailure::new(ToolErrorCode::Busy, message);
        let result = call_result(failure.into(), Structured::Objects, StructuredAs::Value);
        ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id)
    }
}

/// Returns the name under which a request that may run for long is counted: its tool's, or the
/// method of a subscription.
pub(crate) fn long_running(request: &ClientRequest) -> Option<&str> {
    match request {
        ClientRequest::CallToolRequest(call) => Some(&call.params.name),
        ClientRequest::SubscriptionsListenRequest(_) => Some("subscriptions/listen"),
        _ => None,
    }
}

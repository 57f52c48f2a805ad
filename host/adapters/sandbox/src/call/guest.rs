//! The guest's side of a call: a fresh store, a fresh instance, one exported function, and its
//! converted result. Nothing here waits for the caller, and nothing of the instance outlives the
//! function.

use crate::{
    bindings::{Host, HostPre, types as wit},
    caps::{as_count, unwind::Unwind},
    component::{act::ActCall, plain::BoundCall},
    instance::{
        convert, failure,
        store::{CallSetup, CallState, configure_store},
    },
    schedule::{
        admission::RunPermit,
        guest_runtime::yield_slice,
        result_budget::{ResultPermit, ToolResults},
    },
};
use agent_host_engine::tool::SessionChange;
use agent_host_types::{failure::ToolFailure, output::ToolResultOutput, question::Question};
use std::sync::Arc;
use wasmtime::{Engine, Store};

/// One call, ready to run. Owns everything that its task needs.
pub(super) struct GuestJob {
    /// Fields drop in this order, so the permit is released last.
    pub(super) setup: CallSetup,
    pub(super) target: Target,
    pub(super) results: Arc<ToolResults>,
    /// Whether a JSON result is checked against a schema, for which it becomes a tree.
    pub(super) has_schema: bool,
    #[expect(dead_code, reason = "held until the job is dropped")]
    pub(super) permit: Arc<RunPermit>,
}

/// The function to call, with its arguments.
pub(super) enum Target {
    Tool(HostPre<CallState>, wit::ToolCall),
    /// A function of a plain component.
    Function(BoundCall),
    /// A tool of a component of ACT.
    Act(ActCall),
}

/// How a guest that did not fail ended.
pub(super) enum GuestEnd {
    /// The result, the changes of the session, and the memory reserved for the result.
    Result(ToolResultOutput, Vec<SessionChange>, Option<ResultPermit>),
    Asked(Question),
}

pub(super) type GuestResult = Result<GuestEnd, ToolFailure>;

pub(super) async fn run(job: Box<GuestJob>) -> GuestResult {
    // Declared after the job, so the store and its instance drop before the permit.
    let mut store = configure_store(job.target.engine(), job.setup).await?;
    match job.target.call(&mut store).await {
        Ok(mut output) => {
            output = store.data_mut().partial.complete(output);
            let state = store.data();
            let left = convert::bytes_left(&output, &state.limits);
            let held = as_count(state.artifacts.held_bytes());
            state.http.fetch_links(&mut output, left).await;
            // Small results are bounded by the number of running calls.
            let memory = if convert::takes_long(&output) || held > 0 {
                yield_slice().await;
                let bytes = convert::memory_bytes(&output, job.has_schema);
                let bytes = bytes.saturating_add(held);
                Some(job.results.reserve(bytes).await?)
            } else {
                None
            };
            let state = store.data_mut();
            let changes = state.take_changes();
            let output = convert::output(output, &state.secrets, &state.limits)?;
            Ok(GuestEnd::Result(output, changes, memory))
        }
        Err(error) => match error.downcast_ref::<Unwind>() {
            Some(Unwind::Asked(question)) => Ok(GuestEnd::Asked(question.clone())),
            Some(_) | None => Err(failure::of_guest(&error, store.data())),
        },
    }
}

impl Target {
    fn engine(&self) -> &Engine {
        match self {
            Self::Tool(pre, _) => pre.engine(),
            Self::Function(bound) => bound.engine(),
            Self::Act(call) => call.engine(),
        }
    }

    async fn call(&self, store: &mut Store<CallState>) -> wasmtime::Result<wit::ToolResultOutput> {
        match self {
            Self::Tool(pre, call) => {
                let instance: Host = pre.instantiate_async(&mut *store).await?;
                instance.agent_tool_tool().call_call(store, call).await
            }
            Self::Function(bound) => bound.call(store).await,
            Self::Act(call) => call.call(store).await,
        }
    }
}

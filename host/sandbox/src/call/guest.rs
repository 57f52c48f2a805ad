//! What happens on the guests' threads: a fresh store, a fresh instance, one function of it, and the result taken over. Nothing
//! here waits for a caller, and nothing of an instance outlives its function.

use crate::{
    bindings::{Host, HostPre, types as wit},
    component::plain::BoundCall,
    instance::{
        convert,
        failure::{self, Stop},
        store::{CallSetup, CallState, configure_store},
    },
    schedule::{
        fair_semaphore::Place,
        guest_runtime::{Lost, end_slice},
    },
};
use agent_host_core::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::ToolResultOutput,
    question::Question,
};
use serde_json::{Map, Value};
use wasmtime::{Engine, Store};

/// One call, ready to run. It owns everything, so that the task that runs it depends on nobody.
pub(crate) struct Job {
    /// Fields drop in this order, so the place in the pool is given back last.
    pub(crate) setup: CallSetup,
    pub(crate) target: Target,
    #[expect(dead_code, reason = "it is held, and given back when it is dropped")]
    pub(crate) place: Place,
}

/// What of a component is called.
pub(crate) enum Target {
    /// The `call` of one that speaks the contract.
    Tool(HostPre<CallState>, wit::ToolCall),
    /// A function of one that does not.
    Function(BoundCall),
}

/// How a guest that did not fail ended.
pub(crate) enum End {
    /// With a result, and with what it merges into the shared state.
    Result(ToolResultOutput, Vec<Map<String, Value>>),
    /// With a question.
    Asked(Question),
}

/// Runs a call to its end.
pub(crate) async fn run(job: Box<Job>) -> Result<End, ToolFailure> {
    // The store is declared after the job, so it, and with it the instance, goes before the place that was admitted for it.
    let mut store = open(job.target.engine(), job.setup)?;
    match job.target.call(&mut store).await {
        Ok(output) => {
            if convert::takes_long(&output) {
                end_slice().await;
            }
            let state = store.data_mut();
            let merges = state.state.take_merges();
            let mut output = convert::output(output, &state.secrets, &state.limits)?;
            state.http.check_links(&mut output);
            Ok(End::Result(output, merges))
        }
        Err(error) => match error.downcast_ref::<Stop>() {
            Some(Stop::Asked(question)) => Ok(End::Asked(question.clone())),
            Some(_) | None => Err(explain(&error, store.data())),
        },
    }
}

/// Asks a component for its definitions.
pub(crate) async fn definitions(
    pre: HostPre<CallState>,
    setup: CallSetup,
) -> Result<Vec<wit::ToolDefinition>, ToolFailure> {
    let mut store = open(pre.engine(), setup)?;
    call_definitions(&pre, &mut store)
        .await
        .map_err(|error| explain(&error, store.data()))
}

fn open(engine: &Engine, setup: CallSetup) -> Result<Store<CallState>, ToolFailure> {
    configure_store(engine, setup).map_err(|error| {
        // The error names a folder of the host, so only the operator reads it.
        tracing::warn!("a call was not started: {error}");
        ToolFailure::new(
            ToolErrorCode::ToolUnavailable,
            "A folder that was granted to this tool cannot be opened; the tool did not run. The operator finds the reason in the log.",
        )
    })
}

fn explain(error: &wasmtime::Error, state: &CallState) -> ToolFailure {
    if let Some(stack) = failure::stack(error) {
        state.telemetry.stderr.push(stack.as_bytes());
    }
    failure::explain(error, &state.limiter, &state.limits)
}

impl Target {
    fn engine(&self) -> &Engine {
        match self {
            Self::Tool(pre, _) => pre.engine(),
            Self::Function(bound) => bound.engine(),
        }
    }

    async fn call(&self, store: &mut Store<CallState>) -> wasmtime::Result<wit::ToolResultOutput> {
        match self {
            Self::Tool(pre, call) => {
                let instance: Host = pre.instantiate_async(&mut *store).await?;
                instance.agent_tool_tool().call_call(store, call).await
            }
            Self::Function(bound) => bound.call(store).await,
        }
    }
}

async fn call_definitions(
    pre: &HostPre<CallState>,
    store: &mut Store<CallState>,
) -> wasmtime::Result<Vec<wit::ToolDefinition>> {
    let instance: Host = pre.instantiate_async(&mut *store).await?;
    instance.agent_tool_tool().call_definitions(store).await
}

/// What a call that ended without a result came to.
pub(crate) fn lost(lost: &Lost, limits: &Limits) -> ToolFailure {
    match lost {
        Lost::Stopped => failure::timeout(limits),
        Lost::Panicked(text) => {
            tracing::error!("the host failed while it ran a guest: {text}");
            ToolFailure::new(
                ToolErrorCode::ToolUnavailable,
                "The host failed while it ran this tool; whether it took effect is not known. Tell the operator.",
            )
        }
    }
}

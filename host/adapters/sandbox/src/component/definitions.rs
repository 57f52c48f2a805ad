//! Queries a component's tool definitions. This runs guest code, once for each component, without
//! grants and under tight limits; the definitions are then validated and bounded.

use crate::{
    bindings::{HostPre, types as wit},
    caps::{stdio, telemetry::Telemetry},
    component::{act::ActComponent, error::LoadError, link::EntryPoint, shared::SharedParts},
    gate::Gate,
    instance::{
        convert, failure,
        store::{CallContext, CallSetup, CallState, configure_store},
    },
    schedule::deadline::Deadline,
    text,
};
use agent_host_engine::{definitions::RawDefinition, policy::Grants};
use agent_host_types::{failure::ToolFailure, limits::Limits, tool::Effect};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use wasmtime::{Engine, Store};

/// The deadline, in milliseconds. Python needs 10 ms on an idle machine.
const DEADLINE_MS: u64 = 5_000;

/// The memory limit, in bytes. Python needs 13 MiB.
const MEMORY_BYTES: u64 = 128 * 1024 * 1024;

/// The output and the stack that are kept, in bytes: a panic's message and its location.
const STDIO_BYTES: usize = 2 * 1024;

/// The bytes that the guest may pass to the host at once: the texts of all tools.
const TRANSFER_BYTES: u64 = 4 * 1024 * 1024;

/// A component that is asked for its definitions.
pub(crate) enum Queried {
    Contract(HostPre<CallState>),
    Act(ActComponent),
}

pub(crate) async fn query(
    shared: &Arc<SharedParts>,
    component: Queried,
) -> Result<Vec<RawDefinition>, LoadError> {
    let _permit = shared.querying.acquire().await;
    let limits = Limits {
        deadline_ms: DEADLINE_MS,
        memory_bytes: MEMORY_BYTES,
        max_transfer_bytes: TRANSFER_BYTES,
        ..Limits::default()
    };
    let timeout = Duration::from_millis(DEADLINE_MS);
    let gate = Gate::new(Arc::new(Grants::default()), Effect::ReadOnly, &limits);
    // Nothing is granted, so nothing needs redaction.
    let secrets = Arc::default();
    let telemetry = Telemetry::new(STDIO_BYTES, &secrets);
    let setup = CallSetup {
        context: CallContext::default(),
        gate,
        deadline: Arc::new(Deadline::new(Instant::now() + timeout)),
        permit: None,
        protected: Arc::clone(&shared.protected),
        dirs: None,
        client: Arc::clone(&shared.client),
        secrets,
        telemetry: Arc::clone(&telemetry),
        progress_interval: shared.progress_interval,
        limits: limits.clone(),
    };
    let work = run(component, setup);
    let mut task = shared.guests.spawn(&shared.guests.schedule(), work);
    let ended = match tokio::time::timeout(timeout, task.join()).await {
        Ok(ended) => ended.unwrap_or_else(|error| Err(failure::of_task(&error, &limits))),
        Err(_) => Err(failure::timeout(&limits)),
    };
    match ended {
        Ok(Ok(definitions)) => Ok(definitions),
        Ok(Err(said)) => {
            let said = text::sanitize(&said, STDIO_BYTES);
            Err(LoadError::Definitions(format!(
                "`list-tools` failed with {said}"
            )))
        }
        Err(failure) => {
            let mut reason = format!(
                "`definitions` ended with {}: {}",
                failure.code,
                failure.message()
            );
            let stdio = stdio::combined(&telemetry);
            if !stdio.is_empty() {
                let stdio = text::sanitize(stdio.trim(), STDIO_BYTES);
                reason = format!("{reason} It left:\n{stdio}\n");
            }
            Err(LoadError::Definitions(reason))
        }
    }
}

/// Queries the definitions; an error of the component itself is text.
async fn run(
    component: Queried,
    setup: CallSetup,
) -> Result<Result<Vec<RawDefinition>, String>, ToolFailure> {
    let mut store = configure_store(component.engine(), setup).await?;
    let definitions = match component {
        Queried::Contract(pre) => of_contract(&pre, &mut store).await.map(Ok),
        Queried::Act(act) => act.definitions(&mut store).await,
    };
    definitions.map_err(|error| failure::of_guest(&error, store.data()))
}

async fn of_contract(
    pre: &HostPre<CallState>,
    store: &mut Store<CallState>,
) -> wasmtime::Result<Vec<RawDefinition>> {
    let instance = pre.instantiate_async(&mut *store).await?;
    let definitions = instance.agent_tool_tool().call_definitions(store).await?;
    Ok(definitions.into_iter().map(from_wit).collect())
}

impl Queried {
    /// Returns what to ask; absent for a component whose exports say it.
    pub(crate) fn new(entry_point: &EntryPoint) -> Option<Self> {
        match entry_point {
            EntryPoint::Contract(pre) => Some(Self::Contract(pre.clone())),
            EntryPoint::Act(act) => Some(Self::Act(act.clone())),
            EntryPoint::Plain(_) | EntryPoint::Hooks | EntryPoint::Program(_) => None,
        }
    }

    fn engine(&self) -> &Engine {
        match self {
            Self::Contract(pre) => pre.engine(),
            Self::Act(act) => act.engine(),
        }
    }
}

fn from_wit(definition: wit::ToolDefinition) -> RawDefinition {
    RawDefinition {
        name: definition.name,
        title: definition.title,
        description: definition.description,
        input_schema: definition.input_schema,
        output_schema: definition.output_schema,
        effect: convert::effect(definition.effect),
    }
}

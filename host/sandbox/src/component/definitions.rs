//! What a component says about its tools. It is guest code that says it, so it runs once for each component, with no grants
//! and tight limits, and every word of it is checked and bounded before anybody reads it.

use crate::{
    bindings::{HostPre, types as wit},
    call::{Talk, guest},
    caps::{stdio, telemetry::Telemetry},
    error::{LoadError, LoadFault},
    gate::Gate,
    instance::{
        convert,
        store::{CallSetup, CallState},
    },
    sandbox::Room,
    text,
};
use agent_host_engine::{
    definitions::{Definitions, RawDefinition},
    policy::Grants,
};
use agent_host_types::{limits::Limits, tool::Effect};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The deadline, in milliseconds. Python needs 10 ms on a quiet machine.
const DEADLINE_MS: u64 = 5_000;

/// The memory, in bytes. Python needs 13 MiB.
const MEMORY_BYTES: u64 = 128 * 1024 * 1024;

/// What is kept of what it writes, and of its stack, in bytes: a panic's message and where it was.
const STDIO_BYTES: usize = 2 * 1024;

/// What may cross to the host at once, in bytes: room for every tool's text.
const TRANSFER_BYTES: u64 = 4 * 1024 * 1024;

/// Asks a component for its definitions.
pub(crate) async fn ask(
    room: &Arc<Room>,
    pre: &HostPre<CallState>,
) -> Result<Vec<RawDefinition>, LoadError> {
    let _permit = room.defining.acquire().await;
    let limits = Limits {
        deadline_ms: DEADLINE_MS,
        memory_bytes: MEMORY_BYTES,
        max_transfer_bytes: TRANSFER_BYTES,
        ..Limits::default()
    };
    let patience = Duration::from_millis(DEADLINE_MS);
    let gate = Gate::new(Arc::new(Grants::default()), Effect::ReadOnly, &limits);
    let telemetry = Telemetry::new(STDIO_BYTES);
    let setup = CallSetup {
        context: Talk::default(),
        gate,
        deadline: Instant::now() + patience,
        protected: Arc::clone(&room.protected),
        folders: false,
        client: Arc::clone(&room.client),
        // Nothing is granted, so nothing comes back.
        secrets: Arc::default(),
        telemetry: Arc::clone(&telemetry),
        progress_interval: room.progress_interval,
        limits: limits.clone(),
    };
    let work = guest::definitions(pre.clone(), setup);
    let mut running = room.guests.run(&room.guests.schedule(), work);
    let ended = match tokio::time::timeout(patience, running.ended()).await {
        Ok(ended) => ended.unwrap_or_else(|error| Err(guest::lost(&error, &limits))),
        Err(_) => Err(crate::instance::failure::timeout(&limits)),
    };
    match ended {
        Ok(definitions) => Ok(definitions.into_iter().map(from_wit).collect()),
        Err(failure) => {
            let mut why = format!(
                "`definitions` ended with {}: {}",
                failure.code,
                failure.message()
            );
            let wrote = stdio::combined(&telemetry);
            if !wrote.is_empty() {
                let wrote = text::sanitize(wrote.trim(), STDIO_BYTES);
                why = format!("{why} It left:\n{wrote}\n");
            }
            Err(broken(&why))
        }
    }
}

/// Checks everything that a component says about its tools.
///
/// # Errors
/// `contract-mismatch`, naming the tool and what is wrong with it.
pub(crate) fn check(raw: Vec<RawDefinition>) -> Result<Definitions, LoadError> {
    Definitions::check(raw).map_err(|error| broken(&error.to_string()))
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

fn broken(why: &str) -> LoadError {
    LoadError::new(
        LoadFault::ContractMismatch,
        format!(
            "the component's tool definitions cannot be used: {why}. They have to be corrected in its source; until then, use another version of it"
        ),
    )
}

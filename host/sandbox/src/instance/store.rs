//! The state of one call and `configure_store`, the only place that makes a store: every limit of a call is set here, or the
//! call does not start.

use crate::{
    call::Talk,
    caps::{
        files::{FilesCtx, FilesError},
        http::{HttpClient, HttpCtx},
        human::HumanCtx,
        progress::ProgressCtx,
        state::StateCtx,
        telemetry::Telemetry,
        wasi::LazyWasiCtx,
    },
    gate::Gate,
    instance::{
        failure::Stop,
        limiter::{Limiter, as_count},
    },
};
use agent_host_core::{limits::Limits, secrets::Secrets};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use wasmtime::{Engine, Store, UpdateDeadline, component::ResourceTable};

/// Ticks of the guests' clock between two looks at the deadline. With one, a call that lasts a few microseconds would be
/// interrupted whenever a tick happened to fall into it.
const TICKS: u64 = 2;

/// The data of one call: a context for each capability, which host functions reach through the
/// views in [`crate::caps`], and what the whole call shares.
pub(crate) struct CallState {
    pub(crate) table: ResourceTable,
    pub(crate) files: FilesCtx,
    pub(crate) http: HttpCtx,
    pub(crate) human: HumanCtx,
    pub(crate) progress: ProgressCtx,
    pub(crate) state: StateCtx,
    pub(crate) wasi: LazyWasiCtx,
    pub(crate) limiter: Limiter,
    /// What is seen of the call from outside.
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) secrets: Redactors,
    /// The limits in force.
    pub(crate) limits: Limits,
}

/// The secrets that one call's texts are searched for.
#[derive(Clone, Default)]
pub(crate) struct Redactors {
    /// The secrets of all tools: for texts that only users, the journal and the model read.
    pub(crate) all: Arc<Secrets>,
    /// The secrets that the tool was granted: for texts that guests receive or can read back. Nothing there depends on other values.
    pub(crate) granted: Arc<Secrets>,
}

/// What is particular to one call. Its parts are shared with the caller, who reads them when the call has ended or was stopped.
pub(crate) struct CallSetup {
    pub(crate) gate: Arc<Gate>,
    pub(crate) limits: Limits,
    pub(crate) deadline: Instant,
    pub(crate) protected: Arc<[PathBuf]>,
    /// Whether the granted folders are opened. It is in vain for a component that cannot ask for them.
    pub(crate) folders: bool,
    pub(crate) client: Arc<HttpClient>,
    /// The secrets of all tools.
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// The time between two progress reports.
    pub(crate) progress_interval: Duration,
    pub(crate) context: Talk,
}

/// Makes the store of one call, with every limit of `Limits` that is not the outer deadline, the result's size or the gate's.
///
/// # Errors
/// When a granted folder cannot be opened.
pub(crate) fn configure_store(
    engine: &Engine,
    setup: CallSetup,
) -> Result<Store<CallState>, FilesError> {
    let CallSetup {
        gate,
        limits,
        deadline,
        protected,
        folders,
        client,
        secrets,
        telemetry,
        progress_interval,
        context,
    } = setup;
    let files = if folders {
        FilesCtx::open(Arc::clone(&gate), &protected)?
    } else {
        FilesCtx::without_dirs(Arc::clone(&gate))
    };
    let mut table = ResourceTable::new();
    let (transfer_bytes, open_resources) = (
        as_count(limits.max_transfer_bytes),
        as_count(limits.open_resources),
    );
    table.set_max_capacity(open_resources);
    let secrets = Redactors {
        granted: gate.granted_secrets(&secrets),
        all: secrets,
    };
    let state = CallState {
        table,
        files,
        http: HttpCtx::new(
            Arc::clone(&gate),
            client,
            secrets.clone(),
            &limits,
            deadline,
        ),
        human: HumanCtx::new(
            Arc::clone(&gate),
            Arc::clone(&secrets.granted),
            context.can_ask,
            context.answers,
        ),
        progress: ProgressCtx::new(Arc::clone(&telemetry), progress_interval),
        state: StateCtx::new(context.shared, secrets.clone()),
        wasi: LazyWasiCtx::new(gate, Arc::clone(&telemetry), limits.random_bytes),
        limiter: Limiter::new(&limits, Arc::clone(&telemetry)),
        telemetry,
        secrets,
        limits,
    };
    let mut store = Store::new(engine, state);
    store.limiter_async(|state| &mut state.limiter);
    store.set_hostcall_fuel(transfer_bytes);
    store.set_max_component_handles(open_resources);
    store.set_epoch_deadline(TICKS);
    store.epoch_deadline_callback(move |_| {
        if Instant::now() >= deadline {
            return Err(Stop::Deadline.into());
        }
        Ok(UpdateDeadline::Yield(TICKS))
    });
    Ok(store)
}

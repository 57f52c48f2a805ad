//! The state of one call and `configure_store`, which alone creates stores: it sets every limit of a
//! call, or the call does not start.

use crate::{
    bindings::types,
    caps::{
        files::{FilesState, GatedFs},
        http::{GatedHttp, HttpClient, links},
        human::Questions,
        progress::Progress,
        state::SharedState,
        telemetry::Telemetry,
        unwind::Unwind,
        wasi::Wasi,
    },
    gate::Gate,
    instance::limiter::{Limiter, Pausing, as_count},
    secrets::Redactors,
};
use agent_host_core::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::ToolResultOutput,
    secrets::Secrets,
};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use wasmtime::{Engine, Store, UpdateDeadline, component::ResourceTable};
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// Epoch ticks between two checks of the deadline. With one, a tick would interrupt even a call that
/// lasts a few microseconds.
const TICKS: u64 = 2;

/// What a guest's header fields may take beyond `http-header-bytes`, in bytes. wasi:http counts some
/// 70 bytes for each field besides its text, and traps when a set of fields is full. So a set that is
/// slightly too large can be built, and is refused with the standard error when it is sent. Each
/// open resource may take this much.
const EXTRA_FIELD_BYTES: u64 = 32 * 1024;

/// The data of one store: the state of all host functions of one call.
pub(crate) struct CallState {
    wasi: Wasi,
    http: WasiHttpCtx,
    hooks: GatedHttp,
    files: FilesState,
    table: ResourceTable,
    pub(crate) limiter: Pausing,
    pub(crate) progress: Progress,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) shared: SharedState,
    pub(crate) questions: Questions,
    pub(crate) secrets: Redactors,
    pub(crate) limits: Limits,
}

/// The parts of one call. The caller shares some of them and reads them after the call's end.
pub(crate) struct CallSetup {
    pub(crate) gate: Arc<Gate>,
    pub(crate) limits: Limits,
    pub(crate) deadline: Instant,
    pub(crate) protected: Arc<[PathBuf]>,
    /// True to open the granted directories; unneeded for a component that cannot list preopens.
    pub(crate) mounts_dirs: bool,
    pub(crate) client: Arc<HttpClient>,
    /// The secrets of all tools.
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// The least time between two progress reports.
    pub(crate) progress_interval: Duration,
    pub(crate) shared: SharedState,
    pub(crate) questions: Questions,
}

/// Creates the store of one call. Sets every limit of [`Limits`] but the outer deadline, the size of
/// the result, and those that the gate enforces.
///
/// # Errors
/// `tool-unavailable` if a granted directory cannot be opened.
pub(crate) fn configure_store(
    engine: &Engine,
    setup: CallSetup,
) -> Result<Store<CallState>, ToolFailure> {
    let CallSetup {
        gate,
        limits,
        deadline,
        protected,
        mounts_dirs,
        client,
        secrets,
        telemetry,
        progress_interval,
        shared,
        questions,
    } = setup;
    let files = if mounts_dirs {
        FilesState::open(Arc::clone(&gate), &protected).map_err(|error| {
            // The error names a host path, so only the operator reads it.
            tracing::warn!("a call was not started: {error}");
            ToolFailure::new(
                ToolErrorCode::ToolUnavailable,
                "A directory that was granted to this tool cannot be opened; the tool did not run. The operator finds the reason in the log.",
            )
        })?
    } else {
        FilesState::without_folders(Arc::clone(&gate))
    };
    let mut http = WasiHttpCtx::new();
    let fields = limits.http_header_bytes.saturating_add(EXTRA_FIELD_BYTES);
    http.set_field_size_limit(as_count(fields));
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
        wasi: Wasi::new(
            Arc::clone(&gate),
            Arc::clone(&telemetry),
            limits.random_bytes,
        ),
        http,
        hooks: GatedHttp::new(gate, client, Arc::clone(&secrets.all), &limits, deadline),
        files,
        table,
        limiter: Pausing::new(Limiter::new(&limits, Arc::clone(&telemetry))),
        progress: Progress::new(Arc::clone(&telemetry), progress_interval),
        telemetry,
        shared,
        questions,
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
            return Err(Unwind::Deadline.into());
        }
        Ok(UpdateDeadline::Yield(TICKS))
    });
    Ok(store)
}

impl CallState {
    /// Asks the gate for the URLs in a result.
    pub(crate) fn judge_links(&self, output: &mut ToolResultOutput) {
        links::judge(output, self.hooks.gate());
    }

    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// The view for the file interfaces, which go through the gate.
    pub(crate) fn gated_files(&mut self) -> GatedFs<'_> {
        GatedFs {
            table: &mut self.table,
            files: &mut self.files,
        }
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self.wasi.ctx(),
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.hooks,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}

/// The interface `types` has no functions.
impl types::Host for CallState {}

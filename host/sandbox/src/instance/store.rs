//! The state of one call and `configure_store`, the only place that makes a store: every limit of a call is set here, or the
//! call does not start.

use crate::{
    bindings::types,
    caps::{
        files::{FilesError, FilesState, GatedFs},
        http::{GatedHttp, HttpClient, links},
        human::Questions,
        progress::Progress,
        state::SharedState,
        telemetry::Telemetry,
        wasi::Wasi,
    },
    gate::Gate,
    instance::{
        failure::Stop,
        limiter::{Limiter, Pausing, as_count},
    },
};
use agent_host_engine::secrets::Secrets;
use agent_host_types::{limits::Limits, output::ToolResultOutput};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use wasmtime::{Engine, Store, UpdateDeadline, component::ResourceTable};
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// Ticks of the guests' clock between two looks at the deadline. With one, a call that lasts a few microseconds would be
/// interrupted whenever a tick happened to fall into it.
const TICKS: u64 = 2;

/// What a guest's set of header fields may hold beyond `http-header-bytes`, in bytes: wasi:http counts some 70 for each field
/// besides its text, and it has no error for a set that is full but the guest's end. So what is somewhat too large to send is
/// made all the same, and then refused with the standard error when it is to be sent. Each open resource may hold this much.
const FIELDS_ROOM: u64 = 32 * 1024;

/// Everything that the host functions of one call work on.
pub(crate) struct CallState {
    wasi: Wasi,
    http: WasiHttpCtx,
    hooks: GatedHttp,
    files: FilesState,
    table: ResourceTable,
    pub(crate) limiter: Pausing,
    pub(crate) progress: Progress,
    /// What is seen of the call from outside.
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) shared: SharedState,
    pub(crate) questions: Questions,
    pub(crate) secrets: Redactors,
    /// The limits in force.
    pub(crate) limits: Limits,
}

/// The secrets that one call's texts are searched for.
#[derive(Default)]
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
    /// The state that it shares with other calls, as it sees it.
    pub(crate) shared: SharedState,
    pub(crate) questions: Questions,
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
        shared,
        questions,
    } = setup;
    let files = if folders {
        FilesState::open(Arc::clone(&gate), &protected)?
    } else {
        FilesState::without_folders(Arc::clone(&gate))
    };
    let mut http = WasiHttpCtx::new();
    let fields = limits.http_header_bytes.saturating_add(FIELDS_ROOM);
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
            return Err(Stop::Deadline.into());
        }
        Ok(UpdateDeadline::Yield(TICKS))
    });
    Ok(store)
}

impl CallState {
    /// Asks the gate for the files that a result names by their address.
    pub(crate) fn judge_links(&self, output: &mut ToolResultOutput) {
        links::judge(output, self.hooks.gate());
    }

    /// What the guest holds open.
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

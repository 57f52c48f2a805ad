//! The state of one call and `configure_store`, which alone creates stores: it sets every limit of
//! a call, or the call does not start.

use crate::{
    caps::{
        artifacts::ArtifactsCtx,
        as_count,
        context::ContextCtx,
        control::ControlCtx,
        files::{FilesCtx, FilesError},
        http::{HttpClient, HttpCtx},
        human::HumanCtx,
        partial::PartialCtx,
        progress::ProgressCtx,
        seeded::Seed,
        state::StateCtx,
        telemetry::Telemetry,
        tools::ToolsCtx,
        unwind::Unwind,
        wasi::LazyWasiCtx,
    },
    gate::Gate,
    instance::limiter::Limiter,
    schedule::{
        admission::{RunPermit, busy},
        blocking::ToolBlocking,
        deadline::Deadline,
    },
    secrets::Redactors,
};
use agent_host_engine::{
    artifact::SessionArtifacts, flow::CallFlow, program::ToolCaller, secrets::Secrets,
    tool::SessionChange,
};
use agent_host_types::{
    custom_context::CustomContext,
    failure::{ToolErrorCode, ToolFailure},
    id::Digest,
    limits::Limits,
    question::AnsweredQuestion,
};
use agent_host_undo::UndoWriter;
use serde_json::{Map, Value};
use std::{
    mem,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use wasmtime::{Engine, Store, UpdateDeadline, component::ResourceTable};

/// Epoch ticks between two checks of the deadline. With one, a tick would interrupt even a call
/// that lasts a few microseconds.
const TICKS: u64 = 2;

/// The data of one call: a context for each capability, which host functions reach through the
/// views in `linker.rs`, and what the whole call shares.
pub(crate) struct CallState {
    pub(crate) table: ResourceTable,
    pub(crate) files: Arc<FilesCtx>,
    pub(crate) http: HttpCtx,
    pub(crate) human: HumanCtx,
    pub(crate) progress: ProgressCtx,
    pub(crate) partial: PartialCtx,
    pub(crate) state: StateCtx,
    pub(crate) context: ContextCtx,
    pub(crate) control: ControlCtx,
    pub(crate) artifacts: ArtifactsCtx,
    pub(crate) tools: ToolsCtx,
    pub(crate) wasi: LazyWasiCtx,
    pub(crate) limiter: Limiter,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) secrets: Redactors,
    pub(crate) limits: Limits,
}

impl CallState {
    /// Takes the changes of the session that the guest asked for.
    pub(crate) fn take_changes(&mut self) -> Vec<SessionChange> {
        let merges = mem::take(&mut self.state.merges).into_iter();
        let halt = self.control.halt.take();
        merges
            .map(SessionChange::Merge)
            .chain(self.artifacts.take_changes())
            .chain(halt.map(SessionChange::Halt))
            .collect()
    }
}

/// The session's part in one call: the state shared by its tools, its context, and the user's
/// answers.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// The shared state that the call reads.
    pub shared: Arc<Map<String, Value>>,
    /// The custom context that the call reads.
    pub custom: Arc<CustomContext>,
    /// The questions of earlier runs of this call, with their answers.
    pub answers: Vec<AnsweredQuestion>,
    /// The artifacts of the session; absent for a call outside of one, whose changes lead to
    /// nothing.
    pub artifacts: Option<SessionArtifacts>,
    /// True if the user can be asked now.
    pub can_ask: bool,
    /// Keeps the files that the call changes; absent to keep none.
    pub undo: Option<Arc<UndoWriter>>,
    /// Where the call may send and write what it gets.
    pub flow: CallFlow,
    /// The tools that the call may call, its clock and its seed, if it is the run of a program.
    pub program: Option<ProgramContext>,
}

/// The part of a program's run that its instance sees.
#[derive(Clone, Debug)]
pub struct ProgramContext {
    /// The tools.
    pub tools: ToolCaller,
    /// The seed of its random numbers.
    pub seed: Digest,
    /// The time with which its clock begins, in milliseconds since 1970.
    pub started_ms: u64,
}

/// The parts of one call, or of an instance of a program. The caller shares some of them and reads them after the call's end.
#[derive(Clone)]
pub(crate) struct CallSetup {
    pub(crate) gate: Arc<Gate>,
    pub(crate) limits: Limits,
    pub(crate) deadline: Arc<Deadline>,
    /// The permit of the call, which is released while it waits for calls of its own; absent for
    /// one that makes none.
    pub(crate) permit: Option<Arc<RunPermit>>,
    pub(crate) protected: Arc<[PathBuf]>,
    /// The threads for directories that are not local; absent to open no granted directory, for a
    /// component that cannot list preopens.
    pub(crate) dirs: Option<Arc<ToolBlocking>>,
    pub(crate) client: Arc<HttpClient>,
    /// The secrets of all tools.
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// The least time between two progress reports.
    pub(crate) progress_interval: Duration,
    pub(crate) context: CallContext,
}

/// Creates the store of one call. Sets every limit of [`Limits`] but the outer deadline, the size
/// of the result, and those that the gate enforces.
///
/// # Errors
/// `tool-unavailable` if a granted directory cannot be opened, `busy` if the file systems of earlier
/// calls do not answer.
pub(crate) async fn configure_store(
    engine: &Engine,
    setup: CallSetup,
) -> Result<Store<CallState>, ToolFailure> {
    let deadline = Arc::clone(&setup.deadline);
    let transfer_bytes = as_count(setup.limits.max_transfer_bytes);
    let open_resources = as_count(setup.limits.open_resources);
    let state = call_state(setup).await?;
    let mut store = Store::new(engine, state);
    store.limiter_async(|state| &mut state.limiter);
    store.set_hostcall_fuel(transfer_bytes);
    store.set_max_component_handles(open_resources);
    store.set_epoch_deadline(TICKS);
    store.epoch_deadline_callback(move |_| {
        if deadline.has_passed() {
            return Err(Unwind::Deadline.into());
        }
        Ok(UpdateDeadline::Yield(TICKS))
    });
    Ok(store)
}

/// Opens what a call may use and makes the state of its store, every limit set.
async fn call_state(setup: CallSetup) -> Result<CallState, ToolFailure> {
    let (gate, limits, telemetry) = (setup.gate, setup.limits, setup.telemetry);
    let deadline = setup.deadline;
    let http_deadline = Instant::now() + deadline.left();
    let program = setup.context.program;
    let seed = program.as_ref().map(|program| Seed {
        seed: program.seed,
        started_ms: program.started_ms,
    });
    let files = open_files(&gate, setup.protected, setup.dirs, setup.context.undo).await?;
    let mut table = ResourceTable::new();
    table.set_max_capacity(as_count(limits.open_resources));
    let secrets = Redactors {
        granted: gate.granted_secrets(&setup.secrets),
        all: setup.secrets,
    };
    let artifacts = ArtifactsCtx::new(
        Arc::clone(&gate),
        secrets.clone(),
        setup.context.artifacts,
        limits.max_transfer_bytes,
    );
    Ok(CallState {
        table,
        files: Arc::new(files),
        http: HttpCtx::new(
            Arc::clone(&gate),
            setup.client,
            secrets.clone(),
            &limits,
            http_deadline,
        ),
        human: HumanCtx {
            gate: Arc::clone(&gate),
            granted: Arc::clone(&secrets.granted),
            can_ask: setup.context.can_ask,
            answers: setup.context.answers.into_iter(),
        },
        progress: ProgressCtx::new(Arc::clone(&telemetry), setup.progress_interval),
        partial: PartialCtx::new(Arc::clone(&telemetry), &limits),
        state: StateCtx::new(setup.context.shared, secrets.clone(), Arc::clone(&gate)),
        context: ContextCtx {
            snapshot: setup.context.custom,
        },
        control: ControlCtx::new(secrets.clone()),
        artifacts,
        tools: ToolsCtx {
            caller: program.map(|program| program.tools),
            permit: setup.permit,
            deadline,
        },
        wasi: LazyWasiCtx::new(gate, Arc::clone(&telemetry), limits.random_bytes, seed),
        limiter: Limiter::new(&limits, Arc::clone(&telemetry)),
        telemetry,
        secrets,
        limits,
    })
}

/// Opens the granted directories, on the threads in `dirs`; without those, a call has no files.
async fn open_files(
    gate: &Arc<Gate>,
    protected: Arc<[PathBuf]>,
    dirs: Option<Arc<ToolBlocking>>,
    undo: Option<Arc<UndoWriter>>,
) -> Result<FilesCtx, ToolFailure> {
    let gate = Arc::clone(gate);
    let Some(blocking) = dirs else {
        return Ok(FilesCtx::without_dirs(gate));
    };
    let opened = FilesCtx::open(gate, protected, blocking, undo).await;
    opened.map_err(|error| not_opened(&error))
}

/// Returns the failure of a call whose directories were not opened.
fn not_opened(error: &FilesError) -> ToolFailure {
    if let FilesError::Stuck = error {
        return busy(&error.to_string());
    }
    // The error names a host path, so only the operator reads it.
    tracing::warn!("a call was not started: {error}");
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "A directory granted to this tool cannot be opened, so the tool did not run. The log has the reason.",
    )
}

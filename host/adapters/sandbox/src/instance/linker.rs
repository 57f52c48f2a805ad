//! The interfaces that guests can import, each with the view that it works on. All are named, and
//! none twice: one that is missing is a load error that names it, and no later line can replace a
//! gated implementation with an ungated one.

use crate::{
    bindings::{
        act, artifacts, context, control, hook_types, human, partial, progress, state, tools, types,
    },
    caps::{
        artifacts::ArtifactsCtx,
        context::ContextCtx,
        control::ControlCtx,
        files::{Files, FilesView},
        human::HumanCtx,
        partial::PartialCtx,
        progress::ProgressCtx,
        state::StateCtx,
        tools::ToolsCtx,
    },
    instance::store::CallState,
};
use wasmtime::{
    Engine,
    component::{HasSelf, Linker, ResourceTable},
};
use wasmtime_wasi::{
    WasiCtxView, WasiView,
    cli::{WasiCli, WasiCliView as _},
    clocks::{WasiClocks, WasiClocksView as _},
    p2::bindings::{cli, clocks, filesystem, io, random, sockets},
    p3::bindings as p3,
    random::{WasiRandom, WasiRandomView as _},
    sockets::{WasiSockets, WasiSocketsView as _},
};
use wasmtime_wasi_http::{
    WasiHttp, WasiHttpCtxView, p2::bindings::http, p3::bindings::http as p3_http,
};

/// Links every interface that the engine can run.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    let l = &mut linker;

    types::add_to_linker::<_, HasSelf<CallState>>(l, |call| call)?;
    hook_types::add_to_linker::<_, HasSelf<CallState>>(l, |call| call)?;
    human::add_to_linker::<_, HasSelf<HumanCtx>>(l, |call| &mut call.human)?;
    progress::add_to_linker::<_, HasSelf<ProgressCtx>>(l, |call| &mut call.progress)?;
    partial::add_to_linker::<_, HasSelf<PartialCtx>>(l, |call| &mut call.partial)?;
    state::add_to_linker::<_, HasSelf<StateCtx>>(l, |call| &mut call.state)?;
    context::add_to_linker::<_, HasSelf<ContextCtx>>(l, |call| &mut call.context)?;
    control::add_to_linker::<_, HasSelf<ControlCtx>>(l, |call| &mut call.control)?;
    artifacts::add_to_linker::<_, HasSelf<ArtifactsCtx>>(l, |call| &mut call.artifacts)?;
    tools::add_to_linker::<_, HasSelf<ToolsCtx>>(l, |call| &mut call.tools)?;

    io::error::add_to_linker::<_, HasSelf<ResourceTable>>(l, |call| &mut call.table)?;
    io::poll::add_to_linker::<_, HasSelf<ResourceTable>>(l, |call| &mut call.table)?;
    io::streams::add_to_linker::<_, HasSelf<ResourceTable>>(l, |call| &mut call.table)?;

    filesystem::types::add_to_linker::<_, Files>(l, CallState::files)?;
    filesystem::preopens::add_to_linker::<_, Files>(l, CallState::files)?;

    let http_options = http::types::LinkOptions::default();
    http::outgoing_handler::add_to_linker::<_, WasiHttp>(l, CallState::http)?;
    http::types::add_to_linker::<_, WasiHttp>(l, &http_options, CallState::http)?;

    clocks::wall_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    random::random::add_to_linker::<_, WasiRandom>(l, CallState::random)?;
    random::insecure::add_to_linker::<_, WasiRandom>(l, CallState::random)?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(l, CallState::random)?;

    cli::environment::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stdin::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stdout::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stderr::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(l, CallState::cli)?;

    // Python imports sockets whether it uses them or not. `LazyWasiCtx` switches every use off.
    let network_options = sockets::network::LinkOptions::default();
    sockets::instance_network::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;
    sockets::network::add_to_linker::<_, WasiSockets>(l, &network_options, CallState::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;
    sockets::tcp::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;
    sockets::udp::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;
    sockets::udp_create_socket::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;

    if engine.get_concurrency_support() {
        link_wasi_0_3(l)?;
        act::act::core::types::add_to_linker::<_, HasSelf<CallState>>(l, |call| call)?;
        act::act::tools::types::add_to_linker::<_, HasSelf<CallState>>(l, |call| call)?;
    }
    Ok(linker)
}

/// Links the interfaces of WASI 0.3, with the views and contexts of 0.2.
fn link_wasi_0_3(l: &mut Linker<CallState>) -> wasmtime::Result<()> {
    use p3::{cli, clocks, filesystem, random, sockets};

    filesystem::types::add_to_linker::<_, Files>(l, CallState::files)?;
    filesystem::preopens::add_to_linker::<_, Files>(l, CallState::files)?;

    p3_http::client::add_to_linker::<_, WasiHttp>(l, CallState::http)?;
    p3_http::types::add_to_linker::<_, WasiHttp>(l, CallState::http)?;

    clocks::types::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    clocks::system_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    random::random::add_to_linker::<_, WasiRandom>(l, CallState::random)?;
    random::insecure::add_to_linker::<_, WasiRandom>(l, CallState::random)?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(l, CallState::random)?;

    cli::environment::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stdin::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stdout::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stderr::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(l, CallState::cli)?;

    // Python imports sockets whether it uses them or not. `LazyWasiCtx` switches every use off.
    sockets::types::add_to_linker::<_, WasiSockets>(l, CallState::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<_, WasiSockets>(l, CallState::sockets)
}

/// The interfaces with types alone have no functions.
impl types::Host for CallState {}
impl hook_types::Host for CallState {}
impl act::act::core::types::Host for CallState {}
impl act::act::tools::types::Host for CallState {}

impl CallState {
    fn files(&mut self) -> FilesView<'_> {
        FilesView {
            ctx: &self.files,
            table: &mut self.table,
        }
    }

    pub(crate) fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.http.view(&mut self.table)
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self.wasi.get(),
            table: &mut self.table,
        }
    }
}

//! What guests can import. Every interface is named here: one that is missing is a load error that names it, and nothing is
//! ever defined twice, so no later line can quietly put an ungated implementation in the place of a gated one.

use crate::{
    bindings::{human, progress, state, types},
    caps::files,
    instance::store::CallState,
};
use wasmtime::{
    Engine,
    component::{HasData, HasSelf, Linker, ResourceTable},
};
use wasmtime_wasi::{
    cli::{WasiCli, WasiCliView as _},
    clocks::{WasiClocks, WasiClocksView as _},
    p2::bindings::{cli, clocks, io, random, sockets},
    random::{WasiRandom, WasiRandomView as _},
    sockets::{WasiSockets, WasiSocketsView as _},
};
use wasmtime_wasi_http::{WasiHttp, WasiHttpView as _, p2::bindings::http};

/// Links everything.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    add_agent_tool(&mut linker)?;
    add_io(&mut linker)?;
    add_clocks_and_random(&mut linker)?;
    add_cli(&mut linker)?;
    files::add_to_linker(&mut linker, CallState::gated_files)?;
    add_http(&mut linker)?;
    add_sockets(&mut linker)?;
    Ok(linker)
}

fn add_agent_tool(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    types::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    progress::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    state::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    human::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

/// Streams and polling work on the table of open resources alone.
struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

fn add_io(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    io::error::add_to_linker::<CallState, Table>(linker, CallState::table)?;
    io::poll::add_to_linker::<CallState, Table>(linker, CallState::table)?;
    io::streams::add_to_linker::<CallState, Table>(linker, CallState::table)
}

fn add_clocks_and_random(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    clocks::wall_clock::add_to_linker::<CallState, WasiClocks>(linker, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<CallState, WasiClocks>(linker, CallState::clocks)?;
    random::random::add_to_linker::<CallState, WasiRandom>(linker, CallState::random)?;
    random::insecure::add_to_linker::<CallState, WasiRandom>(linker, CallState::random)?;
    random::insecure_seed::add_to_linker::<CallState, WasiRandom>(linker, CallState::random)
}

fn add_cli(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    cli::environment::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::exit::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::stdin::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::stdout::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::stderr::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_input::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_output::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)
}

fn add_http(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    http::outgoing_handler::add_to_linker::<CallState, WasiHttp>(linker, CallState::http)?;
    http::types::add_to_linker::<CallState, WasiHttp>(
        linker,
        &http::types::LinkOptions::default(),
        CallState::http,
    )
}

/// Sockets are linked because Python imports them whether it uses them or not. `configure_store` switches every use off.
fn add_sockets(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    sockets::instance_network::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)?;
    sockets::network::add_to_linker::<CallState, WasiSockets>(
        linker,
        &sockets::network::LinkOptions::default(),
        CallState::sockets,
    )?;
    sockets::ip_name_lookup::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)?;
    sockets::tcp::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<CallState, WasiSockets>(
        linker,
        CallState::sockets,
    )?;
    sockets::udp::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)?;
    sockets::udp_create_socket::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)
}

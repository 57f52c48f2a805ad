//! The `agent-host` binary: parses the command line, runs one command, and maps its result to an
//! exit code. Everything that a command can do, a library user can do through agent-host-app.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod args;
mod commands;
mod exit;
mod limits;
mod log;
mod problem;
mod self_exec;
mod signals;
mod terminal;

use clap::Parser as _;
use exit::{Exit, Failure};
use log::LogFormat;
use mimalloc::MiMalloc;
use std::{
    env,
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    thread,
};
use terminal::Terminal;
use tokio::runtime::Builder;

/// Faster than the C library's for small values that other threads free, and with fewer arenas.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    limits::limit_arenas();
    if let Some(code) = self_exec::run_as_child() {
        return code;
    }
    let terminal = Terminal::from_process();
    exit::report_panics(terminal);
    let _input = terminal::InputGuard;
    let exit = match start(&terminal) {
        Ok(exit) => exit,
        Err(failure) => failure.report(&terminal),
    };
    terminal.exit(exit).code().into()
}

/// Parses the command line and runs its command.
fn start(terminal: &Terminal) -> Result<Exit, Failure> {
    limits::check_stack()?;
    signals::exit_on_first_signal().map_err(Failure::failed)?;
    let args = match args::Args::try_parse_from(arguments(terminal)) {
        Ok(args) => args,
        Err(answer) => return Ok(show_clap_message(&answer, terminal)),
    };
    let format = match &args.command {
        args::Command::Serve(serve) => serve.log_format,
        _ => LogFormat::Text,
    };
    log::start(args.log.as_deref(), format);
    limits::check()?;
    let workers = args
        .threads
        .unwrap_or_else(|| default_threads(&args.command));
    tracing::debug!("{workers} threads for the host's tasks");
    let mut builder = Builder::new_multi_thread();
    let runtime = agent_host_sandbox::start_runtime(builder.enable_all(), workers)
        .map_err(|error| Failure::failed(format!("agent-host cannot start: {error}")))?;
    let ran = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            signals::exit_cleanly().map_err(Failure::failed)?;
            if let Err(error) = signals::survive_file_size_limit() {
                tracing::warn!("a write beyond `ulimit -f` ends the program: {error}");
            }
            commands::dispatch(args.command, terminal).await
        })
    }));
    signals::exit_at_once();
    // A task that still runs (a guest in a host call, say) must not delay the exit.
    runtime.shutdown_background();
    // The hook has reported the panic.
    ran.unwrap_or(Ok(Exit::Failed))
}

/// Returns the arguments of the process. On a terminal, the program alone starts a conversation.
fn arguments(terminal: &Terminal) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = env::args_os().collect();
    if arguments.len() == 1 && terminal.can_ask() && terminal.stdout {
        arguments.push("run".into());
    }
    arguments
}

/// Returns the number of threads for host tasks; guests have their own. It is at least two, so that
/// one busy task does not stop the others, except for the one client of `mcp` on standard streams:
/// handing its calls from thread to thread costs more than they do.
fn default_threads(command: &args::Command) -> usize {
    match command {
        args::Command::Mcp(mcp) if mcp.http.is_none() => 1,
        _ => thread::available_parallelism().map_or(2, |count| count.get().clamp(2, 256)),
    }
}

/// Prints clap's message: the help, the version, or a usage error.
fn show_clap_message(answer: &clap::Error, terminal: &Terminal) -> Exit {
    if answer.use_stderr() {
        // A failed write to stderr cannot be reported.
        let _ = answer.print();
        let arguments: Vec<String> = env::args_os()
            .skip(1)
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect();
        if let Some(line) = args::suggestion(answer, &arguments) {
            terminal.note(&format!("\nDid you mean: {}", terminal::escape_line(&line)));
        }
        if args::asks_for_json(&arguments) {
            let text = answer.render().to_string();
            let text = text.trim().trim_start_matches("error: ");
            let _ = Failure::usage(text).document(terminal);
        }
        return Exit::Usage;
    }
    terminal.print(&answer.render().ansi().to_string());
    Exit::Done
}

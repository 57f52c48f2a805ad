//! The `agent-host` binary: reads the command line, runs one command, and turns its end into an exit code. Everything that a
//! command can do, a library user can do through agent-host-app.

mod args;
mod commands;
mod exit;
mod limits;
mod problem;
mod self_exec;
mod signals;
mod terminal;

use clap::Parser as _;
use exit::{Exit, Failure};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};
use terminal::Terminal;
use tokio::runtime::Builder;

/// The threads for tasks of the host. Guests have their own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
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
    terminal.exit(exit).into()
}

/// Reads the command line, and runs its command.
fn start(terminal: &Terminal) -> Result<Exit, Failure> {
    signals::end_at_once().map_err(Failure::failed)?;
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(answer) => return Ok(show(&answer, terminal)),
    };
    start_log(args.log.as_deref());
    limits::check()?;
    let mut builder = Builder::new_multi_thread();
    let runtime = agent_host_sandbox::start_runtime(builder.enable_all(), WORKERS)
        .map_err(|error| Failure::failed(format!("agent-host cannot start: {error}")))?;
    let ran = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            if let Err(error) = signals::outlive_file_bounds() {
                tracing::warn!("a write beyond `ulimit -f` ends the program: {error}");
            }
            commands::dispatch(args.command, terminal).await
        })
    }));
    // Whatever still runs (a guest in a host call, say) must not hold up the end of the process.
    runtime.shutdown_background();
    // A panic was reported where it happened.
    ran.unwrap_or(Ok(Exit::Failed))
}

/// Shows what the parser of the command line has to say: the help, the version, or what is wrong.
fn show(answer: &clap::Error, terminal: &Terminal) -> Exit {
    if answer.use_stderr() {
        // A failed write to stderr cannot be reported.
        let _ = answer.print();
        return Exit::Usage;
    }
    terminal.print(&answer.render().ansi().to_string());
    Exit::Done
}

/// Logs are for people who look for a fault: they go to stderr, and only when asked for.
fn start_log(filter: Option<&str>) {
    // `rmcp` writes whole messages, which may hold a token that its server echoes: only where it is asked for by its name.
    let filter = match filter.unwrap_or("warn") {
        filter if filter.contains("rmcp") => filter.to_owned(),
        filter => format!("{filter},rmcp=off"),
    };
    let filter = tracing_subscriber::EnvFilter::new(filter);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would tell of a failed write on stderr, and panic when that fails.
        .log_internal_errors(false)
        .without_time()
        .init();
}

//! The `agent-host` binary: reads the command line, runs one command, and turns its end into an exit code. Everything that a
//! command can do, a library user can do through agent-host-app.

mod args;
mod commands;
mod exit;
mod itself;
mod memory;
mod signals;
mod terminal;

use clap::Parser as _;
use exit::{Exit, Failure};
use std::process::ExitCode;
use terminal::Terminal;

fn main() -> ExitCode {
    if let Some(code) = itself::run_as_child() {
        return code;
    }
    let args = args::Args::parse();
    let terminal = Terminal::from_process();
    start_log(args.log.as_deref());
    memory::fit_address_space();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let failure = Failure::new(
                Exit::Failed,
                format!("cannot start the asynchronous runtime: {error}"),
            );
            return failure.report(&terminal);
        }
    };
    let result = runtime.block_on(async {
        if let Err(error) = signals::outlive_file_bounds() {
            tracing::warn!("a write beyond `ulimit -f` ends the program: {error}");
        }
        commands::dispatch(args.command, &terminal).await
    });
    // Whatever still runs (a guest in a host call, say) must not hold up the end of the process.
    runtime.shutdown_background();
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(&terminal),
    }
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
        .without_time()
        .init();
}

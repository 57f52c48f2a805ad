//! Child processes that run this executable with an internal command: the component compiler, and
//! the supervisor of an MCP server. The clap parser does not know these commands.

use agent_host_mcp_client::{Supervisor, supervise};
use agent_host_sandbox::{CompileWorker, compile_worker};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The compiler's command; its arguments are private to the sandbox.
const COMPILER: &str = "compile-worker";

/// The supervisor's command; its arguments are private to the MCP client.
const SUPERVISOR: &str = "supervise-mcp";

/// The path of this executable, which stays right when its file is replaced while it runs.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Runs the child command that this process was started with, if any. Each child limits itself
/// first.
pub(crate) fn run_as_child() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    let command = args.next()?;
    let rest = || -> Vec<OsString> { args.collect() };
    match command.to_str()? {
        COMPILER => Some(compile_worker(&rest())),
        SUPERVISOR => Some(supervise(&rest())),
        _ => None,
    }
}

/// Returns the command that starts the compiler.
pub(crate) fn compiler() -> CompileWorker {
    CompileWorker {
        exe: exe(),
        args: vec![COMPILER.into()],
    }
}

/// Returns the command that starts an MCP server's supervisor.
pub(crate) fn supervisor() -> Supervisor {
    Supervisor {
        exe: exe(),
        args: vec![SUPERVISOR.into()],
    }
}

/// Returns a command of this program.
pub(crate) fn command() -> Command {
    Command::new(exe())
}

fn exe() -> PathBuf {
    let this = Path::new(THIS_PROGRAM);
    // Without /proc this may fail, too; the first child to start reports it.
    if this.exists() {
        this.to_path_buf()
    } else {
        env::current_exe().unwrap_or_else(|_| PathBuf::from(THIS_PROGRAM))
    }
}

//! This very program, started as a child process with a command of its own: as the compiler of components, and as what stands
//! between this program and an MCP server. These commands are not for people, so the command line's parser does not know them.

use agent_host_mcp_client::{Supervisor, supervise};
use agent_host_sandbox::{CompileWorker, compile_worker};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The command of the compiler. What follows it is between the sandbox and its child.
const COMPILER: &str = "compile-worker";

/// The command of what stands between this program and a server. What follows it is between the two.
const SUPERVISOR: &str = "supervise-mcp";

/// This program by a name that stays right when its file is replaced by a newer version while it runs.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Does what this process was started for, if it is such a child. Each limits itself before anything else happens.
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

/// How the compiler is started.
pub(crate) fn compiler() -> CompileWorker {
    CompileWorker {
        exe: exe(),
        args: vec![COMPILER.into()],
    }
}

/// How a server is started.
pub(crate) fn supervisor() -> Supervisor {
    Supervisor {
        exe: exe(),
        args: vec![SUPERVISOR.into()],
    }
}

fn exe() -> PathBuf {
    let this = Path::new(THIS_PROGRAM);
    // Where there is no /proc this may fail as well, and what is started first says so.
    if this.exists() {
        this.to_path_buf()
    } else {
        env::current_exe().unwrap_or_else(|_| PathBuf::from(THIS_PROGRAM))
    }
}

//! The compiler of components: this very program, started as a child process with a command of its own. The command is not one
//! for people, so the command line's parser does not know it.

use agent_host_sandbox::CompileWorker;
use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The command. What follows it is between the sandbox and its child.
const COMMAND: &str = "compile-worker";

/// This program by a name that stays right when its file is replaced by a newer version while it runs.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The arguments of the compiler, if this process was started as one.
pub(crate) fn requested() -> Option<Vec<OsString>> {
    let mut args = env::args_os().skip(1);
    (args.next().as_deref() == Some(OsStr::new(COMMAND))).then(|| args.collect())
}

/// How the compiler is started.
pub(crate) fn worker() -> CompileWorker {
    let this = Path::new(THIS_PROGRAM);
    CompileWorker {
        // Where there is no /proc this fails as well, and the first component that is compiled says so.
        exe: if this.exists() {
            this.to_path_buf()
        } else {
            env::current_exe().unwrap_or_else(|_| PathBuf::from(THIS_PROGRAM))
        },
        args: vec![COMMAND.into()],
    }
}

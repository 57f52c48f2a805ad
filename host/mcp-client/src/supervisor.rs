//! The process between this program and a server that it starts: it ends the server, and whatever the server started, when
//! this program is gone, however it went. It reads and writes nothing of what the two say to each other.

use rustix::process::{
    Pid, Signal, getppid, kill_current_process_group, set_parent_process_death_signal,
};
use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::{Child, Command, ExitCode, ExitStatus},
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::timeout,
};

/// How long a server may take to end by itself when its input is closed, as the protocol asks of it.
const END_OF_INPUT: Duration = Duration::from_secs(1);

/// How long what is left of it may take after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);

/// Runs the server that the arguments name, `PARENT PROGRAM ARGUMENT...`, and ends as it ends. `PARENT` is the process whose
/// end, or whose SIGTERM, ends the server. To be called before anything else happens in the process, which leads a process group
/// of its own.
#[must_use]
pub fn supervise(args: &[OsString]) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(why) => {
            // Its reader is the host, which shows it as the server's own last words.
            let _ = writeln!(io::stderr(), "{why}");
            ExitCode::from(127)
        }
    }
}

fn run(args: &[OsString]) -> Result<ExitCode, String> {
    let [parent, program, args @ ..] = args else {
        return Err("there is no command to run".to_owned());
    };
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(|error| error.to_string())?;
    // A parent that was gone before that is not told of.
    let now = getppid().map(Pid::as_raw_nonzero);
    if now.map(|id| id.to_string()).as_deref() != parent.to_str() {
        return Err("the host is gone".to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let signals = signal(SignalKind::child()).and_then(|ended| {
            let told = signal(SignalKind::terminate())?;
            Ok((ended, told))
        });
        // Before the server starts, so that its end is not missed.
        let (mut ended, mut told) = signals.map_err(|error| error.to_string())?;
        let mut server = Command::new(program)
            .args(args)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        tokio::select! {
            status = end_of(&mut server, &mut ended) => return status.map(code).map_err(|error| error.to_string()),
            _ = told.recv() => {}
        }
        let _ = timeout(END_OF_INPUT, end_of(&mut server, &mut ended)).await;
        // This process is of the group, too, and has told the kernel that it takes this signal itself.
        let _ = kill_current_process_group(Signal::TERM);
        let _ = timeout(AFTER_TERM, end_of(&mut server, &mut ended)).await;
        let _ = kill_current_process_group(Signal::KILL);
        Ok(ExitCode::FAILURE)
    })
}

/// Waits for the end of the server.
async fn end_of(
    server: &mut Child,
    ended: &mut tokio::signal::unix::Signal,
) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = server.try_wait()? {
            return Ok(status);
        }
        ended.recv().await;
    }
}

/// The end of the server as this process's own; a signal as shells have it.
fn code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

//! A process between the host and a server. When the server or the host ends, for any reason, it
//! kills every process that the server started, including those that left its process group or
//! session and orphans, which the kernel reparents to this process (`PR_SET_CHILD_SUBREAPER`). It
//! does not touch the server's streams.

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_current_process_group,
    kill_process, set_child_subreaper, set_parent_process_death_signal, wait,
};
use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write as _},
    process::{Command, ExitCode},
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::timeout,
};

/// The time for a server to end by itself after its input is closed, as MCP asks.
const END_OF_INPUT: Duration = Duration::from_secs(1);

/// The time for the rest of its group to end after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);

/// The time for all remaining processes to end after SIGKILL. Only uninterruptible waits take any.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Runs the server `PARENT PROGRAM ARGUMENT...` and exits as it does. The end of the process
/// `PARENT`, or a SIGTERM, ends the server. Call it before anything else in a process that leads
/// its own process group.
#[must_use]
pub fn supervise(args: &[OsString]) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(why) => {
            // The host shows it as the server's last line.
            let _ = writeln!(io::stderr(), "{why}");
            ExitCode::from(127)
        }
    }
}

fn run(args: &[OsString]) -> io::Result<ExitCode> {
    let [parent, program, args @ ..] = args else {
        return Err(io::Error::other("the command is missing"));
    };
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // No signal is sent for a parent that ended before.
    let now = getppid().map(Pid::as_raw_nonzero);
    if now.map(|id| id.to_string()).as_deref() != parent.to_str() {
        return Err(io::Error::other("the host has stopped"));
    }
    set_child_subreaper(Some(getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Registered before the server starts, so that its end is not missed.
        let ended = signal(SignalKind::child())?;
        let mut terminated = signal(SignalKind::terminate())?;
        let mut children = Children::start(program, args, ended)?;
        tokio::select! {
            () = children.server_end() => {}
            _ = terminated.recv() => children.terminate().await,
        }
        children.kill().await;
        Ok(children.code())
    })
}

/// The server and the orphans among its descendants.
struct Children {
    server: Pid,
    status: Option<WaitStatus>,
    /// SIGCHLD.
    ended: tokio::signal::unix::Signal,
}

impl Children {
    fn start(
        program: &OsStr,
        args: &[OsString],
        ended: tokio::signal::unix::Signal,
    ) -> io::Result<Self> {
        // Reaped by `reap`, with the orphans.
        let server = Command::new(program)
            .args(args)
            .spawn()
            .map_err(|error| io::Error::other(format!("{}: {error}", program.display())))?;
        let id = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
        Ok(Self {
            server: id.ok_or_else(|| io::Error::other("it has no process id"))?,
            status: None,
            ended,
        })
    }

    /// Reaps the children that have ended.
    fn reap(&mut self) {
        while let Ok(Some((id, status))) = wait(WaitOptions::NOHANG) {
            if id == self.server {
                self.status = Some(status);
            }
        }
    }

    async fn server_end(&mut self) {
        loop {
            self.reap();
            if self.status.is_some() {
                return;
            }
            self.ended.recv().await;
        }
    }

    /// Waits for the server to end by itself, then sends SIGTERM to its group.
    async fn terminate(&mut self) {
        if timeout(END_OF_INPUT, self.server_end()).await.is_err() {
            // This process is in the group and handles the signal itself.
            let _ = kill_current_process_group(Signal::TERM);
            let _ = timeout(AFTER_TERM, self.server_end()).await;
        }
    }

    /// Kills all children until none is left: the children of each are reparented to this process.
    /// Only this process reaps them, so their ids are not reused.
    async fn kill(&mut self) {
        let killed = async {
            loop {
                self.reap();
                let Ok(children) = children() else { return };
                if children.is_empty() {
                    return;
                }
                for child in children {
                    let _ = kill_process(child, Signal::KILL);
                }
                self.ended.recv().await;
            }
        };
        let _ = timeout(AFTER_KILL, killed).await;
    }

    /// Returns the server's exit code; `128 + n` for signal `n`, as in shells.
    fn code(&self) -> ExitCode {
        let code = self.status.and_then(|status| {
            let signal = || status.terminating_signal().map(|signal| 128 + signal);
            status.exit_status().or_else(signal)
        });
        ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

/// Lists the children of this process by the parent ids in `/proc`.
fn children() -> io::Result<Vec<Pid>> {
    let own = getpid().as_raw_nonzero().to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let id = name.to_str().and_then(|name| name.parse().ok());
        let Some(id) = id.and_then(Pid::from_raw) else {
            continue;
        };
        // A process that ended meanwhile has none.
        let stat = fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).unwrap_or_default();
        if parent(&stat) == Some(own.as_bytes()) {
            children.push(id);
        }
    }
    Ok(children)
}

/// Returns the parent in `/proc/ID/stat`: the second field after the name, which is in parentheses
/// and may contain any character.
fn parent(stat: &[u8]) -> Option<&[u8]> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = stat.get(name_end + 1..)?;
    fields.split(|byte| *byte == b' ').nth(2)
}

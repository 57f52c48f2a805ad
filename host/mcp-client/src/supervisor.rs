//! The process between this program and a server that it starts. When the server ends, or this program is gone, however it went,
//! it ends whatever the server started, also what left the server's process group or session and whose parent is gone: the kernel
//! makes this process the parent of such orphans. It reads and writes nothing of what the two say to each other.

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

/// How long a server may take to end by itself when its input is closed, as the protocol asks of it.
const END_OF_INPUT: Duration = Duration::from_secs(1);

/// How long what is left of it may take after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);

/// How long what is left then may take after SIGKILL. Only a process that waits for a device takes any time.
const AFTER_KILL: Duration = Duration::from_secs(2);

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
    set_child_subreaper(Some(getpid())).map_err(|error| error.to_string())?;
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
        let (ended, mut told) = signals.map_err(|error| error.to_string())?;
        let mut children = Children::start(program, args, ended)?;
        tokio::select! {
            () = children.server_end() => {}
            _ = told.recv() => children.ask_to_end().await,
        }
        children.kill().await;
        Ok(children.code())
    })
}

/// The children of this process: the server, and orphans among its descendants.
struct Children {
    server: Pid,
    /// How the server ended.
    status: Option<WaitStatus>,
    /// Tells that children have ended.
    ended: tokio::signal::unix::Signal,
}

impl Children {
    fn start(
        program: &OsStr,
        args: &[OsString],
        ended: tokio::signal::unix::Signal,
    ) -> Result<Self, String> {
        // It is reaped below, with the orphans.
        let server = Command::new(program)
            .args(args)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let id = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
        Ok(Self {
            server: id.ok_or("it has no process id")?,
            status: None,
            ended,
        })
    }

    /// Reaps those that have ended.
    fn reap(&mut self) {
        while let Ok(Some((id, status))) = wait(WaitOptions::NOHANG) {
            if id == self.server {
                self.status = Some(status);
            }
        }
    }

    /// Waits for the end of the server.
    async fn server_end(&mut self) {
        loop {
            self.reap();
            if self.status.is_some() {
                return;
            }
            self.ended.recv().await;
        }
    }

    /// Gives the server time to end by itself.
    async fn ask_to_end(&mut self) {
        if timeout(END_OF_INPUT, self.server_end()).await.is_err() {
            // This process is of the group, too, and has told the kernel that it takes this signal itself.
            let _ = kill_current_process_group(Signal::TERM);
            let _ = timeout(AFTER_TERM, self.server_end()).await;
        }
    }

    /// Kills the children until there are none: the children of each become this process's own. Nothing else has their ids, since
    /// only this process reaps them.
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

    /// The end of the server as this process's own; a signal as shells have it.
    fn code(&self) -> ExitCode {
        let code = self.status.and_then(|status| {
            let signal = || status.terminating_signal().map(|signal| 128 + signal);
            status.exit_status().or_else(signal)
        });
        ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

/// The children of this process, by the parents that all processes name.
fn children() -> io::Result<Vec<Pid>> {
    let own = getpid().as_raw_nonzero().to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let id = name.to_str().and_then(|name| name.parse().ok());
        let Some(id) = id.and_then(Pid::from_raw) else {
            continue;
        };
        // One that has ended meanwhile has none.
        let stat = fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).unwrap_or_default();
        if parent(&stat) == Some(own.as_bytes()) {
            children.push(id);
        }
    }
    Ok(children)
}

/// The parent in a `/proc/ID/stat`: the second field behind the name, which is in parentheses and may have any characters.
fn parent(stat: &[u8]) -> Option<&[u8]> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = stat.get(name_end + 1..)?;
    fields.split(|byte| *byte == b' ').nth(2)
}

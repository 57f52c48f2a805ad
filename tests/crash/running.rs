//! The program with the `agent.toml` of its place, and while it runs: what it has said so far, and signals to it.

use crate::support::{Place, Ran, chat::ChatServer};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::{
    borrow::Cow,
    io::{Read, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// How long a test waits for what must come, before it fails and says what came instead.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The program. The file is named, since one that is only found may not say as much.
pub(crate) fn program(place: &Place, args: &[&str]) -> Command {
    place.command(&[args, &["--config", "agent.toml"]].concat())
}

/// `run` with this server's model.
pub(crate) fn asking(place: &Place, server: &ChatServer, args: &[&str]) -> Command {
    let mut command = program(
        place,
        &[&["run", "--model", "openai-compat:m"], args].concat(),
    );
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    command
}

/// Runs it to its end.
pub(crate) fn run(place: &Place, args: &[&str]) -> Ran {
    program(place, args).output().unwrap().into()
}

/// The events of the newest session.
pub(crate) fn journaled(place: &Place) -> Vec<Value> {
    let shown = run(place, &["sessions", "show", "latest", "--json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    shown.json_lines()
}

/// The session goes on to the end of the play.
pub(crate) fn goes_on(place: &Place) {
    is_done(&run(place, &["run", "--resume", "latest"]));
}

/// The model has said its last word.
pub(crate) fn is_done(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{}",
        ran.stderr
    );
}

/// A program in a process group of its own, as a shell on a terminal starts it. Dropping it kills the group.
pub(crate) struct Running {
    child: Child,
    /// Whether its end was waited for; from then on its id may be somebody else's.
    ended: bool,
    group: Pid,
    pub(crate) stdout: Heard,
    pub(crate) stderr: Heard,
}

/// What came from one of its outputs.
pub(crate) struct Heard {
    bytes: Vec<u8>,
    more: Receiver<Vec<u8>>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            group: Pid::from_child(&child),
            stdout: Heard::listen(child.stdout.take().unwrap()),
            stderr: Heard::listen(child.stderr.take().unwrap()),
            child,
            ended: false,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input, which stays open.
    pub(crate) fn types(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
    }

    /// Sends it what Ctrl-C on a terminal (`INT`) or a service manager sends: the one to the whole group, all others to the
    /// program alone.
    pub(crate) fn signal(&self, signal: Signal) {
        if signal == Signal::INT {
            kill_process_group(self.group, signal).unwrap();
        } else {
            kill_process(self.group, signal).unwrap();
        }
    }

    /// Waits for its end, and for the ends of its outputs, which whatever it left behind would hold open.
    pub(crate) fn end(mut self) -> Ran {
        let stdout = self.stdout.read_to_end();
        let stderr = self.stderr.read_to_end();
        let status = self.child.wait().unwrap();
        self.ended = true;
        Ran {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // An error means that it is ending by itself.
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Heard {
    fn listen(mut output: impl Read + Send + 'static) -> Self {
        let (tell, more) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                if tell.send(piece[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            bytes: Vec::new(),
            more,
        }
    }

    /// Waits until it has said this.
    pub(crate) fn until(&mut self, what: &str) {
        while !self.text().contains(what) {
            match self.more.recv_timeout(PATIENCE) {
                Ok(piece) => self.bytes.extend(piece),
                Err(why) => panic!("no {what:?} came ({why}): {}", self.text()),
            }
        }
    }

    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    fn read_to_end(&mut self) -> String {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        loop {
            match self.more.recv_timeout(PATIENCE) {
                Ok(piece) => self.bytes.extend(piece),
                Err(Disconnected) => return self.text().into_owned(),
                Err(Timeout) => panic!("it does not end: {}", self.text()),
            }
        }
    }
}

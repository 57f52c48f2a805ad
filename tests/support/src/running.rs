//! A running program: its output so far, and signals to it.

use super::Ran;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    borrow::Cow,
    io::{Read, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// The timeout of every wait; a test that exceeds it fails and prints the output so far. A component
/// that is compiled first takes a minute on a busy machine. The scripts of the page's tests give up
/// after 180 s (`browser.mjs`), and then name the element that they waited for.
pub const PATIENCE: Duration = Duration::from_secs(200);

/// A program in a process group of its own, as a shell on a terminal starts it. Dropping it kills
/// the group.
pub struct Running {
    child: Child,
    /// Whether the process was waited for; from then on its id may belong to another one.
    ended: bool,
    group: Pid,
    pub stdout: Heard,
    pub stderr: Heard,
}

/// The bytes read from one of its outputs.
pub struct Heard {
    bytes: Vec<u8>,
    more: Receiver<Vec<u8>>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
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

    /// Starts a program that finds nothing on its standard input.
    pub fn start_without_input(command: &mut Command) -> Self {
        let mut running = Self::start(command);
        running.close_stdin();
        running
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.child.stdin = None;
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input, which stays open.
    pub fn types(&mut self, keys: &str) {
        self.types_bytes(keys.as_bytes());
    }

    /// Writes bytes to its standard input.
    pub fn types_bytes(&mut self, keys: &[u8]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys).unwrap();
    }

    /// Waits until its standard output contains this text; fails with its errors if it ends before.
    pub fn until(&mut self, what: &str) {
        if !self.stdout.says(what, 1) {
            panic!("it ended without {what:?}: {}", self.stderr.read_to_end());
        }
    }

    /// Sends `INT`, as Ctrl-C on a terminal does, to the whole group, and any other signal to the
    /// program alone, as a service manager does.
    pub fn signal(&self, signal: Signal) {
        if signal == Signal::INT {
            kill_process_group(self.group, signal).unwrap();
        } else {
            kill_process(self.group, signal).unwrap();
        }
    }

    /// Waits for its exit and for the end of its outputs, which any surviving child holds open.
    pub fn end(mut self) -> Ran {
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

    /// Waits until its output contains this text.
    pub fn until(&mut self, what: &str) {
        self.wait_for(what, |said| said.contains(what).then_some(()));
    }

    /// Waits until its output contains this text `n` times; false when it ends before.
    pub fn says(&mut self, what: &str, times: usize) -> bool {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        while self.text().matches(what).count() < times {
            match self.more.recv_timeout(PATIENCE) {
                Ok(piece) => self.bytes.extend(piece),
                Err(Disconnected) => return false,
                Err(Timeout) => panic!("no {what:?} came: {}", self.text()),
            }
        }
        true
    }

    /// Waits for a whole line with this text, and returns it.
    pub fn line_with(&mut self, what: &str) -> String {
        self.wait_for(what, |said| {
            said.split_inclusive('\n')
                .find(|line| line.contains(what) && line.ends_with('\n'))
                .map(str::to_owned)
        })
    }

    /// Waits for the next whole line, and takes it.
    pub fn next_line(&mut self) -> String {
        let line = self.wait_for("line", |said| {
            let end = said.find('\n')?;
            Some(said[..=end].to_owned())
        });
        self.bytes.drain(..line.len());
        line
    }

    /// Takes the next output, which must come before `deadline`.
    pub fn next_piece(&mut self, deadline: Instant) -> Result<Vec<u8>, RecvTimeoutError> {
        if !self.bytes.is_empty() {
            return Ok(std::mem::take(&mut self.bytes));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        self.more.recv_timeout(left)
    }

    fn wait_for<T>(&mut self, what: &str, found: impl Fn(&str) -> Option<T>) -> T {
        loop {
            if let Some(found) = found(&self.text()) {
                return found;
            }
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

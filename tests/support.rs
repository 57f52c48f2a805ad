//! The shared harness: an isolated test environment, and runs of the program in it.

pub(crate) mod chat;
pub(crate) mod http;
pub(crate) mod installed;
pub(crate) mod mcp;
pub(crate) mod oracle;
pub(crate) mod pictures;
pub(crate) mod project;
pub(crate) mod running;
pub(crate) mod traces;

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// An empty home, working and state directory in a temporary directory, removed on drop.
pub(crate) struct TestEnv {
    root: tempfile::TempDir,
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; absent when a signal ended the process.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let env = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for directory in ["home", "work"] {
            std::fs::create_dir(env.root.path().join(directory)).unwrap();
        }
        env
    }

    /// The working directory, which `run` grants by default.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The directory around all of them; nothing in it is granted.
    pub(crate) fn outside(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file into the working directory.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes the configuration of the working directory, and trusts it.
    pub(crate) fn configure(&self, toml: impl AsRef<[u8]>) {
        self.write("agent.toml", toml);
        let ran = self.run(&["trust"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }

    /// The program with a clean environment, in the working directory, without a terminal. All
    /// tests share the compile cache, since compiling takes most of the time.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-host"));
        self.prepare(command.args(args));
        command
    }

    /// Gives a command this environment and working directory.
    pub(crate) fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.root.path().join("home"))
            .env(
                "XDG_CACHE_HOME",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
            )
            .current_dir(self.work())
            .stdin(Stdio::null())
    }

    /// Runs the program and waits for its end.
    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// The events of the newest session.
    pub(crate) fn events(&self) -> Vec<Value> {
        let shown = self.run(&["sessions", "show", "latest", "--json"]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        shown.json_lines()
    }
}

impl Ran {
    /// stdout as one JSON document per line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// stdout as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The events of one kind, without their envelope.
pub(crate) fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .map(|record| &record["event"])
        .filter(|event| event["kind"] == kind)
        .collect()
}

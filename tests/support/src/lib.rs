//! The shared harness: an isolated test environment, and runs of the program in it.

#![expect(
    clippy::new_without_default,
    clippy::should_implement_trait,
    reason = "a harness, and no library: a new environment is no default, and a client no iterator"
)]
#![expect(
    missing_docs,
    reason = "many names of the harness say all there is to say"
)]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

pub mod acp;
pub mod api;
pub mod chat;
pub mod corpus;
pub mod http;
pub mod installed;
pub mod mcp;
pub mod mcp_client;
pub mod mcp_http;
pub mod oracle;
pub mod pictures;
pub mod postgres;
pub mod project;
pub mod running;
pub mod screen;
mod strict;
pub mod terminal;
pub mod traces;
pub mod vendor;

use serde_json::Value;
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
    thread,
};

/// Returns the program under test. cargo builds it before the integration tests of its package,
/// into the directory above theirs.
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let program = profile_directory().join("agent-host");
        program.to_str().unwrap().to_owned()
    });
    &PROGRAM
}

/// Checks all cases of a test at once, each with an environment of its own: at a terminal they wait
/// most of the time, since a prompt takes no keys before the keyboard was quiet.
pub fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    let check = &check;
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}

/// Returns the compile cache that all tests share.
pub fn compile_cache() -> PathBuf {
    temporary_directory().join("cache")
}

/// Returns the directory below the target directory for what tests keep between runs.
pub fn temporary_directory() -> PathBuf {
    profile_directory().parent().unwrap().join("tmp")
}

/// Returns the target directory's directory of this profile: the test is in its `deps`.
fn profile_directory() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().to_owned()
}

/// Returns the directory of the built-in components under test. `AGENT_HOST_TEST_DIST` names
/// another one, so that CI tests components that it has just rebuilt.
pub fn dist() -> PathBuf {
    match std::env::var_os("AGENT_HOST_TEST_DIST") {
        Some(directory) => directory.into(),
        None => repository().join("guest-tools/dist"),
    }
}

/// Returns the top of the repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// An empty home, working and state directory in a temporary directory, removed on drop.
pub struct TestEnv {
    root: tempfile::TempDir,
}

/// The result of a run of the program.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; absent when a signal ended the process.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnv {
    pub fn new() -> Self {
        let env = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for directory in ["home", "work"] {
            std::fs::create_dir(env.root.path().join(directory)).unwrap();
        }
        env
    }

    /// The working directory, which `run` grants by default.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The directory around all of them; nothing in it is granted.
    pub fn outside(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file into the working directory.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes the configuration of the working directory, and trusts it.
    pub fn configure(&self, toml: impl AsRef<[u8]>) {
        self.write("agent.toml", toml);
        let ran = self.run(&["trust", "--yes"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }

    /// The program with a clean environment, in the working directory, without a terminal. All
    /// tests share the compile cache, since compiling takes most of the time.
    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(program());
        self.prepare(command.args(args));
        command
    }

    /// Gives a command this environment and working directory.
    pub fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.root.path().join("home"))
            .env("XDG_CACHE_HOME", compile_cache())
            // None of this machine.
            .env("AGENT_HOST_SYSTEM_CONFIG", "")
            .current_dir(self.work())
            .stdin(Stdio::null())
    }

    /// Runs the program and waits for its end.
    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// The events of the newest session.
    pub fn events(&self) -> Vec<Value> {
        let shown = self.run(&["sessions", "show", "latest", "--json"]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        shown.json_lines()
    }
}

/// Leaves its sessions in the corpus of replays, if it is made anew.
impl Drop for TestEnv {
    fn drop(&mut self) {
        if let Some(directory) = corpus::to_bless() {
            corpus::export(self, &directory);
        }
    }
}

impl Ran {
    /// stdout as one JSON document per line.
    pub fn json_lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// stdout as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Says that this test is skipped, and why, past the test harness, which hides the output of
/// passing tests. With `AGENT_HOST_INTEROP=1`, which CI sets, the test fails instead.
pub fn skip(why: &str) {
    let required = std::env::var_os("AGENT_HOST_INTEROP").is_some_and(|set| set == "1");
    assert!(!required, "AGENT_HOST_INTEROP=1: {why}");
    let test = thread::current();
    let test = test.name().unwrap_or("a test");
    let message = format!("skipped: {test}: {why}\n");
    std::io::stderr().write_all(message.as_bytes()).unwrap();
}

/// Returns whether this machine has Python; without it, the test is skipped.
pub fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        skip("this machine has no python3");
    }
    found
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
pub fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .map(|record| &record["event"])
        .filter(|event| event["kind"] == kind)
        .collect()
}

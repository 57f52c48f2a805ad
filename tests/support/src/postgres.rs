//! A server of PostgreSQL for the tests of this process, with a database for each test: a child
//! without privileges, in a directory of its own, which ends with this process. Where PostgreSQL is
//! not installed, the tests are skipped by name; in CI they fail.

use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// The user and group `nobody`: the server refuses to run as root.
const NOBODY: u32 = 65534;

/// The port of a server that is set no other.
const PORT: u16 = 5432;

/// Makes the files, runs the server until standard input closes, and removes the files. What is
/// durable is not tested here, so nothing waits for the disk.
const RUN: &str = r#"
programs=$1
directory=$2
shift 2
"$programs/initdb" --pgdata="$directory/data" --no-sync --auth=trust --username=host \
    >"$directory/log" 2>&1 || exit 1
"$programs/postgres" -D "$directory/data" -k "$directory" -c listen_addresses= -c fsync=off \
    -c max_connections=400 "$@" >>"$directory/log" 2>&1 </dev/null &
read -r _
kill -QUIT $!
wait
rm -r "$directory"
"#;

/// A running server. Its standard input closes with this value.
pub struct Server {
    directory: PathBuf,
    _process: Child,
}

impl Server {
    /// Makes a database, and returns its address on the server's socket, which has the number of
    /// the port.
    pub fn database(&self, name: &str, port: u16) -> String {
        create(&self.directory, name, port);
        let directory = self.directory.display();
        format!("host={directory} port={port} user=host dbname={name}")
    }
}

/// Returns the directory of the programs, the newest one.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let directories = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    directories.filter(|bin| bin.join("initdb").exists()).max()
}

/// Returns the user and the group of the server, where that is not this process's.
pub fn server_user() -> Option<u32> {
    rustix::process::getuid().is_root().then_some(NOBODY)
}

/// Starts a server with these settings beside the usual ones; `None` where PostgreSQL is not
/// installed.
pub fn start(settings: &[String]) -> Option<Server> {
    let Some(programs) = programs() else {
        let why = "there is no PostgreSQL; `apt-get install postgresql`";
        let is_required = env::var_os("AGENT_HOST_INTEROP").is_some_and(|set| set == "1");
        assert!(!is_required, "AGENT_HOST_INTEROP=1: {why}");
        // Captured with the output of the test that is skipped.
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
        return None;
    };
    // Removed by the child, when this process has ended.
    let directory = TempDir::with_prefix("agent-host-postgres-").unwrap().keep();
    let mut command = Command::new("sh");
    if server_user().is_some() {
        chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        command = Command::new("setpriv");
        command.args([
            "--reuid",
            &NOBODY.to_string(),
            "--regid",
            &NOBODY.to_string(),
        ]);
        command.args(["--clear-groups", "sh"]);
    }
    let process = command
        .args(["-c", RUN, "sh"])
        .args([&programs, &directory])
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .stdin(Stdio::piped())
        .current_dir("/")
        .spawn()
        .unwrap();
    Some(Server {
        directory,
        _process: process,
    })
}

/// Makes a database as soon as the server listens.
fn create(directory: &Path, name: &str, port: u16) {
    let programs = programs().unwrap();
    for _ in 0..600 {
        let made = Command::new(programs.join("createdb"))
            .args([
                "--username",
                "host",
                "--maintenance-db",
                "postgres",
                "--host",
            ])
            .arg(directory)
            .args(["--port", &port.to_string()])
            .arg(name)
            .output()
            .unwrap();
        if made.status.success() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let log = fs::read_to_string(directory.join("log")).unwrap_or_default();
    panic!("the server does not answer: {log}");
}

/// Makes a database, and returns its address; `None` where PostgreSQL is not installed.
pub fn database() -> Option<String> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let server = SERVER.get_or_init(|| start(&[])).as_ref()?;
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    Some(server.database(&name, PORT))
}

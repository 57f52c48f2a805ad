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

/// Makes the files, runs the server until standard input closes, and removes the files. What is
/// durable is not tested here, so nothing waits for the disk.
const RUN: &str = r#"
"$1/initdb" --pgdata="$2/data" --no-sync --auth=trust --username=host >"$2/log" 2>&1 || exit 1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c max_connections=400 \
    >>"$2/log" 2>&1 </dev/null &
read -r _
kill -QUIT $!
wait
rm -r "$2"
"#;

/// A running server. Its standard input closes with this process.
struct Server {
    directory: PathBuf,
    _process: Child,
}

/// Returns the directory of the programs, the newest one.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let directories = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    directories.filter(|bin| bin.join("initdb").exists()).max()
}

fn start() -> Option<Server> {
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
    if rustix::process::getuid().is_root() {
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
fn create(directory: &Path, name: &str) {
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
    let Server { directory, .. } = SERVER.get_or_init(start).as_ref()?;
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    create(directory, &name);
    Some(format!(
        "host={} user=host dbname={name}",
        directory.display()
    ))
}

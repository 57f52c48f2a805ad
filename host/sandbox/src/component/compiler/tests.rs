//! The parent's side against children that misbehave, which are shell scripts here, and what the child's confinement refuses.
//! The program's own child is tried in `tests/compile.rs`.

use super::*;
use crate::{
    Sandbox, SandboxConfig,
    engine::{Engines, compiling, fingerprint},
    guests::Guest,
};
use pretty_assertions::assert_eq;
use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{TcpStream, UdpSocket},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
    thread,
};
use wire::HEADER_BYTES;

fn script(text: &str) -> CompileWorker {
    CompileWorker {
        exe: "/bin/sh".into(),
        args: vec!["-c".into(), text.into(), "worker".into()],
    }
}

fn sandbox(worker: CompileWorker, deadline_ms: usize) -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 1,
        compiler: Some(worker),
        compile_limits: CompileLimits {
            deadline_ms,
            ..CompileLimits::default()
        },
        ..SandboxConfig::default()
    })
    .unwrap()
}

#[tokio::test]
async fn a_child_that_misbehaves_is_a_fault_of_its_own() {
    use LoadFault::{CompileLimit, HostFailed, NotAComponent};
    const PATIENT: usize = 60_000;
    // The script, its deadline, the fault, and a part of the text.
    let cases = [
        (
            "exit 0",
            PATIENT,
            HostFailed,
            "exit status: 0 before it was ready",
        ),
        (
            "echo no such command >&2; exit 2",
            PATIENT,
            HostFailed,
            "no such command",
        ),
        (
            "printf f",
            PATIENT,
            HostFailed,
            "not one of this program's version",
        ),
        (
            "printf 'f\\007'",
            PATIENT,
            HostFailed,
            "not one of this program's version",
        ),
        (
            "printf 'f\\002'",
            PATIENT,
            HostFailed,
            "another version than this program",
        ),
        (
            "printf 'f\\001no-such-fault\\nx'",
            PATIENT,
            HostFailed,
            "not one of",
        ),
        (
            "printf 'f\\001not-a-component\\nit \\033[31mis not'",
            PATIENT,
            NotAComponent,
            "it \u{FFFD}[31mis not",
        ),
        (
            "printf 'f\\000not machine code'",
            PATIENT,
            CompileLimit,
            "cannot be loaded",
        ),
        (
            "printf f; kill -XCPU $$",
            PATIENT,
            CompileLimit,
            "60 s of processor time",
        ),
        (
            "printf f; kill -ABRT $$",
            PATIENT,
            CompileLimit,
            "2147483648 bytes of memory",
        ),
        (
            "printf f; kill -KILL $$",
            PATIENT,
            CompileLimit,
            "killed from outside",
        ),
        (
            "printf f; kill -SEGV $$",
            PATIENT,
            CompileLimit,
            "the compiler failed on it",
        ),
        (
            "printf f; exit 101",
            PATIENT,
            CompileLimit,
            "exit status: 101",
        ),
        (
            "exec cat /dev/zero",
            PATIENT,
            CompileLimit,
            "machine code has more than",
        ),
        (
            "exec cat /dev/zero >&2",
            PATIENT,
            HostFailed,
            "before it was ready",
        ),
        (
            "exec 0<&- 1>&-; while :; do :; done",
            300,
            CompileLimit,
            "after 300 ms",
        ),
        // A child that closed everything and goes on is ended like any other.
        (
            "printf f; exec 0<&- 1>&- 2>&-; while :; do :; done",
            PATIENT,
            CompileLimit,
            "killed from outside",
        ),
        // So is what a child started.
        (
            "printf f; tail -f /dev/null & exec tail -f /dev/null",
            300,
            CompileLimit,
            "after 300 ms",
        ),
    ];
    let bytes = Guest::default().bytes();
    for (text, deadline_ms, fault, says) in cases {
        let error = sandbox(script(text), deadline_ms)
            .load(&bytes)
            .await
            .unwrap_err();
        assert_eq!(error.fault, fault, "{text}: {error}");
        assert!(error.message.contains(says), "{text}: {error}");
        assert!(error.message.len() < 2_048, "{text}: {error}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_a_fault_of_the_host() {
    for exe in ["/no/such/program", "/dev/null", "/etc", ""] {
        let worker = CompileWorker {
            exe: exe.into(),
            args: Vec::new(),
        };
        let sandbox = sandbox(worker, 60_000);
        let loaded = sandbox.load(&Guest::default().bytes()).await.unwrap_err();
        let checked = sandbox.check_compiler().await.unwrap_err();
        for error in [loaded, checked] {
            assert_eq!(error.fault, LoadFault::HostFailed, "{exe}: {error}");
            assert!(
                error.message.contains("cannot be started"),
                "{exe}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn the_child_gets_nothing_of_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let text = format!(
        "pwd > {0}; env | cut -d= -f1 | sort >> {0}; echo \"$@\" >> {0}",
        file.display()
    );
    sandbox(script(&text), 60_000)
        .load(&Guest::default().bytes())
        .await
        .unwrap_err();
    let seen = std::fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = seen.lines().map(str::trim).collect();
    // `sh` sets these by itself.
    let own = ["OLDPWD", "PWD", "SHLVL", "_"];
    let lines: Vec<&str> = lines
        .into_iter()
        .filter(|line| !own.contains(line))
        .collect();
    assert_eq!(
        lines,
        [
            "/",
            "MALLOC_ARENA_MAX",
            "RAYON_NUM_THREADS",
            "2147483648 60"
        ]
    );
}

/// Reads from a pipe with a name until the child says that it runs, and after that until all are gone who have it open.
struct Watched {
    folder: tempfile::TempDir,
}

impl Watched {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe"), mode).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("pipe")
    }

    /// A child that holds the pipe and never ends, with a child of its own that does the same.
    fn worker(&self) -> CompileWorker {
        script(&format!(
            "exec 3>{}; echo runs >&3; tail -f /dev/null & exec tail -f /dev/null",
            self.path().display()
        ))
    }
}

fn wait_for_start(path: &Path) -> File {
    let mut pipe = File::open(path).unwrap();
    let mut said = [0; 5];
    pipe.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"runs\n");
    pipe
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cancelled_load_and_a_dropped_sandbox_leave_no_child() {
    for drop_sandbox in [false, true] {
        let watched = Watched::new();
        let sandbox = std::sync::Arc::new(sandbox(watched.worker(), 60_000));
        let loading = {
            let sandbox = std::sync::Arc::clone(&sandbox);
            tokio::spawn(async move { sandbox.load(&Guest::default().bytes()).await })
        };
        let path = watched.path();
        let mut pipe = tokio::task::spawn_blocking(move || wait_for_start(&path))
            .await
            .unwrap();
        loading.abort();
        assert!(loading.await.unwrap_err().is_cancelled());
        if drop_sandbox {
            drop(sandbox);
        }
        // The end of the pipe is the end of the last process that has it open.
        let rest = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut Vec::new()));
        assert_eq!(rest.await.unwrap().unwrap(), 0);
    }
}

/// What is tried, and whether it worked.
type Attempt = (&'static str, fn() -> bool);

/// Every way to the world that a confined thread is refused. All of them work before.
fn attempts() -> Vec<Attempt> {
    vec![
        ("read a file", || File::open("/proc/self/status").is_ok()),
        ("list a folder", || std::fs::read_dir("/").is_ok()),
        ("look at a file", || std::fs::metadata("/").is_ok()),
        ("make a file in memory", || {
            rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::empty()).is_ok()
        }),
        ("bind a socket", || UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("make a pair of sockets", || UnixStream::pair().is_ok()),
        ("start a program", || {
            Command::new("/bin/true").status().is_ok()
        }),
        ("signal another process", || {
            rustix::process::getppid()
                .is_some_and(|parent| rustix::process::test_kill_process(parent).is_ok())
        }),
        ("ask for its limits", || {
            rustix::process::prlimit(
                None,
                rustix::process::Resource::Cpu,
                rustix::process::getrlimit(rustix::process::Resource::Cpu),
            )
            .is_ok()
        }),
    ]
}

#[test]
fn a_confined_thread_reaches_nothing() {
    // A filter holds for the thread that sets it and for those that it starts, so this thread goes free.
    let tried = thread::spawn(|| {
        let before: Vec<bool> = attempts().iter().map(|(_, works)| works()).collect();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"x").unwrap();
        let confinement = confine::filter_system_calls();
        let connected = TcpStream::connect(address).is_ok();
        let mut after: Vec<(&str, bool)> = attempts()
            .iter()
            .map(|(what, works)| (*what, works()))
            .collect();
        after.push(("connect", connected));
        after.push(("write to a pipe", writer.write(b"x").is_ok()));
        after.push(("read from a pipe", reader.read(&mut [0]).is_ok()));
        // What a compiler does still works, in its threads, too.
        let compiled = thread::spawn(|| {
            let engine = compiling(Layout::Reserved).unwrap();
            crate::component::code::compile(&engine, &Guest::default().bytes()).is_ok()
        });
        (before, confinement, after, compiled.join().unwrap())
    });
    let (before, confinement, after, compiled) = tried.join().unwrap();
    assert!(before.iter().all(|works| *works), "{before:?}");
    assert_eq!(confinement, Confinement::SystemCalls);
    let reached: Vec<&str> = after
        .into_iter()
        .filter_map(|(what, works)| works.then_some(what))
        .collect();
    assert_eq!(reached, Vec::<&str>::new());
    assert!(compiled);
    assert!(File::open("/proc/self/status").is_ok());
}

#[test]
fn messages_survive_the_wire() {
    for layout in [Layout::Reserved, Layout::Compact] {
        let header = Header {
            layout,
            engine: [7; 32],
            component_bytes: 0x0102_0304_0506_0708,
        };
        let bytes: [u8; HEADER_BYTES] = header.to_bytes().try_into().unwrap();
        assert_eq!(Header::from_bytes(&bytes), Some(header));
        for at in [0, 15, 16] {
            let mut wrong = bytes;
            wrong[at] ^= 0x40;
            assert_eq!(Header::from_bytes(&wrong), None, "{at}");
        }
    }
    for confinement in [Confinement::SystemCalls, Confinement::Limits] {
        let byte = wire::confinement_byte(confinement);
        assert_eq!(wire::confinement(&[byte]), Some(confinement));
    }
    let refused = LoadError::new(LoadFault::UnsupportedFeature, "two\nlines");
    for (sent, received) in [
        (Answer::Code(vec![1, 2]), Answer::Code(vec![1, 2])),
        (Answer::Refused(refused.clone()), Answer::Refused(refused)),
        (Answer::OtherEngine, Answer::OtherEngine),
    ] {
        let mut output = vec![b'f'];
        wire::write_answer(&mut output, sent).unwrap();
        assert_eq!(wire::read_answer(output), Some(received));
    }
    for wrong in [
        &b""[..],
        b"f",
        b"f\x03",
        b"f\x01",
        b"f\x01\xff\n",
        b"f\x01compile-limit",
    ] {
        assert_eq!(wire::read_answer(wrong.to_vec()), None, "{wrong:?}");
    }
}

#[test]
fn the_child_compiles_for_the_engines_that_run_the_code() {
    for (pooling, layout) in [
        (crate::Pooling::Probe, Layout::Reserved),
        (crate::Pooling::Off, Layout::Compact),
    ] {
        let config = SandboxConfig {
            concurrent_calls: 1,
            pooling,
            stack_bytes: 512 * 1024,
            ..SandboxConfig::default()
        };
        let engines = Engines::new(&config).unwrap();
        assert_eq!(engines.layout, layout);
        assert_eq!(
            fingerprint(&compiling(layout).unwrap()),
            fingerprint(&engines.main)
        );
    }
}

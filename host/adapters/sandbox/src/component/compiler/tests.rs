//! The parent against misbehaving children, which are shell scripts here, and the child's
//! confinement. `tests/it/compile.rs` tests the program's own child.

use super::*;
use crate::{
    LoadFault, Sandbox, SandboxConfig, WasiVersion,
    component::code::{CompileError, MachineCode},
    engine::{Compilers, Engines},
    guests::Guest,
};
use pretty_assertions::assert_eq;
use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{TcpStream, UdpSocket},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
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
async fn misbehaving_child_is_reported_as_its_fault() {
    use LoadFault::{CompileLimit, HostFailed, NotAComponent};
    const LONG: usize = 60_000;
    // The script, its deadline, the fault, and a part of the text.
    let cases = [
        (
            "exit 0",
            LONG,
            HostFailed,
            "exit status: 0 before it was ready",
        ),
        (
            "echo no such command >&2; exit 2",
            LONG,
            HostFailed,
            "no such command",
        ),
        (
            "printf f",
            LONG,
            HostFailed,
            "from another version of this program",
        ),
        (
            "printf 'f\\007'",
            LONG,
            HostFailed,
            "from another version of this program",
        ),
        (
            "printf 'f\\002'",
            LONG,
            HostFailed,
            "a different version or setup from this program",
        ),
        (
            "printf 'f\\001no-such-fault\\nx'",
            LONG,
            HostFailed,
            "from another version of this program",
        ),
        (
            "printf 'f\\001not-a-component\\nit \\033[31mis not'",
            LONG,
            NotAComponent,
            "it \u{FFFD}[31mis not",
        ),
        (
            "printf 'f\\000not machine code'",
            LONG,
            HostFailed,
            "from another version of this program",
        ),
        (
            "printf 'f\\000\\002\\000\\000\\000[]not machine code'",
            LONG,
            CompileLimit,
            "cannot load the compiled component",
        ),
        (
            "printf f; kill -XCPU $$",
            LONG,
            CompileLimit,
            "60 s of CPU time",
        ),
        (
            "printf f; kill -ABRT $$",
            LONG,
            CompileLimit,
            "2147483648 bytes of memory",
        ),
        (
            "printf f; kill -KILL $$",
            LONG,
            CompileLimit,
            "killed from outside",
        ),
        (
            "printf f; kill -SEGV $$",
            LONG,
            CompileLimit,
            "the compiler failed on it",
        ),
        ("printf f; exit 101", LONG, CompileLimit, "exit status: 101"),
        (
            "exec cat /dev/zero",
            LONG,
            CompileLimit,
            "machine code has more than",
        ),
        (
            "exec cat /dev/zero >&2",
            LONG,
            HostFailed,
            "before it was ready",
        ),
        (
            "exec 0<&- 1>&-; while :; do :; done",
            300,
            CompileLimit,
            "after 300 ms",
        ),
        // A child that closed its outputs and continues is killed.
        (
            "printf f; exec 0<&- 1>&- 2>&-; while :; do :; done",
            LONG,
            CompileLimit,
            "killed from outside",
        ),
        // So is a process that the child started.
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
        assert_eq!(error.fault(), fault, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(error.to_string().len() < 2_048, "{text}: {error}");
    }
}

#[tokio::test]
async fn worker_that_cannot_be_started_is_a_host_fault() {
    for exe in ["/no/such/program", "/dev/null", "/etc", ""] {
        let worker = CompileWorker {
            exe: exe.into(),
            args: Vec::new(),
        };
        let sandbox = sandbox(worker, 60_000);
        let loaded = sandbox.load(&Guest::default().bytes()).await.unwrap_err();
        let checked = sandbox.check_compiler().await.unwrap_err();
        for error in [loaded, checked] {
            assert_eq!(error.fault(), LoadFault::HostFailed, "{exe}: {error}");
            assert!(
                error.to_string().contains("does not start"),
                "{exe}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn child_inherits_nothing_of_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("seen");
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
            "MIMALLOC_ARENA_RESERVE",
            "RAYON_NUM_THREADS",
            "2147483648 60"
        ]
    );
}

/// A named pipe that the child writes to when it runs, and that ends when no process has it open.
struct Watched {
    dir: tempfile::TempDir,
}

impl Watched {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), mode).unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("pipe")
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
    let mut line = [0; 5];
    pipe.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"runs\n");
    pipe
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn cancelled_load_and_dropped_sandbox_leave_no_child() {
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
        // The pipe ends with the last process that has it open.
        let rest = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut Vec::new()));
        assert_eq!(rest.await.unwrap().unwrap(), 0);
    }
}

/// Attempts, each with a function that returns whether it succeeds.
type Attempt = (&'static str, fn() -> bool);

/// Every way to the world that a confined thread is refused. All of them work before.
fn attempts() -> Vec<Attempt> {
    vec![
        ("read a file", || File::open("/proc/self/status").is_ok()),
        ("list a directory", || std::fs::read_dir("/").is_ok()),
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
fn confined_thread_reaches_nothing() {
    // A filter binds the thread that sets it and the threads that it starts, not this one.
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
        // Compiling still works, in the threads, too.
        let compiled = thread::spawn(|| {
            let engines = Compilers::new(Layout::Reserved, WasiVersion::V0_2).unwrap();
            crate::component::code::compile(&engines, &Guest::default().bytes()).is_ok()
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
fn messages_round_trip() {
    for (layout, wasi) in [
        (Layout::Reserved, WasiVersion::V0_2),
        (Layout::Compact, WasiVersion::V0_3),
    ] {
        let header = Header {
            layout,
            wasi,
            engines: [7; 32],
            component_bytes: 0x0102_0304_0506_0708,
        };
        let bytes: [u8; HEADER_BYTES] = header.to_bytes().try_into().unwrap();
        assert_eq!(Header::from_bytes(&bytes), Some(header));
        for at in [0, 15, 16, 17] {
            let mut wrong = bytes;
            wrong[at] ^= 0x40;
            assert_eq!(Header::from_bytes(&wrong), None, "{at}");
        }
    }
    for confinement in [Confinement::SystemCalls, Confinement::Limits] {
        assert_eq!(wire::confinement(&[confinement as u8]), Some(confinement));
    }
    let code = |left_out: &[&str]| MachineCode {
        bytes: vec![1, 2],
        left_out: left_out.iter().map(ToString::to_string).collect(),
    };
    let failed = CompileError::UnsupportedFeature("two\nlines".to_owned());
    for (sent, received) in [
        (
            CompilerReply::Code(code(&[])),
            CompilerReply::Code(code(&[])),
        ),
        (
            CompilerReply::Code(code(&["`f`: a", "\u{1b}b"])),
            CompilerReply::Code(code(&["`f`: a", "\u{FFFD}b"])),
        ),
        (
            CompilerReply::Failed(CompileError::OutOfMemory),
            CompilerReply::Failed(CompileError::OutOfMemory),
        ),
        (
            CompilerReply::Failed(failed.clone()),
            CompilerReply::Failed(failed),
        ),
        (CompilerReply::OtherEngine, CompilerReply::OtherEngine),
    ] {
        let mut output = vec![b'f'];
        wire::write_reply(&mut output, sent).unwrap();
        assert_eq!(wire::read_reply(output), Some(received));
    }
    // A whole one, of more than is read; and one that is longer than the output.
    let padded = |length: u32| {
        let start = [b"f\0".as_slice(), &length.to_le_bytes(), b"[]"].concat();
        [start, vec![b' '; 513 * 1024]].concat()
    };
    for wrong in [
        &padded(512 * 1024 + 1)[..],
        &padded(u32::MAX),
        b"",
        b"f",
        b"f\x03",
        b"f\x01",
        b"f\x00\x02\x00\x00",
        b"f\x00\x03\x00\x00\x00[]",
        b"f\x00\xff\xff\xff\xff[]",
        b"f\x01\xff\n",
        b"f\x01compile-limit",
    ] {
        assert_eq!(wire::read_reply(wrong.to_vec()), None, "{wrong:?}");
    }
}

#[test]
fn child_compiles_for_the_engines_that_run_the_code() {
    for (pooling, layout) in [
        (crate::Pooling::Probe, Layout::Reserved),
        (crate::Pooling::Off, Layout::Compact),
    ] {
        for wasi in WasiVersion::ALL {
            let config = SandboxConfig {
                concurrent_calls: 1,
                pooling,
                stack_bytes: 512 * 1024,
                wasi,
                ..SandboxConfig::default()
            };
            let engines = Engines::new(&config).unwrap();
            assert_eq!(engines.layout, layout);
            assert_eq!(
                Compilers::new(layout, wasi).unwrap().fingerprint(),
                engines.compilers().fingerprint()
            );
        }
    }
}

//! Tests the child process that compiles components: its limits, its confinement, and how often it
//! is started. The sandbox's own tests cover children that misbehave.

use agent_host_sandbox::{CompileWorker, Pooling, Sandbox, SandboxConfig};
use agent_host_test_support::{Ran, TestEnv, program};
use pretty_assertions::assert_eq;
use rustix::process::geteuid;
use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

/// A component with one module.
fn module(fields: &str) -> Vec<u8> {
    wat::parse_str(format!("(component (core module {fields}))")).unwrap()
}

/// Within every structural cap, and more than ten seconds of compile time.
fn slow() -> Vec<u8> {
    let function = format!("(func {})", "(loop)".repeat(1_000));
    module(&function.repeat(400))
}

/// Within every structural cap, and more than 128 MiB of compiler memory.
fn large() -> Vec<u8> {
    module(&"(func)".repeat(190_000))
}

/// Compiles a component with these sandbox settings and a cache inside the test directory.
fn compile(env: &TestEnv, component: &[u8], settings: &str) -> Ran {
    env.write("agent.toml", format!("[sandbox]\n{settings}\n"));
    env.write("bomb.wasm", component);
    env.command(&["inspect", "bomb.wasm"])
        .env("XDG_CACHE_HOME", env.outside().join("cache"))
        .output()
        .unwrap()
        .into()
}

#[test]
fn component_over_compile_limit_error_names_limit() {
    let cases = [
        (
            slow(),
            "compile-cpu-seconds = 1",
            "more than 1 s of CPU time",
        ),
        (
            slow(),
            "compile-deadline-ms = 200",
            "was not compiled after 200 ms",
        ),
        (
            large(),
            "compile-memory-bytes = 134217728",
            "more than 134217728 bytes of memory",
        ),
    ];
    for (component, settings, says) in cases {
        let env = TestEnv::new();
        let ran = compile(&env, &component, settings);
        assert_eq!(ran.code, Some(2), "{settings}: {ran:?}");
        assert!(ran.stderr.contains(says), "{settings}: {ran:?}");
        assert!(
            ran.stderr.contains("(compile-limit)"),
            "{settings}: {ran:?}"
        );
        assert_eq!(ran.stdout, "", "{settings}");
    }
}

#[test]
fn compile_child_error_reaches_the_user() {
    let cases = [
        (module("(memory i64 1)"), "(unsupported-feature)"),
        (module("(func (result i32))"), "(not-a-component)"),
        (module("(func)"), "(contract-mismatch)"),
    ];
    for (component, says) in cases {
        let ran = compile(&TestEnv::new(), &component, "pooling = \"off\"");
        assert_eq!(ran.code, Some(2), "{says}: {ran:?}");
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
}

#[test]
fn compile_limit_out_of_range_is_refused() {
    for (settings, says) in [
        ("compile-memory-bytes = 1", "`compile_memory_bytes` is 1"),
        ("compile-cpu-seconds = 0", "`compile_cpu_seconds` is 0"),
        ("compile-deadline-ms = 9", "`compile_deadline_ms` is 9"),
    ] {
        let ran = compile(&TestEnv::new(), &module(""), settings);
        assert_ne!(ran.code, Some(0), "{settings}: {ran:?}");
        assert!(ran.stderr.contains(says), "{settings}: {ran:?}");
    }
}

fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {status}"))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn compile_child_confines_itself_before_reading() {
    let mut child = Command::new(program())
        .args(["compile-worker", "536870912", "7"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The child reports its confinement, and then waits for its input.
    let mut said = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    assert_eq!(&said, b"f");
    let directory = Path::new("/proc").join(child.id().to_string());
    let status = fs::read_to_string(directory.join("status")).unwrap();
    let limits = fs::read_to_string(directory.join("limits")).unwrap();
    assert_eq!(
        [
            field(&status, "Seccomp:"),
            field(&status, "NoNewPrivs:"),
            field(&status, "Threads:"),
            field(&limits, "Max address space"),
            field(&limits, "Max cpu time"),
            field(&limits, "Max file size"),
            field(&limits, "Max core file size"),
            field(&limits, "Max open files"),
        ],
        [
            "2",
            "1",
            "1",
            "536870912 536870912 bytes",
            "7 8 seconds",
            "0 0 bytes",
            "0 0 bytes",
            "16 16 files",
        ]
    );
    // The parent closes the input at once when it only queries the confinement.
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn compile_child_rejects_invalid_request() {
    // Arguments, input, and a part of the output.
    let header = |bytes: &[u8]| [b"agent-host job 3\0\0".as_slice(), &[0; 32], bytes].concat();
    let cases: [(&[&str], Vec<u8>, &str); 6] = [
        (&[], Vec::new(), "is for internal use"),
        (&["536870912", "x"], Vec::new(), "is for internal use"),
        (&["536870912", "9"], b"agent".to_vec(), "ends in its header"),
        (&["536870912", "9"], vec![b'x'; 100], "another version"),
        (
            &["536870912", "9"],
            header(&[255; 8]),
            "and the maximum is 67108864",
        ),
        (
            &["536870912", "9"],
            header(&[9, 0, 0, 0, 0, 0, 0, 0]),
            "fill whole buffer",
        ),
    ];
    for (args, input, says) in cases {
        let mut child = Command::new(program())
            .arg("compile-worker")
            .args(args)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The child may have ended before it read the input.
        let _ = child.stdin.take().unwrap().write_all(&input);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(1), "{says}: {ran:?}");
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
}

/// The program's own worker, behind a script that writes a line for each start.
fn counted(log: &Path) -> CompileWorker {
    let script = format!(
        "echo start >> {}; exec {} compile-worker \"$@\"",
        log.display(),
        program()
    );
    CompileWorker {
        exe: "/bin/sh".into(),
        args: vec!["-c".into(), script.into(), "worker".into()],
    }
}

/// The program's own worker under a user that may start no further thread. Where the tests run as
/// root, whom no thread limit binds, it is another user than the tests'.
fn threadless() -> CompileWorker {
    let mut command: Vec<&str> = vec!["/usr/bin/prlimit", "--nproc=1"];
    if geteuid().is_root() {
        let user = [
            "/usr/bin/setpriv",
            "--reuid=65532",
            "--regid=65532",
            "--clear-groups",
        ];
        command.splice(0..0, user);
    }
    command.extend([program(), "compile-worker"]);
    CompileWorker {
        exe: command.remove(0).into(),
        args: command.into_iter().map(Into::into).collect(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compile_child_without_threads_compiles() {
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: 1,
        compiler: Some(threadless()),
        ..SandboxConfig::default()
    });
    let tool = sandbox.unwrap().load(&tool()).await.unwrap();
    assert!(!tool.definitions().is_empty());
}

fn tool() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../guest-tools/dist/files.wasm"))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_loads_compile_once() {
    for pooling in [Pooling::Probe, Pooling::Off] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let open = || {
            Sandbox::new(SandboxConfig {
                cache_dir: Some(directory.path().join("cache")),
                concurrent_calls: 1,
                pooling,
                compiler: Some(counted(&log)),
                ..SandboxConfig::default()
            })
            .unwrap()
        };
        let sandbox = Arc::new(open());
        let bytes = tool();
        let loads: Vec<_> = (0..8)
            .map(|_| {
                let (sandbox, bytes) = (Arc::clone(&sandbox), bytes.clone());
                tokio::spawn(async move { sandbox.load(&bytes).await.map(|tool| tool.digest()) })
            })
            .collect();
        let mut digests = Vec::new();
        for load in loads {
            digests.push(load.await.unwrap().unwrap());
        }
        assert_eq!(digests, vec![digests[0]; 8]);
        // A new host finds the entry in the cache.
        open().load(&bytes).await.unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "start\n", "{pooling:?}");
    }
}

#[test]
fn concurrent_hosts_share_one_cache() {
    let env = TestEnv::new();
    let cache = env.outside().join("cache");
    let start = || {
        env.command(&["inspect", "builtin:image", "--json"])
            // No program is looked up in `PATH`.
            .env_remove("PATH")
            .env("XDG_CACHE_HOME", &cache)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let hosts: Vec<_> = (0..3).map(|_| start()).collect();
    let mut shown = Vec::new();
    for host in hosts {
        let ran = Ran::from(host.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        shown.push(ran.json());
    }
    let later = Ran::from(start().wait_with_output().unwrap());
    assert_eq!(later.stderr, "", "the entry is used without a word");
    assert!(shown.iter().all(|one| *one == later.json()));
    let directory = fs::read_dir(cache.join("agent-host")).unwrap();
    let names: Vec<String> = directory
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "the key and one entry: {names:?}");
}

#[test]
fn doctor_tries_the_compiler() {
    let ran = TestEnv::new().run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("in a child process; its memory, time and system calls are limited"),
        "{ran:?}"
    );
}

#[test]
fn compiling_a_large_component_is_told_in_the_log_alone() {
    let env = TestEnv::new();
    // 3 MB that take no time to compile.
    let padding = format!(r#"(@custom "padding" "{}")"#, "x".repeat(3_000_000));
    let function = r#"(core module $m (func (export "f"))) (core instance $i (instantiate $m))
        (func (export "f") (canon lift (core func $i "f")))"#;
    let large = wat::parse_str(format!("(component {padding} {function})"));
    env.write("large.wasm", large.unwrap());
    let inspect = |log: Option<&str>| -> Ran {
        let mut command = env.command(&["inspect", "large.wasm", "--json"]);
        command.env("XDG_CACHE_HOME", env.outside().join(log.unwrap_or("cache")));
        if let Some(log) = log {
            command.env("AGENT_HOST_LOG", log);
        }
        command.output().unwrap().into()
    };
    let quiet = inspect(None);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    let logged = inspect(Some("agent_host_app=info"));
    assert_eq!(logged.json(), quiet.json());
    for line in [
        "compiling the component `large` (3.0 MB) and saving it for later runs ...",
        "compiled `large` in ",
    ] {
        assert!(logged.stderr.contains(line), "{line}: {}", logged.stderr);
    }
    // It comes from the cache now.
    let again = inspect(Some("agent_host_app=info"));
    assert_eq!((again.json(), again.stderr.as_str()), (quiet.json(), ""));
}

//! Tests programs with the server in `guest-tools/mcp-server`: what bounds them, and how they end.

use super::{ProgramControl, ProgramIo, ProgramUse};
use crate::{
    LoadFault, ProgramInput, ProgramOutput, Sandbox, SandboxConfig, ToolComponent, WasiVersion,
    guests::Guest,
};
use agent_host_engine::policy::{DirGrant, DirMode, Grants};
use agent_host_types::{accounting::AuditVerdict, limits::Limits};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

const SERVER: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/mcp-server.wasm"
));

/// It has both ways in, with WASI 0.3.
pub(super) const ASYNC_SERVER: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/mcp-server-async.wasm"
));

pub(super) const LONG: Duration = Duration::from_secs(600);

pub(super) fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig::default()).unwrap()
}

/// One that runs WASI 0.3.
pub(super) fn newer_sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        wasi: WasiVersion::V0_3,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn server(sandbox: &Sandbox) -> ToolComponent {
    sandbox.load_program(SERVER, &|_| {}).await.unwrap()
}

pub(super) fn using() -> ProgramUse {
    ProgramUse {
        name: "s".to_owned(),
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: Limits::default(),
        idle: LONG,
        lifetime: LONG,
    }
}

/// A program with standard streams.
struct Streams {
    input: ProgramInput,
    output: ProgramOutput,
    control: ProgramControl,
}

fn start(server: &ToolComponent, using: ProgramUse) -> Streams {
    let program = server.serve(using).unwrap();
    let ProgramIo::Streams(input, output) = program.io else {
        panic!("it has no streams");
    };
    Streams {
        input,
        output,
        control: program.control,
    }
}

/// Sends a call of a tool.
async fn send(program: &mut Streams, tool: &str, input: Value) {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": input},
    });
    let line = format!("{call}\n");
    program.input.write_all(line.as_bytes()).await.unwrap();
}

/// Calls a tool, and returns its text and whether it is an error.
async fn call(program: &mut Streams, tool: &str, input: Value) -> (String, bool) {
    send(program, tool, input).await;
    let mut line = String::new();
    let mut output = BufReader::new(&mut program.output);
    output.read_line(&mut line).await.unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap();
    (text.to_owned(), result["isError"] == true)
}

#[tokio::test]
async fn program_answers_from_one_instance_until_it_is_dropped() {
    let sandbox = sandbox();
    let server = server(&sandbox).await;
    let mut program = start(&server, using());
    for count in ["1", "2"] {
        assert_eq!(
            call(&mut program, "count", json!({})).await,
            (count.to_owned(), false)
        );
    }
    let Streams {
        input,
        mut output,
        control,
    } = program;
    drop(control);
    assert_eq!(output.read(&mut [0]).await.unwrap(), 0);
    drop(input);
    // Another connection has an instance of its own.
    let mut other = start(&server, using());
    assert_eq!(call(&mut other, "count", json!({})).await.0, "1");
}

#[tokio::test]
async fn end_of_input_ends_a_program() {
    let sandbox = sandbox();
    let program = start(&server(&sandbox).await, using());
    drop(program.input);
    let ended = program.control.ended().await;
    assert_eq!(ended.as_deref(), Some("it ended itself"));
    assert!(!program.control.begin_call());
}

#[tokio::test]
async fn crash_and_limits_end_a_program_with_the_reason() {
    let sandbox = sandbox();
    let server = server(&sandbox).await;
    for (tool, input, says) in [
        (
            "crash",
            json!({}),
            "it crashed: the tool `crash` was called",
        ),
        (
            "allocate",
            json!({"mib": 64}),
            "it needed more memory than the 33554432 bytes allowed for one call (limit `memory-bytes`)",
        ),
        (
            "spin",
            json!({}),
            "it was stopped: it computed for more than 100 ms without taking another message (`deadline-ms`)",
        ),
    ] {
        let limits = Limits {
            deadline_ms: 100,
            memory_bytes: 32 * 1024 * 1024,
            ..Limits::default()
        };
        let mut program = start(&server, ProgramUse { limits, ..using() });
        send(&mut program, tool, input).await;
        assert_eq!(program.output.read(&mut [0]).await.unwrap(), 0, "{tool}");
        let ended = program.control.ended().await.unwrap();
        assert!(ended.starts_with(says), "{tool}: {ended}");
    }
}

/// Output that the host does not read waits in the pipe, and the guest with it.
#[tokio::test]
async fn flood_is_held_back_by_the_pipe() {
    let sandbox = sandbox();
    let mut program = start(&server(&sandbox).await, using());
    send(&mut program, "flood", json!({})).await;
    let mut read = vec![0; 1024 * 1024];
    program.output.read_exact(&mut read).await.unwrap();
    let mut ended = program.control.ended.clone();
    drop(program.control);
    let _ = ended.wait_for(Option::is_some).await.unwrap();
    let mut rest = Vec::new();
    program.output.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() <= 64 * 1024, "{}", rest.len());
}

#[tokio::test]
async fn idle_and_old_programs_end_between_calls() {
    let sandbox = sandbox();
    let server = server(&sandbox).await;
    let short = Duration::from_millis(100);
    for (idle, lifetime, says) in [
        (short, LONG, "it was idle (`idle-seconds`)"),
        (
            LONG,
            short,
            "it reached its greatest age (`lifetime-seconds`)",
        ),
    ] {
        let using = ProgramUse {
            idle,
            lifetime,
            ..using()
        };
        let mut program = start(&server, using);
        assert!(program.control.begin_call());
        // The call outlasts both.
        let started = Instant::now();
        while started.elapsed() < 2 * short {
            assert_eq!(
                call(&mut program, "echo", json!({"text": "a"})).await.0,
                "a"
            );
        }
        program.control.end_call(true);
        assert_eq!(program.output.read(&mut [0]).await.unwrap(), 0, "{says}");
        assert_eq!(program.control.ended().await.as_deref(), Some(says));
        assert!(!program.control.begin_call());
    }
}

#[tokio::test]
async fn effects_of_a_program_pass_the_gate_call_by_call() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.txt"), "hello").unwrap();
    let sandbox = sandbox();
    let grants = Grants {
        dirs: vec![DirGrant::new(dir.path(), "/data", DirMode::ReadOnly)],
        ..Grants::default()
    };
    let using = ProgramUse {
        grants: Arc::new(grants),
        ..using()
    };
    let mut program = start(&server(&sandbox).await, using);
    for (tool, input, is_error, verdict) in [
        (
            "read",
            json!({"path": "/data/a.txt"}),
            false,
            AuditVerdict::Allowed,
        ),
        (
            "write",
            json!({"path": "/data/a.txt", "text": "x"}),
            true,
            AuditVerdict::Denied,
        ),
    ] {
        assert!(program.control.begin_call());
        let (text, failed) = call(&mut program, tool, input).await;
        assert_eq!(failed, is_error, "{tool}: {text}");
        let (accounting, audit) = program.control.end_call(true);
        let verdicts: Vec<AuditVerdict> = audit.iter().map(|entry| entry.verdict).collect();
        assert_eq!(verdicts, [verdict], "{tool}");
        assert_eq!(accounting.bytes_in, if is_error { 0 } else { 5 });
    }
    assert_eq!(std::fs::read(dir.path().join("a.txt")).unwrap(), b"hello");
}

/// A quota of writes is that of one call, and of calls that overlap together.
#[tokio::test]
async fn quotas_are_renewed_when_a_call_begins_alone() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = sandbox();
    let grants = Grants {
        dirs: vec![DirGrant::new(dir.path(), "/data", DirMode::ReadWrite)],
        ..Grants::default()
    };
    let limits = Limits {
        file_write_bytes: 8,
        ..Limits::default()
    };
    let using = ProgramUse {
        grants: Arc::new(grants),
        limits,
        ..using()
    };
    let mut program = start(&server(&sandbox).await, using);
    let input = json!({"path": "/data/a.txt", "text": "sixsix"});
    assert!(program.control.begin_call());
    assert!(!call(&mut program, "write", input.clone()).await.1);
    assert!(program.control.begin_call());
    assert!(call(&mut program, "write", input.clone()).await.1);
    program.control.end_call(true);
    program.control.end_call(true);
    assert!(program.control.begin_call());
    assert!(!call(&mut program, "write", input).await.1);
}

#[tokio::test]
async fn programs_and_tools_are_told_apart() {
    let sandbox = sandbox();
    let server = server(&sandbox).await;
    assert_eq!(
        server.format(),
        "a program with standard streams (wasi:cli/run@0.2), WASI 0.2"
    );
    let refused = sandbox.load(SERVER).await.unwrap_err();
    assert_eq!(refused.fault(), LoadFault::ContractMismatch);
    let says = "none of the functions that the component exports can be a tool: `wasi:cli/run@";
    assert!(refused.to_string().starts_with(says), "{refused}");
    let guest = Guest::running("unreachable").bytes();
    let refused = sandbox.load_program(guest.as_slice(), &|_| {}).await;
    let says = "the component is not a program: it exports neither `wasi:cli/run@0.2` nor";
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with(says), "{refused}");
    let tool = sandbox.load(guest.as_slice()).await.unwrap();
    assert!(tool.serve(using()).is_err());
}

/// A component that has a main function and a handler is entered by the former.
#[tokio::test]
async fn program_of_wasi_0_3_answers_and_ends_as_one_of_0_2() {
    let sandbox = newer_sandbox();
    let server = sandbox.load_program(ASYNC_SERVER, &|_| {}).await.unwrap();
    assert_eq!(
        server.format(),
        "a program with standard streams (wasi:cli/run@0.3), WASI 0.2, WASI 0.3"
    );
    let mut program = start(&server, using());
    for count in ["1", "2"] {
        assert_eq!(call(&mut program, "count", json!({})).await.0, count);
    }
    drop(program.input);
    let ended = program.control.ended().await;
    assert_eq!(ended.as_deref(), Some("it ended itself"));
    for (tool, says) in [
        ("crash", "it crashed: the tool `crash` was called"),
        (
            "spin",
            "it was stopped: it computed for more than 100 ms without taking another message (`deadline-ms`)",
        ),
    ] {
        let limits = Limits {
            deadline_ms: 100,
            ..Limits::default()
        };
        let mut program = start(&server, ProgramUse { limits, ..using() });
        send(&mut program, tool, json!({})).await;
        assert_eq!(program.output.read(&mut [0]).await.unwrap(), 0, "{tool}");
        let ended = program.control.ended().await.unwrap();
        assert!(ended.starts_with(says), "{tool}: {ended}");
    }
}

#[tokio::test]
async fn program_of_wasi_0_3_is_refused_while_that_is_off() {
    let refused = sandbox().load_program(ASYNC_SERVER, &|_| {}).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("WASI 0.3 is off: set `wasi = \"0.3\"` in `[sandbox]`"),
        "{refused}"
    );
}

//! The memory that results of many small values take: the peak of resident memory of this process
//! with calls in the sandbox, and of the program as an MCP server on its standard streams.
//!
//! `cargo bench -p agent-host-benches --bench memory [-- PROGRAM]`, after `cargo build --release`;
//! PROGRAM is another build of the program to compare with. Figures: `host/BENCHMARKS.md`.

use agent_host_benches::{Work, program, sandboxed_call};
use agent_host_sandbox::{Sandbox, SandboxConfig};
use agent_host_test_guests::{Body, Guest};
use agent_host_types::output::ToolResultOutput;
use futures_util::future::join_all;
use serde_json::json;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The values of one result: 2.6 MB of text, for which a tree takes 230 MB.
const VALUES: usize = 325_000;

/// The calls at once.
const CALLS: usize = 24;

/// The pages of the guest's memory: the text and what else it holds.
const PAGES: u32 = 64;

/// The peak of a process's resident memory, in MiB.
fn peak_mib(process: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib / 1024.0
}

/// Sets this process's peak to what it uses now, which is returned.
fn reset_peak() -> f64 {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    peak_mib("self")
}

fn component() -> Vec<u8> {
    let text = format!("{{\"v\":[{}{{}}]}}", "{\"a\":1},".repeat(VALUES));
    let guest = Guest {
        pages: PAGES,
        ..Guest::returning(Body::Text(1, text.as_bytes()))
    };
    guest.bytes()
}

async fn in_process(bytes: Vec<u8>, calls: usize) {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let tool = sandbox.load(&bytes).await.unwrap();
    let work = Work::new("small values", bytes, "echo");
    let before = reset_peak();
    let reports = join_all((0..calls).map(|_| sandboxed_call(&tool, &work))).await;
    let peak = peak_mib("self");
    for report in &reports {
        assert!(
            matches!(report.output, ToolResultOutput::Json(_)),
            "{:.200?}",
            report.output
        );
    }
    println!("sandbox, {calls:2} calls: {:6.0} MiB more", peak - before);
}

fn over_mcp(program: &Path, component: &Path, calls: usize) {
    let state = tempfile::tempdir().unwrap();
    let mut server = Command::new(program)
        .args(["mcp", "--tool"])
        .arg(component)
        .arg("--state-dir")
        .arg(state.path())
        .current_dir(state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = server.id().to_string();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut send = |message: serde_json::Value| writeln!(input, "{message}").unwrap();
    let client = json!({"name": "memory", "version": "1"});
    send(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}}),
    );
    lines.next().unwrap().unwrap();
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}));
    lines.next().unwrap().unwrap();
    let before = peak_mib(&process);
    for id in 1..=calls {
        send(
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "echo", "arguments": {}}}),
        );
    }
    for line in lines.by_ref().take(calls) {
        let line = line.unwrap();
        assert!(line.len() > 8 * VALUES, "{:.200}", line);
    }
    let peak = peak_mib(&process);
    println!("MCP,     {calls:2} calls: {:6.0} MiB more", peak - before);
    server.kill().unwrap();
    server.wait().unwrap();
}

fn main() {
    let program = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .map_or_else(program, PathBuf::from);
    let bytes = component();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small-values.wasm");
    fs::write(&file, &bytes).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for calls in [1, CALLS] {
        runtime.block_on(in_process(bytes.clone(), calls));
        over_mcp(&program, &file, calls);
    }
}

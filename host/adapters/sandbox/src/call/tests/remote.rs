//! Calls whose granted directory is on a file system that does not answer.

use super::{call, code, input, workspace};
use crate::{
    Call, CallContext, Sandbox, SandboxConfig, ToolComponent,
    caps::files::tests::remote::RemoteDir, guests::Guest, schedule::blocking::PER_TOOL,
};
use agent_host_engine::{policy::Grants, tool::CallReport};
use agent_host_types::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{path::Path, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A sandbox with one guest thread of each kind, which an operation that blocked it would stop.
fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        guest_threads: 1,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn files(sandbox: &Sandbox) -> ToolComponent {
    let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../guest-tools/dist");
    let bytes = std::fs::read(format!("{dist}/files.wasm")).unwrap();
    sandbox.load(&bytes).await.unwrap()
}

/// Reads a file until it is cancelled.
async fn read(
    tool: &ToolComponent,
    grants: Grants,
    limits: &Limits,
    cancel: &CancellationToken,
) -> CallReport {
    let call = Call {
        tool: "read_file",
        call_id: &CallId("call-1".to_owned()),
        input: &input(&json!({"path": "a.txt"})).into(),
        idempotency_key: "key-1",
        effect: Effect::ReadOnly,
        grants: Arc::new(grants),
        secrets: Arc::default(),
        limits,
        context: CallContext::default(),
        progress: &|_| {},
    };
    tool.call_until(call, cancel).await.settled().unwrap()
}

/// Starts a read that only its token ends.
fn start_read(
    tool: &ToolComponent,
    dir: &Path,
    cancel: &CancellationToken,
) -> tokio::task::JoinHandle<CallReport> {
    let (tool, grants, cancel) = (tool.clone(), workspace(dir), cancel.clone());
    tokio::spawn(async move {
        let limits = Limits {
            deadline_ms: 600_000,
            ..Limits::default()
        };
        read(&tool, grants, &limits, &cancel).await
    })
}

fn text() -> ToolResultOutput {
    ToolResultOutput::Text("alpha".to_owned())
}

fn remote_dir() -> RemoteDir {
    let remote = RemoteDir::new();
    std::fs::write(remote.dir.path().join("a.txt"), "alpha").unwrap();
    remote
}

#[tokio::test]
async fn hanging_reads_delay_no_other_tool() {
    let sandbox = sandbox();
    let (remote, local) = (remote_dir(), tempfile::tempdir().unwrap());
    std::fs::write(local.path().join("a.txt"), "alpha").unwrap();
    let hung = files(&sandbox).await;
    let (never, limits) = (CancellationToken::new(), Limits::default());
    remote.set_hanging(true);
    let reads: Vec<_> = (0..3)
        .map(|_| start_read(&hung, remote.dir.path(), &never))
        .collect();
    remote.hanging(3).await;

    let echo = sandbox.load(&Guest::default().bytes()).await.unwrap();
    let report = call(&echo, &limits).await;
    assert_eq!(report.output, ToolResultOutput::json(json!({})));
    // A tool with a directory of its own, and the same tool in a directory that is local.
    let calls = std::num::NonZeroUsize::new(4).unwrap();
    for tool in [&hung.clone().with_concurrent_calls(calls), &hung] {
        for _ in 0..2 {
            let report = read(tool, workspace(local.path()), &limits, &never).await;
            assert_eq!(report.output, text());
        }
    }

    remote.set_hanging(false);
    for read in reads {
        assert_eq!(read.await.unwrap().output, text());
    }
}

#[tokio::test]
async fn deadline_ends_a_call_in_a_hanging_operation() {
    let (sandbox, remote) = (sandbox(), remote_dir());
    let tool = files(&sandbox).await;
    remote.set_hanging(true);
    let limits = Limits {
        deadline_ms: 100,
        ..Limits::default()
    };
    let never = CancellationToken::new();
    let report = read(&tool, workspace(remote.dir.path()), &limits, &never).await;
    assert_eq!(code(&report).0, "timeout");
}

#[tokio::test]
async fn tool_is_busy_while_abandoned_operations_hang() {
    let (sandbox, remote) = (sandbox(), remote_dir());
    let tool = files(&sandbox).await;
    remote.set_hanging(true);
    let cancel = CancellationToken::new();
    let reads: Vec<_> = (0..PER_TOOL)
        .map(|_| start_read(&tool, remote.dir.path(), &cancel))
        .collect();
    remote.hanging(PER_TOOL).await;
    cancel.cancel();
    for read in reads {
        assert_eq!(code(&read.await.unwrap()).0, "cancelled");
    }
    // The calls have ended, and their operations have not.
    let (never, limits) = (CancellationToken::new(), Limits::default());
    let again = || read(&tool, workspace(remote.dir.path()), &limits, &never);
    let report = again().await;
    assert_eq!(
        code(&report),
        (
            "busy",
            "This call was not started, because file operations of earlier calls of this tool are still waiting for \
             an unresponsive file system. Call the tool again when other calls have ended."
        )
    );
    remote.set_hanging(false);
    while tool.handle.blocking.is_stuck() {
        tokio::task::yield_now().await;
    }
    assert_eq!(again().await.output, text());
}

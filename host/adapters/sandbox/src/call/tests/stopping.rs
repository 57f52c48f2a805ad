//! Calls that are dropped or cancelled, and their refusals before that.

use super::{call, call_with, code, input, sharing::FOREVER, workspace};
use crate::{
    Call, CallContext, Sandbox, SandboxConfig,
    guests::{BLOCK, DIRECTORIES, FIELDS, Guest, MAKE_DIR, STDOUT, TIMER, WRITE},
};
use agent_host_engine::{secrets::Secrets, tool::CallUpdate};
use agent_host_types::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Opens a resource of each kind, waits a little, and repeats.
const RESTLESS: &str = "(loop $l
        (drop (call $stdout)) (drop (call $fields)) (call $directories (i32.const 0))
        (drop (memory.grow (i32.const 1)))
        (call $block (call $timer (i64.const 100000)))
        (br $l)) unreachable";

#[tokio::test]
async fn call_dropped_at_any_point_leaves_nothing() {
    const PLACES: usize = 2;
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: PLACES,
        queued_calls: 0,
        ..SandboxConfig::default()
    })
    .unwrap();
    let restless = Guest {
        imports: &[WRITE, STDOUT, FIELDS, DIRECTORIES, BLOCK, TIMER],
        ..Guest::running(RESTLESS)
    };
    let restless = sandbox.load(&restless.bytes()).await.unwrap();
    let echo = sandbox.load(&Guest::default().bytes()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (call_id, nothing, limits) = (
        CallId("c".to_owned()),
        input(&json!({})).into(),
        Limits::default(),
    );
    let grants = Arc::new(workspace(dir.path()));
    // From before its admission until long after the start of its wait.
    for step in 0..150 {
        let running = restless.call(Call {
            tool: "echo",
            call_id: &call_id,
            input: &nothing,
            idempotency_key: "k",
            effect: Effect::ReadOnly,
            grants: Arc::clone(&grants),
            secrets: Arc::default(),
            limits: &limits,
            context: CallContext::default(),
            progress: &|_| {},
        });
        let patience = Duration::from_micros(step * step);
        if let Ok(end) = tokio::time::timeout(patience, running).await {
            let report = end.settled().unwrap();
            // The previous call is still being stopped, or on a slow machine the guest reached its
            // limit.
            let ends = ["busy", "resource-limit"];
            assert!(ends.contains(&code(&report).0), "{report:?}");
        }
    }
    // All permits are soon free again: each echo gets one, or `busy` from one that is being
    // released.
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let calls = (0..PLACES).map(|_| call(&echo, &limits));
        let reports = futures_util::future::join_all(calls).await;
        let echoed = |output: &ToolResultOutput| *output == ToolResultOutput::json(json!({}));
        if reports.iter().all(|report| echoed(&report.output)) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{reports:?}");
    }
}

/// A guest prints a line and never ends; it is stopped when its line is shown.
#[tokio::test]
async fn printed_lines_are_shown_while_the_guest_runs() {
    let sandbox = super::sandbox();
    // "hunter2-hunter2\n", so often that more is written than the beginning of a secret may be,
    // which is held back.
    let line = "(i64.store (i32.const 64) (i64.const 0x2d327265746e7568))
        (i64.store (i32.const 72) (i64.const 0x0a327265746e7568))
        (call $write (call $stdout) (i32.const 64) (i32.const 16) (i32.const 32))";
    let code_text = format!("{} {FOREVER}", line.repeat(12));
    let guest = Guest {
        imports: &[WRITE, STDOUT],
        ..Guest::running(&code_text)
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let secret = ("token".to_owned(), "hunter2-hunter2".to_owned().into());
    let secrets = Secrets::new(BTreeMap::from([secret])).unwrap();
    let (shown, cancel) = (Mutex::new(Vec::new()), CancellationToken::new());
    let show = |update: CallUpdate<'_>| {
        if let CallUpdate::Output(lines) = update {
            shown.lock().unwrap().push(lines.to_owned());
        }
        cancel.cancel();
    };
    let (call_id, nothing, limits) = (
        CallId("c".to_owned()),
        input(&json!({})).into(),
        Limits::default(),
    );
    let call = Call {
        tool: "echo",
        call_id: &call_id,
        input: &nothing,
        idempotency_key: "k",
        effect: Effect::ReadOnly,
        grants: Arc::default(),
        secrets: Arc::new(secrets),
        limits: &limits,
        context: CallContext::default(),
        progress: &show,
    };
    let report = tool.call_until(call, &cancel).await.settled().unwrap();
    let redacted = "[secret:token]\n";
    for text in [
        shown.into_inner().unwrap().concat(),
        report.accounting.stdio,
    ] {
        assert!(!text.is_empty());
        assert_eq!(text, redacted.repeat(text.len() / redacted.len()));
    }
}

/// A tool is refused an operation and then never ends: the failure names the stop and the refusal.
#[tokio::test]
async fn cancelled_call_reports_its_refusals() {
    let sandbox = super::sandbox();
    // A read-only tool tries to create a directory and ignores the result.
    let code_text = format!(
        "(call $directories (i32.const 0))
        (i32.store (i32.const 64) (i32.const 0x78))
        (call $make-dir (i32.load (i32.load (i32.const 0))) (i32.const 64) (i32.const 1) (i32.const 32))
        {FOREVER}"
    );
    let guest = Guest {
        imports: &[DIRECTORIES, MAKE_DIR],
        ..Guest::running(&code_text)
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        deadline_ms: 100,
        ..Limits::default()
    };
    let report = call_with(&tool, "echo", json!({}), workspace(dir.path()), &limits).await;
    assert_eq!(
        code(&report),
        (
            "timeout",
            "The tool did not end within 100 ms (limit `deadline-ms`) and was stopped; what it did until then may have taken \
             effect. Try it with a smaller input. Before that, write /workspace/x was refused: /workspace is granted read-only \
             (rule grants.dir[0].mode)."
        )
    );
}

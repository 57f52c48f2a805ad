//! Calls that are stopped from outside, and what was refused before they were.

use super::{call, call_with, code, input, sharing::FOREVER, workspace};
use crate::{
    Call, CallContext, Sandbox, SandboxConfig,
    guests::{BLOCK, DIRECTORIES, FIELDS, Guest, MAKE_FOLDER, STDOUT, TIMER, WRITE},
};
use agent_host_core::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Opens something of everything, waits a little, and begins again.
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
    let folder = tempfile::tempdir().unwrap();
    let (call_id, nothing, limits) = (CallId("c".to_owned()), input(&json!({})), Limits::default());
    let grants = Arc::new(workspace(folder.path()));
    // From before it is admitted until long after it began to wait.
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
            progress: &|_, _| {},
        });
        let patience = Duration::from_micros(step * step);
        if let Ok(end) = tokio::time::timeout(patience, running).await {
            let report = end.settled().unwrap();
            // The one before is still being stopped; or the machine was so slow that the guest came to its limit first.
            let ends = ["busy", "resource-limit"];
            assert!(ends.contains(&code(&report).0), "{report:?}");
        }
    }
    // Every place is free again, soon: each of the echoes has one, or `busy` comes from one that is being given back.
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let calls = (0..PLACES).map(|_| call(&echo, &limits));
        let reports = futures_util::future::join_all(calls).await;
        let echoed = |output: &ToolResultOutput| *output == ToolResultOutput::Json(json!({}));
        if reports.iter().all(|report| echoed(&report.output)) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{reports:?}");
    }
}

/// A tool that does not get what it asked for and then never ends: the model hears that it was stopped, and of the refusal.
#[tokio::test]
async fn cancelled_call_reports_its_refusals() {
    let sandbox = super::sandbox();
    // A read-only tool asks to make a folder, and takes no notice of the answer.
    let code_text = format!(
        "(call $directories (i32.const 0))
        (i32.store (i32.const 64) (i32.const 0x78))
        (call $make-folder (i32.load (i32.load (i32.const 0))) (i32.const 64) (i32.const 1) (i32.const 32))
        {FOREVER}"
    );
    let guest = Guest {
        imports: &[DIRECTORIES, MAKE_FOLDER],
        ..Guest::running(&code_text)
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        deadline_ms: 100,
        ..Limits::default()
    };
    let report = call_with(&tool, "echo", json!({}), workspace(folder.path()), &limits).await;
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

//! Concurrent calls: permits, turns and threads.

use super::{call, call_with, code, sandbox};
use crate::{
    Sandbox, SandboxConfig, ToolComponent,
    guests::{Body, Definition, Guest},
};
use agent_host_engine::policy::Grants;
use agent_host_types::{limits::Limits, output::ToolResultOutput};
use futures_util::future::join_all;
use pretty_assertions::assert_eq;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::{
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

pub(super) const FOREVER: &str = "(loop $l (br $l)) unreachable";

/// A tool that never ends and one that returns at once.
async fn neighbours(sandbox: &Sandbox) -> (ToolComponent, ToolComponent) {
    let looping = Guest::running(FOREVER).bytes();
    let looping = sandbox.load(&looping).await.unwrap();
    (
        looping,
        sandbox.load(&Guest::default().bytes()).await.unwrap(),
    )
}

#[tokio::test]
async fn full_sandbox_is_busy_until_a_call_is_dropped() {
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: 1,
        queued_calls: 0,
        ..SandboxConfig::default()
    })
    .unwrap();
    let (looping, echo) = neighbours(&sandbox).await;
    let limits = Limits {
        deadline_ms: 600_000,
        ..Limits::default()
    };
    let running = tokio::spawn({
        let limits = limits.clone();
        async move {
            // Until the loop gets the one permit; then it never ends.
            while code(&call(&looping, &limits).await).0 == "busy" {
                tokio::task::yield_now().await;
            }
        }
    });
    // The echo is admitted until the loop is; it runs alone, because there is one permit.
    loop {
        let report = call(&echo, &limits).await;
        if let ToolResultOutput::ErrorJson(_) = report.output {
            assert_eq!(code(&report).0, "busy");
            break;
        }
        tokio::task::yield_now().await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    // Dropping the call stops the guest within two ticks; its permit is then free again.
    while let ToolResultOutput::ErrorJson(_) = call(&echo, &limits).await.output {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn calls_run_while_other_guests_loop() {
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: 16,
        ..SandboxConfig::default()
    })
    .unwrap();
    let (looping, echo) = neighbours(&sandbox).await;
    let limits = Limits {
        deadline_ms: 2_000,
        ..Limits::default()
    };
    let loops: Vec<_> = (0..8)
        .map(|_| {
            let (looping, limits) = (looping.clone(), limits.clone());
            tokio::spawn(async move { call(&looping, &limits).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let report = call(&echo, &limits).await;
    assert_eq!(report.output, ToolResultOutput::json(json!({})));
    for looped in loops {
        assert_eq!(code(&looped.await.unwrap()).0, "timeout");
    }
}

/// Loops for arguments of more than two bytes, and returns others.
const LOOPS_IF_TOLD: &str =
    "(if (i32.gt_u (local.get $input-len) (i32.const 2)) (then (loop $l (br $l))))";

#[tokio::test]
async fn flood_of_one_tool_delays_no_call_of_another() {
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        queued_calls: 4,
        ..SandboxConfig::default()
    })
    .unwrap();
    let (looping, echo) = neighbours(&sandbox).await;
    let limits = Limits {
        deadline_ms: 1_000,
        ..Limits::default()
    };
    // Two run, two wait, and six are refused at once; the waiting ones then time out or run.
    let flood = join_all((0..10).map(|_| call(&looping, &limits)));
    let honest = async {
        let mut outputs = Vec::new();
        for _ in 0..100 {
            outputs.push(call(&echo, &limits).await.output);
        }
        outputs
    };
    let (looped, outputs) = tokio::join!(flood, honest);
    assert_eq!(outputs, vec![ToolResultOutput::json(json!({})); 100]);
    let ends: Vec<_> = looped.iter().map(|report| code(report).0).collect();
    assert_eq!(ends[..2], ["timeout"; 2]);
    let refused = "2 calls of this tool are already waiting (limit `queued-calls-per-tool`)";
    for report in &looped[4..] {
        let (code, message) = code(report);
        assert_eq!(code, "busy");
        assert!(message.contains(refused), "{message}");
    }
}

#[tokio::test]
async fn looping_tool_holds_its_callers_thread_for_one_slice() {
    let sandbox = sandbox();
    let code_text = format!("{LOOPS_IF_TOLD} {}", crate::guests::ECHO);
    let tool = sandbox
        .load(&Guest::running(&code_text).bytes())
        .await
        .unwrap();
    let limits = Limits {
        deadline_ms: 300,
        ..Limits::default()
    };
    let mut held = Vec::new();
    for needed in [16, 32] {
        let mut behaved = 0;
        let report = call(&tool, &limits).await;
        assert_eq!(report.output, ToolResultOutput::json(json!({})));
        // That call was quick or not, by the clock; on a slow machine none is.
        while !tool.handle.schedule.may_inline() {
            tool.handle.schedule.count_quick_call();
            behaved += 1;
        }
        assert!((needed - 1..=needed).contains(&behaved), "{behaved}");
        let mut looping = pin!(call_with(
            &tool,
            "echo",
            json!({"loop": true}),
            Grants::default(),
            &limits
        ));
        let begun = processor_time();
        assert!(poll_once(looping.as_mut()).is_none());
        held.push(processor_time() - begun);
        assert!(!tool.handle.schedule.may_inline());
        assert_eq!(code(&looping.await).0, "timeout");
    }
    // Two ticks of the epoch clock, and its delay on a busy machine.
    let bound = Duration::from_millis(10 + 40);
    assert!(held.iter().all(|held| *held < bound), "{held:?}");
}

#[tokio::test]
async fn uninterruptible_work_leaves_the_callers_thread() {
    let sandbox = sandbox();
    // Only for arguments of more than two bytes.
    let told = |code: &str| {
        format!(
            "(if (i32.gt_u (local.get $input-len) (i32.const 2)) (then {code})) {}",
            crate::guests::ECHO
        )
    };
    let cases = [
        (
            "32 MiB of memory",
            told("(drop (memory.grow (i32.const 512)))"),
        ),
        (
            "a result of 64 KiB",
            told(
                "(i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 0))
                (i32.store (i32.const 24) (i32.const 65536)) (return (i32.const 16))",
            ),
        ),
    ];
    let limits = Limits::default();
    for (name, code) in cases {
        let tool = sandbox.load(&Guest::running(&code).bytes()).await.unwrap();
        for arguments in [json!({}), json!({"told": true})] {
            let leaves = arguments != json!({});
            call(&tool, &limits).await;
            while !tool.handle.schedule.may_inline() {
                tool.handle.schedule.count_quick_call();
            }
            let mut told = pin!(call_with(
                &tool,
                "echo",
                arguments,
                Grants::default(),
                &limits
            ));
            let at_once = poll_once(told.as_mut());
            if leaves {
                // The tool may no longer run inline. The guest threads may have ended the call by
                // now.
                assert!(!tool.handle.schedule.may_inline(), "{name}");
            } else {
                assert!(at_once.is_some(), "{name}");
            }
            let report = match at_once {
                Some(report) => report,
                None => told.await,
            };
            assert!(report.output.is_success(), "{name}: {report:?}");
        }
    }
}

/// Returns this thread's processor time.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

/// Polls once and returns the output if ready.
fn poll_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A result reserves 8 times its text, and with an output schema a tree besides.
#[tokio::test]
async fn results_share_the_memory_budget() {
    let sandbox = Sandbox::new(SandboxConfig {
        result_memory_bytes: 1024 * 1024,
        ..SandboxConfig::default()
    })
    .unwrap();
    let limits = Limits {
        deadline_ms: 600_000,
        ..Limits::default()
    };
    let cases = [
        (40, None, true),
        (200, None, false),
        (40, Some("{}".to_owned()), false),
    ];
    for (kib, output_schema, fits) in cases {
        let text = format!("[{}0]", "[],".repeat(kib * 1024 / 3));
        let guest = Guest {
            pages: 8,
            definitions: vec![Definition {
                output_schema,
                ..Definition::default()
            }],
            ..Guest::returning(Body::Text(1, text.as_bytes()))
        };
        let tool = sandbox.load(&guest.bytes()).await.unwrap();
        for report in join_all((0..8).map(|_| call(&tool, &limits))).await {
            if fits {
                assert!(matches!(report.output, ToolResultOutput::Json(_)));
            } else {
                let (code, message) = code(&report);
                assert_eq!(code, "output-too-large");
                assert!(message.contains("`result-memory-bytes`"), "{message}");
            }
        }
    }
}

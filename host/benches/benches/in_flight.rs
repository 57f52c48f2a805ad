//! The memory of 1,000 concurrent calls that wait in a host call: the growth of the resident set,
//! without the guests' own memories.
//!
//! `cargo bench -p agent-host-benches --bench in_flight`

use agent_host_benches::{Work, sandboxed_call};
use agent_host_sandbox::{Sandbox, SandboxConfig};
use agent_host_test_guests::{BLOCK, ECHO, Guest, TIMER};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::time::Duration;

/// The number of concurrent calls.
const CALLS: usize = 1_000;

/// The wait of each call, in seconds: the last call waits before the first ends.
const WAIT: u64 = 5;

/// Returns this process's resident memory, in KiB (`proc_pid_status(5)`).
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn main() {
    let code = format!(
        "(call $block (call $timer (i64.const {}))) {ECHO}",
        Duration::from_secs(WAIT).as_nanos()
    );
    let guest = Guest {
        imports: &[BLOCK, TIMER],
        ..Guest::running(&code)
    };
    let work = Work::new("waiting", guest.bytes(), "echo");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let sandbox = Sandbox::new(SandboxConfig {
            concurrent_calls: CALLS,
            concurrent_calls_per_tool: Some(CALLS),
            ..SandboxConfig::default()
        })
        .unwrap();
        let tool = sandbox.load(&work.bytes).await.unwrap();
        println!("| round | before, KiB | 1,000 waiting, KiB | growth, KiB | for each call | after, KiB |");
        println!("|---|---|---|---|---|---|");
        for round in 1..=3 {
            let before = resident_kib();
            let mut calls: FuturesUnordered<_> =
                (0..CALLS).map(|_| sandboxed_call(&tool, &work)).collect();
            // Half of the wait: all calls have started, and none has ended.
            let early = tokio::time::timeout(Duration::from_secs(WAIT) / 2, calls.next()).await;
            assert!(early.is_err(), "a call ended early: {early:?}");
            let during = resident_kib();
            while let Some(report) = calls.next().await {
                assert!(!report.output.is_error(), "{report:?}");
            }
            drop(calls);
            let growth = during.saturating_sub(before);
            println!(
                "| {round} | {before} | {during} | {growth} | {:.1} | {} |",
                growth as f64 / CALLS as f64,
                resident_kib()
            );
        }
    });
}

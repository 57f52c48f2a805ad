//! The cost of a looping tool for other tools: an honest tool's calls at 50 a second and one after
//! the other, beside 0, 1, 64 and 1,000 looping calls of another tool; and the time of two long
//! calls.
//!
//! `cargo bench -p agent-host-benches --bench neighbour [SECONDS]`, with 3 seconds for each row by
//! default. The row without neighbours comes first and last: its values show how idle the machine
//! was.

use agent_host_benches::{Work, percentile, sandboxed_call};
use agent_host_sandbox::{Sandbox, SandboxConfig, ToolComponent};
use agent_host_test_guests::{ECHO, Guest};
use futures_util::future::join_all;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// The interval of the honest tool's calls.
const INTERVAL: Duration = Duration::from_millis(20);

/// Two of these keep two processors busy for about half a second.
const COUNT: &str = "(local $i i32) (loop $l
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br_if $l (i32.lt_u (local.get $i) (i32.const 500000000))))";

struct Bench {
    /// A tool whose calls run inline, and one whose calls never do because they use a directory.
    honest: Vec<(ToolComponent, Work)>,
    looping: ToolComponent,
    counting: ToolComponent,
    endless: Arc<Work>,
    count: Work,
    seconds: Duration,
}

impl Bench {
    async fn new(seconds: Duration) -> Self {
        let sandbox = Sandbox::new(SandboxConfig {
            concurrent_calls: 1_024,
            concurrent_calls_per_tool: Some(1_000),
            ..SandboxConfig::default()
        })
        .unwrap();
        let mut endless = Work::new(
            "endless",
            Guest::running("(loop $l (br $l)) unreachable").bytes(),
            "echo",
        );
        endless.limits.deadline_ms = 3_600_000;
        let code = format!("{COUNT} {ECHO}");
        let mut count = Work::new("count", Guest::running(&code).bytes(), "echo");
        count.limits.deadline_ms = 3_600_000;
        let mut honest = Vec::new();
        for work in [Work::echo(), Work::files().unwrap()] {
            honest.push((sandbox.load(&work.bytes).await.unwrap(), work));
        }
        Self {
            honest,
            looping: sandbox.load(&endless.bytes).await.unwrap(),
            counting: sandbox.load(&count.bytes).await.unwrap(),
            endless: Arc::new(endless),
            count,
            seconds,
        }
    }

    /// Prints a row for each honest tool beside a number of neighbours.
    async fn row(&self, neighbours: usize) {
        let flood: Vec<JoinHandle<()>> = (0..neighbours)
            .map(|_| {
                let (tool, work) = (self.looping.clone(), Arc::clone(&self.endless));
                tokio::spawn(async move {
                    sandboxed_call(&tool, &work).await;
                })
            })
            .collect();
        for (tool, work) in &self.honest {
            let paced = self.calls(tool, work, Some(INTERVAL)).await;
            let at_once = self.calls(tool, work, None).await;
            println!(
                "| {neighbours} | {} | {} | {} | {} |",
                work.name,
                shown(&paced),
                shown(&at_once),
                at_once.len() as u64 / self.seconds.as_secs()
            );
        }
        let begun = Instant::now();
        join_all([&self.counting; 2].map(|tool| sandboxed_call(tool, &self.count))).await;
        println!(
            "| {neighbours} | two that count | {:?} | | |",
            begun.elapsed()
        );
        for looping in &flood {
            looping.abort();
        }
        join_all(flood).await;
    }

    /// Returns the sorted times of honest calls, made by a task, as in the agent loop.
    async fn calls(
        &self,
        tool: &ToolComponent,
        work: &Work,
        interval: Option<Duration>,
    ) -> Vec<Duration> {
        let end = Instant::now() + self.seconds;
        let mut pace = interval.map(tokio::time::interval);
        let mut times = Vec::new();
        while Instant::now() < end {
            if let Some(pace) = &mut pace {
                pace.tick().await;
            }
            let begun = Instant::now();
            let report = sandboxed_call(tool, work).await;
            times.push(begun.elapsed());
            assert!(!report.output.is_error(), "{:?}", report.output);
        }
        times.sort();
        times
    }
}

fn shown(sorted: &[Duration]) -> String {
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| percentile(sorted, part));
    format!("{p50:?} / {p99:?} / {max:?}")
}

fn main() {
    let seconds = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(3);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bench = Bench::new(Duration::from_secs(seconds)).await;
        println!("| neighbours | tool | 50/s: p50 / p99 / max | one after the other: p50 / p99 / max | calls/s |");
        println!("|---|---|---|---|---|");
        for neighbours in [0, 1, 64, 1_000, 0] {
            bench.row(neighbours).await;
        }
    });
}

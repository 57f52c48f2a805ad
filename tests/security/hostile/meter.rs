//! Measures the effect of a guest on its process, in a child process: the test binary, started
//! again with an order in its environment. It uses the sandbox's crate as an embedder would.

use agent_host_engine::tool::CallReport;
use agent_host_sandbox::{Call, CallContext, Sandbox, SandboxConfig, ToolComponent};
use agent_host_types::{
    failure::ToolErrorCode, id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};

/// Names the file with the order, in the environment of the process that measures.
const ORDER: &str = "AGENT_HOST_TEST_ORDER";

/// The calls of a neighbour beside the guest.
const NEIGHBOUR_CALLS: usize = 10;

/// The memory that may remain after calls: 16 MiB.
pub(crate) const KEPT_BYTES: u64 = 16 * 1024 * 1024;

/// The longest wait for what a stopped guest had.
const REST: Duration = Duration::from_secs(10);

/// A measurement to make.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) what: What,
    /// The guest, its tool, and the limits of its calls.
    pub(crate) component: PathBuf,
    pub(crate) tool: String,
    pub(crate) limits: Limits,
}

/// The load.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum What {
    /// One call alone, then two callers without pause beside a neighbour.
    Beside,
    /// This many calls at once.
    Crowd(usize),
    /// This many calls, eight at a time.
    Calls(usize),
    /// This many calls, each dropped at another point.
    Dropped(u32),
}

/// The figures measured.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The growth of the process's memory at its peak and at the end, in bytes.
    pub(crate) peak_bytes: u64,
    pub(crate) kept_bytes: u64,
    /// The increase in open descriptors.
    pub(crate) descriptors: i64,
    /// The number of failed calls by their code.
    pub(crate) codes: BTreeMap<String, usize>,
}

/// Runs the order, if this process was started for one.
pub(crate) fn serve() -> bool {
    let Some(path) = std::env::var_os(ORDER).map(PathBuf::from) else {
        return false;
    };
    let order: Order = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let report = measure(&order);
    std::fs::write(
        path.with_extension("report"),
        serde_json::to_vec(&report).unwrap(),
    )
    .unwrap();
    true
}

/// Runs an order in a child process that runs only `test`.
pub(crate) fn ordered(test: &str, order: &Order, directory: &Path) -> Report {
    let path = directory.join("order");
    std::fs::write(&path, serde_json::to_vec(order).unwrap()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ORDER, &path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}: {output:?}",
        order.component.display()
    );
    serde_json::from_slice(&std::fs::read(path.with_extension("report")).unwrap()).unwrap()
}

/// The process's figures at one moment.
struct Figures {
    peak_bytes: u64,
    bytes: u64,
    descriptors: i64,
}

impl Figures {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| -> u64 {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            line.trim_start_matches(':')
                .trim_end_matches("kB")
                .trim()
                .parse::<u64>()
                .unwrap()
                * 1024
        };
        Self {
            peak_bytes: field("VmHWM"),
            bytes: field("VmRSS"),
            descriptors: i64::try_from(std::fs::read_dir("/proc/self/fd").unwrap().count())
                .unwrap(),
        }
    }
}

/// The guest under measure and its neighbour.
struct Bench {
    hostile: ToolComponent,
    neighbour: ToolComponent,
    tool: String,
    limits: Limits,
}

fn measure(order: &Order) -> Report {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let config = match order.what {
        What::Crowd(count) => SandboxConfig {
            concurrent_calls: count,
            concurrent_calls_per_tool: Some(count),
            ..SandboxConfig::default()
        },
        What::Beside | What::Calls(_) | What::Dropped(_) => SandboxConfig::default(),
    };
    let bench = Arc::new(runtime.block_on(async {
        let sandbox = Sandbox::new(config).unwrap();
        let bytes = std::fs::read(&order.component).unwrap();
        Bench {
            hostile: sandbox.load(&bytes).await.unwrap(),
            neighbour: sandbox.load(&super::bombs::good()).await.unwrap(),
            tool: order.tool.clone(),
            limits: order.limits.clone(),
        }
    }));
    // The first calls of both touch code and memory that stays resident.
    runtime.block_on(async {
        bench.call_neighbour().await;
        bench.call_hostile_once().await;
    });
    // The pool keeps some pages of each slot that was ever used, and dropped calls use many slots:
    // a first pass fills them.
    if let What::Dropped(count) = order.what {
        dropped(&runtime, &bench, count);
    }
    let before = Figures::now();
    let mut report = match order.what {
        What::Beside => beside(&runtime, &bench),
        What::Crowd(count) => calls(&runtime, &bench, count, count),
        What::Calls(count) => calls(&runtime, &bench, count, 8),
        What::Dropped(count) => dropped(&runtime, &bench, count),
    };
    let after = at_rest(&runtime, &bench, &before);
    report.peak_bytes = after.peak_bytes.saturating_sub(before.peak_bytes);
    report.kept_bytes = after.bytes.saturating_sub(before.bytes);
    report.descriptors = after.descriptors - before.descriptors;
    report
}

/// Returns the figures once memory and descriptors were returned, or after [`REST`]: on a busy
/// machine, a guest that is stopped ends a moment after its caller was answered.
fn at_rest(runtime: &Runtime, bench: &Bench, before: &Figures) -> Figures {
    let began = Instant::now();
    loop {
        let now = Figures::now();
        let is_returned = now.bytes.saturating_sub(before.bytes) <= KEPT_BYTES
            && now.descriptors <= before.descriptors;
        if is_returned || began.elapsed() > REST {
            return now;
        }
        runtime.block_on(bench.call_neighbour());
    }
}

impl Bench {
    async fn call(&self, component: &ToolComponent, tool: &str, limits: &Limits) -> CallReport {
        component
            .call(Call {
                tool,
                call_id: &CallId("call-1".to_owned()),
                input: &Map::new().into(),
                idempotency_key: "key-1",
                effect: Effect::ReadOnly,
                grants: Arc::default(),
                secrets: Arc::default(),
                limits,
                context: CallContext::default(),
                progress: &|_| {},
            })
            .await
            .settled()
            .unwrap()
    }

    /// Calls the guest, and returns its failure code.
    async fn call_hostile_once(&self) -> String {
        let report = self.call(&self.hostile, &self.tool, &self.limits).await;
        match &report.output {
            ToolResultOutput::ErrorJson(value) => value.to_value()["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            other => other.tag().to_owned(),
        }
    }

    /// Calls the neighbour, which must answer.
    async fn call_neighbour(&self) {
        let report = self
            .call(&self.neighbour, "hostile", &Limits::default())
            .await;
        assert_eq!(
            report.output,
            ToolResultOutput::json(Value::Object(Map::new()))
        );
    }
}

fn beside(runtime: &Runtime, bench: &Arc<Bench>) -> Report {
    let mut report = Report::default();
    report.note(runtime.block_on(bench.call_hostile_once()));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let bench = Arc::clone(bench);
            runtime.spawn(async move {
                loop {
                    bench.call_hostile_once().await;
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for _ in 0..NEIGHBOUR_CALLS {
            bench.call_neighbour().await;
        }
        for caller in callers {
            caller.abort();
            assert!(caller.await.unwrap_err().is_cancelled());
        }
        // Dropped calls release their resources before this call gets its turn on the guests'
        // threads.
        bench.call_hostile_once().await;
    });
    report
}

/// Calls the guest `count` times, `at_once` concurrently.
fn calls(runtime: &Runtime, bench: &Arc<Bench>, count: usize, at_once: usize) -> Report {
    let mut report = Report::default();
    let callers: Vec<_> = (0..at_once)
        .map(|_| {
            let bench = Arc::clone(bench);
            runtime.spawn(async move {
                let mut ends = Vec::new();
                for _ in 0..count / at_once {
                    ends.push(bench.call_hostile_once().await);
                }
                ends
            })
        })
        .collect();
    for caller in callers {
        for code in runtime.block_on(caller).unwrap() {
            report.note(code);
        }
    }
    report
}

/// Drops calls at points spread over their duration.
fn dropped(runtime: &Runtime, bench: &Arc<Bench>, count: u32) -> Report {
    let mut report = Report::default();
    let deadline = Duration::from_millis(bench.limits.deadline_ms);
    runtime.block_on(async {
        for index in 0..count {
            let point = deadline * index / count;
            match tokio::time::timeout(point, bench.call_hostile_once()).await {
                Ok(code) => report.note(code),
                Err(_) => report.note("dropped".to_owned()),
            }
            bench.call_neighbour().await;
        }
    });
    report
}

impl Report {
    fn note(&mut self, code: String) {
        *self.codes.entry(code).or_default() += 1;
    }

    /// The calls that ended in a timeout.
    pub(crate) fn timeouts(&self) -> usize {
        self.codes
            .get(ToolErrorCode::Timeout.as_str())
            .copied()
            .unwrap_or_default()
    }
}

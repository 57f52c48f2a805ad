//! Runs honest and hostile guests side by side, and compares memory, threads, descriptors and pool
//! slots.
//!
//! `cargo run --release --example soak -p agent-host-sandbox -- --seconds 60`
//!
//! The load runs three times: a short warm-up, then two halves. After each it pauses and counts the
//! resources of the process. Growth between the halves beyond the bounds below exits with code 1.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program of its own: what it measures is its answer, and guests that cannot be made end it"
)]

use agent_host_engine::policy::Grants;
use agent_host_sandbox::{Call, CallContext, Sandbox, SandboxConfig, ToolComponent};
use agent_host_test_guests::{BLOCK, Guest, STATE_GET, STDOUT, TIMER, WRITE};
use agent_host_types::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use serde_json::{Map, Value};
use std::{
    fs,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time};

/// The numbers of concurrent callers. The hostile ones exceed the permits, so that calls also wait.
const HONEST: usize = 8;
const HOSTILE: usize = 40;
const PLACES: usize = 32;

/// The interval of one honest caller's calls.
const PACE: Duration = Duration::from_millis(20);

/// The deadline of hostile calls, in milliseconds.
const DEADLINE_MS: u64 = 100;

/// The time of the warm-up, which fills pools, caches and allocators.
const WARM_UP: Duration = Duration::from_secs(5);

/// The time in which everything must end after the last call.
const SETTLE: Duration = Duration::from_secs(5);

/// The bounds on growth. The C library's allocator keeps freed pages for each thread, and a
/// blocking thread may have started or ended meanwhile.
const MAX_RSS_KIB: u64 = 16 * 1024;
const MAX_THREADS: u64 = 4;

/// A guest, honest or hostile.
struct Tool {
    name: &'static str,
    component: ToolComponent,
}

/// The counts of one load.
#[derive(Default)]
struct Phase {
    calls: u64,
    cancelled: u64,
    /// The times of honest calls.
    honest: Vec<Duration>,
    /// Honest calls that did not return their arguments.
    failed: u64,
}

/// The resources of the idle process.
#[derive(Clone, Copy, Debug)]
struct Held {
    rss_kib: u64,
    threads: u64,
    descriptors: u64,
    /// Absent without a pool.
    instances: Option<u64>,
}

/// Reproducible pseudo-random numbers (xorshift, Marsaglia 2003).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn hostile_guests() -> Vec<(&'static str, Guest<'static>)> {
    let grow =
        "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 16))))) unreachable";
    vec![
        ("loop", Guest::running("(loop $l (br $l)) unreachable")),
        ("trap", Guest::running("unreachable")),
        ("out of memory", Guest::running(grow)),
        (
            "recursion",
            Guest {
                core: "(func $f (param i32) (result i32) (i32.add (i32.const 1) (call $f (local.get 0))))",
                ..Guest::running("(drop (call $f (i32.const 0))) unreachable")
            },
        ),
        (
            "flood of host calls",
            Guest {
                imports: &[STATE_GET],
                ..Guest::running("(loop $l (call $get (i32.const 0)) (br $l)) unreachable")
            },
        ),
        (
            "flood of output",
            Guest {
                imports: &[WRITE, STDOUT],
                ..Guest::running(
                    "(local $out i32) (local.set $out (call $stdout))
                    (loop $l (call $write (local.get $out) (i32.const 0) (i32.const 4096) (i32.const 32)) (br $l)) unreachable",
                )
            },
        ),
        (
            "handles",
            Guest {
                imports: &[BLOCK, TIMER],
                ..Guest::running("(loop $l (drop (call $timer (i64.const 1))) (br $l)) unreachable")
            },
        ),
        (
            "sleep",
            Guest {
                imports: &[BLOCK, TIMER],
                ..Guest::running("(call $block (call $timer (i64.const 600000000000))) unreachable")
            },
        ),
    ]
}

/// Makes one call and returns true if it returned its arguments.
async fn call(tool: &Tool, number: u64, limits: &Limits) -> bool {
    let input = Map::from_iter([("number".to_owned(), Value::from(number))]);
    let report = tool
        .component
        .call(Call {
            tool: "echo",
            call_id: &CallId(format!("call-{number}")),
            input: &input.clone().into(),
            idempotency_key: tool.name,
            effect: Effect::ReadOnly,
            grants: Arc::new(Grants::default()),
            secrets: Arc::default(),
            limits,
            context: CallContext::default(),
            progress: &|_| {},
        })
        .await
        .settled()
        .unwrap();
    report.output == ToolResultOutput::json(Value::Object(input))
}

/// An honest caller: one call after the other at its pace.
async fn honest(tool: Arc<Tool>, until: Instant) -> Phase {
    let mut phase = Phase::default();
    let mut pace = time::interval(PACE);
    pace.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let limits = Limits::default();
    while Instant::now() < until {
        pace.tick().await;
        let begin = Instant::now();
        let answered = call(&tool, phase.calls, &limits).await;
        phase.honest.push(begin.elapsed());
        phase.calls += 1;
        phase.failed += u64::from(!answered);
    }
    phase
}

/// A hostile caller: any guest, without pauses; every third call is dropped at some point.
async fn hostile(tools: Arc<Vec<Tool>>, seed: u64, until: Instant) -> Phase {
    let mut dice = Dice(seed);
    let mut phase = Phase::default();
    let limits = Limits {
        deadline_ms: DEADLINE_MS,
        memory_bytes: 16 * 1024 * 1024,
        ..Limits::default()
    };
    while Instant::now() < until {
        let sides = u64::try_from(tools.len()).unwrap();
        let tool = tools
            .get(usize::try_from(dice.roll(sides)).unwrap())
            .unwrap();
        let patience = match dice.roll(3) {
            0 => Duration::from_micros(dice.roll(DEADLINE_MS * 1_000)),
            _ => Duration::MAX,
        };
        let ended = time::timeout(patience, call(tool, phase.calls, &limits)).await;
        phase.calls += 1;
        phase.cancelled += u64::from(ended.is_err());
        // A refused call must not spin here.
        tokio::task::yield_now().await;
    }
    phase
}

/// Runs the load and sums the counts of the callers.
async fn load(good: &Arc<Tool>, bad: &Arc<Vec<Tool>>, length: Duration) -> Phase {
    let until = Instant::now() + length;
    let mut callers = JoinSet::new();
    for _ in 0..HONEST {
        callers.spawn(honest(Arc::clone(good), until));
    }
    for seed in 1..=HOSTILE {
        let seed = u64::try_from(seed)
            .unwrap()
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        callers.spawn(hostile(Arc::clone(bad), seed, until));
    }
    let mut all = Phase::default();
    while let Some(one) = callers.join_next().await {
        let one = one.unwrap();
        all.calls += one.calls;
        all.cancelled += one.cancelled;
        all.failed += one.failed;
        all.honest.extend(one.honest);
    }
    all.honest.sort_unstable();
    all
}

/// Waits until no instance is left or the time is over, and counts the resources.
async fn held(sandbox: &Sandbox) -> Held {
    let begin = Instant::now();
    while sandbox.live_instances().is_some_and(|live| live > 0) && begin.elapsed() < SETTLE {
        time::sleep(Duration::from_millis(10)).await;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.unwrap().parse().unwrap()
    };
    Held {
        rss_kib: field("VmRSS:"),
        threads: field("Threads:"),
        descriptors: u64::try_from(fs::read_dir("/proc/self/fd").unwrap().count()).unwrap(),
        instances: sandbox.live_instances(),
    }
}

fn print(name: &str, phase: &Phase, length: Duration, held: &Held) {
    let quantile = |percent: usize| {
        let at = phase.honest.len().saturating_sub(1) * percent / 100;
        phase.honest.get(at).copied().unwrap_or_default()
    };
    let rate = phase.calls / length.as_secs().max(1);
    println!(
        "{name:<8} {:>8} calls, {rate} a second, {} cancelled; honest: {} calls, {} failed, p50 {:.1?}, p99 {:.1?}",
        phase.calls,
        phase.cancelled,
        phase.honest.len(),
        phase.failed,
        quantile(50),
        quantile(99),
    );
    println!(
        "         afterwards {} KiB resident, {} threads, {} descriptors, {:?} instances",
        held.rss_kib, held.threads, held.descriptors, held.instances
    );
}

/// Returns the resources that grew beyond their bounds.
fn growth(before: &Held, after: &Held) -> Vec<String> {
    let bounds = [
        ("KiB resident", before.rss_kib + MAX_RSS_KIB, after.rss_kib),
        ("threads", before.threads + MAX_THREADS, after.threads),
        ("descriptors", before.descriptors, after.descriptors),
        ("instances", 0, after.instances.unwrap_or(0)),
    ];
    bounds
        .iter()
        .filter(|(_, most, found)| found > most)
        .map(|(what, most, found)| format!("{found} {what}, and at most {most} are fine"))
        .collect()
}

fn seconds() -> Result<u64, Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => Ok(60),
        ["--seconds", number] => number
            .parse()
            .map_err(|error| format!("--seconds {number}: {error}").into()),
        _ => Err("the one argument is --seconds N".into()),
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let half = Duration::from_secs(seconds()?) / 2;
    let sandbox = Sandbox::new(SandboxConfig {
        concurrent_calls: PLACES,
        ..SandboxConfig::default()
    })?;
    let good = Arc::new(Tool {
        name: "echo",
        component: sandbox.load(&Guest::default().bytes()).await?,
    });
    let mut bad = Vec::new();
    for (name, guest) in hostile_guests() {
        let component = sandbox.load(&guest.bytes()).await?;
        bad.push(Tool { name, component });
    }
    let bad = Arc::new(bad);
    let mut states = Vec::new();
    let mut failed = 0;
    for (name, length) in [("warm-up", WARM_UP), ("begin", half), ("end", half)] {
        let phase = load(&good, &bad, length).await;
        let state = held(&sandbox).await;
        print(name, &phase, length, &state);
        states.push(state);
        failed += phase.failed;
    }
    let mut faults = match states.as_slice() {
        [before, .., after] => growth(before, after),
        [] | [_] => Vec::new(),
    };
    if failed > 0 {
        faults.push(format!("{failed} honest calls failed"));
    }
    for fault in &faults {
        println!("too much: {fault}");
    }
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}

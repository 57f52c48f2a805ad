//! The time of a call: a fresh instance and an echo with every limit on, beside bare wasmtime in
//! the same process with the same allocator. Figures: `host/BENCHMARKS.md`.
//!
//! `AGENT_HOST_BENCH_CALLS='FILE TOOL JSON' cargo bench -p agent-host-benches --bench call`
//! measures calls into other components, one for each line.

use agent_host_benches::{
    Work,
    bare::{bare, bare_call, default_pool},
    sandboxed_call,
};
use agent_host_sandbox::{Allocator, Pooling, Sandbox, SandboxConfig, ToolComponent};
use agent_host_types::limits::Limits;
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use std::{path::Path, sync::Arc};
use tokio::runtime::{Builder, Runtime};

/// Returns the calls in the environment, or the default ones.
fn works() -> Vec<Work> {
    let Ok(lines) = std::env::var("AGENT_HOST_BENCH_CALLS") else {
        return vec![Work::echo(), Work::files().unwrap()];
    };
    lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let mut words = line.trim().splitn(3, ' ');
            let path = Path::new(words.next().unwrap());
            let tool: &'static str = words.next().unwrap().to_owned().leak();
            let name: &'static str = path.display().to_string().leak();
            Work {
                input: object(words.next().unwrap_or("{}")).into(),
                limits: Limits {
                    deadline_ms: 60_000,
                    ..Limits::default()
                },
                ..Work::new(name, std::fs::read(path).unwrap(), tool)
            }
        })
        .collect()
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn sandboxed(runtime: &Runtime, bytes: &[u8], pooling: Pooling) -> ToolComponent {
    let sandbox = Sandbox::new(SandboxConfig {
        pooling,
        ..SandboxConfig::default()
    })
    .unwrap();
    let tool = runtime.block_on(sandbox.load(bytes)).unwrap();
    let pooled = tool.allocator() == Allocator::Pooling;
    assert_eq!(pooled, pooling == Pooling::Probe);
    tool
}

fn calls(criterion: &mut Criterion) {
    // With a pool, as in the program, and without.
    let caller = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let guests = Builder::new_multi_thread()
        .worker_threads(2)
        .event_interval(1)
        .global_queue_interval(1)
        .enable_all()
        .build()
        .unwrap();
    for (work, pooling) in works()
        .into_iter()
        .map(Arc::new)
        .flat_map(|work| [(Arc::clone(&work), Pooling::Probe), (work, Pooling::Off)])
    {
        let mut group = criterion.benchmark_group(format!("{} {pooling:?}", work.name));
        let own = (pooling == Pooling::Probe).then(default_pool);
        let pre = Arc::new(bare(&work.bytes, own));
        group.bench_function("bare", |bencher| {
            bencher.to_async(&caller).iter(|| bare_call(&pre, &work));
        });
        // The cost of a hand-over to another thread.
        group.bench_function("bare, on a thread for guests", |bencher| {
            bencher.to_async(&caller).iter(|| {
                let (pre, work) = (Arc::clone(&pre), Arc::clone(&work));
                let task = guests.spawn(async move { bare_call(&pre, &work).await });
                async move { task.await.unwrap() }
            });
        });
        let tool = sandboxed(&caller, &work.bytes, pooling);
        // A failed call would distort the measurement.
        let report = caller.block_on(sandboxed_call(&tool, &work));
        assert!(!report.output.is_error(), "{:?}", report.output);
        group.bench_function("sandboxed", |bencher| {
            bencher
                .to_async(&caller)
                .iter(|| sandboxed_call(&tool, &work));
        });
        group.bench_function("sandboxed, current-thread caller", |bencher| {
            bencher
                .to_async(&single)
                .iter(|| sandboxed_call(&tool, &work));
        });
        group.bench_function("32 bare, one after the other", |bencher| {
            bencher.to_async(&caller).iter(|| async {
                for _ in 0..32 {
                    bare_call(&pre, &work).await;
                }
            });
        });
        group.bench_function("32 sandboxed at once", |bencher| {
            bencher
                .to_async(&caller)
                .iter(|| join_all((0..32).map(|_| sandboxed_call(&tool, &work))));
        });
        group.finish();
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);

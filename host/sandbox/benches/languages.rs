//! The time of a call into a component of any language, beside bare wasmtime in the same process
//! with the same allocator:
//!
//! `AGENT_HOST_BENCH_CALLS='FILE TOOL JSON' cargo bench --bench languages`, a line for each call.
//! The default is the built-in `files`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run has nothing to report"
)]
#![expect(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the benchmarks share a module, of which each uses a part"
)]

mod support;

use agent_host_core::limits::Limits;
use agent_host_sandbox::{Allocator, Sandbox, SandboxConfig};
use criterion::{Criterion, criterion_group, criterion_main};
use std::{path::Path, sync::Arc};
use support::{
    Work,
    bare::{bare, bare_call, default_pool},
    sandboxed_call,
};
use tokio::runtime::Builder;

/// Reads the calls from the environment.
fn works() -> Vec<Work> {
    let Ok(lines) = std::env::var("AGENT_HOST_BENCH_CALLS") else {
        return vec![Work::files().unwrap()];
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
                input: serde_json::from_str(words.next().unwrap_or("{}")).unwrap(),
                limits: Limits {
                    deadline_ms: 60_000,
                    ..Limits::default()
                },
                ..Work::new(name, std::fs::read(path).unwrap(), tool)
            }
        })
        .collect()
}

fn calls(criterion: &mut Criterion) {
    let caller = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for work in works() {
        let mut group = criterion.benchmark_group(work.name);
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let tool = caller.block_on(sandbox.load(&*work.bytes)).unwrap();
        let own = (tool.allocator() == Allocator::Pooling).then(default_pool);
        // A failed call would distort the measurement.
        let report = caller.block_on(sandboxed_call(&tool, &work));
        assert!(!report.output.is_error(), "{:?}", report.output);
        let pre = Arc::new(bare(&work.bytes, own));
        group.bench_function("bare", |bencher| {
            bencher.to_async(&caller).iter(|| bare_call(&pre, &work));
        });
        group.bench_function("sandboxed", |bencher| {
            bencher
                .to_async(&caller)
                .iter(|| sandboxed_call(&tool, &work));
        });
        group.finish();
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);

//! The time to load a component from the cache, from bytes in memory and from a file.
//! `AGENT_HOST_BENCH_COMPONENT` names the component; the default is a built-in one. Figures:
//! `host/BENCHMARKS.md`.

use agent_host_sandbox::{Compiled, ComponentBytes, Sandbox, SandboxConfig};
use criterion::{Criterion, criterion_group, criterion_main};
use std::{
    env, fs,
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};

fn component() -> PathBuf {
    env::var_os("AGENT_HOST_BENCH_COMPONENT").map_or_else(
        || {
            let path = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../guest-tools/dist/files.wasm"
            );
            println!("AGENT_HOST_BENCH_COMPONENT names no component; {path} is loaded");
            path.into()
        },
        PathBuf::from,
    )
}

fn sandbox(cache: &tempfile::TempDir) -> Sandbox {
    Sandbox::new(SandboxConfig {
        cache_dir: Some(cache.path().join("cache")),
        concurrent_calls: 1,
        ..SandboxConfig::default()
    })
    .unwrap()
}

fn load(
    runtime: &Runtime,
    sandbox: &Sandbox,
    component: impl Into<ComponentBytes>,
    expected: Compiled,
) -> Duration {
    let component = component.into();
    let begin = Instant::now();
    let tool = runtime.block_on(sandbox.load(component)).unwrap();
    let taken = begin.elapsed();
    // Dropping it returns memory to the system, which is not part of loading.
    assert_eq!(tool.compiled(), expected);
    taken
}

fn cached(criterion: &mut Criterion) {
    let path = component();
    let cache = tempfile::tempdir().unwrap();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let sandbox = sandbox(&cache);
    load(&runtime, &sandbox, fs::read(&path).unwrap(), Compiled::Now);
    let mut group = criterion.benchmark_group("load from the cache");
    group.sample_size(20);
    group.bench_function("bytes", |bencher| {
        bencher.iter_custom(|times| {
            let bytes = || fs::read(&path).unwrap();
            (0..times)
                .map(|_| load(&runtime, &sandbox, bytes(), Compiled::FromCache))
                .sum()
        });
    });
    group.bench_function("file", |bencher| {
        bencher.iter_custom(|times| {
            (0..times)
                .map(|_| load(&runtime, &sandbox, path.clone(), Compiled::FromCache))
                .sum()
        });
    });
    group.finish();
}

criterion_group!(benches, cached);
criterion_main!(benches);

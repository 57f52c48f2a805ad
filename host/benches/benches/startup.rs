//! Measures a tool call in a whole process, with a warm compile cache and a cold one. The cold call
//! compiles; the ratio of the two is what the cache saves.

use agent_host_benches::program;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

/// Calls a built-in tool in a process of its own.
fn call(home: &Path, cache: &Path) {
    let status = Command::new(program())
        .args(["call", "builtin:files", "list_directory", r#"{"path":"."}"#])
        .env_clear()
        .env("HOME", home)
        .env("XDG_CACHE_HOME", cache)
        .current_dir(home.join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the call failed"
    );
}

fn startup(criterion: &mut Criterion) {
    let home = tempfile::tempdir().expect("a directory for the benchmark");
    std::fs::create_dir(home.path().join("work")).expect("a working directory");
    let mut group = criterion.benchmark_group("call builtin:files list_directory");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(10));
    let warm = home.path().join("warm");
    call(home.path(), &warm);
    group.bench_function("warm", |bencher| bencher.iter(|| call(home.path(), &warm)));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(30));
    group.bench_function("cold", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().expect("a directory for the cache"),
            |cache| call(home.path(), cache.path()),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, startup);
criterion_main!(benches);

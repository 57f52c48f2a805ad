//! A sweep of the pool's settings: calls per second on one thread and on two, with one setting
//! changed at a time. The chosen point is the first row; `host/BENCHMARKS.md` has a run and the
//! reasons.
//!
//! `AGENT_HOST_PYTHON_TOOL=FILE cargo bench -p agent-host-benches --bench pool [ROUNDS]`: FILE is a
//! component in Python with a tool `echo`; without it, only the built-in tool in Rust is measured.
//! Each row is the best of its rounds, which alternate between the rows.

use agent_host_benches::{
    Work,
    bare::{Bare, HostPre, bare, bare_call, pool},
};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use wasmtime::Enabled;

const KIB: usize = 1024;

/// The time of a round, on one thread and again on two.
const ROUND: Duration = Duration::from_millis(60);

/// A point of the sweep.
#[derive(Clone, Copy)]
struct Point {
    /// The bytes of a memory that stay resident.
    memory: usize,
    /// The bytes of a table that stay resident.
    table: usize,
    /// The freed slots that are returned to the system together.
    batch: usize,
    /// The free slots that keep their component's image.
    warm: u32,
    /// True if the kernel lists the written pages.
    scan: Enabled,
}

/// The settings of `engine.rs`.
const CHOSEN: Point = Point {
    memory: 1024 * KIB,
    table: 16 * KIB,
    batch: 1,
    warm: 100,
    scan: Enabled::Auto,
};

/// The chosen point, and points that differ in one setting.
fn points() -> Vec<(String, Point)> {
    let mut points = vec![("chosen".to_owned(), CHOSEN)];
    for memory in [0, 64, 256, 4 * 1024, 16 * 1024] {
        let memory = memory * KIB;
        points.push((
            format!("memory {} KiB", memory / KIB),
            Point { memory, ..CHOSEN },
        ));
    }
    for table in [0, 64, 256] {
        let table = table * KIB;
        points.push((
            format!("table {} KiB", table / KIB),
            Point { table, ..CHOSEN },
        ));
    }
    for batch in [2, 4, 8, 64] {
        points.push((format!("batch {batch}"), Point { batch, ..CHOSEN }));
    }
    for warm in [0, 8] {
        points.push((format!("warm slots {warm}"), Point { warm, ..CHOSEN }));
    }
    for (memory, table) in [(0, 16), (64, 16), (1024, 16), (16 * 1024, 256)] {
        points.push((
            format!("no scan, memory {memory} KiB, table {table} KiB"),
            Point {
                memory: memory * KIB,
                table: table * KIB,
                scan: Enabled::No,
                ..CHOSEN
            },
        ));
    }
    points
}

fn prepared(work: &Work, point: Point) -> HostPre<Bare> {
    let mut pool = pool(16);
    pool.linear_memory_keep_resident(point.memory)
        .table_keep_resident(point.table)
        .decommit_batch_size(point.batch)
        .max_unused_warm_slots(point.warm)
        .pagemap_scan(point.scan);
    bare(&work.bytes, Some(pool))
}

/// Returns the calls per second on a number of threads.
fn rate(pre: &Arc<HostPre<Bare>>, work: &Arc<Work>, threads: usize) -> f64 {
    let callers: Vec<_> = (0..threads)
        .map(|_| {
            let (pre, work) = (Arc::clone(pre), Arc::clone(work));
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let begun = Instant::now();
                    let mut calls = 0_u32;
                    while begun.elapsed() < ROUND {
                        bare_call(&pre, &work).await;
                        calls += 1;
                    }
                    f64::from(calls) / begun.elapsed().as_secs_f64()
                })
            })
        })
        .collect();
    callers
        .into_iter()
        .map(|caller| caller.join().unwrap())
        .sum()
}

fn sweep(work: &Arc<Work>, rounds: usize) {
    let rows: Vec<_> = points()
        .into_iter()
        .map(|(name, point)| (name, Arc::new(prepared(work, point))))
        .collect();
    let mut best = vec![(0.0_f64, 0.0_f64); rows.len()];
    for _ in 0..rounds {
        for ((_, pre), (one, two)) in rows.iter().zip(&mut best) {
            *one = one.max(rate(pre, work, 1));
            *two = two.max(rate(pre, work, 2));
        }
    }
    let fastest = best.iter().map(|(one, _)| *one).fold(0.0, f64::max);
    println!(
        "\n| {} | one thread, calls/s | of the best | two threads, calls/s | scaling |",
        work.name
    );
    println!("|---|---|---|---|---|");
    for ((name, _), (one, two)) in rows.iter().zip(&best) {
        println!(
            "| {name} | {one:.0} | {:.2} | {two:.0} | {:.2} |",
            one / fastest,
            two / one
        );
    }
}

fn main() {
    let rounds = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(10);
    let python = std::env::var_os("AGENT_HOST_PYTHON_TOOL")
        .map(|file| Work::new("Python", std::fs::read(file).unwrap(), "echo"));
    let all = Work::files().into_iter().chain(python);
    for work in all {
        sweep(&Arc::new(work), rounds);
    }
}

//! Starts runtimes where the system may refuse threads (`ulimit -u`, a service's task limit, little
//! address space). tokio panics or waits forever if it cannot start a worker or its first blocking
//! thread, so both are ensured here.

use std::{
    fs, io,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// How often the threads of this process are counted while those of [`try_threads`] end, which
/// takes microseconds.
const MAX_COUNTS: usize = 1_000;

/// Starts a runtime with `workers` worker threads and one blocking thread that never ends, so that
/// blocking work completes even if the system refuses more threads later.
///
/// # Errors
/// The system refuses the threads; the text names the limits to raise. Or tokio does not start.
pub fn start_runtime(builder: &mut Builder, workers: usize) -> io::Result<Runtime> {
    try_threads(workers + 1)?;
    let runtime = builder
        .worker_threads(workers)
        // The pool has no core threads, so it keeps as many as it ever needed at once.
        .thread_keep_alive(Duration::MAX)
        .build()?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

/// Starts and ends `needed` threads.
///
/// # Errors
/// The system does not allow all of them at once.
fn try_threads(needed: usize) -> io::Result<()> {
    let before = count();
    let gate = Mutex::new(());
    let tried = thread::scope(|scope| {
        // No thread ends before all have started or one is refused.
        let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = (0..needed).try_for_each(|started| {
            let wait = || drop(gate.lock());
            let thread = thread::Builder::new().spawn_scoped(scope, wait);
            thread
                .map(drop)
                .map_err(|error| refused(needed, started, &error))
        });
        drop(closed);
        tried
    });
    // A joined thread counts against the limit for a moment.
    (0..MAX_COUNTS)
        .take_while(|_| count() > before)
        .for_each(|_| thread::yield_now());
    tried
}

/// Adds the limits to raise to the error of a refused thread.
pub(crate) fn refused(needed: usize, started: usize, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "of the {needed} threads needed at this point, the system started {started} ({error}); raise this user's \
             limit on processes and threads (`ulimit -u`), the service's limit on tasks, or the limit on address \
             space (`ulimit -v`)"
        ),
    )
}

/// Returns the number of threads of this process; 0 without `/proc`.
fn count() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn runtime_that_starts_does_blocking_work() {
        let runtime = start_runtime(Builder::new_multi_thread().enable_all(), 2).unwrap();
        let sum = runtime.block_on(async {
            let blocking = tokio::task::spawn_blocking(|| 2).await.unwrap();
            blocking + tokio::spawn(async { 3 }).await.unwrap()
        });
        assert_eq!(sum, 5);
    }
}

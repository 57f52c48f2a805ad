//! Starts asynchronous runtimes where the system may refuse threads (`ulimit -u`, a service's limit on tasks, little address
//! space). tokio panics or waits without end where it cannot start a worker or its first thread for blocking work, so both are
//! made sure of here.

use std::{
    fs, io,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// How often the threads of this process are counted while those of [`try_threads`] end, which takes microseconds.
const MAX_COUNTS: usize = 1_000;

/// Starts a runtime with `workers` threads for tasks, and with one thread for blocking work that stays, so that blocking work is
/// done in the end however few threads there are later.
///
/// # Errors
/// When the system refuses the threads, with a text that says what to raise; and what else keeps tokio from starting.
pub fn start_runtime(builder: &mut Builder, workers: usize) -> io::Result<Runtime> {
    try_threads(workers + 1)?;
    let runtime = builder
        .worker_threads(workers)
        // The pool keeps no thread apart from the others, so it keeps all that it ever needed at once.
        .thread_keep_alive(Duration::MAX)
        .build()?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

/// Starts this number of threads, and ends them.
///
/// # Errors
/// When they cannot all be there at once.
fn try_threads(needed: usize) -> io::Result<()> {
    let before = count();
    let gate = Mutex::new(());
    let tried = thread::scope(|scope| {
        // None of them ends before all are there, or one is refused.
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
    // A thread counts for a moment after it was joined, and those that come next may need its place.
    (0..MAX_COUNTS)
        .take_while(|_| count() > before)
        .for_each(|_| thread::yield_now());
    tried
}

/// Explains a thread that the system refused, with what to raise.
pub(crate) fn refused(needed: usize, started: usize, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "of the threads that are needed at this point ({needed}), the system starts {started} ({error}); raise the limit on \
             processes and threads of this user (`ulimit -u`), the limit on tasks of the service, or the one on address space \
             (`ulimit -v`)"
        ),
    )
}

/// Returns the number of threads of this process; 0 where the system does not tell.
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

//! The runtime that guests run on. It is never the runtime that serves the loop, so a guest that computes without end delays
//! other guests and nobody else.

use std::io;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

/// Threads for blocking work: compiling, name lookups. A bound only; they are made when needed.
const MAX_BLOCKING_THREADS: usize = 16;

/// Owns the runtime. Dropping it does not wait, so it may be dropped in async code.
pub(crate) struct GuestRuntime {
    /// Always there until `drop` takes it.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl GuestRuntime {
    /// Starts the threads.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .thread_name("guest")
            .enable_all()
            // A poll of a computing guest lasts a whole tick. At the default of 61 polls between two looks at timers and
            // sockets, other guests' timers came half a second late.
            .event_interval(1)
            .global_queue_interval(1)
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self {
            runtime: Some(runtime),
            handle,
        })
    }

    /// Runs a future on the guests' threads.
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs blocking work beside the guests' threads.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn_blocking(work)
    }
}

impl Drop for GuestRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

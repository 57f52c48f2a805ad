//! Threads for operations that may block without end, such as those on a network file system.
//!
//! Each tool has a quota of these threads, so operations that hang delay no other tool. An
//! operation whose caller gives up keeps its thread until the kernel returns. A tool whose whole
//! quota is kept like that is stuck, and its next call is `busy` instead of waiting for its
//! deadline.

#[cfg(test)]
mod tests;

use crate::{
    mutex::lock,
    schedule::{
        fair_semaphore::{FairSemaphore, Quota, Tenant},
        threads::start_runtime,
    },
};
use std::{
    io,
    panic::resume_unwind,
    sync::{Arc, Mutex},
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::{AbortHandle, JoinHandle},
};

/// The concurrent operations of one tool.
pub(crate) const PER_TOOL: usize = 4;

/// The concurrent operations of all tools, and the number of threads.
const TOTAL: usize = 64;

/// The last permits are for tools with no running operation, so eight tools may hang with four
/// operations each and 32 more with one, before another tool waits.
const RESERVED: usize = TOTAL / 2;

/// Owns the threads, which are started when needed. Dropping it does not wait.
pub(crate) struct BlockingThreads {
    /// Present until `drop` takes it. Only its blocking threads are used.
    runtime: Option<Runtime>,
    tasks: Handle,
    permits: Arc<FairSemaphore>,
}

/// The part of one tool.
pub(crate) struct ToolBlocking {
    threads: Option<Handle>,
    tasks: Handle,
    permits: Arc<Tenant>,
    /// Operations that no one waits for.
    abandoned: Mutex<Vec<AbortHandle>>,
}

/// The operation did not run, because the sandbox was dropped.
#[derive(Debug)]
pub(crate) struct NotRun;

impl BlockingThreads {
    /// Starts the first thread. `tasks` is the runtime on which detached operations wait for one.
    pub(crate) fn start(tasks: Handle) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder
            .max_blocking_threads(TOTAL)
            .thread_name("guest-blocking");
        Ok(Self {
            // The number of workers is at least one, and means nothing to this runtime.
            runtime: Some(start_runtime(&mut builder, 1)?),
            permits: FairSemaphore::new(TOTAL, RESERVED, usize::MAX),
            tasks,
        })
    }

    /// Creates the part of one more tool.
    pub(crate) fn for_tool(&self) -> Arc<ToolBlocking> {
        Arc::new(ToolBlocking {
            threads: self
                .runtime
                .as_ref()
                .map(|runtime| runtime.handle().clone()),
            tasks: self.tasks.clone(),
            permits: self.permits.tenant(Quota {
                permits: PER_TOOL,
                waiters: usize::MAX,
            }),
            abandoned: Mutex::default(),
        })
    }
}

impl Drop for BlockingThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl ToolBlocking {
    /// Runs an operation when one of the tool's threads is free. Dropping the future before that
    /// cancels the operation, and later abandons it.
    ///
    /// # Errors
    /// The sandbox was dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        let threads = self.threads.as_ref().ok_or(NotRun)?;
        // The queue is unbounded, because calls and the operations of a call are bounded.
        let permit = self.permits.acquire().map_err(|_| NotRun)?.await;
        let task = threads.spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        let _abandon = AbandonOnDrop {
            task: task.abort_handle(),
            tool: self,
        };
        match task.await {
            Ok(result) => Ok(result),
            // A panic of the host ends the call, as it does on a guest thread.
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_) => Err(NotRun),
            },
        }
    }

    /// Starts an operation, such as closing a file that no one waits for.
    pub(crate) fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Result<T, NotRun>> {
        let tool = Arc::clone(self);
        self.tasks.spawn(async move { tool.run(work).await })
    }

    /// True if abandoned operations hold the tool's whole quota.
    pub(crate) fn is_stuck(&self) -> bool {
        let mut abandoned = lock(&self.abandoned);
        abandoned.retain(|task| !task.is_finished());
        abandoned.len() >= PER_TOOL
    }
}

#[cfg(test)]
impl ToolBlocking {
    /// True if an operation would start at once.
    pub(crate) fn is_free(&self) -> bool {
        !self.permits.is_at_quota()
    }
}

/// Records an operation that still runs when its waiter is dropped.
struct AbandonOnDrop<'a> {
    task: AbortHandle,
    tool: &'a ToolBlocking,
}

impl Drop for AbandonOnDrop<'_> {
    fn drop(&mut self) {
        if !self.task.is_finished() {
            let mut abandoned = lock(&self.tool.abandoned);
            abandoned.retain(|task| !task.is_finished());
            abandoned.push(self.task.clone());
        }
    }
}

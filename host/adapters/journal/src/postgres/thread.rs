//! The thread of a store, with a runtime of its own: what is queued is written and claims are given
//! up although the program's runtime ends.

use super::journal::Closing;
use crate::error::StoreError;
use agent_host_engine::journal::JournalError;
use std::{sync::Arc, thread, time::Duration};
use tokio::{runtime::Handle, sync::oneshot, time::timeout};

/// The time that dropped journals get to write what is queued, when the last user of the store is
/// gone.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The thread of a store. Its last owner, of the store and its journals, waits for its end.
pub(super) struct StoreThread {
    pub(super) handle: Handle,
    pub(super) closing: Arc<Closing>,
    /// Dropped to end it.
    running: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl StoreThread {
    pub(super) fn start() -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StoreError::Thread)?;
        let handle = runtime.handle().clone();
        let closing = Arc::new(Closing::default());
        let (running, ended) = oneshot::channel();
        let closes = Arc::clone(&closing);
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    // Fails when the sender is dropped.
                    let _ = ended.await;
                    let _ = timeout(CLOSE_TIMEOUT, closes.settle()).await;
                });
                // An operation on a thread that may block could wait for what runs no more.
                runtime.shutdown_background();
            })
            .map_err(StoreError::Thread)?;
        Ok(Self {
            handle,
            closing,
            running: Some(running),
            thread: Some(thread),
        })
    }

    /// Runs an operation on the thread. One whose future is dropped is carried out all the same.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        operation: impl Future<Output = Result<T, JournalError>> + Send + 'static,
    ) -> Result<T, JournalError> {
        let ran = self.handle.spawn(operation).await;
        ran.map_err(StoreError::Aborted)?
    }
}

impl Drop for StoreThread {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

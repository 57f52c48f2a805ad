//! Name lookups. A lookup of the system cannot be cancelled, so each has a thread of its own, and
//! their number per tool is limited: names that are never answered delay their own tool and no
//! other.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs as _},
    sync::Arc,
    thread,
};
use tokio::sync::{Semaphore, oneshot};

/// The concurrent lookups of one tool. An answer takes milliseconds, so a tool with many requests
/// hardly waits; without an answer the system's resolver gives up after some ten seconds.
pub(super) const LOOKUPS_PER_TOOL: usize = 8;

/// Resolves names, and may block. Implemented by the system's resolver, and by tables in tests.
pub(super) trait NameLookup: Send + Sync {
    /// Returns all addresses of a name.
    fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

pub(super) struct SystemLookup;

impl NameLookup for SystemLookup {
    fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = (name, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// The lookups of one tool.
pub(super) struct ToolLookups {
    source: Arc<dyn NameLookup>,
    permits: Arc<Semaphore>,
}

impl ToolLookups {
    pub(super) fn new(source: Arc<dyn NameLookup>) -> Self {
        Self {
            source,
            permits: Arc::new(Semaphore::new(LOOKUPS_PER_TOOL)),
        }
    }

    pub(super) fn for_another_tool(&self) -> Self {
        Self::new(Arc::clone(&self.source))
    }

    /// Returns all addresses of a name. Dropping the future abandons the answer but not the permit,
    /// which the lookup keeps until it ends.
    ///
    /// # Errors
    /// The name has none, or no thread can be started.
    pub(super) async fn addresses(&self, name: String) -> io::Result<Vec<IpAddr>> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
        let source = Arc::clone(&self.source);
        let (answer, answered) = oneshot::channel();
        thread::Builder::new()
            .name("guest-lookup".to_owned())
            .spawn(move || {
                let found = source.addresses(&name);
                drop(permit);
                // The receiver may be gone.
                let _ = answer.send(found);
            })?;
        answered.await.map_err(io::Error::other)?
    }
}

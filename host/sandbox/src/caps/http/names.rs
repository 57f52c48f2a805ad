//! Name lookups. Nobody can stop one of the system's, so each has a thread of its own, and each tool only so many of them: names
//! that are never answered keep their own tool waiting and no other one.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs as _},
    sync::Arc,
    thread,
};
use tokio::sync::{Semaphore, oneshot};

/// The lookups of one tool that may be under way at once. An answer takes milliseconds, so a tool with many requests hardly
/// waits; one that no one answers takes the system's resolver some ten seconds to give up.
pub(super) const LOOKUPS_PER_TOOL: usize = 8;

/// Turns names into addresses, and may block for as long as it likes. Implemented by the system's resolver, and by tables in
/// tests.
pub(super) trait NameLookup: Send + Sync {
    /// All addresses of a name.
    fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
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

    /// Those of another tool.
    pub(super) fn for_tool(&self) -> Self {
        Self::new(Arc::clone(&self.source))
    }

    /// All addresses of a name. Whoever gives up waiting gives up the answer and not the place, which the lookup keeps until it
    /// ends.
    ///
    /// # Errors
    /// The name has none, or there is no thread for the lookup.
    pub(super) async fn addresses(&self, name: String) -> io::Result<Vec<IpAddr>> {
        let permits = Arc::clone(&self.permits);
        let place = permits.acquire_owned().await.map_err(io::Error::other)?;
        let source = Arc::clone(&self.source);
        let (answer, answered) = oneshot::channel();
        thread::Builder::new()
            .name("guest-lookup".to_owned())
            .spawn(move || {
                let found = source.addresses(&name);
                drop(place);
                // Whoever asked may be gone.
                let _ = answer.send(found);
            })?;
        answered.await.map_err(io::Error::other)?
    }
}

//! Components that change while they are served. A change that the operator accepted is taken over, and clients are told; any other
//! is not: what was accepted goes on being served. Grants, limits and approvals are those of the start, whatever changes.

use crate::{log, server::Shared};
use agent_host_app::{HostError, config::ComponentSource};
use futures_util::future::join_all;
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// How often the files are looked at. A change is taken over when it has held from one look to the next.
const LOOK: Duration = Duration::from_millis(500);

/// What came of a change.
#[derive(Debug)]
pub enum Reloaded {
    /// The components that changed are served now.
    Served {
        /// Their names in the configuration.
        components: Vec<String>,
    },
    /// The change is not accepted, or something is wrong with it. What was served before still is.
    Refused {
        /// Why, and what to do.
        error: HostError,
    },
}

/// What tells one content of a file from another without reading it; nothing where there is no file.
type Stamp = Option<(SystemTime, u64, u64)>;

impl Shared {
    /// Watches the files of the components and the lock until the server ends. `report` hears of every change.
    pub(crate) async fn watch(&self, report: impl Fn(Reloaded)) {
        let paths = self.paths();
        // What was loaded before the first look may not be what is seen then, so the first look counts as a change.
        let mut taken = None;
        let mut seen = look(&paths).await;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let now = look(&paths).await;
            let holds = std::mem::replace(&mut seen, now) == seen;
            if !holds || taken.as_ref() == Some(&seen) {
                continue;
            }
            taken = Some(seen.clone());
            if let Some(reloaded) = self.reload().await {
                report(reloaded);
            }
        }
    }

    /// Loads the components again, and serves them if they are accepted; nothing when they are those that are served.
    async fn reload(&self) -> Option<Reloaded> {
        let served = self.served();
        let registry = match served.registry.reopen(self.host.config()).await {
            Ok(registry) => registry,
            Err(error) => {
                self.tell(&error.to_string()).await;
                return Some(Reloaded::Refused { error });
            }
        };
        let before = served.registry.components().iter();
        let changed = registry.components().iter().zip(before);
        let changed = changed.filter(|(new, old)| new.component.digest() != old.component.digest());
        let components: Vec<String> = changed.map(|(new, _)| new.name.clone()).collect();
        if components.is_empty() {
            return None;
        }
        self.replace(registry.into()).await;
        Some(Reloaded::Served { components })
    }

    /// Tells the clients that hear of warnings.
    async fn tell(&self, text: &str) {
        let told = self.listeners().into_iter();
        let told = told.filter(|(_, connection)| log::wants_warnings(connection.level()));
        join_all(told.map(async |(peer, _)| drop(log::warn(&peer, text).await))).await;
    }

    fn paths(&self) -> Vec<PathBuf> {
        let config = self.host.config();
        let folder = config.file.as_deref().and_then(Path::parent);
        let lock = folder.map(|folder| folder.join("agent.lock"));
        let files = config.tools.iter().filter_map(|tool| match &tool.source {
            ComponentSource::File(path) => Some(path.clone()),
            ComponentSource::Builtin(_) => None,
        });
        files.chain(lock).collect()
    }
}

async fn look(paths: &[PathBuf]) -> Vec<Stamp> {
    let paths = paths.to_vec();
    let looked = tokio::task::spawn_blocking(move || {
        paths.iter().map(|path| stamp(path)).collect::<Vec<Stamp>>()
    });
    // Without a look there is no change.
    looked.await.unwrap_or_default()
}

fn stamp(path: &Path) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    let data = path.metadata().ok()?;
    Some((data.modified().ok()?, data.len(), data.ino()))
}

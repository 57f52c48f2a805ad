//! Reloads components that change while they are served. Only a change that the operator accepted
//! is served; after any other, the accepted code is still served. Grants, limits and approvals stay
//! those of the start.

use crate::{catalog::CurrentCatalog, listeners::Listeners};
use agent_host_app::{Host, HostError, config::ComponentSource};
use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// How often the files are polled. A change is reloaded when two polls in a row see it.
const POLL: Duration = Duration::from_millis(500);

/// The outcome of a change.
#[derive(Debug)]
pub enum Reloaded {
    /// The changed components, by their names in the configuration, are served now.
    Served(Vec<String>),
    /// The change is not accepted or not loadable. The accepted code is still served.
    Refused(HostError),
}

/// Modification time, length and inode of a file; `None` if it is absent.
type Stamp = Option<(SystemTime, u64, u64)>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reloader<'a> {
    pub(crate) host: &'a Host,
    pub(crate) catalog: &'a CurrentCatalog,
    pub(crate) listeners: &'a Listeners,
}

impl Reloader<'_> {
    /// Polls the files of the components and the lock, for ever. Calls `report` for each change.
    pub(crate) async fn watch(self, report: impl Fn(Reloaded)) -> Infallible {
        let paths = self.paths();
        // The files may have changed between loading and the first poll, so that one counts as a
        // change.
        let mut loaded = None;
        let mut seen = stamps(&paths).await;
        loop {
            tokio::time::sleep(POLL).await;
            let now = stamps(&paths).await;
            let is_stable = std::mem::replace(&mut seen, now) == seen;
            if !is_stable || loaded.as_ref() == Some(&seen) {
                continue;
            }
            loaded = Some(seen.clone());
            if let Some(reloaded) = self.reload().await {
                report(reloaded);
            }
        }
    }

    /// Loads the components again, and serves them if they are accepted and differ from those that
    /// are served.
    async fn reload(self) -> Option<Reloaded> {
        let current = self.catalog.get();
        let registry = match current.registry.reopen(self.host.config()).await {
            Ok(registry) => registry,
            Err(error) => {
                self.listeners.warn(&error.to_string()).await;
                return Some(Reloaded::Refused(error));
            }
        };
        let before = current.registry.components().iter();
        let changed = registry.components().iter().zip(before);
        let changed = changed.filter(|(new, old)| new.component.digest() != old.component.digest());
        let components: Vec<String> = changed.map(|(new, _)| new.name.clone()).collect();
        if components.is_empty() {
            return None;
        }
        self.catalog.replace(self.host, registry.into());
        self.listeners.notify_tools_changed().await;
        Some(Reloaded::Served(components))
    }

    fn paths(self) -> Vec<PathBuf> {
        let config = self.host.config();
        let directory = config.file.as_deref().and_then(Path::parent);
        let lock = directory.map(|directory| directory.join("agent.lock"));
        let files = config.tools.iter().filter_map(|tool| match &tool.source {
            ComponentSource::File(path) => Some(path.clone()),
            ComponentSource::Builtin(_) => None,
        });
        files.chain(lock).collect()
    }
}

async fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    let paths = paths.to_vec();
    let stamps = tokio::task::spawn_blocking(move || {
        paths.iter().map(|path| stamp(path)).collect::<Vec<Stamp>>()
    });
    stamps.await.unwrap_or_default()
}

fn stamp(path: &Path) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}

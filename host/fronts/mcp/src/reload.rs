//! Reloads components and skills that change while they are served. Only a change that the operator
//! accepted is served; after any other, the accepted code and text are still served. Grants, limits
//! and approvals stay those of the start, and so does the list of skills' directories.

use crate::{catalog::CurrentCatalog, listeners::Listeners};
use agent_host_app::{ConfiguredAgents, HostError, Registry, config::ComponentSource};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

/// How often the files are polled. A change is reloaded when two polls in a row see it.
const POLL: Duration = Duration::from_millis(500);

/// The outcome of a change.
#[derive(Debug)]
pub enum Reloaded {
    /// The changed components and skills, by their names, are served now.
    Served(Vec<String>),
    /// The change is not accepted or not loadable. What was accepted is still served.
    Refused(HostError),
}

/// The names of what differs between two registries of one configuration.
pub(crate) struct CatalogChanges {
    pub(crate) components: Vec<String>,
    pub(crate) skills: Vec<String>,
}

impl CatalogChanges {
    pub(crate) fn between(before: &Registry, now: &Registry) -> Self {
        let components = now.components().zip(before.components());
        let components =
            components.filter(|(new, old)| new.component.digest() != old.component.digest());
        let skills = now.skills().iter();
        let added = skills.filter(|skill| !before.skills().contains(skill));
        // The skill of a component can disappear with its next version.
        let is_gone = |name: &String| now.skills().iter().all(|skill| skill.name != *name);
        let gone = before.skills().iter().map(|skill| skill.name.clone());
        Self {
            components: components.map(|(new, _)| new.name.clone()).collect(),
            skills: added
                .map(|skill| skill.name.clone())
                .chain(gone.filter(is_gone))
                .collect(),
        }
    }
}

/// Modification time, length and inode of a file; `None` if it is absent.
type Stamp = Option<(SystemTime, u64, u64)>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reloader<'a> {
    pub(crate) agents: &'a Arc<ConfiguredAgents>,
    pub(crate) catalog: &'a CurrentCatalog,
    pub(crate) listeners: &'a Listeners,
}

impl Reloader<'_> {
    /// Polls the files of the components, the skills and the lock, for ever. Calls `report` for
    /// each change.
    pub(crate) async fn watch(self, report: impl Fn(Reloaded)) -> Infallible {
        // The files may have changed between loading and the first poll, so that one counts as a
        // change.
        let mut loaded = None;
        let mut seen = stamps(self.paths()).await;
        loop {
            tokio::time::sleep(POLL).await;
            let now = stamps(self.paths()).await;
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

    /// Loads the components and skills again, and serves them if they are accepted and differ from
    /// those that are served.
    async fn reload(self) -> Option<Reloaded> {
        let current = self.catalog.get();
        let registry = match current.registry.reopen(self.agents.config()).await {
            Ok(registry) => registry,
            Err(error) => {
                self.listeners.warn(&error.to_string()).await;
                return Some(Reloaded::Refused(error));
            }
        };
        let changes = CatalogChanges::between(&current.registry, &registry);
        if changes.components.is_empty() && changes.skills.is_empty() {
            return None;
        }
        self.catalog.replace(self.agents, registry.into());
        self.listeners.notify(&changes).await;
        Some(Reloaded::Served(
            [changes.components, changes.skills].concat(),
        ))
    }

    /// Returns the files that are polled. The files of a skill are those of its served form, with
    /// their directories, in which others may appear.
    fn paths(self) -> BTreeSet<PathBuf> {
        let config = self.agents.config();
        let directory = config.file.as_deref().and_then(Path::parent);
        let lock = directory.map(|directory| directory.join("agent.lock"));
        let files = config.tools.iter().filter_map(|tool| match &tool.source {
            ComponentSource::File(path) => Some(path.clone()),
            ComponentSource::Builtin(_) | ComponentSource::Remote(_) => None,
        });
        let mut paths: BTreeSet<PathBuf> = files.chain(lock).collect();
        for skill in self.catalog.get().registry.skills() {
            let Some(directory) = &skill.directory else {
                continue;
            };
            for file in skill.files.keys() {
                let file = directory.join(file);
                let within = file
                    .ancestors()
                    .take_while(|path| path.starts_with(directory));
                paths.extend(within.map(Path::to_owned));
            }
        }
        paths
    }
}

async fn stamps(paths: BTreeSet<PathBuf>) -> Vec<Stamp> {
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

//! The files that text from sources which count may be in, by the paths that tools see.
//!
//! A file is read by any session of a run, so all of them share one table. Each also keeps what its
//! own events say, which the session that started it records with the result.

#[cfg(test)]
mod tests;

use super::sources::bounded;
use agent_host_types::flow::LabelledFile;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The most sources of a file.
const MAX_SOURCES: usize = 64;

/// The most files that one event names. Of more, it names their directories.
const MAX_FILES: usize = 1_000;

/// Sources by paths. A directory has those of all that is below it.
pub(super) type Table = BTreeMap<String, BTreeSet<String>>;

/// The files that calls of a session and of the agents that it started wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelledFiles {
    own: Table,
    run: RunFiles,
}

/// The sources of the files that the sessions of a run wrote. Copies are of the same run.
#[derive(Clone, Debug, Default)]
pub struct RunFiles(Arc<Mutex<Table>>);

/// The files of a run follow from those of its sessions.
impl PartialEq for LabelledFiles {
    fn eq(&self, other: &Self) -> bool {
        self.own == other.own
    }
}

impl RunFiles {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds sources of a file.
    pub(super) fn label(&self, path: &str, sources: &BTreeSet<String>) {
        add(&mut self.lock(), path.to_owned(), sources);
    }

    /// Returns the sources of a file, of the directories above it, and of what is below it.
    pub(super) fn sources_of(&self, path: &str) -> BTreeSet<String> {
        let table = self.lock();
        if table.is_empty() {
            return BTreeSet::new();
        }
        let path = path.trim_end_matches('/');
        let above = path
            .match_indices('/')
            .filter_map(|(end, _)| path.get(..end));
        let here = above.chain([path]).filter_map(|path| table.get(path));
        let first = format!("{path}/");
        let below = table.range(first.clone()..);
        let below = below.take_while(|(written, _)| written.starts_with(&first));
        let below = below.map(|(_, sources)| sources);
        here.chain(below).flatten().cloned().collect()
    }
}

impl LabelledFiles {
    /// Creates the table of a session that has no events yet.
    pub(crate) fn of(run: RunFiles) -> Self {
        Self {
            own: Table::new(),
            run,
        }
    }

    /// Returns the files of the run, for a session that this one starts.
    pub(crate) fn run(&self) -> RunFiles {
        self.run.clone()
    }

    /// Returns the number of files of the run.
    pub(crate) fn count(&self) -> usize {
        self.run.lock().len()
    }

    /// Adds sources of a file.
    pub(crate) fn label(&mut self, path: &str, sources: &[String]) {
        let path = path.trim_end_matches('/');
        for table in [&mut self.own, &mut *self.run.lock()] {
            add(table, path.to_owned(), sources);
        }
    }

    /// Returns the sources of a file, as [`RunFiles::sources_of`] does.
    pub(crate) fn sources_of(&self, path: &str) -> BTreeSet<String> {
        self.run.sources_of(path)
    }

    /// Returns the sources of all files but some.
    pub(crate) fn sources_unless(&self, is_left: impl Fn(&str) -> bool) -> BTreeSet<String> {
        let table = self.run.lock();
        let files = table.iter().filter(|(path, _)| !is_left(path));
        files.flat_map(|(_, sources)| sources).cloned().collect()
    }

    /// Returns the files that calls of the session and of its agents wrote, as an event has them.
    pub(crate) fn recorded(&self) -> Vec<LabelledFile> {
        as_recorded(self.own.clone())
    }

    /// Returns what other sessions of the run wrote and the events of this one do not say.
    pub(crate) fn unrecorded(&self) -> Vec<LabelledFile> {
        let run = self.run.lock();
        let others = run.iter().filter(|(path, sources)| {
            let own = self.own.get(*path);
            !own.is_some_and(|own| sources.is_subset(own))
        });
        as_recorded(
            others
                .map(|(path, of)| (path.clone(), of.clone()))
                .collect(),
        )
    }
}

/// Names directories where a table has more files than an event may name.
pub(super) fn bounded_table(table: &mut Table) {
    while table.len() > MAX_FILES {
        *table = in_directories(mem::take(table));
    }
}

pub(super) fn as_recorded(mut table: Table) -> Vec<LabelledFile> {
    bounded_table(&mut table);
    let named = |path: String| {
        if path.is_empty() {
            "/".to_owned()
        } else {
            path
        }
    };
    let files = table.into_iter().map(|(path, sources)| LabelledFile {
        path: named(path),
        sources: sources.into_iter().collect(),
    });
    files.collect()
}

pub(super) fn add<'s>(
    table: &mut Table,
    path: String,
    sources: impl IntoIterator<Item = &'s String>,
) {
    let known = table.entry(path).or_default();
    known.extend(sources.into_iter().cloned());
    if known.len() > MAX_SOURCES {
        *known = bounded(mem::take(known), MAX_SOURCES).into_iter().collect();
    }
}

/// Returns the directories of the deepest files in place of these.
fn in_directories(table: Table) -> Table {
    let depth = |path: &str| path.matches('/').count();
    let deepest = table.keys().map(|path| depth(path)).max();
    let mut directories = Table::new();
    for (path, sources) in table {
        let directory = match path.rsplit_once('/') {
            Some((directory, _)) if Some(depth(&path)) == deepest => directory.to_owned(),
            _ => path,
        };
        add(&mut directories, directory, &sources);
    }
    directories
}

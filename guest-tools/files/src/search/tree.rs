//! The walk of a search: depth first, in the order of the paths, so that nothing but the names of
//! the open directories is kept however many files there are. Links are not followed, and what
//! ignore files leave out is not entered.

mod names;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::filter::Filter;
use super::ignore::{Ignores, Level, MAX_FILE_BYTES, Source};
use crate::disk::{Dir, read_small};
use crate::walk::Kind;
use names::Names;

/// The most levels of directories. Each keeps one open.
const MAX_DEPTH: usize = 64;

/// The most entries that a walk visits.
const MAX_ENTRIES: usize = 1_000_000;

/// The directory of installed packages, which is left out like an ignored one.
const PACKAGES: &str = "node_modules";

/// The directory of a repository's own files, which is only searched when it is asked for.
const REPOSITORY: &str = ".git";

/// Paths that were left out: their number, and the first of them.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) count: usize,
    pub(super) names: Vec<String>,
}

/// The most paths of one kind that are named.
const MAX_NAMED: usize = 10;

impl LeftOut {
    pub(super) fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.names.len() < MAX_NAMED {
            self.names.push(name());
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        self.count += other.count;
        let free = MAX_NAMED.saturating_sub(self.names.len());
        self.names.extend(other.names.into_iter().take(free));
    }
}

/// A file that a walk has found.
#[derive(Clone, Copy)]
pub(super) struct FoundFile<'a> {
    pub(super) dir: &'a Dir,
    pub(super) name: &'a str,
    /// The path from the start of the walk.
    pub(super) path: &'a str,
}

/// A walk from one directory.
pub(super) struct Tree<'a> {
    filter: Option<&'a Filter>,
    /// Absent if nothing is left out.
    ignores: Option<Ignores>,
    /// The length of the path above the start, from the mounted directory on.
    start: usize,
    /// The path of the present entry, from the mounted directory on.
    path: String,
    entries: usize,
    pub(super) is_complete: bool,
    pub(super) ignored: LeftOut,
    /// Directories that may not be read.
    pub(super) unread: LeftOut,
}

/// An open directory of the walk.
struct OpenLevel {
    dir: Dir,
    names: Names,
    next: usize,
    /// The length of its path with its slash.
    base: usize,
}

impl<'a> Tree<'a> {
    pub(super) fn new(filter: Option<&'a Filter>, ignores: Option<Ignores>) -> Self {
        Self {
            filter,
            ignores,
            start: 0,
            path: String::new(),
            entries: 0,
            is_complete: true,
            ignored: LeftOut::default(),
            unread: LeftOut::default(),
        }
    }

    /// Visits the files in a directory, until the visitor breaks.
    ///
    /// # Errors
    /// When the directory itself cannot be read. One inside it that cannot be read is named.
    pub(super) fn walk(
        &mut self,
        root: &Path,
        visit: &mut dyn FnMut(FoundFile<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let (mounted, rest) = Dir::mounted(root)?;
        let dir = mounted.open(&rest)?;
        self.add_ancestors(&mounted, &rest);
        let mut levels = vec![self.enter(dir, 0)?];
        while let Some(level) = levels.last_mut() {
            let Some((name, kind)) = level.names.get(level.next) else {
                levels.pop();
                if let Some(ignores) = &mut self.ignores {
                    ignores.pop();
                }
                continue;
            };
            level.next += 1;
            self.path.truncate(level.base);
            self.path.push_str(name);
            match kind {
                Kind::File if self.is_wanted(name) => {
                    let found = FoundFile {
                        dir: &level.dir,
                        name,
                        path: self.path.get(self.start..).unwrap_or_default(),
                    };
                    if visit(found).is_break() {
                        return Ok(());
                    }
                }
                Kind::Directory if self.is_entered(name) => {
                    let opened = level.dir.dir(name);
                    self.path.push('/');
                    let depth = levels.len();
                    match opened.and_then(|dir| self.enter(dir, depth)) {
                        Ok(level) if depth < MAX_DEPTH => levels.push(level),
                        Ok(_) => self.is_complete = false,
                        // A name of the glob, or a directory that was removed meanwhile.
                        Err(error) if is_missing(&error) => {}
                        Err(_) => {
                            let path = self.path.get(self.start..).unwrap_or_default();
                            self.unread.add(|| path.to_owned());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// True for a file that matches and is not ignored.
    fn is_wanted(&mut self, name: &str) -> bool {
        let path = self.path.get(self.start..).unwrap_or_default();
        if self
            .filter
            .is_some_and(|filter| !filter.matches(path, name))
        {
            return false;
        }
        let is_ignored = |ignores: &Ignores| ignores.is_ignored(&self.path, name, false);
        if self.ignores.as_ref().is_some_and(is_ignored) {
            self.ignored.add(|| path.to_owned());
            return false;
        }
        true
    }

    /// True for a directory in which files are looked for.
    fn is_entered(&mut self, name: &str) -> bool {
        let path = self.path.get(self.start..).unwrap_or_default();
        if name == REPOSITORY || self.filter.is_some_and(|filter| !filter.can_match_in(path)) {
            return false;
        }
        let is_ignored =
            |ignores: &Ignores| name == PACKAGES || ignores.is_ignored(&self.path, name, true);
        if self.ignores.as_ref().is_some_and(is_ignored) {
            self.ignored.add(|| format!("{path}/"));
            return false;
        }
        true
    }

    /// Reads a directory at `self.path`, and its ignore files.
    fn enter(&mut self, dir: Dir, depth: usize) -> io::Result<OpenLevel> {
        let mut names = Names::default();
        let only = self.filter.and_then(|filter| filter.only_directory(depth));
        let level = match only {
            Some(only) => {
                names.push(only, Kind::Directory);
                self.read_ignores(&dir, |_| true)
            }
            None => {
                self.list(&dir, &mut names)?;
                self.read_ignores(&dir, |name| names.has_special(name))
            }
        };
        names.sort();
        if let Some(ignores) = &mut self.ignores {
            ignores.push(level);
        }
        Ok(OpenLevel {
            dir,
            names,
            next: 0,
            base: self.path.len(),
        })
    }

    fn list(&mut self, dir: &Dir, names: &mut Names) -> io::Result<()> {
        let mut is_full = false;
        let listed = dir.entries(&mut |name, kind| {
            is_full = self.entries == MAX_ENTRIES;
            if is_full {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.entries += 1;
            names.push(name, kind);
            Ok(())
        });
        if is_full {
            self.is_complete = false;
            return Ok(());
        }
        listed
    }

    /// Reads the ignore files of the directory at `self.path`. `may_have` tells which of them can
    /// be there.
    fn read_ignores(&self, dir: &Dir, may_have: impl Fn(&str) -> bool) -> Level {
        if self.ignores.is_none() {
            return Level::default();
        }
        let is_repository = may_have(REPOSITORY) && dir.size(REPOSITORY).is_some();
        let mut level = Level::new(&self.path, is_repository);
        let files = [
            (Source::Ignore, ".ignore", ".ignore"),
            (Source::GitIgnore, ".gitignore", ".gitignore"),
            (Source::Exclude, REPOSITORY, ".git/info/exclude"),
        ];
        for (source, name, path) in files {
            if may_have(name)
                && let Some(bytes) = read_small(dir, path, MAX_FILE_BYTES)
            {
                level.add(source, &bytes);
            }
        }
        level
    }

    /// Reads the ignore files above the start, from the mounted directory down, whose rules count
    /// below it, too. The start itself is searched even if they ignore it.
    fn add_ancestors(&mut self, mounted: &Dir, rest: &str) {
        self.path.clear();
        if !rest.is_empty() && !rest.split('/').any(|name| name == "..") {
            for name in rest.split('/') {
                if self.ignores.is_some() {
                    let level = match mounted.open(&self.path) {
                        Ok(dir) => self.read_ignores(&dir, |_| true),
                        Err(_) => Level::new(&self.path, false),
                    };
                    if let Some(ignores) = &mut self.ignores {
                        ignores.push(level);
                    }
                }
                self.path.push_str(name);
                self.path.push('/');
            }
        }
        self.start = self.path.len();
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests;

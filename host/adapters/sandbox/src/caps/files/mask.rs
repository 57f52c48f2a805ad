//! The objects that are hidden from a guest: by the grant's mask patterns, or because they belong
//! to the host program (configuration, lock, state, cache). Each is known by its path and, if it
//! exists, by its identity, so that no link, second name or other spelling leads around it. This
//! module only answers; callers refuse.
//!
//! Not covered, because only a search of the whole disk could find it: a second name (hard link)
//! made on the host for a file that is masked by a wildcard or is deeper than its pattern.

use super::{
    convert::{FileId, file_id},
    held::{HeldDir, HiddenObject},
    resolve::{Root, lstat, real_path},
};
use agent_host_engine::policy::{Grants, PathRules};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{CWD, Mode, OFlags},
    io::Errno,
};
use std::{
    ffi::OsStr,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// The most ancestors of a directory that are examined; a deeper one counts as hidden.
const MAX_ANCESTORS: usize = 1_024;

const LOOK: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The objects that one grant hides.
#[derive(Default)]
pub(super) struct Masks {
    /// All grants, of which this is one.
    grants: Arc<Grants>,
    grant: usize,
    /// Hidden paths relative to the grant, whether or not they exist.
    exact: Vec<String>,
    /// Hidden names in existing directories.
    held: Vec<HeldDir>,
    /// The held names are on local file systems.
    are_local: bool,
    /// The real paths of the held names.
    held_paths: Vec<PathBuf>,
    /// The directories between the grant and the held names.
    above: Vec<FileId>,
}

impl Masks {
    /// Finds the hidden objects of a grant. Returns `None` if the granted directory is itself
    /// protected or in a protected one.
    pub(super) fn new(
        root: &Root,
        grants: &Arc<Grants>,
        grant: usize,
        protected: &[PathBuf],
    ) -> Option<Self> {
        let mut masks = Self {
            grants: Arc::clone(grants),
            grant,
            ..Self::default()
        };
        let grant = grants.dirs.get(grant)?;
        for path in protected {
            masks.protect(root, &grant.host, path)?;
            // The target of a protected link is protected as well.
            if path.is_symlink()
                && let Ok(target) = path.canonicalize()
            {
                masks.protect(root, &grant.host, &target)?;
            }
        }
        for pattern in grant.mask.patterns().iter().filter(|text| is_literal(text)) {
            let path = root.host.join(pattern.trim_matches('/'));
            masks.hold(root, &path);
        }
        Some(masks)
    }

    fn patterns(&self) -> Option<&PathRules> {
        Some(&self.grants.dirs.get(self.grant)?.mask)
    }

    /// Returns the rule that hides a path.
    pub(super) fn rule_for(&self, path: &str) -> String {
        self.rule(self.patterns().and_then(|rules| rules.first_match(path)))
    }

    /// Returns the rule that hides something below a path.
    pub(super) fn rule_below(&self, path: &str) -> String {
        self.rule(self.patterns().and_then(|rules| rules.first_below(path)))
    }

    /// Names the rule: a pattern of the operator, or that the object belongs to the host program.
    fn rule(&self, pattern: Option<&str>) -> String {
        match pattern {
            Some(pattern) => format!("grants.dir[{}].mask `{pattern}`", self.grant),
            None => "host.protected".to_owned(),
        }
    }

    /// Returns whether the path itself is hidden.
    pub(super) fn hides_path(&self, path: &str) -> bool {
        self.patterns().is_some_and(|rules| rules.is_match(path))
            || self
                .exact
                .iter()
                .any(|hidden| path == hidden || is_below(path, hidden))
    }

    /// Returns whether the object is hidden, whatever name it was found by.
    pub(super) fn hides_object(&self, id: FileId) -> bool {
        self.existing().iter().any(|live| live.id == id)
    }

    /// Returns the real paths of the names that every operation looks up.
    pub(super) fn held_paths(&self) -> &[PathBuf] {
        &self.held_paths
    }

    pub(super) fn hidden_ids(&self) -> Vec<FileId> {
        self.existing().iter().map(|live| live.id).collect()
    }

    /// Returns whether an object, by its identity, or its directory is hidden, or is in a hidden
    /// directory, by identities up to the grant's root.
    pub(super) fn hides_in(
        &self,
        dir: BorrowedFd<'_>,
        root: FileId,
        object: Option<FileId>,
    ) -> bool {
        let objects = self.existing();
        if objects.iter().any(|live| Some(live.id) == object) {
            return true;
        }
        let hidden: Vec<FileId> = objects
            .iter()
            .filter(|live| live.is_dir && live.inside)
            .map(|live| live.id)
            .collect();
        // Each ancestor costs two system calls, so they are looked up only where it can matter. If
        // they cannot be found out, the directory counts as hidden.
        !hidden.is_empty()
            && ancestors(dir, root).is_none_or(|ids| ids.iter().any(|id| hidden.contains(id)))
    }

    /// Returns whether something hidden is, or may come to be, below this path or object.
    pub(super) fn has_hidden_below(&self, path: &str, id: Option<FileId>) -> bool {
        self.patterns()
            .is_some_and(|rules| rules.first_below(path).is_some())
            || self.exact.iter().any(|hidden| is_below(hidden, path))
            || id.is_some_and(|id| self.above.contains(&id))
    }

    /// Returns the objects at the held names at present.
    fn existing(&self) -> Vec<HiddenObject> {
        let mut objects = Vec::new();
        for held in &self.held {
            held.add_objects(self.are_local, &mut objects);
        }
        objects
    }

    /// Tells that the grant and the held names are on local file systems.
    pub(super) fn set_local(&mut self) {
        self.are_local = true;
    }

    /// Hides a path of the host, both as written and resolved.
    fn protect(&mut self, root: &Root, granted: &Path, path: &Path) -> Option<()> {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let real = self.hold(root, path);
        let written = is_plain.then(|| path.to_path_buf());
        for path in written.into_iter().chain(real) {
            for base in [granted, &root.host] {
                if base.starts_with(&path) {
                    return None;
                }
                if let Ok(inside) = path.strip_prefix(base) {
                    self.exact.push(inside.to_string_lossy().into_owned());
                }
            }
        }
        Some(())
    }

    /// Holds a name by its directory, if that exists, and returns the real path.
    fn hold(&mut self, root: &Root, path: &Path) -> Option<PathBuf> {
        let (dir, missing) = nearest_dir(path)?;
        let real = real_path(dir.as_fd()).ok()?;
        let inside = real.starts_with(&root.host);
        if inside && let Some(ancestors) = ancestors(dir.as_fd(), root.id) {
            self.above
                .extend(ancestors.into_iter().filter(|id| *id != root.id));
        }
        if let [name] = missing.as_slice() {
            self.held_paths.push(real.join(name));
            let name = (*name).to_owned();
            if !self.held.iter_mut().any(|held| held.hold(&dir, &name)) {
                self.held.push(HeldDir::new(dir, inside, name));
            }
        }
        Some(real.join(missing.iter().collect::<PathBuf>()))
    }
}

/// Returns the nearest existing directory above a path, and the names from there to the path.
fn nearest_dir(path: &Path) -> Option<(OwnedFd, Vec<&OsStr>)> {
    let mut missing = Vec::new();
    let mut above = path;
    loop {
        if let Some(name) = above.file_name() {
            missing.insert(0, name);
        }
        above = above.parent()?;
        let here = if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        };
        match rustix::fs::openat(CWD, here, LOOK, Mode::empty()) {
            Ok(dir) => return Some((dir, missing)),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => return None,
        }
    }
}

/// Returns the identities of a directory and its ancestors up to the root, if they can be found
/// out.
fn ancestors(dir: BorrowedFd<'_>, root: FileId) -> Option<Vec<FileId>> {
    let mut current = rustix::fs::openat(dir, ".", LOOK, Mode::empty()).ok()?;
    let mut ancestors = Vec::new();
    while ancestors.len() < MAX_ANCESTORS {
        let here = file_id(&rustix::fs::fstat(&current).ok()?);
        let is_top = ancestors.last() == Some(&here);
        ancestors.push(here);
        if here == root || is_top {
            return Some(ancestors);
        }
        current = rustix::fs::openat(&current, "..", LOOK, Mode::empty()).ok()?;
    }
    None
}

fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns whether a pattern is a path without wildcards.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Returns whether a listed name is a second name of something hidden. The inode number alone rules
/// out most entries.
pub(super) fn is_hidden_alias(hidden: &[FileId], dir: &OwnedFd, name: &str, inode: u64) -> bool {
    hidden.iter().any(|id| id.inode == inode)
        && lstat(dir, name)
            .is_ok_and(|stat| stat.is_some_and(|stat| hidden.contains(&file_id(&stat))))
}

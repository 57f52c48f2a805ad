//! What does not exist for a guest: the grant's mask patterns, and what belongs to the host program (configuration, lock,
//! state, cache). Each is known by its path, and where it exists also by its identity, so that neither a link, nor a second
//! name, nor another spelling leads around it. It only answers; refusing is the caller's.
//!
//! Not covered, because nothing but a search of the whole disk could find it: a second name (hard link) that somebody on the
//! host gave to a file which is masked by a wildcard or deeper than its pattern says.

use super::{
    convert::{Id, id, kind},
    place::{Root, look, real_path},
};
use agent_host_engine::policy::{DirGrant, PathRules};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    path::{Component, Path, PathBuf},
};

/// How far up a folder's ancestors are looked at; deeper ones count as hidden.
const MAX_CLIMB: usize = 1_024;

/// Folders are opened only to look at names in them.
const LOOK: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What one grant hides, beside its patterns.
#[derive(Default)]
pub(super) struct Masks {
    /// Hidden paths relative to the grant, whether or not anything is there.
    exact: Vec<String>,
    /// Hidden names in folders that exist.
    held: Vec<Held>,
    /// The folders between the grant and a held name.
    above: Vec<Id>,
}

/// A name in an open folder: it stays the same name wherever the folder is moved.
struct Held {
    folder: OwnedFd,
    name: OsString,
    /// The folder is in this grant.
    inside: bool,
}

/// What a held name stands for at present.
struct Live {
    id: Id,
    is_folder: bool,
    inside: bool,
}

impl Masks {
    /// Finds what is hidden in a grant. None if the granted folder is itself protected, or in a protected folder.
    pub(super) fn new(root: &Root, grant: &DirGrant, protected: &[PathBuf]) -> Option<Self> {
        let mut masks = Self::default();
        for path in protected {
            masks.protect(root, &grant.host, path)?;
            // A protected name that is a link protects what it leads to as well.
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

    /// Whether the path itself is hidden.
    pub(super) fn names(&self, patterns: Option<&PathRules>, path: &str) -> bool {
        patterns.is_some_and(|rules| rules.first_match(path).is_some())
            || self
                .exact
                .iter()
                .any(|hidden| path == hidden || is_below(path, hidden))
    }

    /// Whether the object is hidden, whatever name it was found by.
    pub(super) fn is(&self, id: Id) -> bool {
        self.live().any(|live| live.id == id)
    }

    /// The identities of everything hidden that exists.
    pub(super) fn ids(&self) -> Vec<Id> {
        self.live().map(|live| live.id).collect()
    }

    /// Whether the folder is, or is in, a hidden folder, going by identities up to the grant's root.
    pub(super) fn is_within(&self, folder: BorrowedFd<'_>, root: Id) -> bool {
        let hidden: Vec<Id> = self
            .live()
            .filter(|live| live.is_folder && live.inside)
            .map(|live| live.id)
            .collect();
        // Climbing costs two calls to the kernel for each level, so it is done only where it can matter. A folder whose
        // ancestors cannot be found out counts as hidden.
        !hidden.is_empty()
            && climb(folder, root)
                .is_none_or(|ancestors| ancestors.iter().any(|id| hidden.contains(id)))
    }

    /// Whether something hidden is, or may come to be, below this path or object.
    pub(super) fn is_below(
        &self,
        patterns: Option<&PathRules>,
        path: &str,
        id: Option<Id>,
    ) -> bool {
        patterns.is_some_and(|rules| rules.first_below(path).is_some())
            || self.exact.iter().any(|hidden| is_below(hidden, path))
            || id.is_some_and(|id| self.above.contains(&id))
    }

    fn live(&self) -> impl Iterator<Item = Live> {
        self.held.iter().filter_map(|held| {
            let stat =
                rustix::fs::statat(&held.folder, &held.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(Live {
                id: id(&stat),
                is_folder: kind(&stat) == FileType::Directory,
                inside: held.inside,
            })
        })
    }

    /// Hides a path of the host, both as it is written and where it really is.
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

    /// Holds a name by its folder, if that exists, and returns where the path really is.
    fn hold(&mut self, root: &Root, path: &Path) -> Option<PathBuf> {
        let (folder, missing) = nearest_folder(path)?;
        let real = real_path(folder.as_fd()).ok()?;
        let inside = real.starts_with(&root.host);
        if inside && let Some(ancestors) = climb(folder.as_fd(), root.id) {
            self.above
                .extend(ancestors.into_iter().filter(|id| *id != root.id));
        }
        if let [name] = missing.as_slice() {
            self.held.push(Held {
                folder,
                name: (*name).to_owned(),
                inside,
            });
        }
        Some(real.join(missing.iter().collect::<PathBuf>()))
    }
}

/// The nearest folder above a path that exists, and the names from there to the path.
fn nearest_folder(path: &Path) -> Option<(OwnedFd, Vec<&OsStr>)> {
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
            Ok(folder) => return Some((folder, missing)),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => return None,
        }
    }
}

/// The identities of a folder and its ancestors, up to and with the root. None if that is not found out.
fn climb(folder: BorrowedFd<'_>, root: Id) -> Option<Vec<Id>> {
    let mut current = rustix::fs::openat(folder, ".", LOOK, Mode::empty()).ok()?;
    let mut ancestors = Vec::new();
    while ancestors.len() < MAX_CLIMB {
        let here = id(&rustix::fs::fstat(&current).ok()?);
        let is_top = ancestors.last() == Some(&here);
        ancestors.push(here);
        if here == root || is_top {
            return Some(ancestors);
        }
        current = rustix::fs::openat(&current, "..", LOOK, Mode::empty()).ok()?;
    }
    None
}

/// Whether a path is below another.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a pattern is a plain path.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Whether a listed name is a second name of something hidden. Most entries are told apart by their number alone.
pub(super) fn is_alias(hidden: &[Id], folder: &OwnedFd, name: &str, inode: u64) -> bool {
    hidden.iter().any(|id| id.inode == inode)
        && look(folder, name).is_ok_and(|stat| stat.is_some_and(|stat| hidden.contains(&id(&stat))))
}

//! A path in a granted directory, and the open directory that its last name is in. No link is
//! followed on the way, so that nothing which was swapped in leads out of the grant.

use rustix::{
    fd::{AsFd as _, OwnedFd},
    fs::{CWD, Mode, OFlags},
};
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::{Path, PathBuf},
};

/// A path in a granted directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UndoPath {
    /// The granted directory on the host, without links in its path.
    root: PathBuf,
    /// The path under which the tool sees that directory.
    guest: String,
    /// The path in it: names between single slashes, without `.` and `..`.
    path: String,
}

impl UndoPath {
    /// Names a path in the granted directory `root`, which the tool sees as `guest`.
    #[must_use]
    pub fn new(root: &Path, guest: &str, path: &str) -> Self {
        Self {
            root: root.to_owned(),
            guest: guest.to_owned(),
            path: path.to_owned(),
        }
    }

    /// Returns the path on the host.
    #[must_use]
    pub fn on_host(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    /// Returns the path on the host as the kernel resolves it now: with the links of the directory
    /// resolved, on whose own path one may have been put since.
    #[must_use]
    pub fn resolved(&self) -> PathBuf {
        let root = self.root.canonicalize();
        root.unwrap_or_else(|_| self.root.clone()).join(&self.path)
    }

    /// Returns the path as the tool sees it.
    #[must_use]
    pub fn in_guest(&self) -> String {
        format!("{}/{}", self.guest.trim_end_matches('/'), self.path)
    }

    /// Returns how many directories of the grant it is in.
    pub(crate) fn depth(&self) -> usize {
        self.path.matches('/').count()
    }

    /// Opens the directory that it is in.
    ///
    /// # Errors
    /// As for openat(2); `ELOOP` or `ENOTDIR` where a link is on the way, and `InvalidInput` for a
    /// path that no writer has recorded.
    pub(crate) fn open_parent(&self) -> io::Result<(OwnedFd, &str)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = rustix::fs::openat(CWD, &self.root, flags, Mode::empty())?;
        let mut names = self.path.split('/').peekable();
        while let Some(name) = names.next() {
            if matches!(name, "" | "." | "..") {
                break;
            }
            if names.peek().is_none() {
                return Ok((dir, name));
            }
            let flags = flags | OFlags::NOFOLLOW;
            dir = rustix::fs::openat(dir.as_fd(), name, flags, Mode::empty())?;
        }
        Err(io::ErrorKind::InvalidInput.into())
    }
}

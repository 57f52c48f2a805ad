//! Resolves a guest's path to an open directory and one name in it. All further operations act on
//! that pair without following links, so nothing that is swapped in afterwards can lead them
//! elsewhere. This module decides nothing.

use super::{
    convert::{FileId, ResolveError, file_id, file_type},
    mask::Masks,
    node::OpenDir,
};
use crate::schedule::blocking::ToolBlocking;
use agent_host_engine::policy::FileOp;
use rustix::{
    fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};
use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// The symbolic links that one path may go through, as in Linux.
pub(super) const MAX_SYMLINKS: usize = 40;
/// The longest path in bytes, as in Linux (PATH_MAX).
const MAX_PATH_BYTES: usize = 4_096;
/// The depth of a walk; each level holds a descriptor.
pub(super) const MAX_WALK_DEPTH: usize = 256;
/// The attempts to resolve a path by the kernel, if a directory moves meanwhile, before it is
/// walked.
const MAX_RETRIES: usize = 16;

const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// An open granted directory.
pub(super) struct Root {
    /// Open for reading.
    pub(super) dir: Arc<OwnedFd>,
    pub(super) id: FileId,
    /// The path on the host, without links.
    pub(super) host: PathBuf,
    pub(super) masks: Masks,
    /// The threads for operations in the directory if they may block; absent to run them inline.
    pub(super) blocking: Option<Arc<ToolBlocking>>,
    pub(super) resolver: Resolver,
}

/// The way by which a resolution is kept inside the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolver {
    /// openat2 for plain paths, if the kernel has it and no filter forbids it.
    Openat2,
    /// One name at a time.
    Walk,
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Yes,
    No,
}

/// A path whose parent directory is open.
#[derive(Debug)]
pub(super) struct ResolvedPath {
    /// The directory that the name is in.
    pub(super) parent: Arc<OwnedFd>,
    /// Absent if the path means the directory itself.
    pub(super) name: Option<String>,
    /// The path relative to the grant, as the kernel sees it: no `..`, no links.
    pub(super) path: String,
    /// The object at the path, if one exists.
    pub(super) stat: Option<Stat>,
    /// The path ends in a slash, so it means a directory.
    pub(super) is_dir: bool,
    pub(super) via_symlink: bool,
}

impl ResolvedPath {
    pub(super) fn file_type(&self) -> Option<FileType> {
        self.stat.as_ref().map(file_type)
    }

    /// Returns whether a regular file with an executable bit is there.
    pub(super) fn is_executable(&self) -> bool {
        self.file_type() == Some(FileType::RegularFile)
            && self.stat.is_some_and(|stat| stat.st_mode & 0o111 != 0)
    }

    /// The operation of writing to a file here.
    pub(super) fn write_op(&self) -> FileOp {
        if self.is_executable() {
            FileOp::WriteExecutable
        } else {
            FileOp::Write
        }
    }

    /// Returns the name, for operations that need one.
    pub(super) fn name(&self) -> Result<&str, ErrorCode> {
        self.name.as_deref().ok_or(ErrorCode::Invalid)
    }
}

impl Root {
    /// Opens a directory of the host. Links in its own path are the operator's and are followed.
    pub(super) fn open(host: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, host, flags, Mode::empty())?;
        Ok(Self {
            id: file_id(&rustix::fs::fstat(&dir)?),
            host: real_path(dir.as_fd()).unwrap_or_default(),
            dir: Arc::new(dir),
            masks: Masks::default(),
            blocking: None,
            resolver: Resolver::Openat2,
        })
    }

    /// Returns the path of an open directory relative to this root.
    pub(super) fn path_of(&self, dir: &OwnedFd) -> Result<String, ResolveError> {
        if dir.as_raw_fd() == self.dir.as_raw_fd() {
            return Ok(String::new());
        }
        let real = real_path(dir.as_fd())?;
        let inside = |root: &Path| {
            let rest = real.strip_prefix(root).ok()?;
            Some(rest.to_string_lossy().into_owned())
        };
        if let Some(path) = inside(&self.host) {
            return Ok(path);
        }
        // The granted directory was moved on the host while the call runs.
        inside(&real_path(self.dir.as_fd())?).ok_or(ResolveError::Escape)
    }

    /// Returns whether the path is hidden from the guest.
    pub(super) fn hides(&self, resolved: &ResolvedPath) -> bool {
        let (masks, id) = (&self.masks, resolved.stat.as_ref().map(file_id));
        masks.hides_path(&resolved.path) || masks.hides_in(resolved.parent.as_fd(), self.id, id)
    }

    /// Returns whether the path is an ancestor of something hidden.
    pub(super) fn leads_to_hidden(&self, resolved: &ResolvedPath) -> bool {
        let id = resolved.stat.as_ref().map(file_id);
        self.masks.has_hidden_below(&resolved.path, id)
    }

    /// Opens the directory at a path beneath another with `O_PATH`, and returns whether the path
    /// led through a link. The kernel resolves a plain path at once. It would also enter and leave
    /// something hidden, or tell its type; so a path with links or `..`, and one through an object
    /// that is no directory, is walked.
    fn open_beneath(&self, dir: &OwnedFd, path: &str) -> Result<(OwnedFd, bool), ResolveError> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let is_plain = !path.split('/').any(|name| name == "..");
        let tries = if self.resolver == Resolver::Walk || !is_plain {
            0
        } else {
            MAX_RETRIES
        };
        for _ in 0..tries {
            let flags = PATH_ONLY | OFlags::DIRECTORY;
            match rustix::fs::openat2(dir, path, flags, Mode::empty(), how) {
                Ok(found) => return Ok((found, false)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // NOSYS and PERM: an old kernel, or a filter that does not know the call.
                Err(Errno::LOOP | Errno::NOTDIR | Errno::NOSYS | Errno::PERM) => break,
                Err(other) => return Err(other.into()),
            }
        }
        self.walk(dir, path)
    }

    /// Resolves a directory's path one name at a time. Each level stays open, so that `..` returns
    /// to the level that was really left, and never above the first. A hidden object has no `..`
    /// and does not tell its type.
    fn walk(&self, dir: &OwnedFd, path: &str) -> Result<(OwnedFd, bool), ResolveError> {
        let names = |path: &str| path.rsplit('/').map(str::to_owned).collect::<Vec<_>>();
        let hidden = self.masks.hidden_ids();
        let mut ahead = names(path);
        let here = OFlags::DIRECTORY | PATH_ONLY;
        let mut trail = vec![Level {
            fd: rustix::fs::openat(dir, ".", here, Mode::empty())?,
            path: self.path_of(dir)?,
            is_hidden: false,
        }];
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            let current = trail.last().ok_or(ResolveError::Escape)?;
            match name.as_str() {
                "" | "." => continue,
                ".." if current.is_hidden => return Err(ErrorCode::NoEntry.into()),
                ".." => {
                    trail.pop();
                    if trail.is_empty() {
                        return Err(ResolveError::Escape);
                    }
                    continue;
                }
                _ => {}
            }
            // Together with O_PATH, O_NOFOLLOW opens a link itself.
            let fd = rustix::fs::openat(
                &current.fd,
                &*name,
                PATH_ONLY | OFlags::NOFOLLOW,
                Mode::empty(),
            )?;
            let stat = rustix::fs::fstat(&fd)?;
            let path = join(&current.path, &name);
            let is_hidden = current.is_hidden
                || self.masks.hides_path(&path)
                || hidden.contains(&file_id(&stat));
            match file_type(&stat) {
                FileType::Directory if trail.len() < MAX_WALK_DEPTH => trail.push(Level {
                    fd,
                    path,
                    is_hidden,
                }),
                FileType::Directory => return Err(ErrorCode::NameTooLong.into()),
                _ if is_hidden => return Err(ErrorCode::NoEntry.into()),
                FileType::Symlink => {
                    links += 1;
                    if links > MAX_SYMLINKS {
                        return Err(ErrorCode::Loop.into());
                    }
                    let target = read_link(&fd, "")?;
                    if target.starts_with('/') {
                        return Err(ResolveError::Escape);
                    }
                    ahead.extend(names(&target));
                }
                _ => return Err(ErrorCode::NotDirectory.into()),
            }
        }
        Ok((trail.pop().ok_or(ResolveError::Escape)?.fd, links > 0))
    }
}

/// A directory of a walk.
struct Level {
    fd: OwnedFd,
    /// Relative to the grant.
    path: String,
    is_hidden: bool,
}

/// Resolves a path beneath a directory.
///
/// # Errors
/// [`ResolveError::Escape`] for a path that leaves the directory: by `..`, by a link, or because it
/// is absolute.
pub(super) fn resolve(
    root: &Root,
    dir: &OpenDir,
    path: &str,
    follow: Follow,
) -> Result<ResolvedPath, ResolveError> {
    let mut path = path.to_owned();
    let mut via_symlink = false;
    for _ in 0..=MAX_SYMLINKS {
        if path.starts_with('/') {
            return Err(ResolveError::Escape);
        }
        let (above, name, is_dir) = split(&path)?;
        let Some(name) = name else {
            let (parent, through) = root.open_beneath(&dir.fd, &path)?;
            return Ok(ResolvedPath {
                name: None,
                path: root.path_of(&parent)?,
                stat: Some(rustix::fs::fstat(&parent)?),
                is_dir: true,
                via_symlink: via_symlink || through,
                parent: Arc::new(parent),
            });
        };
        let parent = if above.is_empty() {
            Arc::clone(&dir.fd)
        } else {
            let (parent, through) = root.open_beneath(&dir.fd, above)?;
            via_symlink |= through;
            Arc::new(parent)
        };
        let stat = lstat(&parent, name)?;
        let resolved = ResolvedPath {
            path: join(&root.path_of(&parent)?, name),
            name: Some(name.to_owned()),
            parent,
            stat,
            is_dir,
            via_symlink,
        };
        // A hidden link is not followed: the caller treats it as hidden.
        let found = resolved.file_type();
        let is_followed = found == Some(FileType::Symlink) && (follow == Follow::Yes || is_dir);
        if is_followed && !root.hides(&resolved) {
            let target = read_link(&resolved.parent, name)?;
            if target.starts_with('/') {
                return Err(ResolveError::Escape);
            }
            let slash = if is_dir { "/" } else { "" };
            path = if above.is_empty() {
                format!("{target}{slash}")
            } else {
                format!("{above}/{target}{slash}")
            };
            via_symlink = true;
            continue;
        }
        let is_file = found.is_some_and(|found| found != FileType::Directory);
        if is_dir && is_file && !root.hides(&resolved) {
            return Err(ErrorCode::NotDirectory.into());
        }
        return Ok(resolved);
    }
    Err(ErrorCode::Loop.into())
}

/// Joins a path relative to the grant and a name.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

/// Returns the object at a name, without following a link.
pub(super) fn lstat(parent: &OwnedFd, name: &str) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Returns the target of a link.
pub(super) fn read_link(parent: impl AsFd, name: &str) -> Result<String, ResolveError> {
    rustix::fs::readlinkat(parent, name, Vec::new())?
        .into_string()
        .map_err(|_| ErrorCode::IllegalByteSequence.into())
}

/// Returns the kernel's path of an open object.
pub(super) fn real_path(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::new())?.into_bytes();
    Ok(PathBuf::from(OsString::from_vec(path)))
}

/// Splits a path into the part above the last name, the last name unless it is `.` or `..`, and
/// whether the path ends in a slash.
fn split(path: &str) -> Result<(&str, Option<&str>, bool), ResolveError> {
    if path.len() > MAX_PATH_BYTES {
        return Err(ErrorCode::NameTooLong.into());
    }
    let trimmed = path.trim_end_matches('/');
    let (above, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
    match name {
        "" => Err(ErrorCode::NoEntry.into()),
        "." | ".." => Ok((above, None, true)),
        _ => Ok((above, Some(name), trimmed.len() < path.len())),
    }
}

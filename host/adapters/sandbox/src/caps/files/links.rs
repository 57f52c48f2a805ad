//! Keeps symbolic links from leading programs of the host out of a grant. Guests follow no such
//! link, not even one that the host made.
//!
//! A link that a guest creates or moves has a target of leading `..`, at most as many as the link's
//! directory is deep, followed by names. Resolving such a target never leaves the grant, whatever
//! the names stand for: only a leading `..` climbs, and it climbs from the real directory of the
//! link. A `..` after a name would climb from the target of that name, which can change later.
//! Moving a link changes its depth, so moved links are checked again for the new path.

use super::{
    FilesCtx,
    convert::{ResolveError, error_code, file_id, file_type},
    node::OpenDir,
    resolve::{Follow, MAX_WALK_DEPTH, ResolvedPath, read_link, resolve},
};
use agent_host_types::{
    audit::{AuditRequest, FileAction},
    reason::Reason,
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat,
        statat,
    },
    io::Errno,
    path::Arg,
};
use std::sync::Arc;
use wasmtime_wasi::p2::{FsError, FsResult, bindings::filesystem::types::ErrorCode};

/// The most entries of a directory that are checked before it is moved into another one.
pub(super) const MAX_ENTRIES: usize = 10_000;

const TOO_MANY: &str =
    "it has more than 10,000 entries or is too deep to check for links; move its contents in parts";

const SEARCH: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

const RULE: &str = "files.links";

impl FilesCtx {
    /// Checks a link that is about to be created.
    pub(super) fn check_new_symlink(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
        target: &str,
    ) -> FsResult<()> {
        let request = || AuditRequest::File {
            action: FileAction::Link,
            path: self.gate.guest_path(dir.grant, &resolved.path),
            to: Some(target.to_owned()),
        };
        if resolved.via_symlink {
            let reason = "its path leads through a link; create it at the real path";
            return Err(self.refuse_link(request(), reason));
        }
        self.check_link(dir, &resolved.path, target, request)
    }

    /// Checks an object that is about to be moved, if it is a link.
    pub(super) fn check_moved_link(
        &self,
        dir: &OpenDir,
        old: &ResolvedPath,
        new: &ResolvedPath,
    ) -> FsResult<()> {
        if old.file_type() != Some(FileType::Symlink) {
            return Ok(());
        }
        let target = read_link(&*old.parent, old.name()?)?;
        self.check_link(dir, &new.path, &target, || self.move_request(dir, old, new))
    }

    /// Checks the links in an object that is about to be moved, if it is a directory. Looks at
    /// nothing on another file system.
    pub(super) fn check_moved_dir(
        &self,
        dir: &OpenDir,
        old: &ResolvedPath,
        new: &ResolvedPath,
    ) -> FsResult<()> {
        // A rename within one directory changes no depth.
        if old.file_type() != Some(FileType::Directory) || is_same(&old.parent, &new.parent)? {
            return Ok(());
        }
        let below = escape_below(&old.parent, old.name()?, depth(&new.path) + 1);
        let reason = below.unwrap_or_else(|error| {
            Some(match error {
                Errno::XDEV => "a file system is mounted in it".into(),
                error => format!("cannot search it for links: {error}").into(),
            })
        });
        reason.map_or(Ok(()), |reason| {
            Err(self.refuse_link(self.move_request(dir, old, new), reason.as_str()))
        })
    }

    fn move_request(&self, dir: &OpenDir, old: &ResolvedPath, new: &ResolvedPath) -> AuditRequest {
        let path = |resolved: &ResolvedPath| self.gate.guest_path(dir.grant, &resolved.path);
        AuditRequest::File {
            action: FileAction::Move,
            path: path(old),
            to: Some(path(new)),
        }
    }

    /// Checks a link at a path relative to the grant: by its text, and by the objects that the text
    /// leads through at present.
    fn check_link(
        &self,
        dir: &OpenDir,
        path: &str,
        target: &str,
        request: impl Fn() -> AuditRequest,
    ) -> FsResult<()> {
        if let Some(reason) = escape_reason(depth(path), target) {
            return Err(self.refuse_link(request(), reason.as_str()));
        }
        let root = self.root(dir)?;
        let top = OpenDir {
            fd: Arc::clone(&root.dir),
            grant: dir.grant,
        };
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let full = format!("./{above}/{target}");
        match resolve(root, &top, &full, Follow::Yes) {
            Err(ResolveError::Escape) => {
                let reason = "its target leads through a link that leaves the granted directory";
                Err(self.refuse_link(request(), reason))
            }
            Err(ResolveError::Code(ErrorCode::NameTooLong)) => Err(ErrorCode::NameTooLong.into()),
            // Objects that do not exist yet will be created under the same rules.
            Ok(_) | Err(ResolveError::Code(_)) => Ok(()),
        }
    }

    fn refuse_link(&self, request: AuditRequest, reason: &str) -> FsError {
        self.gate.refuse(request, RULE, reason);
        ErrorCode::NotPermitted.into()
    }
}

/// Returns how many directories of the grant a path is in.
fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// Returns the reason why a link with this target could lead out of the grant from this depth.
fn escape_reason(depth: usize, target: &str) -> Option<Reason> {
    if target.starts_with('/') {
        return Some("its target is absolute".into());
    }
    let mut climbs = 0;
    let mut has_name = false;
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." if has_name => {
                return Some("its target has `..` after a name that may become a link".into());
            }
            ".." => climbs += 1,
            _ => has_name = true,
        }
    }
    (climbs > depth).then(|| "its target is outside of the granted directory".into())
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> FsResult<bool> {
    let id = |fd: &OwnedFd| Ok::<_, FsError>(file_id(&fstat(fd).map_err(error_code)?));
    Ok(id(one)? == id(other)?)
}

/// Opens a directory on the same file system as its parent, if the kernel can tell.
fn open_same_mount(parent: impl AsFd, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let how = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match openat2(&parent, name, SEARCH, Mode::empty(), how) {
        // An old kernel, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => openat(&parent, name, SEARCH, Mode::empty()),
        other => other,
    }
}

/// Checks everything below a directory that is to be moved to a depth, and returns the reason why
/// it cannot be there.
fn escape_below(parent: &OwnedFd, name: &str, depth: usize) -> Result<Option<Reason>, Errno> {
    let mut levels = vec![Dir::new(open_same_mount(parent, name)?)?];
    let mut count = 0;
    loop {
        let inner = levels.len();
        let Some(level) = levels.last_mut() else {
            return Ok(None);
        };
        let Some(entry) = level.read() else {
            levels.pop();
            continue;
        };
        let (entry, here) = (entry?, level.fd()?);
        let name = entry.file_name();
        let found = match (name.to_bytes(), entry.file_type()) {
            (b"." | b"..", _) => continue,
            // Some file systems list no types.
            (_, FileType::Unknown) => file_type(&statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?),
            (_, known) => known,
        };
        count += 1;
        if count > MAX_ENTRIES || inner > MAX_WALK_DEPTH {
            return Ok(Some(TOO_MANY.into()));
        }
        match found {
            FileType::Directory => {
                let dir = open_same_mount(here, name)?;
                levels.push(Dir::new(dir)?);
            }
            FileType::Symlink => {
                let target = readlinkat(here, name, Vec::new())?;
                if let Some(reason) = escape_reason(depth + inner - 1, &target.to_string_lossy()) {
                    return Ok(Some(format!("for a link in it, {reason}").into()));
                }
            }
            _ => {}
        }
    }
}

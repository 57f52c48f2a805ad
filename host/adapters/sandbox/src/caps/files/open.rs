//! Opening: the only source of descriptors. The opened object is checked again, because it may be
//! another one than was there when the gate was asked.

use super::{
    FilesCtx,
    convert::{error_code, file_id, file_type, io_error_code},
    git_config::{WatchHandle, is_config_name},
    node::{FileNode, GuestFile, OpenDir, OpenFile},
    resolve::{Follow, ResolvedPath},
};
use agent_host_engine::policy::FileOp;
use agent_host_types::audit::FileAction;
use rustix::{
    fd::OwnedFd,
    fs::{FileType, Mode, OFlags, Stat},
    io::Errno,
};
use std::{fs::File, sync::Arc};
use wasmtime_wasi::p2::{
    FsResult,
    bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags},
};

/// The flags of every open. `O_NONBLOCK` keeps the open of a FIFO, should one be there after all,
/// from waiting for its other end; `O_NOCTTY` keeps a terminal from becoming the controlling one.
const OPEN: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// The guest's flags for an open.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenRequest {
    read: bool,
    write: bool,
    create: bool,
    /// With `create`: nothing may be there.
    exclusive: bool,
    truncate: bool,
    dir: bool,
}

impl OpenRequest {
    /// # Errors
    /// `unsupported` for synchronized writing, `invalid` for flags that contradict each other.
    pub(super) fn new(open: OpenFlags, flags: DescriptorFlags) -> Result<Self, ErrorCode> {
        let synchronized = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(synchronized) {
            return Err(ErrorCode::Unsupported);
        }
        let changing = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if open.contains(OpenFlags::DIRECTORY) && open.intersects(changing) {
            return Err(ErrorCode::Invalid);
        }
        let write = flags.contains(DescriptorFlags::WRITE) || open.contains(OpenFlags::TRUNCATE);
        Ok(Self {
            read: flags.contains(DescriptorFlags::READ) || !write,
            write,
            create: open.contains(OpenFlags::CREATE),
            exclusive: open.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE),
            truncate: open.contains(OpenFlags::TRUNCATE),
            dir: open.contains(OpenFlags::DIRECTORY),
        })
    }

    /// Returns whether the open makes a file where none is.
    pub(super) fn creates(self) -> bool {
        self.create
    }

    /// The access to ask of the kernel. What is written may have to be judged together with what
    /// is there.
    fn access(self) -> OFlags {
        if self.write {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        }
    }

    /// The operation for the audit log if the path cannot be resolved.
    fn action(self) -> FileAction {
        if self.write || self.create {
            FileAction::Write
        } else {
            FileAction::Read
        }
    }
}

/// Opens a file without following a link.
fn open_regular(
    parent: &OwnedFd,
    name: &str,
    flags: OFlags,
    request: OpenRequest,
) -> Result<OwnedFd, Errno> {
    let open = |flags| rustix::fs::openat(parent, name, flags, Mode::from(0o666));
    let opened = match open(flags) {
        // A file that may be written but not read. It cannot be judged, so that no write makes it
        // git configuration.
        Err(Errno::ACCESS) if request.write && !request.read => {
            open(flags.difference(OFlags::RWMODE) | OFlags::WRONLY)
        }
        other => other,
    };
    opened.map_err(|error| match error {
        // A FIFO without a reader.
        Errno::NXIO => Errno::ACCESS,
        other => other,
    })
}

impl FilesCtx {
    /// Opens the object at a path.
    pub(super) fn open_at(
        &self,
        dir: &OpenDir,
        path: &str,
        follow: Follow,
        request: OpenRequest,
    ) -> FsResult<FileNode> {
        // As in POSIX, an exclusive create does not follow a link.
        let follow = if request.exclusive {
            Follow::No
        } else {
            follow
        };
        let resolved = self.resolve(dir, path, follow, request.action())?;
        if self.is_hidden(dir, &resolved)? {
            return if request.create {
                self.refuse_hidden(dir, &resolved)
            } else {
                Err(ErrorCode::NoEntry.into())
            };
        }
        match resolved.file_type() {
            Some(FileType::Directory) => self.open_dir(dir, &resolved, request),
            Some(FileType::RegularFile) | None => self.open_file(dir, resolved, request),
            Some(FileType::Symlink) => {
                self.check(dir, FileOp::Stat, &resolved)?;
                Err(if request.exclusive {
                    ErrorCode::Exist.into()
                } else {
                    ErrorCode::Loop.into()
                })
            }
            Some(_) => {
                let action = request.action();
                self.gate.refuse(
                    self.gate.file_request(dir.grant, action, &resolved.path),
                    "files.regular-only",
                    "it is a pipe, a socket or a device; tools can open only files and directories",
                );
                Err(ErrorCode::Access.into())
            }
        }
    }

    fn open_dir(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
        request: OpenRequest,
    ) -> FsResult<FileNode> {
        self.check(dir, FileOp::Stat, resolved)?;
        if request.exclusive {
            return Err(ErrorCode::Exist.into());
        }
        if request.write || request.create {
            return Err(ErrorCode::IsDirectory.into());
        }
        let name = resolved.name.as_deref().unwrap_or(".");
        let flags = OPEN | OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = rustix::fs::openat(&*resolved.parent, name, flags, Mode::empty())
            .map_err(error_code)?;
        self.check_opened(dir, resolved, &opened, FileType::Directory)?;
        Ok(FileNode::Dir(OpenDir {
            fd: Arc::new(opened),
            grant: dir.grant,
        }))
    }

    fn open_file(
        &self,
        dir: &OpenDir,
        resolved: ResolvedPath,
        request: OpenRequest,
    ) -> FsResult<FileNode> {
        if request.read {
            self.check(dir, FileOp::Read, &resolved)?;
        }
        if request.write || request.create {
            self.check(dir, resolved.write_op(), &resolved)?;
        }
        let name = resolved.name()?;
        match &resolved.stat {
            None if !request.create => return Err(ErrorCode::NoEntry.into()),
            None if resolved.is_dir => return Err(ErrorCode::IsDirectory.into()),
            None => {
                self.check_nothing_hidden_below(dir, &resolved)?;
                self.check_marker_is_direct(dir, &resolved)?;
            }
            Some(_) if request.dir => return Err(ErrorCode::NotDirectory.into()),
            Some(_) if request.exclusive => return Err(ErrorCode::Exist.into()),
            Some(_) => {}
        }
        let mut flags = OPEN | request.access();
        // A file that vanishes meanwhile is not created again, since the quota has not counted it.
        let makes = resolved.stat.is_none();
        flags.set(OFlags::CREATE, makes);
        flags.set(OFlags::EXCL, makes && request.exclusive);
        // O_TRUNC would empty the object before it is known to be the right one.
        let open = || open_regular(&resolved.parent, name, flags, request);
        if request.write && !makes {
            self.keep(dir, &resolved)?;
        }
        let opened = if makes {
            self.create(dir, &resolved, 0, open)?
        } else {
            open().map_err(error_code)?
        };
        self.check_opened(dir, &resolved, &opened, FileType::RegularFile)?;
        let watch = self.watch(dir, &resolved, &opened, request)?;
        let file = File::from(opened);
        let blocking = self.blocking(dir.grant).cloned();
        Ok(FileNode::File(OpenFile {
            file: GuestFile::new(file, watch, request.read, blocking),
            grant: dir.grant,
            path: resolved.path,
            readable: request.read,
            writable: request.write,
        }))
    }

    /// Watches a file that git may read as configuration, now or after a move, and truncates it if
    /// the open asks for that: one that git reads now only later.
    fn watch(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
        opened: &OwnedFd,
        request: OpenRequest,
    ) -> FsResult<Option<WatchHandle>> {
        let is_judged =
            |path: &str| is_config_name(path) && !self.gate.may_run_later(dir.grant, path);
        let is_config = is_judged(&resolved.path);
        if !request.write && !is_config {
            return Ok(None);
        }
        let stat = rustix::fs::fstat(opened).map_err(error_code)?;
        let mut watch = WatchHandle::new(&stat, self.undo.as_ref());
        // A move that began after this finds the watch, and an earlier one has changed the path.
        let path = self.root(dir)?.path_of(opened);
        if is_config || path.map_or(true, |path| is_judged(&path)) {
            watch.judge();
        }
        if request.truncate && is_config {
            watch.truncate_later();
        } else if request.truncate {
            let truncated = watch.resize(0, |_| Ok(rustix::fs::ftruncate(opened, 0)?));
            truncated.map_err(|error| io_error_code(&error))?;
        }
        Ok(Some(watch))
    }

    /// Checks that the opened object has the expected type and is not hidden, and returns its
    /// metadata. One that is the object of the resolved path was not hidden there.
    fn check_opened(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
        opened: &OwnedFd,
        expected: FileType,
    ) -> FsResult<Stat> {
        let stat = rustix::fs::fstat(opened).map_err(error_code)?;
        let id = file_id(&stat);
        let is_resolved = resolved.stat.as_ref().map(file_id) == Some(id);
        if !is_resolved && self.root(dir)?.masks.hides_object(id) {
            return Err(ErrorCode::NoEntry.into());
        }
        if file_type(&stat) != expected {
            return Err(ErrorCode::Access.into());
        }
        Ok(stat)
    }
}

//! Opening: the only source of descriptors. The opened object is checked again, because it may be
//! another one than was there when the gate was asked.

use super::{
    FilesCtx,
    convert::{error_code, file_id, file_type, io_error_code},
    git_config::{WatchHandle, is_config_name},
    node::{GuestFile, Node, OpenDir, OpenFile},
    resolve::{Follow, ResolvedPath},
};
use agent_host_engine::policy::FileOp;
use rustix::{
    fd::OwnedFd,
    fs::{FileType, Mode, OFlags, Stat},
    io::Errno,
};
use std::sync::Arc;
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

    /// The verb for the audit log if the path cannot be resolved.
    fn verb(self) -> &'static str {
        if self.write || self.create {
            FileOp::Write.as_str()
        } else {
            FileOp::Read.as_str()
        }
    }
}

impl FilesCtx {
    /// Opens the object at a path.
    pub(super) fn open_at(
        &self,
        dir: &OpenDir,
        path: &str,
        follow: Follow,
        request: OpenRequest,
    ) -> FsResult<Node> {
        // As in POSIX, an exclusive create does not follow a link.
        let follow = if request.exclusive {
            Follow::No
        } else {
            follow
        };
        let resolved = self.resolve(dir, path, follow, request.verb())?;
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
                let path = self.gate.guest_path(dir.grant, &resolved.path);
                self.gate.refuse(
                    &format!("{} {path}", request.verb()),
                    "files.regular-only",
                    "it is a pipe, a socket or a device, and tools open only files and directories",
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
    ) -> FsResult<Node> {
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
        self.check_opened(dir, &opened, FileType::Directory)?;
        Ok(Node::Dir(OpenDir {
            fd: Arc::new(opened),
            grant: dir.grant,
        }))
    }

    fn open_file(
        &self,
        dir: &OpenDir,
        resolved: ResolvedPath,
        request: OpenRequest,
    ) -> FsResult<Node> {
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
        let is_watched =
            is_config_name(&resolved.path) && !self.gate.may_run_later(dir.grant, &resolved.path);
        let mut flags = OPEN
            | match (request.read || is_watched, request.write) {
                // What is written to a watched file is judged together with what is there.
                (true, true) => OFlags::RDWR,
                (false, true) => OFlags::WRONLY,
                (_, false) => OFlags::RDONLY,
            };
        // A file that vanishes meanwhile is not created again, since the quota has not counted it.
        let makes = resolved.stat.is_none();
        flags.set(OFlags::CREATE, makes);
        flags.set(OFlags::EXCL, makes && request.exclusive);
        // O_TRUNC would empty the object before it is known to be the right one.
        let open = || match rustix::fs::openat(&*resolved.parent, name, flags, Mode::from(0o666)) {
            // A FIFO without a reader.
            Err(Errno::NXIO) => Err(Errno::ACCESS),
            other => other,
        };
        if request.write && !makes {
            self.keep(dir, &resolved)?;
        }
        let opened = if makes {
            self.create(dir, &resolved, 0, open)?
        } else {
            open().map_err(error_code)?
        };
        let stat = self.check_opened(dir, &opened, FileType::RegularFile)?;
        let file = std::fs::File::from(opened);
        let undo = self.undo.as_ref();
        let watch = is_watched.then(|| WatchHandle::new(&stat, request.truncate, undo));
        if request.truncate && watch.is_none() {
            file.set_len(0).map_err(|error| io_error_code(&error))?;
        }
        let blocking = self.blocking(dir.grant).cloned();
        Ok(Node::File(OpenFile {
            file: GuestFile::new(file, watch, request.read, blocking),
            grant: dir.grant,
            path: resolved.path,
            readable: request.read,
            writable: request.write,
        }))
    }

    /// Checks that the opened object has the expected type and is not hidden, and returns its
    /// metadata.
    fn check_opened(&self, dir: &OpenDir, opened: &OwnedFd, expected: FileType) -> FsResult<Stat> {
        let stat = rustix::fs::fstat(opened).map_err(error_code)?;
        if self.root(dir)?.masks.hides_object(file_id(&stat)) {
            return Err(ErrorCode::NoEntry.into());
        }
        if file_type(&stat) != expected {
            return Err(ErrorCode::Access.into());
        }
        Ok(stat)
    }
}

//! Opening: the one place where a guest comes to hold a descriptor. What was opened is looked at again, because it may be
//! another object than the one that was there when it was asked for.

use super::{
    FilesCtx,
    convert::{code, id, kind},
    node::{Folder, Node, OpenFile},
    place::{Follow, Place},
};
use agent_host_core::policy::FileOp;
use rustix::{
    fd::OwnedFd,
    fs::{FileType, Mode, OFlags},
    io::Errno,
};
use std::sync::Arc;
use wasmtime_wasi::p2::{
    FsResult,
    bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags},
};

/// What the guest wants of the object. `O_NONBLOCK` keeps the opening of a pipe from waiting for its other end, should one
/// be there after all; `O_NOCTTY` keeps a terminal from becoming ours.
const OPEN: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// A guest's wish, read from its flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    read: bool,
    write: bool,
    create: bool,
    exclusive: bool,
    truncate: bool,
    folder: bool,
}

impl Wish {
    /// Reads the flags.
    ///
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
            exclusive: open.contains(OpenFlags::EXCLUSIVE),
            truncate: open.contains(OpenFlags::TRUNCATE),
            folder: open.contains(OpenFlags::DIRECTORY),
        })
    }

    /// For the ledger, where the path leads nowhere.
    fn verb(self) -> &'static str {
        if self.write || self.create {
            FileOp::Write.as_str()
        } else {
            FileOp::Read.as_str()
        }
    }
}

impl FilesCtx {
    /// Opens what a path leads to.
    pub(super) fn open_at(
        &self,
        folder: &Folder,
        path: &str,
        follow: Follow,
        wish: Wish,
    ) -> FsResult<Node> {
        // As in POSIX: a link in the place of a new file is an existing file.
        let follow = if wish.create && wish.exclusive {
            Follow::No
        } else {
            follow
        };
        let place = self.resolve(folder, path, follow, wish.verb())?;
        if self.hides(folder, &place)? {
            return Err(if wish.create {
                self.refuse_hidden(folder, &place)
            } else {
                ErrorCode::NoEntry.into()
            });
        }
        match place.kind() {
            Some(FileType::Directory) => self.open_folder(folder, &place, wish),
            Some(FileType::RegularFile) | None => self.open_file(folder, place, wish),
            Some(FileType::Symlink) => {
                self.ask(folder, FileOp::Stat, &place)?;
                Err(if wish.create && wish.exclusive {
                    ErrorCode::Exist.into()
                } else {
                    ErrorCode::Loop.into()
                })
            }
            Some(_) => {
                self.refuse_special(folder, &place, wish);
                Err(ErrorCode::Access.into())
            }
        }
    }

    fn refuse_special(&self, folder: &Folder, place: &Place, wish: Wish) {
        let path = self.gate.guest_path(folder.grant, &place.path);
        self.gate.refuse(
            &format!("{} {path}", wish.verb()),
            "files.regular-only",
            "it is a pipe, a socket or a device, and tools open only files and folders",
        );
    }

    fn open_folder(&self, folder: &Folder, place: &Place, wish: Wish) -> FsResult<Node> {
        self.ask(folder, FileOp::Stat, place)?;
        if wish.create && wish.exclusive {
            return Err(ErrorCode::Exist.into());
        }
        if wish.write || wish.create {
            return Err(ErrorCode::IsDirectory.into());
        }
        let name = place.name.as_deref().unwrap_or(".");
        let flags = OPEN | OFlags::RDONLY | OFlags::DIRECTORY;
        let opened =
            rustix::fs::openat(&*place.parent, name, flags, Mode::empty()).map_err(code)?;
        self.check_opened(folder, &opened, FileType::Directory)?;
        Ok(Node::Folder(Folder {
            fd: Arc::new(opened),
            grant: folder.grant,
        }))
    }

    fn open_file(&self, folder: &Folder, place: Place, wish: Wish) -> FsResult<Node> {
        if wish.read {
            self.ask(folder, FileOp::Read, &place)?;
        }
        if wish.write || wish.create {
            self.ask(folder, place.write_op(), &place)?;
        }
        let name = place.name()?;
        match (&place.stat, wish) {
            (None, Wish { create: false, .. }) => return Err(ErrorCode::NoEntry.into()),
            (None, _) if place.is_folder => return Err(ErrorCode::IsDirectory.into()),
            (None, _) => self.keep_ways(folder, &place)?,
            (Some(_), Wish { folder: true, .. }) => return Err(ErrorCode::NotDirectory.into()),
            (
                Some(_),
                Wish {
                    create: true,
                    exclusive: true,
                    ..
                },
            ) => return Err(ErrorCode::Exist.into()),
            (Some(_), _) => {}
        }
        let mut flags = OPEN
            | match (wish.read, wish.write) {
                (true, true) => OFlags::RDWR,
                (false, true) => OFlags::WRONLY,
                (_, false) => OFlags::RDONLY,
            };
        // What was there and vanishes meanwhile is not made again, since the quota has not counted it.
        let makes = place.stat.is_none();
        flags.set(OFlags::CREATE, makes);
        flags.set(OFlags::EXCL, makes && wish.exclusive);
        // O_TRUNC would empty the object before it is known to be the right one.
        let open = || match rustix::fs::openat(&*place.parent, name, flags, Mode::from(0o666)) {
            // A pipe that nobody reads.
            Err(Errno::NXIO) => Err(Errno::ACCESS),
            other => other,
        };
        let opened = if makes {
            self.creating(folder, &place, 0, open)?
        } else {
            open().map_err(code)?
        };
        self.check_opened(folder, &opened, FileType::RegularFile)?;
        let file = std::fs::File::from(opened);
        if wish.truncate {
            file.set_len(0)
                .map_err(|error| super::convert::io_code(&error))?;
        }
        Ok(Node::File(OpenFile {
            file: Arc::new(file),
            grant: folder.grant,
            path: place.path,
            readable: wish.read,
            writable: wish.write,
        }))
    }

    /// The object that was really opened must be of the kind that was asked for, and must not be hidden.
    fn check_opened(&self, folder: &Folder, opened: &OwnedFd, expected: FileType) -> FsResult<()> {
        let stat = rustix::fs::fstat(opened).map_err(code)?;
        if self.root(folder)?.masks.is(id(&stat)) {
            return Err(ErrorCode::NoEntry.into());
        }
        if kind(&stat) != expected {
            return Err(ErrorCode::Access.into());
        }
        Ok(())
    }
}

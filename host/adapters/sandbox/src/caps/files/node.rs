//! The objects behind a guest's handles: a directory, a file, or a listing in progress. The
//! interface's own types name other structures, so handles are exchanged by their number; the
//! resource table checks the type of every one.

use super::{
    convert::{FileId, descriptor_type, error_code, file_type},
    git_config::WatchHandle,
    mask::is_hidden_alias,
    resolve::{Root, join, lstat},
};
use crate::schedule::blocking::ToolBlocking;
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{Dir, FileType},
    io::Errno,
};
use std::{fs::File, sync::Arc};
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        FsResult,
        bindings::filesystem::types::{DirectoryEntry, ErrorCode},
    },
};

/// The object behind a `descriptor`.
#[derive(Clone)]
pub(super) enum FileNode {
    Dir(OpenDir),
    File(OpenFile),
}

#[derive(Clone)]
pub(super) struct OpenDir {
    /// Open for reading.
    pub(super) fd: Arc<OwnedFd>,
    /// The grant in which it was opened; everything beneath it stays in that grant.
    pub(super) grant: usize,
}

/// An open regular file.
#[derive(Clone)]
pub(super) struct OpenFile {
    pub(super) file: Arc<GuestFile>,
    pub(super) grant: usize,
    /// The path in the grant when it was opened, for the audit log.
    pub(super) path: String,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

/// A file that is closed where its operations run, because closing waits for the server of a
/// network file system to take what was written.
pub(super) struct GuestFile {
    /// Present until `drop` takes it.
    file: Option<File>,
    /// Keeps the file from becoming git configuration that executes; absent if it may.
    watch: Option<WatchHandle>,
    /// The guest asked to read it. The host reads every file that it opens for writing.
    readable: bool,
    blocking: Option<Arc<ToolBlocking>>,
}

impl GuestFile {
    pub(super) fn new(
        file: File,
        watch: Option<WatchHandle>,
        readable: bool,
        blocking: Option<Arc<ToolBlocking>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            file: Some(file),
            watch,
            readable,
            blocking,
        })
    }

    /// Returns the file for a read of the guest, which must have opened it for that.
    pub(super) fn get_readable(&self) -> Result<&File, Errno> {
        if self.readable {
            self.get()
        } else {
            Err(Errno::BADF)
        }
    }

    pub(super) fn get(&self) -> Result<&File, Errno> {
        self.file.as_ref().ok_or(Errno::BADF)
    }

    pub(super) fn watch(&self) -> Option<&WatchHandle> {
        self.watch.as_ref()
    }

    /// Returns whether the file is empty for guests, although its truncation waits.
    pub(super) fn is_emptied(&self) -> bool {
        self.watch.as_ref().is_some_and(WatchHandle::is_emptied)
    }
}

impl Drop for GuestFile {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else {
            return;
        };
        let watch = self.watch.take();
        match &self.blocking {
            Some(blocking) => {
                if let Some(watch) = &watch {
                    watch.close_later();
                }
                blocking.spawn(move || close(file, watch));
            }
            None => close(file, watch),
        }
    }
}

/// Closes a file. The watch ends before, since another file may get its number then.
fn close(file: File, watch: Option<WatchHandle>) {
    if let Some(watch) = watch {
        watch.close(&file);
    }
    drop(file);
}

impl FileNode {
    pub(super) fn get<'t>(
        table: &'t ResourceTable,
        handle: &Resource<Descriptor>,
    ) -> Result<&'t Self, ResourceTableError> {
        table.get(&Resource::new_borrow(handle.rep()))
    }

    pub(super) fn dir(table: &ResourceTable, handle: &Resource<Descriptor>) -> FsResult<OpenDir> {
        match Self::get(table, handle)? {
            Self::Dir(dir) => Ok(dir.clone()),
            Self::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    pub(super) fn file(table: &ResourceTable, handle: &Resource<Descriptor>) -> FsResult<OpenFile> {
        match Self::get(table, handle)? {
            Self::File(file) => Ok(file.clone()),
            Self::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// Returns a file, which must have been opened for writing.
    pub(super) fn writable_file(
        table: &ResourceTable,
        handle: &Resource<Descriptor>,
    ) -> FsResult<OpenFile> {
        let open = Self::file(table, handle)?;
        if !open.writable {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(open)
    }

    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>, ErrorCode> {
        match self {
            Self::Dir(dir) => Ok(dir.fd.as_fd()),
            Self::File(open) => Ok(open.file.get().map_err(error_code)?.as_fd()),
        }
    }

    /// Returns whether it is a file that is empty for guests, although its truncation waits.
    pub(super) fn is_emptied(&self) -> bool {
        matches!(self, Self::File(open) if open.file.is_emptied())
    }

    pub(super) fn grant(&self) -> usize {
        match self {
            Self::Dir(dir) => dir.grant,
            Self::File(open) => open.grant,
        }
    }

    pub(super) fn push(self, table: &mut ResourceTable) -> FsResult<Resource<Descriptor>> {
        Ok(Resource::new_own(table.push(self)?.rep()))
    }
}

/// A listing in progress. It reads ahead one buffer of the kernel at most, however large the
/// directory is.
pub(super) struct DirListing {
    pub(super) dir: OpenDir,
    entries: Dir,
    /// The directory's path in the grant.
    path: String,
    /// The hidden objects that existed when the listing began.
    hidden: Vec<FileId>,
}

impl DirListing {
    pub(super) fn new(root: &Root, dir: OpenDir) -> FsResult<Self> {
        Ok(Self {
            entries: Dir::read_from(&*dir.fd).map_err(error_code)?,
            path: root.path_of(&dir.fd)?,
            hidden: root.masks.hidden_ids(),
            dir,
        })
    }

    /// Returns the next entry that is visible to the guest and has a UTF-8 name, as the interface
    /// requires.
    pub(super) fn next(&mut self, root: &Root) -> Result<Option<DirectoryEntry>, ErrorCode> {
        while let Some(entry) = self.entries.read() {
            let entry = entry.map_err(error_code)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..")
                || root.masks.hides_path(&join(&self.path, name))
                || is_hidden_alias(&self.hidden, &self.dir.fd, name, entry.ino())
            {
                continue;
            }
            let found = match entry.file_type() {
                // Some file systems list no types.
                FileType::Unknown => lstat(&self.dir.fd, name)
                    .ok()
                    .flatten()
                    .map_or(FileType::Unknown, |stat| file_type(&stat)),
                known => known,
            };
            return Ok(Some(DirectoryEntry {
                type_: descriptor_type(found),
                name: name.to_owned(),
            }));
        }
        Ok(None)
    }
}

//! What a guest's handles stand for: a folder, a file, or a listing in progress. The interface's own types name other
//! structures, so handles are exchanged by their number; the resource table checks the type of every one.

use super::{
    convert::{Id, descriptor_type, kind},
    mask::is_alias,
    place::{Root, join, look},
};
use agent_host_engine::policy::PathRules;
use rustix::{
    fd::OwnedFd,
    fs::{Dir, FileType},
};
use std::sync::Arc;
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        FsResult,
        bindings::filesystem::types::{DirectoryEntry, ErrorCode},
    },
};

/// Behind a `descriptor`.
pub(super) enum Node {
    Folder(Folder),
    File(OpenFile),
}

/// An open folder.
#[derive(Clone)]
pub(super) struct Folder {
    /// Open for reading.
    pub(super) fd: Arc<OwnedFd>,
    /// The grant in which it was opened; everything beneath it stays in that grant.
    pub(super) grant: usize,
}

/// An open regular file.
#[derive(Clone)]
pub(super) struct OpenFile {
    pub(super) file: Arc<std::fs::File>,
    pub(super) grant: usize,
    /// Its path in the grant when it was opened, for the ledger.
    pub(super) path: String,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

impl Node {
    /// Looks a guest's handle up.
    pub(super) fn get<'t>(
        table: &'t ResourceTable,
        handle: &Resource<Descriptor>,
    ) -> Result<&'t Self, ResourceTableError> {
        table.get(&Resource::new_borrow(handle.rep()))
    }

    /// Looks a guest's handle of a folder up.
    pub(super) fn folder(table: &ResourceTable, handle: &Resource<Descriptor>) -> FsResult<Folder> {
        match Self::get(table, handle)? {
            Self::Folder(folder) => Ok(folder.clone()),
            Self::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Looks a guest's handle of a file up.
    pub(super) fn file(table: &ResourceTable, handle: &Resource<Descriptor>) -> FsResult<OpenFile> {
        match Self::get(table, handle)? {
            Self::File(file) => Ok(file.clone()),
            Self::Folder(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// Hands an open object to the guest.
    pub(super) fn push(self, table: &mut ResourceTable) -> FsResult<Resource<Descriptor>> {
        Ok(Resource::new_own(table.push(self)?.rep()))
    }
}

/// A listing in progress. It reads ahead one buffer of the kernel's and no more, however large the folder is.
pub(super) struct Listing {
    pub(super) folder: Folder,
    entries: Dir,
    /// The folder's path in the grant.
    path: String,
    /// Everything hidden that existed when the listing began.
    hidden: Vec<Id>,
}

impl Listing {
    /// Begins to list a folder.
    pub(super) fn new(root: &Root, folder: Folder) -> FsResult<Self> {
        Ok(Self {
            entries: Dir::read_from(&*folder.fd).map_err(super::convert::code)?,
            path: root.path_of(&folder.fd)?,
            hidden: root.masks.ids(),
            folder,
        })
    }

    /// The next entry that exists for the guest and has a name that the interface can express (UTF-8).
    pub(super) fn next(
        &mut self,
        root: &Root,
        patterns: Option<&PathRules>,
    ) -> Result<Option<DirectoryEntry>, ErrorCode> {
        while let Some(entry) = self.entries.read() {
            let entry = entry.map_err(super::convert::code)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..")
                || root.masks.names(patterns, &join(&self.path, name))
                || is_alias(&self.hidden, &self.folder.fd, name, entry.ino())
            {
                continue;
            }
            let found = match entry.file_type() {
                // Not every file system puts the kind into the listing.
                FileType::Unknown => look(&self.folder.fd, name)
                    .ok()
                    .flatten()
                    .map_or(FileType::Unknown, |stat| kind(&stat)),
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

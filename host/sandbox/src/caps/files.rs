//! wasi:filesystem over the granted folders. This is the only way from a guest to a file: every open, look, change and byte
//! passes the gate, on a path that the kernel has resolved. It never gives a path of the guest to the kernel as a whole, never
//! opens anything but regular files and folders, and never shows a path of the host.
//!
//! The interface is implemented here in full rather than delegated to wasmtime-wasi, because each operation has to act on the
//! very descriptor that was checked; a path that is checked and then handed on can be swapped in between.

mod convert;
mod descriptor;
mod links;
mod mask;
mod node;
mod open;
mod place;
mod stream;
#[cfg(test)]
mod tests;

use crate::gate::{Gate, Growth};
use agent_host_core::policy::{DirGrant, FileOp};
use convert::Fault;
use mask::Masks;
use node::{Folder, Listing, Node};
use place::{Follow, Place, Root};
use std::{path::PathBuf, sync::Arc};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        FsError, FsResult,
        bindings::filesystem::{
            preopens,
            types::{self, DirectoryEntry, DirectoryEntryStream, ErrorCode},
        },
    },
};

/// Why the granted folders cannot be offered to a guest. Names folders as the guest would.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    /// The folder is gone, is no folder, or may not be read.
    #[error(
        "the folder granted as {guest} cannot be opened: {source}; check that it exists and may be read, or change the grant"
    )]
    Open {
        /// The guest's name of the folder.
        guest: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The folder is, or lies in, one that belongs to the host program.
    #[error(
        "the folder granted as {guest} belongs to agent-host itself (configuration, state or cache); grant another folder"
    )]
    Protected {
        /// The guest's name of the folder.
        guest: String,
    },
    /// Real paths cannot be found out.
    #[error("/proc/self/fd cannot be read, and without it no path can be checked; mount /proc")]
    NoProc,
}

/// The granted folders of one call, open.
pub(crate) struct FilesCtx {
    gate: Arc<Gate>,
    roots: Vec<Root>,
}

impl FilesCtx {
    /// Opens the granted folders. `protected` are host paths that no guest may reach even inside a grant, whether or not
    /// they exist.
    ///
    /// # Errors
    /// A folder that cannot be opened or that is protected itself.
    pub(crate) fn open(gate: Arc<Gate>, protected: &[PathBuf]) -> Result<Self, FilesError> {
        let open = |grant: &DirGrant| -> Result<Root, FilesError> {
            let failed = |source: rustix::io::Errno| FilesError::Open {
                guest: grant.guest.clone(),
                source: source.into(),
            };
            let mut root = Root::open(&grant.host).map_err(failed)?;
            if root.host.is_relative() {
                return Err(FilesError::NoProc);
            }
            root.masks = Masks::new(&root, grant, protected).ok_or(FilesError::Protected {
                guest: grant.guest.clone(),
            })?;
            Ok(root)
        };
        let roots = gate
            .grants()
            .dirs
            .iter()
            .map(open)
            .collect::<Result<_, _>>()?;
        Ok(Self { gate, roots })
    }

    /// Nothing is open, whatever is granted: for a component that has no way to ask for it.
    pub(crate) fn without_dirs(gate: Arc<Gate>) -> Self {
        let roots = Vec::new();
        Self { gate, roots }
    }

    fn root(&self, folder: &Folder) -> FsResult<&Root> {
        Ok(self
            .roots
            .get(folder.grant)
            .ok_or(ErrorCode::BadDescriptor)?)
    }

    /// Resolves a guest's path. A path that leaves the folder is refused, and written down as what it was: `verb` and the
    /// path as the guest gave it.
    fn resolve(&self, folder: &Folder, path: &str, follow: Follow, verb: &str) -> FsResult<Place> {
        let root = self.root(folder)?;
        place::resolve(root, self.gate.mask(folder.grant), folder, path, follow).map_err(|fault| {
            match fault {
                Fault::Outside => self.outside(folder, path, verb),
                Fault::Code(code) => code.into(),
            }
        })
    }

    fn outside(&self, folder: &Folder, path: &str, verb: &str) -> FsError {
        let named = if path.starts_with('/') {
            path.to_owned()
        } else {
            let above = self
                .roots
                .get(folder.grant)
                .and_then(|root| root.path_of(&folder.fd).ok())
                .unwrap_or_default();
            format!("{}/{path}", self.gate.guest_path(folder.grant, &above))
        };
        self.gate.outside(&format!("{verb} {named}"));
        ErrorCode::NotPermitted.into()
    }

    fn ask(&self, folder: &Folder, op: FileOp, place: &Place) -> FsResult<()> {
        self.gate
            .file(folder.grant, op, &place.path)
            .map_err(|_| ErrorCode::Access.into())
    }

    /// Makes something at a place where nothing is, with these bytes in it, within the quotas.
    fn creating<T>(
        &self,
        folder: &Folder,
        place: &Place,
        bytes: u64,
        make: impl FnOnce() -> rustix::io::Result<T>,
    ) -> FsResult<T> {
        if place.stat.is_some() {
            return Err(ErrorCode::Exist.into());
        }
        let growth = Growth { bytes, creates: 1 };
        let made = self
            .gate
            .adding(folder.grant, &place.path, growth, || Ok(make()?));
        Ok(made.map_err(|error| convert::io_code(&error))?)
    }

    fn hides(&self, folder: &Folder, place: &Place) -> FsResult<bool> {
        let root = self.root(folder)?;
        Ok(root.hides(self.gate.mask(folder.grant), place))
    }

    /// Resolves a path to something that may be there for this guest, and asks for the operation.
    fn seen(&self, folder: &Folder, path: &str, follow: Follow, op: FileOp) -> FsResult<Place> {
        let place = self.resolve(folder, path, follow, op.as_str())?;
        if self.hides(folder, &place)? {
            return Err(ErrorCode::NoEntry.into());
        }
        self.ask(folder, op, &place)?;
        Ok(place)
    }

    /// Refuses to put something where only something hidden may be.
    fn refuse_hidden(&self, folder: &Folder, place: &Place) -> FsError {
        let patterns = self.gate.mask(folder.grant);
        let pattern = patterns.and_then(|rules| rules.first_match(&place.path));
        self.gate.refuse(
            &format!("write {}", self.gate.guest_path(folder.grant, &place.path)),
            &mask_rule(folder, pattern),
            "the name is kept from tools",
        );
        ErrorCode::Access.into()
    }

    /// Refuses to make, move or replace something that is on the way to something hidden: with another thing in its place,
    /// the hidden name would lead elsewhere.
    fn keep_ways(&self, folder: &Folder, place: &Place) -> FsResult<()> {
        let patterns = self.gate.mask(folder.grant);
        if !self.root(folder)?.leads_to_hidden(patterns, place) {
            return Ok(());
        }
        let pattern = patterns.and_then(|rules| rules.first_below(&place.path));
        self.gate.refuse(
            &format!("move {}", self.gate.guest_path(folder.grant, &place.path)),
            &mask_rule(folder, pattern),
            "it holds something that is kept from tools",
        );
        Err(ErrorCode::Access.into())
    }
}

/// The rule by which something is hidden: one of the operator's patterns, or that it belongs to the host program.
fn mask_rule(folder: &Folder, pattern: Option<&str>) -> String {
    match pattern {
        Some(pattern) => format!("grants.dir[{}].mask `{pattern}`", folder.grant),
        None => "host.protected".to_owned(),
    }
}

/// wasi:filesystem of one call.
pub(crate) struct FilesView<'a> {
    pub(crate) ctx: &'a mut FilesCtx,
    pub(crate) table: &'a mut ResourceTable,
}

/// Links wasi:filesystem to [`FilesView`].
pub(crate) struct Files;

impl HasData for Files {
    type Data<'a> = FilesView<'a>;
}

impl preopens::Host for FilesView<'_> {
    /// Each grant under its guest path, and the first also as `.`, which is where relative paths resolve.
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut found = Vec::new();
        let grants = &self.ctx.gate.grants().dirs;
        for (grant, (root, dir)) in self.ctx.roots.iter().zip(grants).enumerate() {
            let names = (grant == 0).then_some(".").into_iter();
            for name in std::iter::once(dir.guest.as_str()).chain(names) {
                let folder = Folder {
                    fd: Arc::clone(&root.dir),
                    grant,
                };
                let node = self.table.push(Node::Folder(folder))?;
                found.push((Resource::new_own(node.rep()), name.to_owned()));
            }
        }
        Ok(found)
    }
}

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        Ok(error.downcast_ref::<std::io::Error>().map(convert::io_code))
    }
}

impl types::HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let stream = Resource::<Listing>::new_borrow(stream.rep());
        let listing = self.table.get_mut(&stream)?;
        let grant = listing.folder.grant;
        let root = self.ctx.roots.get(grant).ok_or(ErrorCode::BadDescriptor)?;
        Ok(listing.next(root, self.ctx.gate.mask(grant))?)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table
            .delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}

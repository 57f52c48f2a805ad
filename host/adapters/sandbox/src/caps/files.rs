//! wasi:filesystem over the granted directories: the only way from a guest to a file. Every open,
//! lookup, change and byte passes the gate, on a path that the kernel has resolved. No path of the
//! guest reaches the kernel as a whole, nothing but regular files and directories is ever opened,
//! and no path of the host is shown.
//!
//! The interface is implemented here in full rather than delegated to wasmtime-wasi, because each
//! operation has to act on the very descriptor that was checked: a path that is checked and then
//! handed on can be swapped in between.

mod changes;
mod concurrent;
mod convert;
mod descriptor;
mod git_config;
mod held;
mod links;
mod mask;
mod mounts;
mod node;
mod open;
mod repository;
mod resolve;
mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod truncation;

use crate::{
    gate::{Gate, Growth},
    mutex::lock,
    schedule::blocking::{NotRun, ToolBlocking},
};
use agent_host_engine::policy::{DirGrant, FileOp};
use agent_host_types::audit::{AuditRequest, FileAction};
use agent_host_undo::{UndoPath, UndoWriter};
use convert::ResolveError;
use mask::Masks;
use mounts::MOUNTS;
use node::{DirListing, FileNode, OpenDir};
use resolve::{Follow, ResolvedPath, Root};
use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex},
};
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

/// The granted directories cannot be offered to a guest. Names them by their guest paths.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error(
        "cannot open the directory granted as {guest}: {source}; check that it exists and is readable, or change the \
         grant"
    )]
    Open { guest: String, source: io::Error },
    /// The directory is, or is in, one of the host program.
    #[error(
        "the directory granted as {guest} belongs to agent-host itself (configuration, state or cache); grant another directory"
    )]
    Protected { guest: String },
    #[error("cannot read /proc/self/fd, which is needed to check paths; mount /proc")]
    NoProc,
    /// The tool's threads are held by operations of calls that have ended.
    #[error(
        "file operations of earlier calls of this tool are still waiting for an unresponsive file system"
    )]
    Stuck,
    #[error("the host is stopping")]
    Stopped,
}

/// The granted directories of one call, open.
pub(crate) struct FilesCtx {
    gate: Arc<Gate>,
    roots: Vec<Root>,
    /// Keeps what is changed.
    undo: Option<Arc<UndoWriter>>,
}

impl FilesCtx {
    /// Opens the granted directories. `protected` are host paths that no guest may reach even
    /// inside a grant, whether or not they exist.
    ///
    /// # Errors
    /// A directory cannot be opened or is protected itself, or the tool's blocking threads are
    /// held by abandoned operations.
    pub(crate) async fn open(
        gate: Arc<Gate>,
        protected: Arc<[PathBuf]>,
        blocking: Arc<ToolBlocking>,
        undo: Option<Arc<UndoWriter>>,
    ) -> Result<Self, FilesError> {
        let mut dirs = gate.grants.dirs.iter();
        if dirs.all(|dir| MOUNTS.is_known_local(&dir.host)) {
            return Self::open_now(gate, &protected, &blocking, undo);
        }
        if blocking.is_stuck() {
            return Err(FilesError::Stuck);
        }
        let tool = Arc::clone(&blocking);
        let opened = blocking.run(move || Self::open_now(gate, &protected, &tool, undo));
        opened.await.map_err(|NotRun| FilesError::Stopped)?
    }

    /// Opens the granted directories on this thread, which may block.
    fn open_now(
        gate: Arc<Gate>,
        protected: &[PathBuf],
        blocking: &Arc<ToolBlocking>,
        undo: Option<Arc<UndoWriter>>,
    ) -> Result<Self, FilesError> {
        let grants = &gate.grants;
        let open = |(index, grant): (usize, &DirGrant)| -> Result<Root, FilesError> {
            let failed = |source: rustix::io::Errno| FilesError::Open {
                guest: grant.guest.clone(),
                source: source.into(),
            };
            let mut root = Root::open(&grant.host).map_err(failed)?;
            if root.host.is_relative() {
                return Err(FilesError::NoProc);
            }
            let masks = Masks::new(&root, grants, index, protected);
            root.masks = masks.ok_or_else(|| FilesError::Protected {
                guest: grant.guest.clone(),
            })?;
            let is_local = MOUNTS.check(&grant.host, &root.host, root.masks.held_paths());
            if is_local {
                root.masks.set_local();
            } else {
                root.blocking = Some(Arc::clone(blocking));
            }
            Ok(root)
        };
        let roots = grants.dirs.iter().enumerate().map(open);
        Ok(Self {
            roots: roots.collect::<Result<_, _>>()?,
            gate,
            undo,
        })
    }

    /// Opens nothing, whatever is granted: for a component that does not import the interface.
    pub(crate) fn without_dirs(gate: Arc<Gate>) -> Self {
        Self {
            gate,
            roots: Vec::new(),
            undo: None,
        }
    }

    /// Runs operations on objects of a grant: on this thread if the grant is local, and otherwise
    /// on the tool's threads that may block. Every system call of a guest's operation is in such
    /// work.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        grant: usize,
        work: impl FnOnce(&Self) -> FsResult<T> + Send + 'static,
    ) -> FsResult<T> {
        let Some(blocking) = self.blocking(grant) else {
            return work(self);
        };
        let ctx = Arc::clone(self);
        let work = move || {
            #[cfg(test)]
            tests::remote::wait_for_answer(&ctx.gate.grants.dirs[grant].host);
            work(&ctx)
        };
        let done = blocking.run(work).await;
        done.unwrap_or_else(|NotRun| Err(ErrorCode::Interrupted.into()))
    }

    /// Runs operations on objects of two grants.
    async fn run_in<T: Send + 'static>(
        self: &Arc<Self>,
        [one, other]: [usize; 2],
        work: impl FnOnce(&Self) -> FsResult<T> + Send + 'static,
    ) -> FsResult<T> {
        let is_local = self.blocking(one).is_none();
        self.run(if is_local { other } else { one }, work).await
    }

    /// Returns the threads for a grant that is not local.
    fn blocking(&self, grant: usize) -> Option<&Arc<ToolBlocking>> {
        self.roots.get(grant)?.blocking.as_ref()
    }

    fn root(&self, dir: &OpenDir) -> FsResult<&Root> {
        Ok(self.roots.get(dir.grant).ok_or(ErrorCode::BadDescriptor)?)
    }

    /// Resolves a guest's path. A path that leaves the directory is refused and recorded as `action`
    /// with the path as the guest gave it.
    fn resolve(
        &self,
        dir: &OpenDir,
        path: &str,
        follow: Follow,
        action: FileAction,
    ) -> FsResult<ResolvedPath> {
        resolve::resolve(self.root(dir)?, dir, path, follow).map_err(|error| match error {
            ResolveError::Escape => self.refuse_escape(dir, path, action),
            ResolveError::Code(code) => code.into(),
        })
    }

    /// Resolves a path, which is `no-entry` if it is hidden.
    fn resolve_visible(
        &self,
        dir: &OpenDir,
        path: &str,
        follow: Follow,
        action: FileAction,
    ) -> FsResult<ResolvedPath> {
        let resolved = self.resolve(dir, path, follow, action)?;
        if self.is_hidden(dir, &resolved)? {
            return Err(ErrorCode::NoEntry.into());
        }
        Ok(resolved)
    }

    /// Resolves a path and checks an operation on it.
    fn resolve_checked(
        &self,
        dir: &OpenDir,
        path: &str,
        follow: Follow,
        op: FileOp,
    ) -> FsResult<ResolvedPath> {
        let resolved = self.resolve_visible(dir, path, follow, op.action())?;
        self.check(dir, op, &resolved)?;
        Ok(resolved)
    }

    /// Resolves a path at which something is to be put, which is refused if it is hidden.
    fn resolve_new(&self, dir: &OpenDir, path: &str) -> FsResult<ResolvedPath> {
        let resolved = self.resolve(dir, path, Follow::No, FileAction::Write)?;
        if self.is_hidden(dir, &resolved)? {
            return self.refuse_hidden(dir, &resolved);
        }
        Ok(resolved)
    }

    /// Begins to list a directory.
    fn list(&self, dir: &OpenDir) -> FsResult<DirListing> {
        let resolved = self.resolve(dir, ".", Follow::No, FileAction::List)?;
        self.check(dir, FileOp::List, &resolved)?;
        DirListing::new(self.root(dir)?, dir.clone())
    }

    fn refuse_escape(&self, dir: &OpenDir, path: &str, action: FileAction) -> FsError {
        let named = if path.starts_with('/') {
            path.to_owned()
        } else {
            let above = self
                .roots
                .get(dir.grant)
                .and_then(|root| root.path_of(&dir.fd).ok())
                .unwrap_or_default();
            format!("{}/{path}", self.gate.guest_path(dir.grant, &above))
        };
        self.gate.refuse_escape(AuditRequest::file(action, named));
        ErrorCode::NotPermitted.into()
    }

    fn check(&self, dir: &OpenDir, op: FileOp, resolved: &ResolvedPath) -> FsResult<()> {
        self.gate
            .check_file(dir.grant, op, &resolved.path)
            .map_err(|_| ErrorCode::Access)?;
        if op.changes() {
            self.check_in_repository(dir, op, resolved)?;
        }
        Ok(())
    }

    /// Checks that what is at a path may get another place or name.
    fn check_moved(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<()> {
        let checked = self.gate.check_moved(dir.grant, &resolved.path);
        Ok(checked.map_err(|_| ErrorCode::Access)?)
    }

    /// Keeps what is at a path, which is about to be changed.
    fn keep(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<()> {
        match &self.undo {
            Some(undo) => undo
                .keep(&self.undo_path(dir, resolved)?)
                .map_err(|error| not_kept(&error)),
            None => Ok(()),
        }
    }

    /// Records that a directory is about to be moved.
    fn keep_move(&self, dir: &OpenDir, old: &ResolvedPath, new: &ResolvedPath) -> FsResult<()> {
        let Some(undo) = &self.undo else {
            return Ok(());
        };
        let (old, new) = (self.undo_path(dir, old)?, self.undo_path(dir, new)?);
        undo.keep_move(&old, &new).map_err(|error| not_kept(&error))
    }

    fn undo_path(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<UndoPath> {
        let guest = self.gate.grants.dirs.get(dir.grant);
        let guest = guest.map_or("", |granted| &granted.guest);
        Ok(UndoPath::new(&self.root(dir)?.host, guest, &resolved.path))
    }

    /// Creates an object of `bytes` bytes at a path where nothing is, within the quotas.
    fn create<T>(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
        bytes: u64,
        make: impl FnOnce() -> rustix::io::Result<T>,
    ) -> FsResult<T> {
        if resolved.stat.is_some() {
            return Err(ErrorCode::Exist.into());
        }
        self.check_makes_no_repository(dir, resolved)?;
        self.keep(dir, resolved)?;
        let growth = Growth { bytes, creates: 1 };
        let made = self
            .gate
            .grow(dir.grant, &resolved.path, growth, || Ok(make()?));
        Ok(made.map_err(|error| convert::io_error_code(&error))?)
    }

    fn is_hidden(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<bool> {
        Ok(self.root(dir)?.hides(resolved))
    }

    /// Refuses to put something at a hidden path.
    fn refuse_hidden<T>(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<T> {
        self.gate.refuse(
            self.gate
                .file_request(dir.grant, FileAction::Write, &resolved.path),
            &self.root(dir)?.masks.rule_for(&resolved.path),
            "the name is hidden from tools",
        );
        Err(ErrorCode::Access.into())
    }

    /// Refuses to create, move or replace an ancestor of something hidden: with another object in
    /// its place, the hidden path would lead elsewhere.
    fn check_nothing_hidden_below(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<()> {
        let root = self.root(dir)?;
        if !root.leads_to_hidden(resolved) {
            return Ok(());
        }
        self.gate.refuse(
            self.gate
                .file_request(dir.grant, FileAction::Move, &resolved.path),
            &root.masks.rule_below(&resolved.path),
            "it contains something that is hidden from tools",
        );
        Err(ErrorCode::Access.into())
    }
}

/// Returns the error of a change that cannot be undone, and is not made.
fn not_kept(error: &io::Error) -> FsError {
    tracing::error!(
        "a file was not changed, because its old content cannot be kept for undo: {error}"
    );
    ErrorCode::Io.into()
}

/// wasi:filesystem of one call.
pub(crate) struct FilesView<'a> {
    pub(crate) ctx: &'a Arc<FilesCtx>,
    pub(crate) table: &'a mut ResourceTable,
}

/// Links wasi:filesystem to [`FilesView`].
pub(crate) struct Files;

impl HasData for Files {
    type Data<'a> = FilesView<'a>;
}

impl preopens::Host for FilesView<'_> {
    /// Returns each grant under its guest path, and the first also as `.`, against which relative
    /// paths resolve.
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut preopens = Vec::new();
        let grants = &self.ctx.gate.grants.dirs;
        for (grant, (root, granted)) in self.ctx.roots.iter().zip(grants).enumerate() {
            let names = (grant == 0).then_some(".").into_iter();
            for name in std::iter::once(granted.guest.as_str()).chain(names) {
                let dir = OpenDir {
                    fd: Arc::clone(&root.dir),
                    grant,
                };
                let node = self.table.push(FileNode::Dir(dir))?;
                preopens.push((Resource::new_own(node.rep()), name.to_owned()));
            }
        }
        Ok(preopens)
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
        Ok(error
            .downcast_ref::<io::Error>()
            .map(convert::io_error_code))
    }
}

impl types::HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let stream = Resource::<Arc<Mutex<DirListing>>>::new_borrow(stream.rep());
        let listing = Arc::clone(self.table.get(&stream)?);
        let grant = lock(&listing).dir.grant;
        let next = move |ctx: &FilesCtx| {
            let mut listing = lock(&listing);
            let root = ctx.root(&listing.dir)?;
            Ok(listing.next(root)?)
        };
        self.ctx.run(grant, next).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table
            .delete(Resource::<Arc<Mutex<DirListing>>>::new_own(stream.rep()))?;
        Ok(())
    }
}

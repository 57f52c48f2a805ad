//! Keeps guests from making git repositories, and from changing what git runs in those of the host.
//! A repository is known by its entries, whatever the directory's name; see the policy's
//! `repository.rs`. What `HEAD` holds makes no difference: git asks for a reference or an object in
//! it, but libgit2 asks only for the file, and it could change later.
//!
//! Whichever entry comes last is refused. Entries of such names are made under the lock of their
//! file system, as moves are, so that two calls cannot each make one that the other did not see. A
//! moved directory needs no check: it was no repository before, or the host made it.

use super::{
    FilesCtx,
    changes::change_lock,
    convert::error_code,
    node::OpenDir,
    resolve::{Follow, ResolvedPath, lstat},
};
use agent_host_engine::policy::{
    FileOp, RunLater, is_repository, repository_entries, repository_marker,
};
use agent_host_types::audit::FileAction;
use rustix::{
    fs::{AtFlags, statat},
    io::Errno,
};
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;
use wasmtime_wasi::p2::{FsResult, bindings::filesystem::types::ErrorCode};

impl FilesCtx {
    /// Waits until this call alone makes entries of repositories, if the path names one.
    pub(super) async fn lock_marker(
        self: &Arc<Self>,
        dir: &OpenDir,
        path: &str,
    ) -> FsResult<Option<OwnedMutexGuard<()>>> {
        let name = path.trim_end_matches('/').rsplit('/').next();
        if name.and_then(repository_marker).is_none() {
            return Ok(None);
        }
        self.lock_changes(dir, path).await.map(Some)
    }

    /// Waits until this call alone changes names on the file system that the path is on.
    pub(super) async fn lock_changes(
        self: &Arc<Self>,
        dir: &OpenDir,
        path: &str,
    ) -> FsResult<OwnedMutexGuard<()>> {
        let (grant, dir, path) = (dir.grant, dir.clone(), path.to_owned());
        let plan = move |ctx: &Self| {
            change_lock(&ctx.resolve(&dir, &path, Follow::No, FileAction::Write)?)
        };
        let lock = self.run(grant, plan).await?;
        Ok(lock.lock_owned().await)
    }

    /// Refuses an entry with which the directory would be a repository. The caller holds the lock
    /// of the file system.
    pub(super) fn check_makes_no_repository(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
    ) -> FsResult<()> {
        let Some(marker) = resolved.name.as_deref().and_then(repository_marker) else {
            return Ok(());
        };
        let has = |entry: &str| {
            Ok::<_, Errno>(entry == marker || lstat(&resolved.parent, entry)?.is_some())
        };
        if is_repository(has).map_err(error_code)? {
            self.check_run_later(dir, resolved, RunLater::REPOSITORY)?;
        }
        Ok(())
    }

    /// Refuses to make an entry of a repository through a link, whose directory is not locked.
    pub(super) fn check_marker_is_direct(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
    ) -> FsResult<()> {
        if resolved.via_symlink
            && resolved
                .name
                .as_deref()
                .and_then(repository_marker)
                .is_some()
        {
            self.gate.refuse(
                self.gate
                    .file_request(dir.grant, FileAction::Write, &resolved.path),
                "files.links",
                "its path leads through a link; create it at the real path",
            );
            return Err(ErrorCode::Access.into());
        }
        Ok(())
    }

    /// Refuses a change of what git runs in a repository that is not called `.git`.
    pub(super) fn check_in_repository(
        &self,
        dir: &OpenDir,
        op: FileOp,
        resolved: &ResolvedPath,
    ) -> FsResult<()> {
        for entry in repository_entries(&resolved.path, op == FileOp::WriteDir) {
            let top = &self.root(dir)?.dir;
            let has = |name: &str| {
                let path = super::resolve::join(entry.dir, name);
                match statat(top, path, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Ok(true),
                    Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
                    Err(other) => Err(other),
                }
            };
            if is_repository(has).map_err(error_code)? {
                self.check_run_later(dir, resolved, entry.found)?;
            }
        }
        Ok(())
    }

    /// Refuses a change that makes what is at a path run later, unless the grant names it.
    pub(super) fn check_run_later(
        &self,
        dir: &OpenDir,
        resolved: &ResolvedPath,
        found: RunLater,
    ) -> FsResult<()> {
        self.gate
            .check_run_later(dir.grant, &resolved.path, found)
            .map_err(|_| ErrorCode::Access.into())
    }
}

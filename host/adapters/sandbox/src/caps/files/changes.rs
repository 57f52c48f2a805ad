//! Renaming and symbolic links: changes that must not meet each other. A link that is created in a
//! directory while that is checked and moved would be checked for the wrong path.
//!
//! A change is planned without a lock, as that may wait for any file system, and made under the
//! lock of the one file system that it is on. So a file system that does not answer delays only
//! changes on itself.

use super::{
    FilesCtx,
    convert::{error_code, file_id},
    mounts::{ChangeLock, MOUNTS},
    node::OpenDir,
    resolve::{Follow, ResolvedPath, join, lstat, real_path},
};
use agent_host_engine::policy::FileOp;
use agent_host_types::audit::FileAction;
use rustix::fs::FileType;
use std::{os::fd::AsFd as _, sync::Arc};
use wasmtime_wasi::p2::{FsResult, bindings::filesystem::types::ErrorCode};

/// The attempts at a change whose paths move meanwhile.
const MAX_ATTEMPTS: usize = 16;

pub(super) trait FileChangeOp: Send + Sync + 'static {
    type Plan: Send + 'static;

    fn grants(&self) -> [usize; 2];

    /// Resolves the paths and asks the gate.
    fn plan(&self, ctx: &FilesCtx) -> FsResult<(Self::Plan, ChangeLock)>;

    /// Makes the change, and looks at nothing on another file system. Returns `false` if the plan
    /// is outdated.
    fn make(&self, ctx: &FilesCtx, plan: &Self::Plan) -> FsResult<bool>;
}

impl FilesCtx {
    pub(super) async fn change(self: &Arc<Self>, change: impl FileChangeOp) -> FsResult<()> {
        let change = Arc::new(change);
        let grants = change.grants();
        for _ in 0..MAX_ATTEMPTS {
            let planned = Arc::clone(&change);
            let (plan, lock) = self.run_in(grants, move |ctx| planned.plan(ctx)).await?;
            let exclusive = lock.lock_owned().await;
            let made = Arc::clone(&change);
            let make = move |ctx: &Self| {
                // Released when the kernel returns, even if the call has ended.
                let _exclusive = exclusive;
                made.make(ctx, &plan)
            };
            if self.run_in(grants, make).await? {
                return Ok(());
            }
        }
        Err(ErrorCode::Busy.into())
    }

    /// Returns whether a path still leads to the same object, or to none.
    fn is_current(&self, dir: &OpenDir, resolved: &ResolvedPath) -> FsResult<bool> {
        let name = resolved.name()?;
        let parent = self.root(dir)?.path_of(&resolved.parent)?;
        let stat = lstat(&resolved.parent, name).map_err(error_code)?;
        let is_same = stat.as_ref().map(file_id) == resolved.stat.as_ref().map(file_id);
        Ok(is_same && join(&parent, name) == resolved.path)
    }
}

/// Returns the lock of the file system that a path is on.
pub(super) fn change_lock(resolved: &ResolvedPath) -> FsResult<ChangeLock> {
    let parent = real_path(resolved.parent.as_fd()).map_err(error_code)?;
    Ok(MOUNTS.change_lock(&parent))
}

pub(super) struct Rename {
    pub(super) dir: OpenDir,
    pub(super) path: String,
    pub(super) new_dir: OpenDir,
    pub(super) new_path: String,
}

pub(super) struct RenamePlan {
    old: ResolvedPath,
    new: ResolvedPath,
}

impl FileChangeOp for Rename {
    type Plan = RenamePlan;

    fn grants(&self) -> [usize; 2] {
        [self.dir.grant, self.new_dir.grant]
    }

    fn plan(&self, ctx: &FilesCtx) -> FsResult<(RenamePlan, ChangeLock)> {
        let (dir, new_dir) = (&self.dir, &self.new_dir);
        let old = ctx.resolve_visible(dir, &self.path, Follow::No, FileAction::Write)?;
        let op = if old.file_type() == Some(FileType::Directory) {
            FileOp::Move
        } else {
            FileOp::Write
        };
        ctx.check(dir, op, &old)?;
        ctx.check_nothing_hidden_below(dir, &old)?;
        ctx.check_moved(dir, &old)?;
        let new = ctx.resolve_new(new_dir, &self.new_path)?;
        let new_op = match op {
            FileOp::Write if old.is_executable() => FileOp::WriteExecutable,
            FileOp::Write => new.write_op(),
            other => other,
        };
        ctx.check(new_dir, new_op, &new)?;
        ctx.check_nothing_hidden_below(new_dir, &new)?;
        // A path that one grant hides may be visible in another.
        if dir.grant != new_dir.grant {
            return Err(ErrorCode::CrossDevice.into());
        }
        old.name()?;
        new.name()?;
        ctx.check_moved_link(dir, &old, &new)?;
        if op == FileOp::Write {
            ctx.keep(dir, &old)?;
            ctx.keep(new_dir, &new)?;
        }
        let lock = change_lock(&old)?;
        Ok((RenamePlan { old, new }, lock))
    }

    fn make(&self, ctx: &FilesCtx, RenamePlan { old, new }: &RenamePlan) -> FsResult<bool> {
        if !ctx.is_current(&self.dir, old)? || !ctx.is_current(&self.new_dir, new)? {
            return Ok(false);
        }
        ctx.check_moved_dir(&self.dir, old, new)?;
        ctx.check_makes_no_repository(&self.new_dir, new)?;
        if old.file_type() == Some(FileType::Directory) {
            ctx.keep_move(&self.dir, old, new)?;
        }
        let (name, new_name) = (old.name()?, new.name()?);
        let rename = || {
            let renamed = rustix::fs::renameat(&*old.parent, name, &*new.parent, new_name);
            Ok(renamed.map_err(error_code)?)
        };
        ctx.move_judged(&self.new_dir, old, new, rename)?;
        Ok(true)
    }
}

pub(super) struct NewSymlink {
    pub(super) dir: OpenDir,
    pub(super) target: String,
    pub(super) path: String,
}

impl FileChangeOp for NewSymlink {
    type Plan = ResolvedPath;

    fn grants(&self) -> [usize; 2] {
        [self.dir.grant; 2]
    }

    fn plan(&self, ctx: &FilesCtx) -> FsResult<(ResolvedPath, ChangeLock)> {
        let dir = &self.dir;
        let resolved = ctx.resolve_new(dir, &self.path)?;
        ctx.check(dir, FileOp::Write, &resolved)?;
        ctx.check_nothing_hidden_below(dir, &resolved)?;
        ctx.check_new_symlink(dir, &resolved, &self.target)?;
        ctx.check_config_symlink(dir, &resolved)?;
        if resolved.name.is_none() {
            return Err(ErrorCode::Exist.into());
        }
        let lock = change_lock(&resolved)?;
        Ok((resolved, lock))
    }

    fn make(&self, ctx: &FilesCtx, resolved: &ResolvedPath) -> FsResult<bool> {
        if !ctx.is_current(&self.dir, resolved)? {
            return Ok(false);
        }
        let name = resolved.name()?;
        // The target counts as written.
        let bytes = u64::try_from(self.target.len()).unwrap_or(u64::MAX);
        ctx.create(&self.dir, resolved, bytes, || {
            rustix::fs::symlinkat(&*self.target, &*resolved.parent, name)
        })?;
        Ok(true)
    }
}

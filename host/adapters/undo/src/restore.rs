//! The restoring of what calls have changed, from the newest entry to the oldest.

use crate::{
    log::{LogEntry, UndoLog},
    path::UndoPath,
    record::Record,
    state::{NotKept, PathState},
};
use agent_host_types::id::CallId;
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
    fs::{File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
};

/// The name under which a file is written before it takes the place of another one.
const TEMPORARY: &str = ".agent-host-undo";

/// The changes of calls of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// The log of the session.
    pub log: UndoLog,
    /// The calls.
    pub calls: HashSet<CallId>,
}

/// The result of [`undo`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// The paths that are as they were, sorted.
    pub restored: Vec<Restored>,
    /// The paths that are not, sorted. What the log has of them stays in it.
    pub left: Vec<Left>,
}

/// A path that is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The path.
    pub path: UndoPath,
    /// How.
    pub done: Restoring,
}

/// How a path was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restoring {
    /// The tool had changed it.
    WrittenBack,
    /// The tool had removed it.
    Recreated,
    /// The tool had created it.
    Removed,
}

/// A path that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The path.
    pub path: UndoPath,
    /// Why.
    pub reason: LeftReason,
}

/// Why a path is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeftReason {
    /// It was not kept.
    #[error("{0}")]
    NotKept(NotKept),
    /// Somebody has changed it since.
    #[error("it has changed since")]
    Changed,
    /// The program ended during the call, so that it is not known what the tool left.
    #[error("the program ended during the call, so it may have changed since")]
    Interrupted,
    /// It is a directory with something in it that the tool did not create.
    #[error("it is not empty")]
    NotEmpty,
    /// The system refused.
    #[error("{0}")]
    Refused(String),
}

impl From<io::Error> for LeftReason {
    fn from(error: io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<Errno> for LeftReason {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOTEMPTY => Self::NotEmpty,
            error => Self::Refused(io::Error::from(error).to_string()),
        }
    }
}

/// Returns the paths that [`undo`] may change.
///
/// # Errors
/// When a log cannot be read.
pub fn changed_paths(changes: &[Undo]) -> io::Result<BTreeSet<UndoPath>> {
    let mut paths = BTreeSet::new();
    for Undo { log, calls } in changes {
        for number in log.numbers()? {
            let entry = log.entry(number)?;
            if !calls.contains(&entry.call) {
                continue;
            }
            for record in entry.records {
                match record {
                    Record::Before { path, .. } => drop(paths.insert(path)),
                    Record::Moved { from, to } => paths.extend([from, to]),
                    // It is that of a state before.
                    Record::After { .. } | Record::Call { .. } => {}
                }
            }
        }
    }
    Ok(paths)
}

/// Restores what calls have changed, and removes their entries, but for those of which something is
/// left. A path is restored if it is as the call left it; with `force`, whatever it is now. Blocks.
///
/// # Errors
/// When a log cannot be read or changed.
pub fn undo(changes: &[Undo], force: bool) -> io::Result<Undone> {
    let mut entries = Vec::new();
    for Undo { log, calls } in changes {
        for number in log.numbers()? {
            let entry = log.entry(number)?;
            if calls.contains(&entry.call) {
                entries.push((number, log, entry));
            }
        }
    }
    entries.sort_by_key(|(number, ..)| Reverse(*number));
    let mut run = Restoration {
        force,
        at_start: BTreeMap::new(),
        left: BTreeMap::new(),
    };
    for (number, log, entry) in entries {
        if run.undo_entry(log, &entry)? {
            log.remove(number)?;
        }
    }
    for Undo { log, .. } in changes {
        log.remove_unused()?;
    }
    run.undone()
}

/// The paths of an entry between two moves, each with its state before and, unless the program was
/// killed, after.
type PathChanges<'e> = BTreeMap<&'e UndoPath, (&'e PathState, Option<&'e PathState>)>;

struct Restoration {
    force: bool,
    /// The paths that were restored, each with its state before this began.
    at_start: BTreeMap<UndoPath, PathState>,
    left: BTreeMap<UndoPath, LeftReason>,
}

impl Restoration {
    /// Returns whether everything was restored.
    fn undo_entry(&mut self, log: &UndoLog, entry: &LogEntry) -> io::Result<bool> {
        let mut is_whole = true;
        let mut parts = entry.records.as_slice();
        while !parts.is_empty() {
            let moved = parts
                .iter()
                .rposition(|record| matches!(record, Record::Moved { .. }));
            let (rest, last) = parts.split_at(moved.map_or(0, |at| at + 1));
            is_whole &= self.undo_changes(log, &changes(last))?;
            parts = rest;
            if let Some((Record::Moved { from, to }, before)) = parts.split_last() {
                is_whole &= self.undo_move(from, to);
                parts = before;
            }
        }
        Ok(is_whole)
    }

    fn undo_move(&mut self, from: &UndoPath, to: &UndoPath) -> bool {
        let moved = || -> Result<(), LeftReason> {
            // It was recorded before it was tried.
            let now = (PathState::read(to, None)?, PathState::read(from, None)?);
            if let (PathState::Absent, PathState::Dir { .. }) = now {
                return Ok(());
            }
            let ((dir, name), (new_dir, new_name)) = (to.open_parent()?, from.open_parent()?);
            // Nothing that is there by now is replaced.
            rustix::fs::renameat_with(dir, name, new_dir, new_name, RenameFlags::NOREPLACE)?;
            Ok(())
        };
        match moved() {
            Ok(()) => {
                for (path, state) in [
                    (from, PathState::Absent),
                    (to, PathState::Dir { mode: 0o777 }),
                ] {
                    self.at_start.entry(path.clone()).or_insert(state);
                }
                true
            }
            Err(reason) => {
                self.left.entry(to.clone()).or_insert(reason);
                false
            }
        }
    }

    fn undo_changes(&mut self, log: &UndoLog, changes: &PathChanges<'_>) -> io::Result<bool> {
        let mut is_whole = true;
        let mut ordered: Vec<_> = changes.iter().collect();
        // A directory that was removed is made before what was in it. What was created goes before
        // the rest is written, since it may be a second name of a file, and a directory after what
        // is in it.
        ordered.sort_by_key(|(path, (before, after))| match (before, after) {
            (PathState::Dir { .. }, _) => (0, path.depth()),
            (PathState::Absent, Some(PathState::Dir { .. })) => (2, usize::MAX - path.depth()),
            (PathState::Absent, _) => (1, 0),
            _ => (3, 0),
        });
        for (path, (before, after)) in ordered {
            is_whole &= self.undo_change(log, path, before, *after)?;
        }
        Ok(is_whole)
    }

    fn undo_change(
        &mut self,
        log: &UndoLog,
        path: &UndoPath,
        before: &PathState,
        after: Option<&PathState>,
    ) -> io::Result<bool> {
        if self.left.contains_key(path) {
            return Ok(false);
        }
        let now = match PathState::read(path, None) {
            Ok(now) => now,
            Err(error) => return Ok(self.leave(path, error.into())),
        };
        if let PathState::NotKept { reason } = before {
            return Ok(self.leave(path, LeftReason::NotKept(*reason)));
        }
        if now.is_same(before) {
            return Ok(true);
        }
        if !self.force {
            match after {
                Some(after) if now.is_same(after) => {}
                Some(_) => return Ok(self.leave(path, LeftReason::Changed)),
                None => return Ok(self.leave(path, LeftReason::Interrupted)),
            }
        }
        match restore(log, path, &now, before) {
            Ok(()) => {
                self.at_start.entry(path.clone()).or_insert(now);
                Ok(true)
            }
            Err(reason) => Ok(self.leave(path, reason)),
        }
    }

    fn leave(&mut self, path: &UndoPath, reason: LeftReason) -> bool {
        self.left.insert(path.clone(), reason);
        false
    }

    fn undone(self) -> io::Result<Undone> {
        let mut restored = Vec::new();
        for (path, start) in self.at_start {
            // A part of an older change may be left.
            if self.left.contains_key(&path) {
                continue;
            }
            let now = PathState::read(&path, None)?;
            let done = match (&start, &now) {
                (PathState::Absent, PathState::Absent) => continue,
                (PathState::Absent, _) => Restoring::Recreated,
                (_, PathState::Absent) => Restoring::Removed,
                (start, now) if start.is_same(now) => continue,
                _ => Restoring::WrittenBack,
            };
            restored.push(Restored { path, done });
        }
        let left = self.left.into_iter();
        let left = left.map(|(path, reason)| Left { path, reason }).collect();
        Ok(Undone { restored, left })
    }
}

/// Puts back what was at a path.
fn restore(
    log: &UndoLog,
    path: &UndoPath,
    now: &PathState,
    before: &PathState,
) -> Result<(), LeftReason> {
    let (dir, name) = path.open_parent()?;
    if let PathState::Dir { .. } = now {
        // Whatever is to be there cannot be until it is gone.
        rustix::fs::unlinkat(&dir, name, AtFlags::REMOVEDIR)?;
    }
    match before {
        PathState::Absent => match now {
            PathState::Dir { .. } => {}
            _ => rustix::fs::unlinkat(&dir, name, AtFlags::empty())?,
        },
        PathState::File { digest, mode } => {
            let content = log.content(*digest)?;
            if let PathState::File { .. } = now
                && rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?.st_nlink > 1
            {
                // The file has other names, under which the tool has changed it, too.
                let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file: OwnedFd = rustix::fs::openat(&dir, name, flags, Mode::empty())?;
                let mut file = File::from(file);
                file.write_all(&content)?;
                return Ok(file.sync_all()?);
            }
            replace(&dir, name, |temporary| {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let mut file: File =
                    rustix::fs::openat(&dir, temporary, flags, Mode::RUSR | Mode::WUSR)?.into();
                file.write_all(&content)?;
                file.set_permissions(Permissions::from_mode(*mode))?;
                file.sync_all()
            })?;
        }
        PathState::Symlink { target } => replace(&dir, name, |temporary| {
            Ok(rustix::fs::symlinkat(target, &dir, temporary)?)
        })?,
        PathState::Dir { mode } => {
            if *now != PathState::Absent {
                rustix::fs::unlinkat(&dir, name, AtFlags::empty())?;
            }
            rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(*mode))?;
        }
        PathState::NotKept { reason } => return Err(LeftReason::NotKept(*reason)),
    }
    Ok(())
}

fn changes(records: &[Record]) -> PathChanges<'_> {
    let mut changes = PathChanges::new();
    for record in records {
        match record {
            Record::Before { path, state } => {
                changes.entry(path).or_insert((state, None));
            }
            Record::After { path, state } => {
                if let Some((_, after)) = changes.get_mut(path) {
                    *after = Some(state);
                }
            }
            Record::Moved { .. } | Record::Call { .. } => {}
        }
    }
    changes
}

/// Makes an object beside a name, and moves it there.
fn replace(
    dir: &OwnedFd,
    name: &str,
    make: impl FnOnce(&str) -> io::Result<()>,
) -> Result<(), LeftReason> {
    // One that an earlier attempt left.
    let _ = rustix::fs::unlinkat(dir, TEMPORARY, AtFlags::empty());
    let made = make(TEMPORARY).map_err(LeftReason::from);
    let moved = made.and_then(|()| Ok(rustix::fs::renameat(dir, TEMPORARY, dir, name)?));
    if moved.is_err() {
        let _ = rustix::fs::unlinkat(dir, TEMPORARY, AtFlags::empty());
    }
    moved
}

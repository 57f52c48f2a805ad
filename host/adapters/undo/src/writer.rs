//! The writer of one entry.

use crate::{
    log::{CONTENTS_IN_USE, UndoLog, write_line},
    path::UndoPath,
    record::Record,
    state::{NotKept, PathState},
};
use agent_host_types::id::CallId;
use std::{
    cell::Cell,
    collections::BTreeMap,
    fs::File,
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Keeps the files that one run of a call changes. The entry is made at the first change.
#[derive(Debug)]
pub struct UndoWriter {
    log: UndoLog,
    call: CallId,
    entry: Mutex<OpenEntry>,
    /// A change may be made after the end.
    expects_change: AtomicBool,
}

#[derive(Debug, Default)]
struct OpenEntry {
    /// The number and the file, present from the first change on.
    file: Option<(u64, File)>,
    /// The paths that were kept since the last move, with their states.
    kept: BTreeMap<UndoPath, PathState>,
    /// The bytes of the kept contents and of the lines.
    bytes: u64,
    /// True once something was changed, as far as it is known.
    has_changed: bool,
    /// True once the call has changed more than the log may hold; nothing is recorded after that.
    is_full: bool,
}

impl UndoWriter {
    pub(crate) fn new(log: UndoLog, call: CallId) -> Self {
        Self {
            log,
            call,
            entry: Mutex::default(),
            expects_change: AtomicBool::new(false),
        }
    }

    /// Keeps the entry even if nothing has changed at its end, because a change may follow: it is
    /// undone only by force if it does.
    pub fn expect_change(&self) {
        self.expects_change.store(true, Ordering::Relaxed);
    }

    /// Keeps the state of a path that is about to be changed, unless it was kept before. Blocks for
    /// the reading of the file and the writing of a copy.
    ///
    /// # Errors
    /// When the state cannot be recorded. Then the change must not be made.
    pub fn keep(&self, path: &UndoPath) -> io::Result<()> {
        let mut open = self.open();
        if open.is_full || open.kept.contains_key(path) {
            return Ok(());
        }
        // It removes unused contents, so that it comes before the lock.
        self.create(&mut open)?;
        let _contents = CONTENTS_IN_USE
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let bytes = Cell::new(open.bytes);
        let store = |content: &[u8]| {
            bytes.set(bytes.get().saturating_add(content.len() as u64));
            if bytes.get() > self.log.max_bytes() {
                return Ok(Err(NotKept::LogFull));
            }
            self.log.store(content).map(Ok)
        };
        let state = PathState::read(path, Some(&store))?;
        open.bytes = bytes.get();
        let before = Record::Before {
            path: path.clone(),
            state: state.clone(),
        };
        self.write(&mut open, &before)?;
        open.is_full = open.bytes > self.log.max_bytes();
        open.kept.insert(path.clone(), state);
        Ok(())
    }

    /// Records that a directory is about to be moved.
    ///
    /// # Errors
    /// When it cannot be recorded. Then the change must not be made.
    pub fn keep_move(&self, from: &UndoPath, to: &UndoPath) -> io::Result<()> {
        let mut open = self.open();
        if open.is_full {
            return Ok(());
        }
        self.settle(&mut open)?;
        open.has_changed = true;
        let (from, to) = (from.clone(), to.clone());
        self.write(&mut open, &Record::Moved { from, to })
    }

    /// Records the states of all kept paths, after the call has ended. The entry of a call that
    /// changed nothing is removed. Blocks for the reading of the files.
    ///
    /// # Errors
    /// When they cannot be recorded; then they are restored only by force.
    pub fn end(&self) -> io::Result<()> {
        let mut open = self.open();
        self.settle(&mut open)?;
        match &open.file {
            Some((number, _))
                if !open.has_changed && !self.expects_change.load(Ordering::Relaxed) =>
            {
                self.log.remove(*number)
            }
            _ => Ok(()),
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenEntry> {
        self.entry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, open: &mut OpenEntry) -> io::Result<()> {
        for (path, before) in std::mem::take(&mut open.kept) {
            if let PathState::NotKept { .. } = before {
                open.has_changed = true;
                continue;
            }
            let state = PathState::read(&path, None)?;
            open.has_changed |= !state.is_same(&before);
            self.write(open, &Record::After { path, state })?;
        }
        Ok(())
    }

    fn write(&self, open: &mut OpenEntry, record: &Record) -> io::Result<()> {
        let written = write_line(self.create(open)?, record)?;
        open.bytes = open.bytes.saturating_add(written);
        Ok(())
    }

    fn create<'o>(&self, open: &'o mut OpenEntry) -> io::Result<&'o mut File> {
        if open.file.is_none() {
            open.file = Some(self.log.create_entry(&self.call)?);
        }
        let file = open.file.as_mut().map(|(_, file)| file);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

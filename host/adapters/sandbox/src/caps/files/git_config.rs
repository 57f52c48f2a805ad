//! Keeps files that git reads as configuration, by their names, from making git run a command. Bytes
//! are judged before they are written, together with what is in the file, so that pieces, offsets
//! and the order of writes make no difference. All handles of a file, of all calls, share one watch.
//!
//! A truncation at open waits for the first write that is accepted, or for the close of its handle,
//! so that a refused write leaves the file as it was. To guests, the file is empty meanwhile. If a
//! later write of that handle is refused, the file gets its content from before again.

use super::{
    FilesCtx,
    convert::{FileId, error_code, file_id, file_type, io_error_code},
    node::OpenDir,
    resolve::{ResolvedPath, lstat},
    stream::WritePosition,
    truncation::{TruncationId, Truncations},
};
use crate::mutex::lock;
use agent_host_engine::policy::{GitConfigContent, GitConfigScan, RunLater, fold_file_name};
use agent_host_undo::UndoWriter;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    sync::{Arc, LazyLock, Mutex, Weak},
};
use wasmtime_wasi::p2::{FsResult, bindings::filesystem::types::ErrorCode};

/// The most bytes of one file that are read to judge it.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// The bytes that are read at once.
const CHUNK_BYTES: usize = 8 * 1_024;

/// The files that guests have open.
static WATCHES: LazyLock<Mutex<HashMap<FileId, Weak<GitConfigWatch>>>> =
    LazyLock::new(Mutex::default);

/// A file that guests have open.
struct GitConfigWatch {
    id: FileId,
    state: Mutex<WatchState>,
}

#[derive(Default)]
struct WatchState {
    /// Git may read the file as configuration. False for a file of another name, which a rename
    /// changes.
    is_judged: bool,
    /// The scan of the file as it is: of all of it, or up to the byte with which it is no
    /// configuration. Absent if the file has to be read.
    scan: Option<GitConfigScan>,
    truncations: Truncations,
    /// The content before the truncation of a handle that is open, of at most
    /// [`MAX_CONFIG_BYTES`].
    before: Option<(TruncationId, Vec<u8>)>,
}

impl Drop for GitConfigWatch {
    fn drop(&mut self) {
        let mut watches = lock(&WATCHES);
        // Another handle may have made a new one meanwhile.
        if watches
            .get(&self.id)
            .is_some_and(|watch| watch.strong_count() == 0)
        {
            watches.remove(&self.id);
        }
    }
}

impl GitConfigWatch {
    /// Returns the watch of an open file.
    fn for_file(id: FileId) -> Arc<Self> {
        let mut watches = lock(&WATCHES);
        if let Some(watch) = watches.get(&id).and_then(Weak::upgrade) {
            return watch;
        }
        let state = Mutex::default();
        let watch = Arc::new(Self { id, state });
        watches.insert(id, Arc::downgrade(&watch));
        watch
    }
}

/// Returns whether a file is empty for guests, although its truncation waits.
pub(super) fn is_emptied(stat: &Stat) -> bool {
    let watch = lock(&WATCHES).get(&file_id(stat)).and_then(Weak::upgrade);
    watch.is_some_and(|watch| lock(&watch.state).truncations.are_waiting())
}

/// The watch of a file, for one handle of it.
pub(super) struct WatchHandle {
    watch: Arc<GitConfigWatch>,
    /// The truncation that the open asked for.
    truncation: Option<TruncationId>,
    undo: Option<Arc<UndoWriter>>,
}

impl WatchHandle {
    /// Watches an open file.
    pub(super) fn new(stat: &Stat, undo: Option<&Arc<UndoWriter>>) -> Self {
        Self {
            watch: GitConfigWatch::for_file(file_id(stat)),
            truncation: None,
            undo: undo.map(Arc::clone),
        }
    }

    /// Truncates the file at the first write that is accepted, or at the close.
    pub(super) fn truncate_later(&mut self) {
        self.truncation = Some(lock(&self.watch.state).truncations.add());
    }

    /// Judges what is written from now on, by all handles.
    pub(super) fn judge(&self) {
        lock(&self.watch.state).is_judged = true;
    }

    /// Returns whether the file is empty for guests, although its truncation waits.
    pub(super) fn is_emptied(&self) -> bool {
        lock(&self.watch.state).truncations.are_waiting()
    }

    /// Changes the size of the file, which brings no key: what could be cut off behind one was
    /// never written. `resize` is told whether it has to truncate the file before.
    pub(super) fn resize(
        &self,
        size: u64,
        resize: impl FnOnce(/*truncates*/ bool) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = lock(&self.watch.state);
        state.scan = None;
        let resized = resize(state.truncations.are_waiting());
        if resized.is_ok() {
            state.truncations.clear();
            state.scan = (size == 0).then(GitConfigScan::default);
        } else {
            state.truncations.refuse(self.truncation);
        }
        resized
    }

    /// Writes bytes, unless the file would come to run commands. `write` is told whether it has to
    /// truncate the file before.
    ///
    /// # Errors
    /// Inside: why not. Outside: the file cannot be read, or the error of `write`.
    pub(super) fn write(
        &self,
        file: &File,
        bytes: &[u8],
        to: WritePosition,
        write: impl FnOnce(/*truncates*/ bool) -> io::Result<usize>,
    ) -> io::Result<Result<usize, RunLater>> {
        let mut state = lock(&self.watch.state);
        let written = state.write(file, bytes, to, self.truncation, write);
        match written {
            Ok(Ok(_)) => state.truncations.clear(),
            Ok(Err(_)) => {
                state.truncations.refuse(self.truncation);
                state.restore(file, self.truncation)?;
            }
            Err(_) => state.truncations.refuse(self.truncation),
        }
        written
    }

    /// Prepares for a close that may happen after the call has ended.
    pub(super) fn close_later(&self) {
        if let (Some(undo), Some(_)) = (&self.undo, self.truncation) {
            undo.expect_change();
        }
    }

    /// Truncates the file if that was asked for by this handle, and no write of it was refused.
    pub(super) fn close(&self, file: &File) {
        let Some(truncation) = self.truncation else {
            return;
        };
        let mut state = lock(&self.watch.state);
        state.before.take_if(|(of, _)| *of == truncation);
        if state.truncations.close(truncation) {
            state.scan = None;
            if let Err(error) = file.set_len(0) {
                tracing::warn!(
                    "a file that a guest opened with truncation was left unchanged: {error}"
                );
            }
        }
    }
}

impl WatchState {
    fn write(
        &mut self,
        file: &File,
        bytes: &[u8],
        to: WritePosition,
        by: Option<TruncationId>,
        write: impl FnOnce(/*truncates*/ bool) -> io::Result<usize>,
    ) -> io::Result<Result<usize, RunLater>> {
        let truncates = self.truncations.are_waiting();
        if !self.is_judged {
            self.scan = None;
            return write(truncates).map(Ok);
        }
        let (known, content) = if truncates {
            (Some(GitConfigScan::default()), None)
        } else {
            (self.scan.take(), Some(file))
        };
        let judged = match (known, to) {
            (Some(scan), to) if is_decided_before(&scan, to) => Ok(scan),
            (Some(mut scan), to) if is_next(&scan, to) => {
                scan.feed(bytes);
                Ok(scan)
            }
            (_, WritePosition::Offset(at)) => scan_with(content, bytes, at)?,
            (_, WritePosition::End) => scan_with(content, bytes, file.metadata()?.len())?,
        };
        let scan = match judged {
            Ok(scan) if scan.content() == GitConfigContent::Executes => {
                return Ok(Err(RunLater::GIT_CONFIG));
            }
            Ok(scan) => scan,
            Err(found) => return Ok(Err(found)),
        };
        self.scan = None;
        if let Some(by) = by.filter(|_| truncates) {
            self.before = content_of(file).map(|content| (by, content));
        }
        let written = write(truncates)?;
        if written == bytes.len() {
            self.scan = Some(scan);
        }
        Ok(Ok(written))
    }

    /// Gives the file the content from before the truncation of a handle.
    fn restore(&mut self, file: &File, by: Option<TruncationId>) -> io::Result<()> {
        let Some((_, content)) = self.before.take_if(|(of, _)| Some(*of) == by) else {
            return Ok(());
        };
        self.scan = None;
        file.set_len(0)?;
        file.write_all_at(&content, 0)
    }
}

/// Reads a file; none that is too large or cannot be read.
fn content_of(file: &File) -> Option<Vec<u8>> {
    let size = file.metadata().ok()?.len();
    let mut content = vec![0; usize::try_from(size.min(MAX_CONFIG_BYTES)).ok()?];
    file.read_exact_at(&mut content, 0).ok()?;
    (size <= MAX_CONFIG_BYTES).then_some(content)
}

/// Returns whether a write leaves the bytes with which a file is no configuration.
fn is_decided_before(scan: &GitConfigScan, to: WritePosition) -> bool {
    scan.content() == GitConfigContent::NotConfig
        && match to {
            WritePosition::Offset(at) => at >= scan.bytes(),
            WritePosition::End => true,
        }
}

/// Returns whether a write continues where the scan of the whole file ended.
fn is_next(scan: &GitConfigScan, to: WritePosition) -> bool {
    scan.content() == GitConfigContent::Harmless
        && match to {
            WritePosition::Offset(at) => at == scan.bytes(),
            WritePosition::End => true,
        }
}

/// Scans a file, or none that is empty, as it would be with these bytes at a position, up to the
/// byte that decides.
///
/// # Errors
/// Inside: the file is too large to judge. Outside: it cannot be read.
fn scan_with(
    file: Option<&File>,
    bytes: &[u8],
    at: u64,
) -> io::Result<Result<GitConfigScan, RunLater>> {
    let mut scan = GitConfigScan::default();
    let mut chunk = [0; CHUNK_BYTES];
    while scan.content() == GitConfigContent::Harmless {
        let from = scan.bytes();
        if from > MAX_CONFIG_BYTES {
            return Ok(Err(RunLater::LARGE_GIT_CONFIG));
        }
        chunk.fill(0);
        let mut count = file.map_or(Ok(0), |file| file.read_at(&mut chunk, from))?;
        let gap = usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX);
        if !bytes.is_empty() && gap > count {
            // The file is filled with zeros up to the bytes.
            count = gap.min(chunk.len());
        }
        count = count.max(overlay(&mut chunk, from, bytes, at));
        if count == 0 {
            break;
        }
        scan.feed(chunk.get(..count).unwrap_or_default());
    }
    Ok(Ok(scan))
}

/// Puts bytes, which are at a position of the file, over the chunk that is from another one, and
/// returns where they end in it.
fn overlay(chunk: &mut [u8], from: u64, bytes: &[u8], at: u64) -> usize {
    let skipped = usize::try_from(from.saturating_sub(at)).unwrap_or(usize::MAX);
    let start = usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX);
    let (Some(bytes), Some(slots)) = (bytes.get(skipped..), chunk.get_mut(start..)) else {
        return 0;
    };
    let count = bytes.len().min(slots.len());
    slots
        .iter_mut()
        .zip(bytes)
        .for_each(|(slot, byte)| *slot = *byte);
    if count == 0 { 0 } else { start + count }
}

/// Whether git reads a file of this name as configuration, or is usually told to include it. Files of
/// other names are not judged: many formats have sections and keys of the same form.
pub(super) fn is_config_name(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let name = fold_file_name(name);
    ["config", "config.worktree"].contains(&&*name) || name.contains("gitconfig")
}

impl FilesCtx {
    /// Refuses a second name for a file that git reads as configuration, or that would be one: by
    /// the other name its content could change unseen.
    pub(super) fn check_config_link(
        &self,
        dir: &OpenDir,
        old: &ResolvedPath,
        new: &ResolvedPath,
    ) -> FsResult<()> {
        if is_config_name(&old.path) || is_config_name(&new.path) {
            return self.check_run_later(dir, new, RunLater::GIT_CONFIG);
        }
        Ok(())
    }

    /// Refuses a link that git would read configuration through, from a file of another name.
    pub(super) fn check_config_symlink(&self, dir: &OpenDir, new: &ResolvedPath) -> FsResult<()> {
        if is_config_name(&new.path) {
            return self.check_run_later(dir, new, RunLater::GIT_CONFIG);
        }
        Ok(())
    }

    /// Makes a move. If git reads configuration by the new name, refuses a file that is some which
    /// executes, and one that has another name, by which it could change unseen. Later writes by
    /// handles that are open are judged. The caller holds the lock of the file system.
    pub(super) fn move_judged(
        &self,
        dir: &OpenDir,
        old: &ResolvedPath,
        new: &ResolvedPath,
        rename: impl FnOnce() -> FsResult<()>,
    ) -> FsResult<()> {
        let may_run_later = self.gate.may_run_later(dir.grant, &new.path);
        if !is_config_name(&new.path) || may_run_later {
            return rename();
        }
        let stat = lstat(&old.parent, old.name()?).map_err(error_code)?;
        let stat = stat.ok_or(ErrorCode::NoEntry)?;
        match file_type(&stat) {
            FileType::Symlink => self.check_config_symlink(dir, new)?,
            FileType::RegularFile => {}
            _ => return rename(),
        }
        if stat.st_nlink > 1 {
            self.check_run_later(dir, new, RunLater::GIT_CONFIG)?;
        }
        let watch = GitConfigWatch::for_file(file_id(&stat));
        let mut state = lock(&watch.state);
        self.check_moved_content(dir, old, new)?;
        state.is_judged = true;
        rename()
    }

    fn check_moved_content(
        &self,
        dir: &OpenDir,
        old: &ResolvedPath,
        new: &ResolvedPath,
    ) -> FsResult<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&*old.parent, old.name()?, flags, Mode::empty());
        // What cannot be read here cannot be read by git of the same user.
        let Ok(file) = opened.map(File::from) else {
            return Ok(());
        };
        let judged = scan_with(Some(&file), &[], 0).map_err(|error| io_error_code(&error))?;
        match judged {
            Ok(scan) if scan.content() == GitConfigContent::Executes => {
                self.check_run_later(dir, new, RunLater::GIT_CONFIG)
            }
            Ok(_) => Ok(()),
            Err(found) => self.check_run_later(dir, new, found),
        }
    }
}

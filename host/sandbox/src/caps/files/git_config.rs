//! Keeps files that git reads as configuration, by their names, from making git run a command. Bytes
//! are judged before they are written, together with what is in the file, so that pieces, offsets
//! and the order of writes make no difference. All handles of a file, of all calls, share one watch.

use super::{
    FilesCtx,
    convert::{FileId, file_id, io_error_code},
    node::OpenDir,
    resolve::ResolvedPath,
    stream::WritePosition,
};
use crate::mutex::lock;
use agent_host_engine::policy::{GitConfigContent, GitConfigScan, RunLater, fold_file_name};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    sync::{Arc, LazyLock, Mutex, Weak},
};
use wasmtime_wasi::p2::FsResult;

/// The most bytes of one file that are read to judge it.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// The bytes that are read at once.
const CHUNK_BYTES: usize = 8 * 1_024;

/// The files that guests have open for writing.
static WATCHES: LazyLock<Mutex<HashMap<FileId, Weak<GitConfigWatch>>>> =
    LazyLock::new(Mutex::default);

/// A file that is open for writing.
pub(super) struct GitConfigWatch {
    id: FileId,
    /// The scan of the file as it is: of all of it, or up to the byte with which it is no
    /// configuration. Absent if the file has to be read.
    scan: Mutex<Option<GitConfigScan>>,
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
    pub(super) fn for_file(stat: &Stat) -> Arc<Self> {
        let id = file_id(stat);
        let mut watches = lock(&WATCHES);
        if let Some(watch) = watches.get(&id).and_then(Weak::upgrade) {
            return watch;
        }
        let watch = Arc::new(Self {
            id,
            scan: Mutex::new((stat.st_size == 0).then(GitConfigScan::default)),
        });
        watches.insert(id, Arc::downgrade(&watch));
        watch
    }

    /// Changes the size of the file, which brings no key: what could be cut off behind one was
    /// never written.
    pub(super) fn resize(
        &self,
        empties: bool,
        resize: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut scan = lock(&self.scan);
        *scan = None;
        resize()?;
        *scan = empties.then(GitConfigScan::default);
        Ok(())
    }

    /// Writes bytes, unless the file would come to run commands.
    ///
    /// # Errors
    /// Inside: why not. Outside: the file cannot be read, or the error of `write`.
    pub(super) fn write(
        &self,
        file: &File,
        bytes: &[u8],
        to: WritePosition,
        write: impl FnOnce() -> io::Result<usize>,
    ) -> io::Result<Result<usize, RunLater>> {
        let mut known = lock(&self.scan);
        let judged = match (known.take(), to) {
            (Some(scan), to) if is_decided_before(&scan, to) => Ok(scan),
            (Some(mut scan), to) if is_next(&scan, to) => {
                scan.feed(bytes);
                Ok(scan)
            }
            (_, WritePosition::Offset(at)) => scan_with(file, bytes, at)?,
            (_, WritePosition::End) => scan_with(file, bytes, file.metadata()?.len())?,
        };
        let scan = match judged {
            Ok(scan) if scan.content() == GitConfigContent::Executes => {
                return Ok(Err(RunLater::GIT_CONFIG));
            }
            Ok(scan) => scan,
            Err(found) => return Ok(Err(found)),
        };
        let written = write()?;
        if written == bytes.len() {
            *known = Some(scan);
        }
        Ok(Ok(written))
    }
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

/// Scans a file as it would be with these bytes at a position, up to the byte that decides.
///
/// # Errors
/// Inside: the file is too large to judge. Outside: it cannot be read.
fn scan_with(file: &File, bytes: &[u8], at: u64) -> io::Result<Result<GitConfigScan, RunLater>> {
    let mut scan = GitConfigScan::default();
    let mut chunk = [0; CHUNK_BYTES];
    while scan.content() == GitConfigContent::Harmless {
        let from = scan.bytes();
        if from > MAX_CONFIG_BYTES {
            return Ok(Err(RunLater::LARGE_GIT_CONFIG));
        }
        chunk.fill(0);
        let mut count = file.read_at(&mut chunk, from)?;
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

    /// Refuses a name for a file that is configuration which executes, since something may read it
    /// by that name.
    pub(super) fn check_moved_content(
        &self,
        dir: &OpenDir,
        old: &ResolvedPath,
        new: &ResolvedPath,
    ) -> FsResult<()> {
        if old.file_type() != Some(FileType::RegularFile) || !is_config_name(&new.path) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&*old.parent, old.name()?, flags, Mode::empty());
        // What cannot be read here cannot be read by git of the same user.
        let Ok(file) = opened.map(File::from) else {
            return Ok(());
        };
        let judged = scan_with(&file, &[], 0).map_err(|error| io_error_code(&error))?;
        match judged {
            Ok(scan) if scan.content() == GitConfigContent::Executes => {
                self.check_run_later(dir, new, RunLater::GIT_CONFIG)
            }
            Ok(_) => Ok(()),
            Err(found) => self.check_run_later(dir, new, found),
        }
    }
}

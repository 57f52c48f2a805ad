//! The mount table of this process: which directories are on file systems that answer at once, and
//! which paths share a file system. Reading it touches no file system, so it never hangs.

#[cfg(test)]
mod tests;

use crate::mutex::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Seek as _},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, MutexGuard, Weak},
};

/// The types of file systems in memory or on a block device, by the names under which the kernel
/// registers them (`fs/*/super.c`, `/proc/filesystems`). Every other type may wait for a server:
/// NFS, CIFS, 9p, Ceph, FUSE, autofs, and those of the future. An overlay counts as local, whatever
/// its layers are, and so does a block device behind a network.
const LOCAL_TYPES: &[&str] = &[
    "bcachefs", "btrfs", "devtmpfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "overlay",
    "ramfs", "rootfs", "squashfs", "tmpfs", "vfat", "xfs", "zfs",
];

/// Exclusive access to the links and moves of one file system.
pub(super) type ChangeLock = Arc<tokio::sync::Mutex<()>>;

/// The mount table, re-read when it has changed.
pub(super) static MOUNTS: LazyLock<MountTable> = LazyLock::new(MountTable::default);

#[derive(Default)]
pub(super) struct MountTable(Mutex<MountsState>);

#[derive(Default)]
struct MountsState {
    /// Reports changes to `poll(2)`; absent until the table was read.
    table: Option<File>,
    mounts: Vec<Mount>,
    /// Directories that were found to be local since the last change.
    local: BTreeSet<PathBuf>,
    change_locks: HashMap<OsString, Weak<tokio::sync::Mutex<()>>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// The number of the file system, such as `8:1`: equal for all mounts of it.
    device: OsString,
    point: PathBuf,
    is_local: bool,
}

impl MountTable {
    /// True if the directory was local when it was last opened, and no mount has changed since.
    pub(super) fn is_known_local(&self, dir: &Path) -> bool {
        self.state().local.contains(dir)
    }

    /// Decides whether operations in a granted directory may run inline: its path, its real path
    /// and `held` are on local file systems, and nothing else is mounted below it.
    pub(super) fn check(&self, granted: &Path, real: &Path, held: &[PathBuf]) -> bool {
        let mut state = self.state();
        let is_remote = |mount: &Mount| {
            !mount.is_local
                && (is_within(&mount.point, real)
                    || is_within(granted, &mount.point)
                    || is_within(real, &mount.point)
                    || held.iter().any(|path| is_within(path, &mount.point)))
        };
        let is_local = !state.mounts.is_empty() && !state.mounts.iter().any(is_remote);
        #[cfg(test)]
        let is_local = is_local && !super::tests::remote::is_remote(granted);
        if is_local {
            state.local.insert(granted.to_path_buf());
        } else {
            state.local.remove(granted);
        }
        is_local
    }

    /// Returns the lock of the file system that a real path is on.
    pub(super) fn change_lock(&self, real: &Path) -> ChangeLock {
        let mut state = self.state();
        // Of mounts at the same point, the last one is on top.
        let mounts = state.mounts.iter();
        let mount = mounts
            .filter(|mount| is_within(real, &mount.point))
            .max_by_key(|mount| mount.point.as_os_str().len());
        let device = mount.map(|mount| mount.device.clone()).unwrap_or_default();
        state.change_locks.retain(|_, lock| lock.strong_count() > 0);
        let entry = state.change_locks.entry(device).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let made = ChangeLock::default();
            *entry = Arc::downgrade(&made);
            made
        })
    }

    fn state(&self) -> MutexGuard<'_, MountsState> {
        let mut state = lock(&self.0);
        if let Err(error) = state.refresh() {
            tracing::warn!("cannot read /proc/self/mountinfo: {error}");
            // Without the table, nothing is known to be local.
            state.table = None;
            state.mounts.clear();
            state.local.clear();
        }
        state
    }
}

impl MountsState {
    /// Reads the table if it has changed.
    fn refresh(&mut self) -> io::Result<()> {
        let mut table = match self.table.take() {
            Some(table) if !has_changed(&table)? => {
                self.table = Some(table);
                return Ok(());
            }
            Some(mut table) => {
                table.rewind()?;
                table
            }
            None => File::open("/proc/self/mountinfo")?,
        };
        let mut text = Vec::new();
        table.read_to_end(&mut text)?;
        let lines = text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        self.mounts = lines.map(parse).collect();
        self.local.clear();
        self.table = Some(table);
        Ok(())
    }
}

/// Returns whether a mount has changed since the last call, as described in proc_pid_mounts(5).
fn has_changed(table: &File) -> io::Result<bool> {
    let mut events = [PollFd::new(table, PollFlags::PRI)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut events, Some(&now))?;
    let changed = PollFlags::PRI | PollFlags::ERR;
    Ok(events
        .iter()
        .any(|event| event.revents().intersects(changed)))
}

/// Reads a line of proc_pid_mountinfo(5). One that cannot be read makes every path remote.
fn parse(line: &[u8]) -> Mount {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let separator = fields.iter().position(|field| *field == b"-");
    let kind = separator.and_then(|at| fields.get(at + 1));
    match (fields.get(2), fields.get(4), kind) {
        (Some(device), Some(point), Some(kind)) => Mount {
            device: OsString::from_vec(device.to_vec()),
            point: PathBuf::from(OsString::from_vec(unescape(point))),
            is_local: LOCAL_TYPES.iter().any(|local| local.as_bytes() == *kind),
        },
        _ => Mount {
            device: OsString::new(),
            point: PathBuf::from("/"),
            is_local: false,
        },
    }
}

/// Returns whether a path is `dir` or below it. Both are absolute, without `.` and `..`.
fn is_within(path: &Path, dir: &Path) -> bool {
    let (path, dir) = (path.as_os_str().as_bytes(), dir.as_os_str().as_bytes());
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Decodes octal escapes such as `\040`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(*first));
        let read = if code.is_some() { 3 } else { 0 };
        rest = after.get(read..).unwrap_or_default();
    }
    plain
}

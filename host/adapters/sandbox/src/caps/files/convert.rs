//! Conversions between the kernel's values and those of wasi:filesystem. Pure.

pub(super) mod concurrent;

use rustix::{
    fs::{FileType, Nsecs, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT},
    io::Errno,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use wasmtime_wasi::p2::{
    FsError,
    bindings::{
        clocks::wall_clock::Datetime,
        filesystem::types::{
            Advice, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue, NewTimestamp,
        },
    },
};

/// A path cannot be resolved.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResolveError {
    /// The path leaves the directory.
    Escape,
    Code(ErrorCode),
}

impl From<Errno> for ResolveError {
    fn from(errno: Errno) -> Self {
        Self::Code(error_code(errno))
    }
}

impl From<ErrorCode> for ResolveError {
    fn from(code: ErrorCode) -> Self {
        Self::Code(code)
    }
}

impl From<ResolveError> for FsError {
    fn from(fault: ResolveError) -> Self {
        match fault {
            ResolveError::Escape => ErrorCode::NotPermitted.into(),
            ResolveError::Code(code) => code.into(),
        }
    }
}

/// Returns the guest's code for an error of the kernel. wasmtime-wasi's own conversion lacks the
/// codes that are named here.
pub(super) fn error_code(errno: Errno) -> ErrorCode {
    match errno {
        Errno::XDEV => ErrorCode::CrossDevice,
        Errno::ROFS => ErrorCode::ReadOnly,
        Errno::DQUOT => ErrorCode::Quota,
        Errno::TXTBSY => ErrorCode::TextFileBusy,
        Errno::AGAIN => ErrorCode::WouldBlock,
        other => ErrorCode::from(std::io::Error::from(other)),
    }
}

/// Returns the guest's code for an error of the standard library.
pub(super) fn io_error_code(error: &std::io::Error) -> ErrorCode {
    match error.raw_os_error() {
        Some(raw) => error_code(Errno::from_raw_os_error(raw)),
        None => ErrorCode::from(error),
    }
}

/// The identity of a file system object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

pub(super) fn file_id(stat: &Stat) -> FileId {
    FileId {
        device: stat.st_dev,
        inode: stat.st_ino,
    }
}

pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(super) fn descriptor_type(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

pub(super) fn descriptor_stat(stat: &Stat) -> DescriptorStat {
    // A time before 1970 has no form in wasi:clocks 0.2, so it is left out.
    let time = |seconds: i64, nanoseconds: u64| {
        Some(Datetime {
            seconds: seconds.try_into().ok()?,
            nanoseconds: nanoseconds.try_into().ok()?,
        })
    };
    DescriptorStat {
        type_: descriptor_type(file_type(stat)),
        link_count: stat.st_nlink,
        size: stat.st_size.try_into().unwrap_or(0),
        data_access_timestamp: time(stat.st_atime, stat.st_atime_nsec),
        data_modification_timestamp: time(stat.st_mtime, stat.st_mtime_nsec),
        status_change_timestamp: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// Returns two hashes of the identity: guests compare them and use them as inode numbers, and learn
/// no real ones.
pub(super) fn metadata_hash(stat: &Stat) -> MetadataHashValue {
    let part = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, file_id(stat)).hash(&mut hasher);
        hasher.finish()
    };
    MetadataHashValue {
        lower: part(0),
        upper: part(1),
    }
}

/// Converts the times to set.
///
/// # Errors
/// `overflow` for a time that the kernel cannot hold.
pub(super) fn timestamps(
    access: NewTimestamp,
    modification: NewTimestamp,
) -> Result<Timestamps, ErrorCode> {
    let time = |new: NewTimestamp| -> Result<Timespec, ErrorCode> {
        let special = |tv_nsec: Nsecs| Timespec { tv_sec: 0, tv_nsec };
        Ok(match new {
            NewTimestamp::NoChange => special(UTIME_OMIT),
            NewTimestamp::Now => special(UTIME_NOW),
            NewTimestamp::Timestamp(time) => {
                let nanoseconds = u64::from(time.nanoseconds);
                let seconds = time.seconds.checked_add(nanoseconds / 1_000_000_000);
                Timespec {
                    tv_sec: seconds
                        .and_then(|seconds| seconds.try_into().ok())
                        .ok_or(ErrorCode::Overflow)?,
                    tv_nsec: Nsecs::from(time.nanoseconds % 1_000_000_000),
                }
            }
        })
    };
    Ok(Timestamps {
        last_access: time(access)?,
        last_modification: time(modification)?,
    })
}

pub(super) fn advice(advice: Advice) -> rustix::fs::Advice {
    match advice {
        Advice::Normal => rustix::fs::Advice::Normal,
        Advice::Sequential => rustix::fs::Advice::Sequential,
        Advice::Random => rustix::fs::Advice::Random,
        Advice::WillNeed => rustix::fs::Advice::WillNeed,
        Advice::DontNeed => rustix::fs::Advice::DontNeed,
        Advice::NoReuse => rustix::fs::Advice::NoReuse,
    }
}

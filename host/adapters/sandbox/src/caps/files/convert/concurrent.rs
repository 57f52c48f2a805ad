//! Conversions from the values of wasi:filesystem 0.2 to those of 0.3 and back. Pure.

use wasmtime_wasi::{
    p2::{
        FsResult,
        bindings::{clocks::wall_clock::Datetime, filesystem::types as v2},
    },
    p3::{
        bindings::{
            clocks::system_clock::Instant,
            filesystem::types::{self as v3, ErrorCode},
        },
        filesystem::{FilesystemError, FilesystemResult},
    },
};

/// Converts the result of an operation of 0.2.
pub(in super::super) fn done<T>(result: FsResult<T>) -> FilesystemResult<T> {
    result.map_err(|error| match error.downcast() {
        Ok(code) => error_code(code).into(),
        Err(trap) => FilesystemError::trap(trap),
    })
}

/// Separates the errors that a guest sees from those that end it.
pub(in super::super) fn code_of<T>(
    result: FilesystemResult<T>,
) -> wasmtime::Result<Result<T, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => error.downcast().map(Err),
    }
}

/// Converts a value of an enumeration whose names are the same in both versions, but for the named
/// ones.
macro_rules! same_name {
    (
        $value:ident, $from:ident => $to:ident, $type:ident:
        $($name:ident)* $(; $other:ident => $new:expr)?
    ) => {
        match $value {
            $($from::$type::$name => $to::$type::$name,)*
            $($from::$type::$other => $new,)?
        }
    };
}

/// Converts a set of flags whose names are the same in both versions.
macro_rules! same_flags {
    ($flags:ident, $from:ident => $to:ident, $type:ident: $($name:ident)*) => {{
        let mut all = $to::$type::empty();
        $(if $flags.contains($from::$type::$name) {
            all |= $to::$type::$name;
        })*
        all
    }};
}

pub(in super::super) fn error_code(code: v2::ErrorCode) -> ErrorCode {
    same_name!(code, v2 => v3, ErrorCode:
        Access Already BadDescriptor Busy Deadlock Quota Exist FileTooLarge IllegalByteSequence
        InProgress Interrupted Invalid Io IsDirectory Loop TooManyLinks MessageSize NameTooLong
        NoDevice NoEntry NoLock InsufficientMemory InsufficientSpace NotDirectory NotEmpty
        NotRecoverable Unsupported NoTty NoSuchDevice Overflow NotPermitted Pipe ReadOnly
        InvalidSeek TextFileBusy CrossDevice;
        WouldBlock => ErrorCode::Other(Some("would-block".to_owned())))
}

pub(in super::super) fn descriptor_type(kind: v2::DescriptorType) -> v3::DescriptorType {
    same_name!(kind, v2 => v3, DescriptorType:
        BlockDevice CharacterDevice Directory Fifo SymbolicLink RegularFile Socket;
        Unknown => v3::DescriptorType::Other(None))
}

pub(in super::super) fn entry(entry: v2::DirectoryEntry) -> v3::DirectoryEntry {
    v3::DirectoryEntry {
        type_: descriptor_type(entry.type_),
        name: entry.name,
    }
}

pub(in super::super) fn descriptor_stat(stat: v2::DescriptorStat) -> v3::DescriptorStat {
    let time = |time: Option<Datetime>| {
        let time = time?;
        Some(Instant {
            seconds: time.seconds.try_into().ok()?,
            nanoseconds: time.nanoseconds,
        })
    };
    v3::DescriptorStat {
        type_: descriptor_type(stat.type_),
        link_count: stat.link_count,
        size: stat.size,
        data_access_timestamp: time(stat.data_access_timestamp),
        data_modification_timestamp: time(stat.data_modification_timestamp),
        status_change_timestamp: time(stat.status_change_timestamp),
    }
}

pub(in super::super) fn metadata_hash(hash: v2::MetadataHashValue) -> v3::MetadataHashValue {
    v3::MetadataHashValue {
        lower: hash.lower,
        upper: hash.upper,
    }
}

/// Converts times to set.
///
/// # Errors
/// `overflow` for a time before 1970, as in 0.2, which has no form for it.
pub(in super::super) fn timestamps<const N: usize>(
    times: [v3::NewTimestamp; N],
) -> Result<[v2::NewTimestamp; N], ErrorCode> {
    let is_early = |time: &v3::NewTimestamp| match time {
        v3::NewTimestamp::Timestamp(time) => time.seconds < 0,
        v3::NewTimestamp::NoChange | v3::NewTimestamp::Now => false,
    };
    if times.iter().any(is_early) {
        return Err(ErrorCode::Overflow);
    }
    Ok(times.map(|time| match time {
        v3::NewTimestamp::NoChange => v2::NewTimestamp::NoChange,
        v3::NewTimestamp::Now => v2::NewTimestamp::Now,
        v3::NewTimestamp::Timestamp(time) => v2::NewTimestamp::Timestamp(Datetime {
            seconds: time.seconds.unsigned_abs(),
            nanoseconds: time.nanoseconds,
        }),
    }))
}

pub(in super::super) fn advice(advice: v3::Advice) -> v2::Advice {
    same_name!(advice, v3 => v2, Advice: Normal Sequential Random WillNeed DontNeed NoReuse)
}

pub(in super::super) fn descriptor_flags(flags: v2::DescriptorFlags) -> v3::DescriptorFlags {
    same_flags!(flags, v2 => v3, DescriptorFlags:
        READ WRITE FILE_INTEGRITY_SYNC DATA_INTEGRITY_SYNC REQUESTED_WRITE_SYNC MUTATE_DIRECTORY)
}

pub(in super::super) fn wanted_flags(flags: v3::DescriptorFlags) -> v2::DescriptorFlags {
    same_flags!(flags, v3 => v2, DescriptorFlags:
        READ WRITE FILE_INTEGRITY_SYNC DATA_INTEGRITY_SYNC REQUESTED_WRITE_SYNC MUTATE_DIRECTORY)
}

pub(in super::super) fn path_flags(flags: v3::PathFlags) -> v2::PathFlags {
    same_flags!(flags, v3 => v2, PathFlags: SYMLINK_FOLLOW)
}

pub(in super::super) fn open_flags(flags: v3::OpenFlags) -> v2::OpenFlags {
    same_flags!(flags, v3 => v2, OpenFlags: CREATE DIRECTORY EXCLUSIVE TRUNCATE)
}

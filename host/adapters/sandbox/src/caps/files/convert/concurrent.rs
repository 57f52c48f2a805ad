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

pub(in super::super) fn error_code(code: v2::ErrorCode) -> ErrorCode {
    match code {
        v2::ErrorCode::Access => ErrorCode::Access,
        v2::ErrorCode::WouldBlock => ErrorCode::Other(Some("would-block".to_owned())),
        v2::ErrorCode::Already => ErrorCode::Already,
        v2::ErrorCode::BadDescriptor => ErrorCode::BadDescriptor,
        v2::ErrorCode::Busy => ErrorCode::Busy,
        v2::ErrorCode::Deadlock => ErrorCode::Deadlock,
        v2::ErrorCode::Quota => ErrorCode::Quota,
        v2::ErrorCode::Exist => ErrorCode::Exist,
        v2::ErrorCode::FileTooLarge => ErrorCode::FileTooLarge,
        v2::ErrorCode::IllegalByteSequence => ErrorCode::IllegalByteSequence,
        v2::ErrorCode::InProgress => ErrorCode::InProgress,
        v2::ErrorCode::Interrupted => ErrorCode::Interrupted,
        v2::ErrorCode::Invalid => ErrorCode::Invalid,
        v2::ErrorCode::Io => ErrorCode::Io,
        v2::ErrorCode::IsDirectory => ErrorCode::IsDirectory,
        v2::ErrorCode::Loop => ErrorCode::Loop,
        v2::ErrorCode::TooManyLinks => ErrorCode::TooManyLinks,
        v2::ErrorCode::MessageSize => ErrorCode::MessageSize,
        v2::ErrorCode::NameTooLong => ErrorCode::NameTooLong,
        v2::ErrorCode::NoDevice => ErrorCode::NoDevice,
        v2::ErrorCode::NoEntry => ErrorCode::NoEntry,
        v2::ErrorCode::NoLock => ErrorCode::NoLock,
        v2::ErrorCode::InsufficientMemory => ErrorCode::InsufficientMemory,
        v2::ErrorCode::InsufficientSpace => ErrorCode::InsufficientSpace,
        v2::ErrorCode::NotDirectory => ErrorCode::NotDirectory,
        v2::ErrorCode::NotEmpty => ErrorCode::NotEmpty,
        v2::ErrorCode::NotRecoverable => ErrorCode::NotRecoverable,
        v2::ErrorCode::Unsupported => ErrorCode::Unsupported,
        v2::ErrorCode::NoTty => ErrorCode::NoTty,
        v2::ErrorCode::NoSuchDevice => ErrorCode::NoSuchDevice,
        v2::ErrorCode::Overflow => ErrorCode::Overflow,
        v2::ErrorCode::NotPermitted => ErrorCode::NotPermitted,
        v2::ErrorCode::Pipe => ErrorCode::Pipe,
        v2::ErrorCode::ReadOnly => ErrorCode::ReadOnly,
        v2::ErrorCode::InvalidSeek => ErrorCode::InvalidSeek,
        v2::ErrorCode::TextFileBusy => ErrorCode::TextFileBusy,
        v2::ErrorCode::CrossDevice => ErrorCode::CrossDevice,
    }
}

pub(in super::super) fn descriptor_type(kind: v2::DescriptorType) -> v3::DescriptorType {
    match kind {
        v2::DescriptorType::Unknown => v3::DescriptorType::Other(None),
        v2::DescriptorType::BlockDevice => v3::DescriptorType::BlockDevice,
        v2::DescriptorType::CharacterDevice => v3::DescriptorType::CharacterDevice,
        v2::DescriptorType::Directory => v3::DescriptorType::Directory,
        v2::DescriptorType::Fifo => v3::DescriptorType::Fifo,
        v2::DescriptorType::SymbolicLink => v3::DescriptorType::SymbolicLink,
        v2::DescriptorType::RegularFile => v3::DescriptorType::RegularFile,
        v2::DescriptorType::Socket => v3::DescriptorType::Socket,
    }
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
    match advice {
        v3::Advice::Normal => v2::Advice::Normal,
        v3::Advice::Sequential => v2::Advice::Sequential,
        v3::Advice::Random => v2::Advice::Random,
        v3::Advice::WillNeed => v2::Advice::WillNeed,
        v3::Advice::DontNeed => v2::Advice::DontNeed,
        v3::Advice::NoReuse => v2::Advice::NoReuse,
    }
}

/// The flags of a descriptor in both versions, in pairs.
const DESCRIPTOR_FLAGS: [(v2::DescriptorFlags, v3::DescriptorFlags); 6] = [
    (v2::DescriptorFlags::READ, v3::DescriptorFlags::READ),
    (v2::DescriptorFlags::WRITE, v3::DescriptorFlags::WRITE),
    (
        v2::DescriptorFlags::FILE_INTEGRITY_SYNC,
        v3::DescriptorFlags::FILE_INTEGRITY_SYNC,
    ),
    (
        v2::DescriptorFlags::DATA_INTEGRITY_SYNC,
        v3::DescriptorFlags::DATA_INTEGRITY_SYNC,
    ),
    (
        v2::DescriptorFlags::REQUESTED_WRITE_SYNC,
        v3::DescriptorFlags::REQUESTED_WRITE_SYNC,
    ),
    (
        v2::DescriptorFlags::MUTATE_DIRECTORY,
        v3::DescriptorFlags::MUTATE_DIRECTORY,
    ),
];

pub(in super::super) fn descriptor_flags(flags: v2::DescriptorFlags) -> v3::DescriptorFlags {
    let set = DESCRIPTOR_FLAGS.into_iter();
    set.filter(|(old, _)| flags.contains(*old))
        .fold(v3::DescriptorFlags::empty(), |all, (_, new)| all | new)
}

pub(in super::super) fn wanted_flags(flags: v3::DescriptorFlags) -> v2::DescriptorFlags {
    let set = DESCRIPTOR_FLAGS.into_iter();
    set.filter(|(_, new)| flags.contains(*new))
        .fold(v2::DescriptorFlags::empty(), |all, (old, _)| all | old)
}

pub(in super::super) fn path_flags(flags: v3::PathFlags) -> v2::PathFlags {
    if flags.contains(v3::PathFlags::SYMLINK_FOLLOW) {
        v2::PathFlags::SYMLINK_FOLLOW
    } else {
        v2::PathFlags::empty()
    }
}

pub(in super::super) fn open_flags(flags: v3::OpenFlags) -> v2::OpenFlags {
    let pairs = [
        (v2::OpenFlags::CREATE, v3::OpenFlags::CREATE),
        (v2::OpenFlags::DIRECTORY, v3::OpenFlags::DIRECTORY),
        (v2::OpenFlags::EXCLUSIVE, v3::OpenFlags::EXCLUSIVE),
        (v2::OpenFlags::TRUNCATE, v3::OpenFlags::TRUNCATE),
    ];
    let set = pairs.into_iter().filter(|(_, new)| flags.contains(*new));
    set.fold(v2::OpenFlags::empty(), |all, (old, _)| all | old)
}

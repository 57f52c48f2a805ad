//! Attempts on files and directories.

use serde_json::{Value, json};
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, filesystem_error_code,
};
use wasip2::io::streams::{OutputStream, StreamError};

use crate::location::{following, resolve};
use crate::run::{Kept, Outcome};
use crate::script::{How, Location};

/// The most bytes of one blocking write to a stream (wasi:io).
const MAX_STREAM_WRITE: usize = 4096;

pub(crate) fn open(path: Location, how: &[How], follow: bool, kept: &mut Kept) -> Outcome {
    kept.descriptors.push(resolve(path)?.open(how, follow)?);
    Ok(json!(kept.descriptors.len()))
}

pub(crate) fn read(path: Location, follow: bool, max_bytes: u64) -> Outcome {
    let file = resolve(path)?.open(&[How::Read], follow)?;
    let (bytes, _) = file.read(max_bytes, 0).map_err(name)?;
    Ok(json!(String::from_utf8_lossy(&bytes)))
}

/// Writes until the first error, and returns the number of bytes written.
pub(crate) fn write(file: &Descriptor, text: &str, times: u64) -> Outcome {
    let mut offset = 0;
    for _ in 0..times {
        offset += file
            .write(text.as_bytes(), offset)
            .map_err(|code| stopped(code.name(), offset))?;
    }
    Ok(json!(offset))
}

pub(crate) fn write_stream(file: &Descriptor, text: &str, times: u64) -> Outcome {
    let stream = file.write_via_stream(0).map_err(name)?;
    let mut written = 0;
    for _ in 0..times {
        written = push(&stream, text, written)?;
    }
    Ok(json!(written))
}

pub(crate) fn append(path: Location, text: &str) -> Outcome {
    let file = resolve(path)?.open(&[How::Write], true)?;
    let stream = file.append_via_stream().map_err(name)?;
    push(&stream, text, 0).map(|written| json!(written))
}

pub(crate) fn zeroes(path: Location, bytes: u64) -> Outcome {
    let file = resolve(path)?.open(&[How::Write, How::Create], true)?;
    let stream = file.write_via_stream(0).map_err(name)?;
    let mut written = 0;
    while written < bytes {
        let step = (bytes - written).min(MAX_STREAM_WRITE as u64);
        stream
            .blocking_write_zeroes_and_flush(step)
            .map_err(|error| stopped(&stream_error(&error), written))?;
        written += step;
    }
    Ok(json!(written))
}

pub(crate) fn splice(from: Location, to: Location, bytes: u64) -> Outcome {
    let source = resolve(from)?
        .open(&[How::Read], true)?
        .read_via_stream(0)
        .map_err(name)?;
    let target = resolve(to)?
        .open(&[How::Write, How::Create], true)?
        .write_via_stream(0)
        .map_err(name)?;
    let copied = target
        .blocking_splice(&source, bytes)
        .map_err(|error| stream_error(&error))?;
    target
        .blocking_flush()
        .map_err(|error| stream_error(&error))?;
    Ok(json!(copied))
}

pub(crate) fn list(path: Location) -> Outcome {
    let entries = resolve(path)?
        .open(&[How::Read, How::Directory], true)?
        .read_directory()
        .map_err(name)?;
    let mut names = Vec::new();
    while let Some(entry) = entries.read_directory_entry().map_err(name)? {
        names.push(entry.name);
    }
    names.sort();
    Ok(json!(names))
}

pub(crate) fn stat(path: Location, follow: bool) -> Outcome {
    let at = resolve(path)?;
    let stat = at
        .directory
        .stat_at(following(follow), &at.path)
        .map_err(name)?;
    Ok(
        json!({ "kind": format!("{:?}", stat.type_).trim_start_matches("DescriptorType::"), "size": stat.size }),
    )
}

pub(crate) fn hash(path: Location) -> Outcome {
    let at = resolve(path)?;
    at.directory
        .metadata_hash_at(following(true), &at.path)
        .map_err(name)
        .map(|_| json!(true))
}

pub(crate) fn rename(from: Location, to: Location) -> Outcome {
    let (from, to) = (resolve(from)?, resolve(to)?);
    done(
        from.directory
            .rename_at(&from.path, &to.directory, &to.path),
    )
}

pub(crate) fn link(from: Location, to: Location, follow: bool) -> Outcome {
    let (from, to) = (resolve(from)?, resolve(to)?);
    done(
        from.directory
            .link_at(following(follow), &from.path, &to.directory, &to.path),
    )
}

pub(crate) fn symlink(target: &str, path: Location) -> Outcome {
    let at = resolve(path)?;
    done(at.directory.symlink_at(target, &at.path))
}

pub(crate) fn readlink(path: Location) -> Outcome {
    let at = resolve(path)?;
    at.directory
        .readlink_at(&at.path)
        .map_err(name)
        .map(|target| json!(target))
}

pub(crate) fn unlink(path: Location) -> Outcome {
    let at = resolve(path)?;
    done(at.directory.unlink_file_at(&at.path))
}

pub(crate) fn mkdir(path: Location) -> Outcome {
    let at = resolve(path)?;
    done(at.directory.create_directory_at(&at.path))
}

pub(crate) fn rmdir(path: Location) -> Outcome {
    let at = resolve(path)?;
    done(at.directory.remove_directory_at(&at.path))
}

pub(crate) fn truncate(path: Location, size: u64, how: &[How]) -> Outcome {
    let file = resolve(path)?.open(how, true)?;
    done(file.set_size(size))
}

/// Sets the times by path and through an open descriptor: a host may check only one of the two.
pub(crate) fn touch(path: Location, follow: bool) -> Outcome {
    let at = resolve(path)?;
    let open = at
        .directory
        .open_at(
            following(follow),
            &at.path,
            wasip2::filesystem::types::OpenFlags::empty(),
            DescriptorFlags::READ,
        )
        .and_then(|file| file.set_times(NewTimestamp::Now, NewTimestamp::Now));
    let by_path = at.directory.set_times_at(
        following(follow),
        &at.path,
        NewTimestamp::Now,
        NewTimestamp::Now,
    );
    match (open, by_path) {
        (Err(code), Err(_)) => Err(name(code)),
        (Ok(()), _) => Ok(json!("through the descriptor")),
        (Err(_), Ok(())) => Ok(json!("by path")),
    }
}

/// Writes a text to a stream, and returns the number of bytes written.
fn push(stream: &OutputStream, text: &str, mut written: u64) -> Result<u64, String> {
    for chunk in text.as_bytes().chunks(MAX_STREAM_WRITE) {
        stream
            .blocking_write_and_flush(chunk)
            .map_err(|error| stopped(&stream_error(&error), written))?;
        written += chunk.len() as u64;
    }
    Ok(written)
}

fn done(result: Result<(), ErrorCode>) -> Outcome {
    result.map_err(name).map(|()| Value::Null)
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn name(code: ErrorCode) -> String {
    code.name().to_owned()
}

fn stopped(kind: &str, written: u64) -> String {
    if written == 0 {
        kind.to_owned()
    } else {
        format!("{kind} after {written} bytes")
    }
}

fn stream_error(error: &StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => filesystem_error_code(error).map_or_else(
            || "last-operation-failed".to_owned(),
            |code| code.name().to_owned(),
        ),
    }
}

//! Skills in components: an uncompressed tar of a skill's directory, which other hosts and tools
//! write and read, too
//! (<https://github.com/actcore/act-spec/blob/main/spec/ACT-AGENTSKILLS.md>). Nothing of it is
//! written to a disk.

#[cfg(test)]
mod tests;

use super::{
    SkillError,
    files::{SkillFileReader, SkillFiles, checked_path, irregular},
};
use std::io::{self, Read as _};
use tar::{Archive, Builder, Entry, EntryType, Header};

/// The mode in an archive; readers ignore it.
const MODE: u32 = 0o644;

/// Reads the files of an archive from an untrusted component. Hidden files are no part of a skill.
///
/// # Errors
/// It is no archive, has anything but directories and regular files with relative paths, or more
/// than a skill may have.
pub(super) fn unpack(archive: &[u8]) -> Result<SkillFiles, SkillError> {
    let mut reader = SkillFileReader::new();
    let mut archive = Archive::new(archive);
    for entry in archive.entries().map_err(|error| damaged(&error))? {
        take(&mut reader, entry.map_err(|error| damaged(&error))?)?;
    }
    Ok(reader.files)
}

fn take(reader: &mut SkillFileReader, mut entry: Entry<'_, &[u8]>) -> Result<(), SkillError> {
    reader.count()?;
    let (kind, size) = (entry.header().entry_type(), entry.size());
    let whole = entry.path_bytes().into_owned();
    let written = checked_path(str::from_utf8(&whole).ok())?;
    let path = written.strip_prefix("./").unwrap_or(written);
    let is_directory = kind == EntryType::Directory;
    let path = match is_directory {
        true => path.strip_suffix('/').unwrap_or(path),
        false => path,
    };
    // The directory of the skill itself, as `tar -C skill .` writes it.
    if is_directory && matches!(path, "" | ".") {
        return Ok(());
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        let reason = format!("its path {written:?} is not a plain path below its directory");
        return Err(SkillError::new(reason, "pack it again, as `tar -C DIR .`"));
    }
    if kind != EntryType::Regular && !is_directory {
        return Err(irregular(path));
    }
    if is_directory || path.split('/').any(|part| part.starts_with('.')) {
        return Ok(());
    }
    reader.add(path, |most| {
        if size > most {
            let reason = format!("its file {path:?} is longer than the remaining {most} bytes");
            return Err(SkillError::new(reason, "shorten it"));
        }
        let mut bytes = Vec::new();
        let read = entry.read_to_end(&mut bytes);
        if read.map_err(|error| damaged(&error))? as u64 == size {
            Ok(bytes)
        } else {
            Err(damaged(&io::Error::from(io::ErrorKind::UnexpectedEof)))
        }
    })
}

fn damaged(error: &io::Error) -> SkillError {
    let error = agent_host_engine::text::sanitize(&error.to_string(), 300);
    SkillError::new(
        format!("it is not a tar archive: {error}"),
        "build its component again",
    )
}

/// Packs files in the order of their paths, so that equal files make equal archives.
///
/// # Errors
/// A path is longer than the form of the archive allows.
pub(super) fn pack(files: &SkillFiles) -> Result<Vec<u8>, SkillError> {
    let mut builder = Builder::new(Vec::new());
    let packed = files.iter().try_for_each(|(path, bytes)| {
        let mut header = Header::new_ustar();
        header.set_path(path)?;
        header.set_entry_type(EntryType::Regular);
        header.set_mode(MODE);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append(&header, bytes.as_slice())
    });
    let archive = packed.and_then(|()| builder.into_inner());
    archive.map_err(|error| {
        SkillError::new(
            format!("cannot pack its files: {error}"),
            "shorten the names of its files",
        )
    })
}

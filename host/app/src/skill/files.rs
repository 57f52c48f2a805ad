//! The files of a skill, from its directory: what is read, and the bounds, which are those of an
//! archive in a component, too.

use super::{SKILL_FILE, SkillError};
use crate::trusted_file;
use agent_host_engine::text::is_deceptive;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::Display,
    fs, io,
    path::Path,
};

/// The content of files by their paths in the skill.
pub(super) type SkillFiles = BTreeMap<String, Vec<u8>>;

/// The layout of the specification: the part of a project's directory, which has other files, too,
/// that `agent-host build` puts into a component.
const LAYOUT: [&str; 4] = [SKILL_FILE, "assets", "references", "scripts"];

/// The maximum of files in a skill.
const MAX_FILES: usize = 256;

/// The maximum size of a skill, in bytes: it is in memory, so that what is read is what was
/// accepted.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The maximum of entries of all its directories, hidden ones included.
const MAX_ENTRIES: usize = 4_096;

/// The deepest directory below a skill's.
const MAX_DEPTH: usize = 8;

/// The longest path in a skill, in bytes: that of a POSIX archive.
const MAX_PATH: usize = 255;

/// Reads all files of a directory. Hidden ones are no part of a skill.
pub(super) fn read(directory: &Path) -> Result<SkillFiles, SkillError> {
    let mut reader = SkillFileReader::new();
    reader.directory(directory, "")?;
    Ok(reader.files)
}

/// Reads the files of a project's directory that are its skill; none if it has no `SKILL.md`.
pub(super) fn read_layout(project: &Path) -> Result<Option<SkillFiles>, SkillError> {
    let is_absent = |name: &str| {
        let found = project.join(name).symlink_metadata();
        found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    if is_absent(SKILL_FILE) {
        return Ok(None);
    }
    let mut reader = SkillFileReader::new();
    for name in LAYOUT.into_iter().filter(|name| !is_absent(name)) {
        reader.entry(&project.join(name), name)?;
    }
    Ok(Some(reader.files))
}

/// Checks a path in a skill, and returns it. Every path is checked before it is used or shown.
pub(super) fn checked_path(path: Option<&str>) -> Result<&str, SkillError> {
    let is_unreadable = |c: char| c.is_control() || is_deceptive(c);
    let Some(path) = path.filter(|path| !path.chars().any(is_unreadable)) else {
        return Err(SkillError::new(
            "the name of one of its files is not valid text",
            "rename it",
        ));
    };
    if path.len() > MAX_PATH {
        let reason = format!("the path of one of its files has more than {MAX_PATH} bytes");
        return Err(SkillError::new(reason, "shorten it"));
    }
    if path.matches('/').count() > MAX_DEPTH {
        let path = path.trim_end_matches('/');
        let reason = format!("its file {path:?} is more than {MAX_DEPTH} directories deep");
        return Err(SkillError::new(reason, "move it up"));
    }
    Ok(path)
}

/// Returns the error of an entry that is neither a regular file nor a directory.
pub(super) fn irregular(path: &str) -> SkillError {
    SkillError::new(
        format!("its file {path:?} is a link or not a regular file"),
        "replace it with a copy",
    )
}

/// The files that were read, and the bytes that more may have.
pub(super) struct SkillFileReader {
    pub(super) bytes_left: u64,
    entries_left: usize,
    pub(super) files: SkillFiles,
}

impl SkillFileReader {
    pub(super) fn new() -> Self {
        Self {
            bytes_left: MAX_BYTES,
            entries_left: MAX_ENTRIES,
            files: SkillFiles::new(),
        }
    }

    /// Counts an entry.
    pub(super) fn count(&mut self) -> Result<(), SkillError> {
        self.entries_left = self.entries_left.checked_sub(1).ok_or_else(|| {
            let reason = format!("it has more than {MAX_ENTRIES} files and directories");
            SkillError::new(reason, "keep only what the model needs")
        })?;
        Ok(())
    }

    /// Adds a file; `read` returns its content, of at most as many bytes as it gets.
    pub(super) fn add(
        &mut self,
        path: &str,
        read: impl FnOnce(u64) -> Result<Vec<u8>, SkillError>,
    ) -> Result<(), SkillError> {
        if self.files.len() == MAX_FILES {
            let reason = format!("it has more than {MAX_FILES} files");
            return Err(SkillError::new(reason, "keep only what the model needs"));
        }
        let Entry::Vacant(file) = self.files.entry(path.to_owned()) else {
            let reason = format!("its file {path:?} occurs twice");
            return Err(SkillError::new(reason, "remove one of them"));
        };
        let bytes = read(self.bytes_left)?;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        file.insert(bytes);
        Ok(())
    }

    /// Reads a directory of the skill; `prefix` is its path in it, which is empty or ends with a
    /// slash.
    fn directory(&mut self, directory: &Path, prefix: &str) -> Result<(), SkillError> {
        checked_path(Some(prefix))?;
        for entry in fs::read_dir(directory).map_err(|error| unreadable(prefix, &error))? {
            let entry = entry.map_err(|error| unreadable(prefix, &error))?;
            self.count()?;
            let name = entry.file_name();
            if !name.as_encoded_bytes().starts_with(b".") {
                let path = name.to_str().map(|name| format!("{prefix}{name}"));
                let path = checked_path(path.as_deref())?;
                self.entry(&entry.path(), path)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, on_disk: &Path, path: &str) -> Result<(), SkillError> {
        let found = on_disk.symlink_metadata();
        let kind = found.map_err(|error| unreadable(path, &error))?.file_type();
        if kind.is_dir() {
            return self.directory(on_disk, &format!("{path}/"));
        }
        if !kind.is_file() {
            return Err(irregular(path));
        }
        self.add(path, |most| {
            trusted_file::read_bytes(on_disk, most).map_err(|error| {
                SkillError::new(format!("its file {path:?}: {}", error.reason), error.fix)
            })
        })
    }
}

fn unreadable(path: &str, error: &dyn Display) -> SkillError {
    SkillError::new(
        format!("cannot read its file {path:?}: {error}"),
        "check its permissions",
    )
}

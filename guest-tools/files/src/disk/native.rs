//! The native stand-in, for tests.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::{CHUNK_BYTES, EachEntry};
use crate::walk::kind_of;

pub(crate) struct Dir(PathBuf);

pub(crate) struct OpenFile(fs::File);

impl Dir {
    /// The mounted directory that a path is in, and the path from there on.
    pub(crate) fn mounted(path: &Path) -> io::Result<(Self, String)> {
        let path = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        Ok((
            Self(PathBuf::from("/")),
            path.trim_start_matches('/').to_owned(),
        ))
    }

    /// Opens a directory at a path, which may lead through links.
    pub(crate) fn open(&self, path: &str) -> io::Result<Self> {
        let path = self.0.join(path);
        if !fs::metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(path))
    }

    pub(crate) fn dir(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        if !fs::symlink_metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(path))
    }

    pub(crate) fn file(&self, name: &str) -> io::Result<OpenFile> {
        if fs::symlink_metadata(self.0.join(name))?.is_symlink() {
            return Err(io::Error::other("loop"));
        }
        self.linked_file(name)
    }

    pub(crate) fn linked_file(&self, path: &str) -> io::Result<OpenFile> {
        fs::File::open(self.0.join(path)).map(OpenFile)
    }

    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        fs::symlink_metadata(self.0.join(name))
            .ok()
            .map(|metadata| metadata.len())
    }

    pub(crate) fn entries(&self, each: EachEntry<'_>) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            each(
                &entry.file_name().to_string_lossy(),
                kind_of(entry.file_type()?),
            )?;
        }
        Ok(())
    }
}

impl OpenFile {
    /// The bytes at an offset, and true if the file ends with them.
    pub(crate) fn read_at(&self, offset: u64) -> io::Result<(Vec<u8>, bool)> {
        let mut bytes = vec![0; CHUNK_BYTES];
        let count = self.0.read_at(&mut bytes, offset)?;
        bytes.truncate(count);
        Ok((bytes, count < CHUNK_BYTES))
    }
}

//! Directories and files of wasi:filesystem.

use std::io::{self, ErrorKind};
use std::path::Path;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use super::{CHUNK_BYTES, EachEntry};
use crate::walk::Kind;

pub(crate) struct Dir(Descriptor);

pub(crate) struct OpenFile(Descriptor);

impl Dir {
    /// The innermost mounted directory that a path is in, and the path from there on. The path is
    /// one of [`agent_tool::workspace::locate`].
    pub(crate) fn mounted(path: &Path) -> io::Result<(Self, String)> {
        let path = path.to_str().ok_or(ErrorKind::InvalidFilename)?;
        let inside = |root: &str| {
            let rest = path.strip_prefix(root.trim_end_matches('/'))?;
            let is_inside = root.starts_with('/') && (rest.is_empty() || rest.starts_with('/'));
            is_inside.then(|| rest.trim_start_matches('/').to_owned())
        };
        let roots = get_directories().into_iter();
        roots
            .filter_map(|(root, name)| Some((Self(root), inside(&name)?)))
            .min_by_key(|(_, rest)| rest.len())
            .ok_or(ErrorKind::NotFound.into())
    }

    /// Opens a directory at a path, which may lead through links.
    pub(crate) fn open(&self, path: &str) -> io::Result<Self> {
        let path = if path.is_empty() { "." } else { path };
        open_dir(&self.0, PathFlags::SYMLINK_FOLLOW, path)
    }

    /// Opens a directory in this one. A link is not followed.
    pub(crate) fn dir(&self, name: &str) -> io::Result<Self> {
        open_dir(&self.0, PathFlags::empty(), name)
    }

    /// Opens a file in this directory. A link is not followed.
    pub(crate) fn file(&self, name: &str) -> io::Result<OpenFile> {
        self.open_file(PathFlags::empty(), name)
    }

    /// Opens a file at a path, which may lead through links.
    pub(crate) fn linked_file(&self, path: &str) -> io::Result<OpenFile> {
        self.open_file(PathFlags::SYMLINK_FOLLOW, path)
    }

    fn open_file(&self, follow: PathFlags, path: &str) -> io::Result<OpenFile> {
        let (none, read) = (OpenFlags::empty(), DescriptorFlags::READ);
        let opened = self.0.open_at(follow, path, none, read);
        opened.map(OpenFile).map_err(error)
    }

    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        let stat = self.0.stat_at(PathFlags::empty(), name).ok()?;
        Some(stat.size)
    }

    pub(crate) fn entries(&self, each: EachEntry<'_>) -> io::Result<()> {
        let entries = self.0.read_directory().map_err(error)?;
        while let Some(entry) = entries.read_directory_entry().map_err(error)? {
            let kind = match entry.type_ {
                DescriptorType::RegularFile => Kind::File,
                DescriptorType::Directory => Kind::Directory,
                DescriptorType::SymbolicLink => Kind::Symlink,
                _ => Kind::Other,
            };
            each(&entry.name, kind)?;
        }
        Ok(())
    }
}

fn open_dir(dir: &Descriptor, follow: PathFlags, path: &str) -> io::Result<Dir> {
    let opened = dir.open_at(follow, path, OpenFlags::DIRECTORY, DescriptorFlags::READ);
    opened.map(Dir).map_err(error)
}

impl OpenFile {
    /// The bytes at an offset, and true if the file ends with them.
    pub(crate) fn read_at(&self, offset: u64) -> io::Result<(Vec<u8>, bool)> {
        let (bytes, is_end) = self.0.read(CHUNK_BYTES as u64, offset).map_err(error)?;
        let is_end = is_end || bytes.is_empty();
        Ok((bytes, is_end))
    }
}

fn error(code: ErrorCode) -> io::Error {
    match code {
        ErrorCode::Access | ErrorCode::NotPermitted => ErrorKind::PermissionDenied.into(),
        ErrorCode::NoEntry => ErrorKind::NotFound.into(),
        ErrorCode::NotDirectory => ErrorKind::NotADirectory.into(),
        ErrorCode::IsDirectory => ErrorKind::IsADirectory.into(),
        other => io::Error::other(other.name()),
    }
}

//! Reads ZIP archives of untrusted origin.
//!
//! It is no wrapper of a library, because what matters here is what libraries hide: members of the
//! same name, counts that are allocated before they are checked, and sizes that are not true. A
//! member is read as the directory at the archive's end describes it (PKWARE's APPNOTE.TXT 6.3), or
//! not at all.

mod content;
mod directory;
mod error;

use std::io::{Read, Seek};

pub use content::Content;
pub use error::ZipError;

/// The largest directory of an archive, in bytes: some 80,000 members with names of usual length.
pub const MAX_DIRECTORY_BYTES: u64 = 8 * 1024 * 1024;

/// The most members.
pub const MAX_MEMBERS: usize = 50_000;

/// The most bytes that one compressed byte may stand for in a member above [`RATIO_FROM_BYTES`].
/// Texts reach some 10, logs 100; deflate itself ends at 1,032.
pub const MAX_RATIO: u64 = 200;

/// The size from which on [`MAX_RATIO`] applies, in bytes.
pub const RATIO_FROM_BYTES: u64 = 16 * 1024 * 1024;

/// A member, as the directory describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name: UTF-8 where it is, or else in code page 437, as old programs write it.
    pub name: String,
    /// The size of the content, in bytes. [`Content`] gives exactly that, or fails.
    pub size: u64,
    /// The size in the archive, in bytes.
    pub compressed: u64,
    /// The compression method: 0 is none, 8 deflate. There is a reader for these two.
    pub method: u16,
    /// True if the content is encrypted.
    pub encrypted: bool,
    /// The file type and permissions of Unix, if the archive has them.
    pub unix_mode: Option<u32>,
    raw_name: Vec<u8>,
    crc32: u32,
    /// The offset of the member's own header in the file.
    offset: u64,
}

/// An archive whose directory was read.
pub struct Zip<R> {
    source: R,
    entries: Vec<Entry>,
}

impl<R: Read + Seek> Zip<R> {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// No archive, one of several volumes, or one beyond the bounds.
    pub fn open(mut source: R) -> Result<Self, ZipError> {
        let entries = directory::read(&mut source)?;
        Ok(Self { source, entries })
    }

    /// The members, in the order of the directory. Several may have the same name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Starts to read a member.
    ///
    /// # Errors
    /// No such member, one that cannot be read (its method, encryption), or one whose own header
    /// contradicts the directory.
    pub fn content(&mut self, index: usize) -> Result<Content<&mut R>, ZipError> {
        let entry = self
            .entries
            .get(index)
            .ok_or(ZipError::Damaged("a member is asked for that is not in it"))?;
        Content::open(&mut self.source, entry)
    }
}

#[cfg(test)]
mod tests;

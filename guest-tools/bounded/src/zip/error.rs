//! The errors of archives, as fragments that read after "the archive cannot be read: ".

use std::fmt;
use std::io;

use super::{MAX_DIRECTORY_BYTES, MAX_MEMBERS, MAX_RATIO};

/// An error of an archive or of a member.
#[derive(Debug)]
pub enum ZipError {
    /// No directory at the end of the file.
    NotZip,
    /// One volume of several.
    Volumes,
    /// More members than [`MAX_MEMBERS`].
    Members,
    /// A directory of more than [`MAX_DIRECTORY_BYTES`].
    Directory,
    /// A part that contradicts the format or another part.
    Damaged(&'static str),
    /// A member with a password.
    Encrypted,
    /// A compression method without a reader, by its number.
    Method(u16),
    /// A member that would grow more than [`MAX_RATIO`] times.
    Ratio,
    /// The file itself cannot be read.
    Io(io::Error),
}

impl From<io::Error> for ZipError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Damaged("it ends too early")
        } else {
            Self::Io(error)
        }
    }
}

impl From<ZipError> for io::Error {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) => error,
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl std::error::Error for ZipError {}

impl fmt::Display for ZipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotZip => f.write_str("it has no directory of a ZIP archive at its end"),
            Self::Volumes => f.write_str("it is one volume of an archive of several files"),
            Self::Members => write!(f, "it has more than {MAX_MEMBERS} members"),
            Self::Directory => {
                write!(f, "its directory has more than {MAX_DIRECTORY_BYTES} bytes")
            }
            Self::Damaged(how) => write!(f, "it is damaged, or made to mislead: {how}"),
            Self::Encrypted => f.write_str("it is encrypted, and no password can be given"),
            Self::Method(method) => write!(
                f,
                "it is compressed by {}; only deflate can be read",
                method_name(*method)
            ),
            Self::Ratio => write!(
                f,
                "it would grow more than {MAX_RATIO} times, as a decompression bomb does"
            ),
            Self::Io(error) => error.fmt(f),
        }
    }
}

/// The names of APPNOTE.TXT 4.4.5 for the methods that programs still write.
fn method_name(method: u16) -> String {
    let name = match method {
        1 => "shrink",
        6 => "implode",
        9 => "deflate64",
        12 => "bzip2",
        14 => "LZMA",
        93 => "Zstandard",
        95 => "XZ",
        98 => "PPMd",
        other => return format!("method {other}"),
    };
    name.to_owned()
}

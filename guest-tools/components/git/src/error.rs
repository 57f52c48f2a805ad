//! The errors of a repository, as fragments that read after "the repository cannot be read: ".

use std::fmt;
use std::io;

/// An error of a repository.
#[derive(Debug)]
pub(crate) enum GitError {
    Io(io::Error),
    /// A part that contradicts the format.
    Damaged(&'static str),
    /// An object that is named and is not there.
    Missing(String),
    /// A part beyond a bound.
    Bound(&'static str),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("a file ends too early"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                Self::Damaged("an object is not compressed as it should be")
            }
            // The enum is std's and non-exhaustive.
            _ => Self::Io(error),
        }
    }
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Damaged(how) => write!(f, "it is damaged: {how}"),
            Self::Missing(id) => write!(
                f,
                "object {id} is not in it, as in a clone that is shallow or partial"
            ),
            Self::Bound(what) => f.write_str(what),
        }
    }
}

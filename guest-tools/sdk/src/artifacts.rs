//! The artifacts of the session: named files that calls left, and results that are too large for
//! the conversation. The operator has to grant them. A change is applied once the call has
//! succeeded, and not at all otherwise; the call itself sees it at once.

use std::fmt;

/// An artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The name, a relative path such as `plots/one.png`.
    pub name: String,
    /// The media type, such as `text/csv`.
    pub media_type: String,
    /// The size, in bytes.
    pub size: u64,
}

/// A failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactError {
    /// No artifact has this name.
    NotFound,
    /// The tool has no grant for artifacts, or only one to read.
    Denied,
    /// The name is absolute, too long, leads out, or is in `results/`.
    InvalidName,
    /// The media type is malformed, or does not agree with the bytes.
    InvalidMediaType,
    /// The artifact is larger than one call may move.
    TooLarge,
    /// The artifacts of the session have used up their quota.
    QuotaExceeded,
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "there is no artifact of this name; list them",
            Self::Denied => "the operator has not granted this use of artifacts",
            Self::InvalidName => {
                "the name of the artifact cannot be used; name it like `report.md` or `plots/one.png`"
            }
            Self::InvalidMediaType => {
                "the media type of the artifact is malformed, or does not agree with its bytes"
            }
            Self::TooLarge => "the artifact is larger than one call may move",
            Self::QuotaExceeded => "the artifacts of the session have used up their quota",
        })
    }
}

impl std::error::Error for ArtifactError {}

/// The artifacts as they were when the call began, with this call's changes, sorted by name.
///
/// # Errors
/// [`ArtifactError::Denied`].
pub fn list() -> Result<Vec<Artifact>, ArtifactError> {
    host::list()
}

/// Returns the bytes of an artifact.
///
/// # Errors
/// `Denied`, `InvalidName`, `NotFound` or `TooLarge`.
pub fn get(name: &str) -> Result<Vec<u8>, ArtifactError> {
    host::get(name)
}

/// Stores an artifact, in place of one with its name.
///
/// # Errors
/// Any but `NotFound`.
pub fn put(name: &str, media_type: &str, data: &[u8]) -> Result<(), ArtifactError> {
    host::put(name, media_type, data)
}

/// Deletes an artifact.
///
/// # Errors
/// `Denied`, `InvalidName` or `NotFound`.
pub fn delete(name: &str) -> Result<(), ArtifactError> {
    host::delete(name)
}

#[cfg(target_family = "wasm")]
mod host {
    use super::{Artifact, ArtifactError};
    use crate::bindings::artifacts;

    pub(super) fn list() -> Result<Vec<Artifact>, ArtifactError> {
        let listed = artifacts::list().map_err(ArtifactError::from)?;
        let listed = listed.into_iter().map(|artifact| Artifact {
            name: artifact.name,
            media_type: artifact.media_type,
            size: artifact.size,
        });
        Ok(listed.collect())
    }

    pub(super) fn get(name: &str) -> Result<Vec<u8>, ArtifactError> {
        Ok(artifacts::get(name)?)
    }

    pub(super) fn put(name: &str, media_type: &str, data: &[u8]) -> Result<(), ArtifactError> {
        Ok(artifacts::put(name, media_type, data)?)
    }

    pub(super) fn delete(name: &str) -> Result<(), ArtifactError> {
        Ok(artifacts::delete(name)?)
    }

    impl From<artifacts::ArtifactError> for ArtifactError {
        fn from(error: artifacts::ArtifactError) -> Self {
            match error {
                artifacts::ArtifactError::NotFound => Self::NotFound,
                artifacts::ArtifactError::Denied => Self::Denied,
                artifacts::ArtifactError::InvalidName => Self::InvalidName,
                artifacts::ArtifactError::InvalidMediaType => Self::InvalidMediaType,
                artifacts::ArtifactError::TooLarge => Self::TooLarge,
                artifacts::ArtifactError::QuotaExceeded => Self::QuotaExceeded,
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
use crate::testing::artifacts as host;

//! The bytes of a component, in memory or in a file.

#[cfg(test)]
mod tests;

use crate::component::{
    code::{MAX_COMPONENT_BYTES, check_size},
    error::LoadError,
};
use agent_host_types::id::Digest;
use bytes::Bytes;
use std::{borrow::Cow, fs::File, io::Read, path::PathBuf};

/// The bytes of a component. Creating it from a vector or from static bytes copies nothing. A file
/// is hashed in chunks, and held in memory only to compile it.
#[derive(Clone, Debug)]
pub enum ComponentBytes {
    /// The bytes.
    Memory(Bytes),
    /// The path of a file with the bytes.
    File(PathBuf),
}

/// A component within the size limit, with its hash.
pub(crate) struct Identified {
    pub(crate) hash: blake3::Hash,
    pub(crate) size_bytes: u64,
    source: ComponentBytes,
}

impl ComponentBytes {
    /// Reads the bytes of the component with this digest.
    ///
    /// # Errors
    /// The bytes cannot be read, or the file has changed and they have another digest.
    pub fn read(self, digest: Digest) -> Result<Bytes, LoadError> {
        let bytes = self.identify()?.into_bytes()?;
        if Digest::of(&bytes) == digest {
            Ok(bytes)
        } else {
            Err(LoadError::Changed)
        }
    }

    pub(crate) fn identify(self) -> Result<Identified, LoadError> {
        match self {
            ComponentBytes::Memory(bytes) => Identified::in_memory(bytes),
            ComponentBytes::File(path) => {
                let file = File::open(&path).map_err(LoadError::Unreadable)?;
                let metadata = file.metadata().map_err(LoadError::Unreadable)?;
                if !metadata.is_file() {
                    // A pipe can be read only once.
                    return Identified::in_memory(read(file)?);
                }
                check_size(metadata.len())?;
                let mut hasher = blake3::Hasher::new();
                hasher
                    .update_reader(file.take(MAX_COMPONENT_BYTES + 1))
                    .map_err(LoadError::Unreadable)?;
                check_size(hasher.count())?;
                Ok(Identified {
                    hash: hasher.finalize(),
                    size_bytes: hasher.count(),
                    source: ComponentBytes::File(path),
                })
            }
        }
    }
}

impl Identified {
    fn in_memory(bytes: Bytes) -> Result<Self, LoadError> {
        let size_bytes = bytes.len() as u64;
        check_size(size_bytes)?;
        Ok(Self {
            hash: blake3::hash(&bytes),
            size_bytes,
            source: ComponentBytes::Memory(bytes),
        })
    }

    pub(crate) fn into_bytes(self) -> Result<Bytes, LoadError> {
        let path = match self.source {
            ComponentBytes::Memory(bytes) => return Ok(bytes),
            ComponentBytes::File(path) => path,
        };
        let bytes = read(File::open(path).map_err(LoadError::Unreadable)?)?;
        if blake3::hash(&bytes) == self.hash {
            return Ok(bytes);
        }
        Err(LoadError::Changed)
    }
}

/// Reads at most [`MAX_COMPONENT_BYTES`] + 1 bytes.
fn read(file: File) -> Result<Bytes, LoadError> {
    let mut bytes = Vec::new();
    file.take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(LoadError::Unreadable)?;
    Ok(bytes.into())
}

impl From<PathBuf> for ComponentBytes {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<Vec<u8>> for ComponentBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(bytes.into())
    }
}

impl From<&Vec<u8>> for ComponentBytes {
    fn from(bytes: &Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&[u8]> for ComponentBytes {
    fn from(bytes: &[u8]) -> Self {
        Self::Memory(Bytes::copy_from_slice(bytes))
    }
}

impl From<Cow<'static, [u8]>> for ComponentBytes {
    fn from(bytes: Cow<'static, [u8]>) -> Self {
        Self::Memory(match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        })
    }
}

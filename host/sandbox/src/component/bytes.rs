//! The bytes of a component, however the caller has them.

#[cfg(test)]
mod tests;

use crate::{
    component::code::{MAX_COMPONENT_BYTES, check_size},
    error::{LoadError, LoadFault},
};
use agent_host_types::id::Digest;
use bytes::Bytes;
use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

/// How much of a file is read and hashed at once, in bytes: it stays in the processor's cache.
const CHUNK_BYTES: usize = 256 * 1024;

/// The bytes of a component. Making it of a vector or of bytes in the program copies nothing. A file is read in pieces to know
/// which component it is, and kept only where it has to be compiled.
#[derive(Clone, Debug)]
pub struct ComponentBytes(Place);

#[derive(Clone, Debug)]
enum Place {
    Memory(Bytes),
    File(PathBuf),
}

/// A component that is known by its hash, and not too large.
pub(crate) struct Identified {
    pub(crate) hash: blake3::Hash,
    pub(crate) size_bytes: u64,
    place: Place,
}

impl ComponentBytes {
    /// Reads the bytes of a component that is known, to look at them.
    ///
    /// # Errors
    /// When they cannot be read, or are not those with this digest: a file may have others by now.
    pub fn read(self, digest: Digest) -> Result<Bytes, LoadError> {
        let bytes = self.identify()?.into_bytes()?;
        if Digest::of(&bytes) == digest {
            Ok(bytes)
        } else {
            Err(changed())
        }
    }

    /// Reads the bytes once.
    ///
    /// # Errors
    /// When the file cannot be read, or there are too many bytes.
    pub(crate) fn identify(self) -> Result<Identified, LoadError> {
        match self.0 {
            Place::Memory(bytes) => Identified::in_memory(bytes),
            Place::File(path) => {
                let file = File::open(&path).map_err(|error| unreadable(&error))?;
                let found = file.metadata().map_err(|error| unreadable(&error))?;
                if !found.is_file() {
                    // A pipe is read but once.
                    return Identified::in_memory(read(file)?);
                }
                check_size(found.len())?;
                let (hash, size_bytes) = hash(file).map_err(|error| unreadable(&error))?;
                check_size(size_bytes)?;
                Ok(Identified {
                    hash,
                    size_bytes,
                    place: Place::File(path),
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
            place: Place::Memory(bytes),
        })
    }

    /// The bytes with this hash.
    ///
    /// # Errors
    /// When the file cannot be read again, or has others by now.
    pub(crate) fn into_bytes(self) -> Result<Bytes, LoadError> {
        let path = match self.place {
            Place::Memory(bytes) => return Ok(bytes),
            Place::File(path) => path,
        };
        let bytes = read(File::open(path).map_err(|error| unreadable(&error))?)?;
        if blake3::hash(&bytes) == self.hash {
            return Ok(bytes);
        }
        Err(changed())
    }
}

/// The hash of a file and its size, read up to one byte beyond the largest component.
fn hash(file: File) -> io::Result<(blake3::Hash, u64)> {
    let mut file = file.take(MAX_COMPONENT_BYTES + 1);
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok((hasher.finalize(), hasher.count())),
            Ok(size) => drop(hasher.update(chunk.get(..size).unwrap_or_default())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The bytes of a file, up to one beyond the largest component.
fn read(file: File) -> Result<Bytes, LoadError> {
    let mut bytes = Vec::new();
    file.take(MAX_COMPONENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    Ok(bytes.into())
}

fn changed() -> LoadError {
    LoadError::new(
        LoadFault::Unreadable,
        "the component's file was changed while it was read; load it again when whoever writes it is done",
    )
}

fn unreadable(error: &io::Error) -> LoadError {
    LoadError::new(
        LoadFault::Unreadable,
        format!("the component's file cannot be read: {error}. Check the path and its permissions"),
    )
}

impl From<PathBuf> for ComponentBytes {
    fn from(path: PathBuf) -> Self {
        Self(Place::File(path))
    }
}

impl From<Vec<u8>> for ComponentBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Place::Memory(bytes.into()))
    }
}

impl From<&Vec<u8>> for ComponentBytes {
    fn from(bytes: &Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&[u8]> for ComponentBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(Place::Memory(Bytes::copy_from_slice(bytes)))
    }
}

impl From<Cow<'static, [u8]>> for ComponentBytes {
    fn from(bytes: Cow<'static, [u8]>) -> Self {
        Self(Place::Memory(match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        }))
    }
}

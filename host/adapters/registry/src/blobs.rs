//! The cache of manifests and components, named by the digests of their content. Projects of one
//! user share it. Every read is checked against the digest, so what is in the directory is never
//! believed; the least recently used files are evicted.

#[cfg(test)]
mod tests;

use crate::MAX_DOCUMENT_BYTES;
use agent_host_cache_dir::{CacheDir, NewFile, mark_used};
use agent_host_types::id::Digest;
use sha2::{Digest as _, Sha256};
use std::{
    io::{self, Read as _},
    path::Path,
};

/// The number of digits of a digest, which is the name of a file.
const NAME_LENGTH: usize = 64;

/// A cache of blobs in one directory.
#[derive(Debug)]
pub struct Blobs {
    dir: CacheDir,
    /// The bound on all blobs together.
    max_bytes: u64,
}

impl Blobs {
    /// Opens the directory; creates it if it is missing.
    ///
    /// # Errors
    /// It cannot be created, or other users have access to it.
    pub fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        Ok(Self {
            dir: CacheDir::create(path)?,
            max_bytes,
        })
    }

    /// Returns the blob with this digest of at most `max_bytes`; absent if there is none. A damaged
    /// one is removed and counts as absent.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn get(&self, digest: Digest, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let name = digest.hex();
        let file = match self.dir.open_file(&name, max_bytes) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A link, a pipe, or a file that others can write: not ours, and replaced.
            Err(_) => return self.dir.remove(&name).map(|_| None),
        };
        let mut bytes = Vec::new();
        (&file).take(max_bytes).read_to_end(&mut bytes)?;
        if Digest::of(&bytes) != digest {
            self.dir.remove(&name)?;
            return Ok(None);
        }
        mark_used(&file);
        Ok(Some(bytes))
    }

    /// Stores a blob, unless it is there.
    ///
    /// # Errors
    /// The directory cannot be read or written; nothing of the blob is left then.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(bytes);
        if self.get(digest, bytes.len() as u64)?.is_some() {
            return Ok(digest);
        }
        let mut new = self.start()?;
        new.write(bytes)?;
        new.keep(digest)?;
        Ok(digest)
    }

    /// Returns the kept signature of a manifest, which is to be verified like any other.
    pub(crate) fn signature(&self, manifest: Digest) -> io::Result<Option<Vec<u8>>> {
        let name = signature_name(manifest);
        match self.dir.read(&name, MAX_DOCUMENT_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) => self.dir.remove(&name).map(|_| None),
        }
    }

    /// Keeps the verified signature of a manifest.
    pub(crate) fn put_signature(&self, manifest: Digest, bundle: &[u8]) -> io::Result<()> {
        self.dir.replace(&signature_name(manifest), &[bundle])
    }

    /// Starts a blob that is written in pieces.
    pub(crate) fn start(&self) -> io::Result<NewBlob<'_>> {
        Ok(NewBlob {
            blobs: self,
            file: self.dir.new_file()?,
            hash: Sha256::new(),
        })
    }

    /// Evicts the least recently used blobs beyond the bound, and what a killed process left.
    fn evict(&self) -> io::Result<()> {
        let is_blob = |name: &str| {
            name.len() == NAME_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        self.dir.evict(self.max_bytes, is_blob)?;
        let mut abandoned = self.dir.files()?;
        abandoned.retain(agent_host_cache_dir::FileInfo::is_abandoned);
        self.dir.remove_all(&abandoned).map(drop)
    }
}

/// Returns the name of the signature of a manifest. It has the form of a blob's, so that it is
/// evicted like one, and no blob has it.
fn signature_name(manifest: Digest) -> String {
    Digest::of(format!("signature of {manifest}").as_bytes()).hex()
}

/// A blob that is being written. Dropping it leaves nothing.
pub(crate) struct NewBlob<'a> {
    blobs: &'a Blobs,
    file: NewFile<'a>,
    hash: Sha256,
}

impl NewBlob<'_> {
    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    /// Returns the digest of the bytes so far.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from_bytes(self.hash.clone().finalize().into())
    }

    /// Keeps the blob under its digest, which the caller has compared with the expected one.
    pub(crate) fn keep(self, digest: Digest) -> io::Result<()> {
        self.file.finish(&digest.hex())?;
        self.blobs.evict()
    }
}

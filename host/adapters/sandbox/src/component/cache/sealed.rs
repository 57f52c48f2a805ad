//! A sealed memory file, which no process can change: machine code is hashed on its way into the
//! file and loaded from it. The engine maps the file, so code and initial memories are not copied
//! again.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    os::fd::AsRawFd as _,
    path::PathBuf,
};

/// A memory file that cannot be changed.
#[derive(Debug)]
pub(crate) struct Sealed(File);

impl Sealed {
    /// Creates an empty memory file, to be written and then sealed.
    pub(crate) fn create() -> io::Result<File> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        Ok(memfd_create("agent-host machine code", flags)?.into())
    }

    pub(crate) fn seal(file: File) -> io::Result<Self> {
        let size = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        // The file has no writable mapping, so both seals forbid the same. For SEAL_WRITE the
        // kernel waits until no page is in use, which takes 12 ms for Python's component; kernels
        // before 5.1 have no other.
        fcntl_add_seals(&file, size | SealFlags::FUTURE_WRITE)
            .or_else(|_| fcntl_add_seals(&file, size | SealFlags::WRITE))?;
        Ok(Self(file))
    }

    /// The path by which this process can map the file; absent without `/proc`.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        path.exists().then_some(path)
    }

    /// Reads the content.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.0;
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

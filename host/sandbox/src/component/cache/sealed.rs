//! A file in memory that nobody can change any more, this process included: bytes go in, are hashed on their way, and are what
//! is loaded. The engine maps it, so machine code and the initial memory of guests are not copied again.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write},
    os::fd::AsRawFd as _,
    path::PathBuf,
};

/// A file in memory that is being written.
pub(crate) struct Unsealed(File);

/// A file in memory that cannot be changed.
#[derive(Debug)]
pub(crate) struct Sealed(File);

impl Sealed {
    /// Makes an empty file.
    pub(crate) fn create() -> io::Result<Unsealed> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("agent-host machine code", flags)?;
        Ok(Unsealed(file.into()))
    }

    /// The path by which this process can map it; absent where there is no /proc.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        path.exists().then_some(path)
    }

    /// What is in it.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.0;
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Unsealed {
    /// Ends the writing for good.
    pub(crate) fn seal(self) -> io::Result<Sealed> {
        let size = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        // Nothing has mapped the file to write to it, so both seals forbid the same. With the stronger one the kernel waits
        // until nobody holds a page, which takes it 12 ms for Python's component; kernels before 5.1 have no other.
        fcntl_add_seals(&self.0, size | SealFlags::FUTURE_WRITE)
            .or_else(|_| fcntl_add_seals(&self.0, size | SealFlags::WRITE))?;
        Ok(Sealed(self.0))
    }
}

impl Write for Unsealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

//! A sealed memory file, which no process can change: machine code is hashed on its way into the
//! file and loaded from it. The engine maps the file, so code and initial memories are not copied
//! again.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write},
    os::fd::AsRawFd as _,
    path::PathBuf,
};

/// A memory file that is being written.
pub(crate) struct Unsealed(File);

/// A memory file that cannot be changed.
#[derive(Debug)]
pub(crate) struct Sealed(File);

impl Sealed {
    pub(crate) fn create() -> io::Result<Unsealed> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("agent-host machine code", flags)?;
        Ok(Unsealed(file.into()))
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

impl Unsealed {
    pub(crate) fn seal(self) -> io::Result<Sealed> {
        let size = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        // The file has no writable mapping, so both seals forbid the same. For SEAL_WRITE the
        // kernel waits until no page is in use, which takes 12 ms for Python's component; kernels
        // before 5.1 have no other.
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

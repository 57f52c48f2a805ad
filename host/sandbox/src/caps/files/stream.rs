//! The streams of an open file. Reads and writes go to the kernel on the guest's own thread: only
//! regular files are ever open, so they do not wait for anyone, and handing each to another thread
//! costs ten times as much.

use super::node::OpenFile;
use crate::gate::{Gate, Growth};
use rustix::io::{Errno, ReadWriteFlags};
use std::{
    fs::File,
    io::{self, IoSlice},
    os::unix::fs::FileExt,
    sync::Arc,
};
use wasmtime_wasi::{
    async_trait,
    p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult},
};

/// The most bytes that one read or write moves. The host allocates at most this, whatever the guest
/// asks for.
pub(super) const MAX_CHUNK_BYTES: usize = 64 * 1_024;

/// Reads from a file at an offset; empty at its end.
pub(super) fn read(gate: &Gate, file: &File, size: usize, at: u64) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; size.min(MAX_CHUNK_BYTES)];
    let count = loop {
        match file.read_at(&mut buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    buffer.truncate(count);
    gate.count_in(count as u64);
    Ok(buffer)
}

pub(super) struct FileReader {
    pub(super) gate: Arc<Gate>,
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) is_closed: bool,
}

#[async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<bytes::Bytes> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        if size == 0 {
            return Ok(bytes::Bytes::new());
        }
        match read(&self.gate, &self.file, size, self.offset) {
            Ok(buffer) if buffer.is_empty() => {
                self.is_closed = true;
                Err(StreamError::Closed)
            }
            Ok(buffer) => {
                self.offset = self.offset.saturating_add(buffer.len() as u64);
                Ok(buffer.into())
            }
            Err(error) => {
                self.is_closed = true;
                Err(StreamError::LastOperationFailed(error.into()))
            }
        }
    }
}

/// The position of a write.
#[derive(Clone, Copy)]
pub(super) enum WritePosition {
    /// A write beyond the end fills the gap with zeros, and the gap counts as written.
    Offset(u64),
    End,
}

/// Writes to a file, as much as the kernel takes at once, within the quotas.
pub(super) fn write(
    gate: &Gate,
    open: &OpenFile,
    bytes: &[u8],
    to: WritePosition,
) -> io::Result<usize> {
    let gap = match to {
        WritePosition::Offset(resolved) => resolved.saturating_sub(open.file.metadata()?.len()),
        WritePosition::End => 0,
    };
    let growth = Growth {
        bytes: (bytes.len() as u64).saturating_add(gap),
        creates: 0,
    };
    let written = gate.grow(open.grant, &open.path, growth, || {
        loop {
            let written = match to {
                WritePosition::Offset(resolved) => open.file.write_at(bytes, resolved),
                WritePosition::End => append(&open.file, bytes),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        }
    })?;
    gate.count_out(written as u64);
    Ok(written)
}

pub(super) struct FileWriter {
    pub(super) gate: Arc<Gate>,
    pub(super) open: OpenFile,
    pub(super) target: WritePosition,
    pub(super) is_closed: bool,
}

impl FileWriter {
    fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let count = write(&self.gate, &self.open, rest, self.target)?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            if let WritePosition::Offset(resolved) = &mut self.target {
                *resolved = resolved.saturating_add(count as u64);
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        self.write_all(&bytes).map_err(|error| {
            self.is_closed = true;
            StreamError::LastOperationFailed(error.into())
        })
    }

    /// A write has reached the kernel when it returns.
    fn flush(&mut self) -> StreamResult<()> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        Ok(MAX_CHUNK_BYTES)
    }
}

/// Appends in one step, so that two writers do not overwrite each other.
fn append(file: &File, bytes: &[u8]) -> io::Result<usize> {
    match rustix::io::pwritev2(file, &[IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
        // For file systems without it.
        Err(Errno::NOSYS | Errno::NOTSUP) => file.write_at(bytes, file.metadata()?.len()),
        other => Ok(other?),
    }
}

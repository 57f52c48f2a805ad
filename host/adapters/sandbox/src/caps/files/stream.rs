//! The streams of an open file. On a local file system, reads and writes go to the kernel on the
//! guest's own thread: only regular files are ever open, so they do not wait for anyone, and
//! handing each to another thread costs ten times as much. Elsewhere a stream has at most one
//! operation in progress, on the tool's threads that may block, and is ready when that is done.

use super::node::{GuestFile, OpenFile};
use crate::{
    gate::{Gate, Growth},
    schedule::blocking::{NotRun, ToolBlocking},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use rustix::{
    buffer::spare_capacity,
    io::{Errno, ReadWriteFlags},
};
use std::{
    fs::File,
    io::{self, IoSlice},
    mem,
    os::unix::fs::FileExt,
    panic::resume_unwind,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::{
    async_trait,
    p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult},
};

/// The most bytes that one read or write moves. The host allocates at most this, whatever the guest
/// asks for.
pub(super) const MAX_CHUNK_BYTES: usize = 64 * 1_024;

/// Reads from a file at an offset; empty at its end.
pub(super) fn read(gate: &Gate, file: &GuestFile, size: usize, at: u64) -> io::Result<Vec<u8>> {
    let is_emptied = file.is_emptied();
    let file = file.get_readable()?;
    if is_emptied || size == 0 {
        return Ok(Vec::new());
    }
    // Not filled with zeros first, which costs more than to read a small file.
    let mut buffer = Vec::with_capacity(size.min(MAX_CHUNK_BYTES));
    let count = loop {
        match rustix::io::pread(file, spare_capacity(&mut buffer), at) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    gate.count_in(count as u64);
    Ok(buffer)
}

/// The operation of a stream, which may be in progress on another thread.
enum Operation<T> {
    None,
    Running(AbortOnDropHandle<Result<io::Result<T>, NotRun>>),
    Done(io::Result<T>),
}

impl<T: Send + 'static> Operation<T> {
    /// Starts an operation, on this thread without `blocking`.
    fn start(
        blocking: Option<&Arc<ToolBlocking>>,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Self {
        match blocking {
            Some(blocking) => Self::Running(AbortOnDropHandle::new(blocking.spawn(work))),
            None => Self::Done(work()),
        }
    }

    async fn wait(&mut self) {
        if let Self::Running(task) = self {
            let joined = task.await;
            *self = Self::Done(finished(joined));
        }
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        pin!(self.wait()).poll(cx)
    }

    /// Takes the result, if there is one.
    fn take(&mut self) -> Option<io::Result<T>> {
        // A guest that does not wait still sees the end of its operation.
        self.wait().now_or_never();
        match mem::replace(self, Self::None) {
            Self::Done(result) => Some(result),
            other => {
                *self = other;
                None
            }
        }
    }
}

fn finished<T>(joined: Result<Result<io::Result<T>, NotRun>, JoinError>) -> io::Result<T> {
    match joined.map_err(JoinError::try_into_panic) {
        Ok(Ok(result)) => result,
        // A panic of the host ends the call.
        Err(Ok(payload)) => resume_unwind(payload),
        Ok(Err(NotRun)) | Err(Err(_)) => Err(io::ErrorKind::Interrupted.into()),
    }
}

pub(super) struct FileReader {
    gate: Arc<Gate>,
    file: Arc<GuestFile>,
    offset: u64,
    blocking: Option<Arc<ToolBlocking>>,
    operation: Operation<Bytes>,
    is_closed: bool,
}

impl FileReader {
    pub(super) fn new(
        gate: Arc<Gate>,
        file: Arc<GuestFile>,
        offset: u64,
        blocking: Option<Arc<ToolBlocking>>,
    ) -> Self {
        Self {
            gate,
            file,
            offset,
            blocking,
            operation: Operation::None,
            is_closed: false,
        }
    }

    /// Reads at most `size` bytes, which are not 0; none at the end of the file. A read that is in
    /// progress is not lost if this is not polled again.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        size: usize,
    ) -> Poll<StreamResult<Bytes>> {
        self.start(size);
        ready!(self.operation.poll_wait(cx));
        Poll::Ready(InputStream::read(self, size))
    }

    /// Starts to read, unless that was done.
    fn start(&mut self, size: usize) {
        if self.is_closed || !matches!(self.operation, Operation::None) {
            return;
        }
        let (gate, file, offset) = (Arc::clone(&self.gate), Arc::clone(&self.file), self.offset);
        let read = move || read(&gate, &file, size, offset).map(Bytes::from);
        self.operation = Operation::start(self.blocking.as_ref(), read);
    }
}

#[async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {
        if self.blocking.is_some() {
            self.start(MAX_CHUNK_BYTES);
            self.operation.wait().await;
        }
    }
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        if size == 0 {
            return Ok(Bytes::new());
        }
        self.start(size);
        match self.operation.take() {
            None => Ok(Bytes::new()),
            Some(Ok(bytes)) if bytes.is_empty() => {
                self.is_closed = true;
                Err(StreamError::Closed)
            }
            Some(Ok(mut bytes)) => {
                if bytes.len() > size {
                    self.operation = Operation::Done(Ok(bytes.split_off(size)));
                }
                self.offset = self.offset.saturating_add(bytes.len() as u64);
                Ok(bytes)
            }
            Some(Err(error)) => {
                self.is_closed = true;
                Err(StreamError::LastOperationFailed(error.into()))
            }
        }
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size > 0 {
            self.start(size);
        }
        self.operation.wait().await;
        self.read(size)
    }

    async fn cancel(&mut self) {
        self.operation.wait().await;
    }
}

/// The position of a write.
#[derive(Clone, Copy)]
pub(super) enum WritePosition {
    /// A write beyond the end fills the gap with zeros, and the gap counts as written.
    Offset(u64),
    End,
}

/// Writes to a file, as much as the kernel takes at once, within the quotas, and unless it would
/// become git configuration that executes.
pub(super) fn write(
    gate: &Gate,
    open: &OpenFile,
    bytes: &[u8],
    to: WritePosition,
) -> io::Result<usize> {
    let write = |truncates| write_within_quotas(gate, open, bytes, to, truncates);
    let Some(watch) = open.file.watch() else {
        return write(/*truncates*/ false);
    };
    watch
        .write(open.file.get()?, bytes, to, write)?
        .map_err(|found| {
            let _ = gate.check_run_later(open.grant, &open.path, found);
            Errno::ACCESS.into()
        })
}

fn write_within_quotas(
    gate: &Gate,
    open: &OpenFile,
    bytes: &[u8],
    to: WritePosition,
    truncates: bool,
) -> io::Result<usize> {
    let file = open.file.get()?;
    let gap = match to {
        WritePosition::Offset(resolved) => resolved.saturating_sub(length(file, truncates)?),
        WritePosition::End => 0,
    };
    let growth = Growth {
        bytes: (bytes.len() as u64).saturating_add(gap),
        creates: 0,
    };
    let written = gate.grow(open.grant, &open.path, growth, || {
        if truncates {
            file.set_len(0)?;
        }
        loop {
            let written = match to {
                WritePosition::Offset(resolved) => file.write_at(bytes, resolved),
                WritePosition::End => append(file, bytes),
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

/// Returns the length of a file from which a change starts.
fn length(file: &File, truncates: bool) -> io::Result<u64> {
    if truncates {
        Ok(0)
    } else {
        Ok(file.metadata()?.len())
    }
}

/// Changes the size of a file within the quotas.
pub(super) fn resize(gate: &Gate, open: &OpenFile, size: u64) -> io::Result<()> {
    let file = open.file.get()?;
    let resize = |truncates| {
        let bytes = size.saturating_sub(length(file, truncates)?);
        let growth = Growth { bytes, creates: 0 };
        gate.grow(open.grant, &open.path, growth, || {
            if truncates {
                file.set_len(0)?;
            }
            file.set_len(size)
        })
    };
    match open.file.watch() {
        Some(watch) => watch.resize(size, resize),
        None => resize(/*truncates*/ false),
    }
}

pub(super) struct FileWriter {
    gate: Arc<Gate>,
    open: OpenFile,
    target: WritePosition,
    blocking: Option<Arc<ToolBlocking>>,
    /// Results in the position after the write.
    operation: Operation<WritePosition>,
    is_closed: bool,
}

impl FileWriter {
    pub(super) fn new(
        gate: Arc<Gate>,
        open: OpenFile,
        target: WritePosition,
        blocking: Option<Arc<ToolBlocking>>,
    ) -> Self {
        Self {
            gate,
            open,
            target,
            blocking,
            operation: Operation::None,
            is_closed: false,
        }
    }

    /// Waits for the write in progress, if there is one.
    pub(super) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<StreamResult<()>> {
        ready!(self.operation.poll_wait(cx));
        Poll::Ready(self.settle())
    }

    /// Takes note of a write that has ended.
    fn settle(&mut self) -> StreamResult<()> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        match self.operation.take() {
            None => {}
            Some(Ok(target)) => self.target = target,
            Some(Err(error)) => {
                self.is_closed = true;
                return Err(StreamError::LastOperationFailed(error.into()));
            }
        }
        Ok(())
    }
}

/// Writes everything, and returns the position after it.
fn write_all(
    gate: &Gate,
    open: &OpenFile,
    mut rest: &[u8],
    mut to: WritePosition,
) -> io::Result<WritePosition> {
    while !rest.is_empty() {
        let count = write(gate, open, rest, to)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        if let WritePosition::Offset(resolved) = &mut to {
            *resolved = resolved.saturating_add(count as u64);
        }
        rest = rest.get(count..).unwrap_or_default();
    }
    Ok(to)
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {
        self.operation.wait().await;
    }
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.settle()?;
        if !matches!(self.operation, Operation::None) {
            return Err(StreamError::trap(
                "a write before the previous one has ended",
            ));
        }
        let (gate, target) = (Arc::clone(&self.gate), self.target);
        let open = self.open.clone();
        let write = move || write_all(&gate, &open, &bytes, target);
        self.operation = Operation::start(self.blocking.as_ref(), write);
        self.settle()
    }

    /// A write has reached the kernel when it ends, and the stream is not ready before.
    fn flush(&mut self) -> StreamResult<()> {
        self.settle()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.settle()?;
        Ok(match self.operation {
            Operation::None => MAX_CHUNK_BYTES,
            Operation::Running(_) | Operation::Done(_) => 0,
        })
    }

    async fn cancel(&mut self) {
        self.operation.wait().await;
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

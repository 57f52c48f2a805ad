//! The standard streams of a program: bounded pipes between its guest and the host. A guest that
//! writes faster than the host reads waits, and so does the host.

use crate::{mutex::lock, schedule::activity::Activity};
use bytes::{Bytes, BytesMut};
use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wasmtime_wasi::{
    cli::{IsTerminal, StdinStream, StdoutStream},
    p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult},
};

/// The most bytes that a pipe holds.
const PIPE_BYTES: usize = 64 * 1024;

#[derive(Default)]
struct PipeState {
    bytes: BytesMut,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl PipeState {
    fn writable(&self) -> Option<usize> {
        (!self.is_closed).then(|| PIPE_BYTES.saturating_sub(self.bytes.len()))
    }
}

#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<PipeState>>);

impl Pipe {
    /// Waits for bytes, or for the end.
    fn poll_ready(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.bytes.is_empty() && !state.is_closed {
            state.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Takes at most `most` bytes; `None` at the end.
    fn take(&self, most: usize) -> Option<Bytes> {
        let (taken, writer) = {
            let mut state = lock(&self.0);
            if state.bytes.is_empty() && state.is_closed {
                return None;
            }
            let count = most.min(state.bytes.len());
            (state.bytes.split_to(count).freeze(), state.writer.take())
        };
        writer.into_iter().for_each(Waker::wake);
        Some(taken)
    }

    /// Returns how many bytes may be written now; `None` if no one reads them.
    fn writable(&self) -> Option<usize> {
        lock(&self.0).writable()
    }

    /// Waits until bytes may be written, or no one reads them.
    fn poll_writable(&self, context: &Context<'_>) -> Poll<Option<usize>> {
        let mut state = lock(&self.0);
        let writable = state.writable();
        if writable == Some(0) {
            state.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(writable)
    }

    fn push(&self, bytes: &[u8]) {
        let reader = {
            let mut state = lock(&self.0);
            state.bytes.extend_from_slice(bytes);
            state.reader.take()
        };
        reader.into_iter().for_each(Waker::wake);
    }

    fn close(&self) {
        let wakers = {
            let mut state = lock(&self.0);
            state.is_closed = true;
            [state.reader.take(), state.writer.take()]
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    fn poll_read(&self, context: &Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_ready(context));
        if let Some(bytes) = self.take(buffer.remaining()) {
            buffer.put_slice(&bytes);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(&self, context: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(most) = ready!(self.poll_writable(context)) else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        let now = bytes.get(..most).unwrap_or(bytes);
        self.push(now);
        Poll::Ready(Ok(now.len()))
    }
}

/// Returns the host's end of the input and of the output of a program, and the guest's ends.
pub(crate) fn pipes(activity: &Arc<Activity>) -> (ProgramInput, ProgramOutput, GuestPipes) {
    let (input, output) = (Pipe::default(), Pipe::default());
    let guest = GuestPipes {
        stdin: GuestEnd::new(&input, activity),
        stdout: GuestEnd::new(&output, activity),
    };
    (ProgramInput(input), ProgramOutput(output), guest)
}

/// The input of a program, which the host writes. Dropping it ends the input.
pub struct ProgramInput(Pipe);

/// Tells whether a program waits for input.
pub(crate) struct InputWait(Pipe);

impl InputWait {
    pub(crate) fn get(&self) -> bool {
        lock(&self.0.0).reader.is_some()
    }
}

impl ProgramInput {
    pub(crate) fn wait(&self) -> InputWait {
        InputWait(self.0.clone())
    }
}

/// The output of a program, which the host reads. Dropping it breaks the guest's pipe.
pub struct ProgramOutput(Pipe);

impl Drop for ProgramInput {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Drop for ProgramOutput {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl AsyncRead for ProgramOutput {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.poll_read(context, buffer)
    }
}

impl AsyncWrite for ProgramInput {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.close();
        Poll::Ready(Ok(()))
    }
}

/// The guest's ends of both pipes.
pub(crate) struct GuestPipes {
    pub(crate) stdin: GuestEnd,
    pub(crate) stdout: GuestEnd,
}

/// The guest's end of a pipe. Dropping it closes the pipe.
pub(crate) struct GuestEnd(GuestStream);

/// A stream that the guest opened at its end.
#[derive(Clone)]
struct GuestStream {
    pipe: Pipe,
    activity: Arc<Activity>,
}

/// A stream of input, and one of output: they are ready for different reasons.
struct Input(GuestStream);
struct Output(GuestStream);

impl GuestEnd {
    fn new(pipe: &Pipe, activity: &Arc<Activity>) -> Self {
        Self(GuestStream {
            pipe: pipe.clone(),
            activity: Arc::clone(activity),
        })
    }
}

impl Drop for GuestEnd {
    fn drop(&mut self) {
        self.0.pipe.close();
    }
}

impl IsTerminal for GuestEnd {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for GuestEnd {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(Input(self.0.clone()))
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(Input(self.0.clone()))
    }
}

impl StdoutStream for GuestEnd {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Output(self.0.clone()))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Output(self.0.clone()))
    }
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.pipe.poll_read(context, buffer);
        if read.is_ready() {
            self.0.activity.received();
        }
        read
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.activity.sent();
        self.0.pipe.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for Input {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let bytes = self.0.pipe.take(size).ok_or(StreamError::Closed)?;
        if !bytes.is_empty() {
            self.0.activity.received();
        }
        Ok(bytes)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Input {
    async fn ready(&mut self) {
        poll_fn(|context| self.0.pipe.poll_ready(context)).await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let most = self.0.pipe.writable().ok_or(StreamError::Closed)?;
        if bytes.len() > most {
            return Err(StreamError::trap("it wrote more than it was allowed to"));
        }
        self.0.activity.sent();
        self.0.pipe.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.0.pipe.writable().ok_or(StreamError::Closed)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {
        poll_fn(|context| self.0.pipe.poll_writable(context)).await;
    }
}

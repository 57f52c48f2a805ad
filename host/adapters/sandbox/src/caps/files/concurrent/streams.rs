//! The streams of wasi:filesystem 0.3. Each moves one bounded chunk at a time, whatever the guest
//! asks for, and tells its end through a future.

use super::super::{
    FilesCtx,
    convert::{concurrent as converted, io_error_code},
    node::{DirListing, OpenDir},
    stream::{FileReader, FileWriter, MAX_CHUNK_BYTES},
};
use crate::mutex::lock;
use bytes::Bytes;
use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};
use tokio::sync::oneshot;
use wasmtime::{
    StoreContextMut,
    component::{Destination, Source, StreamConsumer, StreamProducer, StreamResult, VecBuffer},
};
use wasmtime_wasi::{
    p2::{FsResult, OutputStream as _, StreamError},
    p3::bindings::filesystem::types::{DirectoryEntry, ErrorCode},
};

/// The most entries of a directory that are read at once.
const MAX_ENTRIES: usize = 64;

/// Tells the end of a stream: success, unless something else was told before it is dropped.
pub(super) struct StreamEnd(Option<oneshot::Sender<Result<(), ErrorCode>>>);

impl StreamEnd {
    /// Returns it with the future that learns the end.
    pub(super) fn new() -> (
        Self,
        impl Future<Output = wasmtime::Result<Result<(), ErrorCode>>> + Send + 'static,
    ) {
        let (sender, receiver) = oneshot::channel();
        let ended = async move { Ok(receiver.await.unwrap_or(Ok(()))) };
        (Self(Some(sender)), ended)
    }

    pub(super) fn set(mut self, end: Result<(), ErrorCode>) {
        self.tell(end);
    }

    fn tell(&mut self, end: Result<(), ErrorCode>) {
        if let Some(sender) = self.0.take() {
            // The guest may have dropped the future.
            let _ = sender.send(end);
        }
    }

    /// Tells an error of the stream, with which it ends.
    fn fail(&mut self, error: &io::Error) -> Poll<wasmtime::Result<StreamResult>> {
        self.tell(Err(converted::error_code(io_error_code(error))));
        Poll::Ready(Ok(StreamResult::Dropped))
    }

    /// Ends a stream after an error of a stream of 0.2, which may be its regular end.
    fn close(&mut self, error: StreamError) -> Poll<wasmtime::Result<StreamResult>> {
        match error {
            StreamError::Closed => Poll::Ready(Ok(StreamResult::Dropped)),
            StreamError::LastOperationFailed(error) => match error.downcast::<io::Error>() {
                Ok(error) => self.fail(&error),
                Err(error) => Poll::Ready(Err(error)),
            },
            StreamError::Trap(error) => Poll::Ready(Err(error)),
        }
    }
}

/// The bytes that a guest reads from a file.
pub(super) struct FileProducer {
    reader: FileReader,
    end: StreamEnd,
}

impl FileProducer {
    pub(super) fn new(reader: FileReader, end: StreamEnd) -> Self {
        Self { reader, end }
    }
}

impl<D> StreamProducer<D> for FileProducer {
    type Item = u8;
    type Buffer = Bytes;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut store: StoreContextMut<'a, D>,
        mut destination: Destination<'a, u8, Bytes>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let wanted = destination.remaining(&mut store);
        let size = wanted.map_or(MAX_CHUNK_BYTES, |size| size.min(MAX_CHUNK_BYTES));
        if size == 0 {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        match self.reader.poll_read(cx, size) {
            Poll::Pending if finish => Poll::Ready(Ok(StreamResult::Cancelled)),
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(bytes)) => {
                destination.set_buffer(bytes);
                Poll::Ready(Ok(StreamResult::Completed))
            }
            Poll::Ready(Err(error)) => self.end.close(error),
        }
    }
}

/// Writes to a file what a guest sends.
pub(super) struct FileConsumer {
    writer: FileWriter,
    /// The bytes of the write in progress.
    writing: usize,
    end: StreamEnd,
}

impl FileConsumer {
    pub(super) fn new(writer: FileWriter, end: StreamEnd) -> Self {
        Self {
            writer,
            writing: 0,
            end,
        }
    }
}

impl<D> StreamConsumer<D> for FileConsumer {
    type Item = u8;

    /// Waits for a write that has begun, even if it is to `finish`: it cannot be taken back.
    fn poll_consume(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        store: StoreContextMut<'_, D>,
        source: Source<'_, u8>,
        _finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        if self.writing == 0 {
            let sent = source.remaining();
            let chunk = sent.get(..MAX_CHUNK_BYTES).unwrap_or(sent);
            if chunk.is_empty() {
                return Poll::Ready(Ok(StreamResult::Completed));
            }
            if let Err(error) = self.writer.write(Bytes::copy_from_slice(chunk)) {
                return self.end.close(error);
            }
            self.writing = chunk.len();
        }
        match ready!(self.writer.poll_written(cx)) {
            Ok(()) => {
                source.mark_read(self.writing);
                self.writing = 0;
                Poll::Ready(Ok(StreamResult::Completed))
            }
            Err(error) => self.end.close(error),
        }
    }
}

type Entries = Pin<Box<dyn Future<Output = FsResult<Vec<DirectoryEntry>>> + Send>>;

/// The entries of a directory.
pub(super) struct ListingProducer {
    ctx: Arc<FilesCtx>,
    dir: OpenDir,
    /// Absent until it is read for the first time.
    listing: Arc<Mutex<Option<DirListing>>>,
    /// The read in progress, and the entries that it asks for.
    reading: Option<(Entries, usize)>,
    end: StreamEnd,
}

impl ListingProducer {
    pub(super) fn new(ctx: Arc<FilesCtx>, dir: OpenDir, end: StreamEnd) -> Self {
        Self {
            ctx,
            dir,
            listing: Arc::default(),
            reading: None,
            end,
        }
    }

    /// Starts to read at most `count` entries.
    fn read(&self, count: usize) -> Entries {
        let (ctx, dir) = (Arc::clone(&self.ctx), self.dir.clone());
        let listing = Arc::clone(&self.listing);
        Box::pin(async move {
            let grant = dir.grant;
            let read = move |ctx: &FilesCtx| {
                let mut listing = lock(&listing);
                let listing = match &mut *listing {
                    Some(listing) => listing,
                    none => none.insert(ctx.list(&dir)?),
                };
                let root = ctx.root(&dir)?;
                let entries = std::iter::from_fn(|| listing.next(root).transpose());
                let entries = entries.take(count).map(|entry| entry.map(converted::entry));
                Ok(entries.collect::<Result<_, _>>()?)
            };
            ctx.run(grant, read).await
        })
    }
}

impl<D> StreamProducer<D> for ListingProducer {
    type Item = DirectoryEntry;
    type Buffer = VecBuffer<DirectoryEntry>;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut store: StoreContextMut<'a, D>,
        mut destination: Destination<'a, DirectoryEntry, VecBuffer<DirectoryEntry>>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let wanted = destination.remaining(&mut store);
        let count = wanted.map_or(MAX_ENTRIES, |count| count.min(MAX_ENTRIES));
        if count == 0 {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let (mut reading, asked) = match self.reading.take() {
            Some(reading) => reading,
            None => (self.read(count), count),
        };
        let entries = match reading.as_mut().poll(cx) {
            Poll::Ready(entries) => converted::code_of(converted::done(entries))?,
            Poll::Pending => {
                self.reading = Some((reading, asked));
                return if finish {
                    Poll::Ready(Ok(StreamResult::Cancelled))
                } else {
                    Poll::Pending
                };
            }
        };
        match entries {
            Ok(entries) => {
                let is_last = entries.len() < asked;
                destination.set_buffer(entries.into());
                Poll::Ready(Ok(if is_last {
                    StreamResult::Dropped
                } else {
                    StreamResult::Completed
                }))
            }
            Err(code) => {
                self.end.tell(Err(code));
                Poll::Ready(Ok(StreamResult::Dropped))
            }
        }
    }
}

//! Collects what a guest sends through a stream, up to a number of bytes.

use crate::{caps::stdio, instance::store::CallState};
use std::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::oneshot;
use wasmtime::{
    Store, StoreContextMut,
    component::{Lift, Source, StreamConsumer, StreamReader, StreamResult},
};

/// The most items that are read at once.
const CHUNK_ITEMS: usize = 16 * 1024;

/// The items that came through a stream.
pub(super) struct Collected<T> {
    pub(super) items: Vec<T>,
    /// Whether there was more than fits.
    pub(super) is_cut: bool,
}

/// An item of a stream.
pub(super) trait StreamedItem: Lift + Send + Sync + Unpin + 'static {
    /// The bytes that it counts for.
    fn weight(&self) -> usize;

    /// The lines that users see of new items while the guest runs.
    fn lines(items: &[Self]) -> Vec<u8>
    where
        Self: Sized;
}

/// Collects the items of a stream until it ends, or until they weigh `left` bytes together. The
/// receiver has them then, if the store runs.
pub(super) fn collect<T: StreamedItem>(
    store: &mut Store<CallState>,
    stream: StreamReader<T>,
    left: usize,
) -> wasmtime::Result<oneshot::Receiver<Collected<T>>> {
    let (sender, receiver) = oneshot::channel();
    let collector = Collector {
        collected: Collected {
            items: Vec::new(),
            is_cut: false,
        },
        left,
        sender: Some(sender),
    };
    stream.pipe(store, collector)?;
    Ok(receiver)
}

/// Hands the items over when it is dropped, which the engine does at the end of the stream.
struct Collector<T> {
    collected: Collected<T>,
    /// The bytes that still fit.
    left: usize,
    sender: Option<oneshot::Sender<Collected<T>>>,
}

impl<T: StreamedItem> StreamConsumer<CallState> for Collector<T> {
    type Item = T;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, CallState>,
        mut source: Source<'_, T>,
        _finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let waiting = source.remaining(&mut store);
        let mut chunk = Vec::with_capacity(waiting.min(CHUNK_ITEMS));
        source.read(&mut store, &mut chunk)?;
        stdio::show(&store.data().telemetry, &T::lines(&chunk));
        for item in chunk {
            let Some(left) = self.left.checked_sub(item.weight()) else {
                self.collected.is_cut = true;
                return Poll::Ready(Ok(StreamResult::Dropped));
            };
            self.left = left;
            self.collected.items.push(item);
        }
        Poll::Ready(Ok(StreamResult::Completed))
    }
}

impl<T> Drop for Collector<T> {
    fn drop(&mut self) {
        let collected = Collected {
            items: mem::take(&mut self.collected.items),
            is_cut: self.collected.is_cut,
        };
        if let Some(sender) = self.sender.take() {
            // The call may have ended.
            let _ = sender.send(collected);
        }
    }
}

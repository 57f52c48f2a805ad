//! A gzip stream that ends when it grows like a decompression bomb.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use agent_tool_bounded::zip::{MAX_RATIO, RATIO_FROM_BYTES, ZipError};
use flate2::read::MultiGzDecoder;

/// The most bytes that a stream may have, whatever its ratio.
pub(crate) const MAX_INFLATED_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The content of a gzip stream.
pub(crate) struct Inflated<R: Read> {
    decoder: MultiGzDecoder<Counted<R>>,
    consumed: Rc<Cell<u64>>,
    produced: u64,
}

impl<R: Read> Inflated<R> {
    pub(crate) fn new(source: R) -> Self {
        let consumed = Rc::new(Cell::new(0));
        let count = Rc::clone(&consumed);
        Self {
            decoder: MultiGzDecoder::new(Counted { source, count }),
            consumed,
            produced: 0,
        }
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self
            .decoder
            .read(buffer)
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput
                | io::ErrorKind::InvalidData
                | io::ErrorKind::UnexpectedEof => {
                    io::Error::new(error.kind(), "the gzip stream is damaged or cut")
                }
                _ => error,
            })?;
        self.produced += count as u64;
        if self.produced > MAX_INFLATED_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it has more than {MAX_INFLATED_BYTES} bytes when decompressed"),
            ));
        }
        if self.produced > RATIO_FROM_BYTES && self.produced / MAX_RATIO > self.consumed.get() {
            return Err(ZipError::Ratio.into());
        }
        Ok(count)
    }
}

/// A source that counts what is read from it.
struct Counted<R> {
    source: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

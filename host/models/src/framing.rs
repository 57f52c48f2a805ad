//! From the bytes of a streamed answer to its pieces, of which each is one JSON value.

mod lines;
pub(crate) mod sse;

use crate::wire::Framing;

/// A line or an event is longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it sent an event of more than {limit} bytes")]
pub(crate) struct TooLong {
    limit: usize,
}

/// A stream that is being taken apart.
#[derive(Debug)]
pub(crate) enum Pieces {
    Events(sse::Decoder),
    Lines(lines::Decoder),
}

impl Pieces {
    /// A stream at its start.
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => Self::Events(sse::Decoder::new()),
            Framing::Lines => Self::Lines(lines::Decoder::new()),
        }
    }

    /// Takes the next bytes and returns the pieces that they complete.
    ///
    /// # Errors
    /// A piece is too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        match self {
            Self::Events(decoder) => decoder.push(bytes),
            Self::Lines(decoder) => decoder.push(bytes),
        }
    }

    /// The piece that the end of the stream cut off, or that has no end of its own.
    ///
    /// # Errors
    /// It is too long.
    pub(crate) fn finish(self) -> Result<Option<String>, TooLong> {
        match self {
            Self::Events(decoder) => decoder.finish(),
            Self::Lines(decoder) => Ok(decoder.finish()),
        }
    }
}

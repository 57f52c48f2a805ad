//! Any bytes as a stream of events, in any pieces.

use super::*;
use crate::mutations::mutated;
use proptest::prelude::*;

const STREAM: &str = "\u{feff}event: x\ndata: {\"a\": 1}\r\n\r\ndata: b\ndata: c\r\rid: 1\n: comment\ndata:d\n\ndata: [DONE]\n\n";

/// The largest line and event of these decoders, in bytes: near what the stream has, so that both
/// bounds are met.
const MAX: usize = 24;

/// Decodes with small bounds: the events, or that there was too much.
fn bounded<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, FrameTooLong> {
    let mut decoder = FrameDecoder::with_limits(Framing::Events, MAX, MAX);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoder.push(piece)?);
    }
    events.extend(decoder.end()?);
    Ok(events)
}

proptest! {
    /// The pieces in which the network delivers a stream change nothing, and no event is longer
    /// than its bound.
    #[test]
    fn streams_decode_alike_in_pieces(
        bytes in prop_oneof![
            4 => mutated(STREAM.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..200),
        ],
        size in 1..40_usize,
    ) {
        let whole = bounded([bytes.as_slice()]);
        prop_assert_eq!(&bounded(bytes.chunks(size)), &whole);
        for event in whole.into_iter().flatten() {
            // A byte that is not UTF-8 becomes a character of three.
            prop_assert!(event.len() <= 3 * MAX, "{event:?}");
        }
        prop_assert_eq!(decode(bytes.chunks(size)), decode([bytes.as_slice()]));
    }
}

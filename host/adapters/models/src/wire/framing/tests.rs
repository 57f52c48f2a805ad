mod fuzz;
mod lines;

use super::*;
use pretty_assertions::assert_eq;

/// Decodes the pieces one after the other.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = FrameDecoder::new(Framing::Events);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoder.push(piece).unwrap());
    }
    events.extend(decoder.end().unwrap());
    events
}

#[test]
fn events_decode_alike_however_cut() {
    let table: &[(&str, &[&str])] = &[
        ("data: one\n\ndata: two\n\n", &["one", "two"]),
        ("data:one\r\n\r\ndata:two\r\n\r\n", &["one", "two"]),
        ("data: one\r\rdata: two\r\r", &["one", "two"]),
        ("\u{feff}data: one\n\n", &["one"]),
        ("data: a\ndata: b\ndata:\ndata: c\n\n", &["a\nb\n\nc"]),
        (
            ": comment\nevent: x\nid: 1\nretry: 5\ndata: one\n\n",
            &["one"],
        ),
        ("database: no\ndata: grüße 🙂\n\n", &["grüße 🙂"]),
        ("event: only\n\ndata\n\n\n\n", &[]),
        ("data: one\n\ndata: [DONE]", &["one", "[DONE]"]),
        ("data: one\n\ndata: two\n", &["one", "two"]),
        ("data:  two spaces\n\n", &[" two spaces"]),
    ];
    for (stream, expected) in table {
        let bytes = stream.as_bytes();
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(decode([left, right]), *expected, "{stream:?} cut at {cut}");
        }
        assert_eq!(decode(bytes.chunks(1)), *expected, "{stream:?} bytewise");
    }
}

#[test]
fn invalid_utf8_is_replaced() {
    assert_eq!(decode([&b"data: a\xffb\n\n"[..]]), ["a\u{fffd}b"]);
}

#[test]
fn line_and_event_length_is_limited() {
    let mut decoder = FrameDecoder::with_limits(Framing::Events, 12, 100);
    assert_eq!(
        decoder.push(b"data: 123456\n\n"),
        Ok(vec!["123456".to_owned()])
    );
    assert_eq!(
        decoder.push(b"data: 1234567"),
        Err(FrameTooLong { limit: 12 })
    );

    let mut decoder = FrameDecoder::with_limits(Framing::Events, 100, 12);
    assert_eq!(
        decoder.push(b"data: 123\ndata: 456\n\n"),
        Ok(vec!["123\n456".to_owned()])
    );
    assert_eq!(decoder.push(b"data: 12345678\ndata: 9\n"), Ok(vec![]));
    assert_eq!(
        decoder.push(b"data: abc\n"),
        Err(FrameTooLong { limit: 12 })
    );
}

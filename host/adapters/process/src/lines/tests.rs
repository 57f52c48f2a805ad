use super::*;
use pretty_assertions::assert_eq;

const MAX_BYTES: usize = 4 * 1024 * 1024;
const BUFFER_BYTES: usize = LineDecoder::BUFFER_BYTES;

/// Decodes an input that arrives in chunks; also returns the largest capacity of the buffer.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Line>, usize) {
    let mut decoder = LineDecoder::new(MAX_BYTES);
    let (mut buffer, mut lines, mut capacity) = (BytesMut::new(), Vec::new(), 0);
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(line) = decoder.decode(&mut buffer).unwrap() {
            lines.push(line);
        }
        capacity = capacity.max(buffer.capacity());
    }
    while let Some(line) = decoder.decode_eof(&mut buffer).unwrap() {
        lines.push(line);
    }
    (lines, capacity)
}

fn complete(line: &[u8]) -> Line {
    Line::Complete(line.to_vec().into())
}

#[test]
fn lines_are_the_same_however_they_arrive() {
    let input = b"one\n\n\xff\r\ntwo and a half\nlast";
    let expected = [
        complete(b"one"),
        complete(b""),
        complete(b"\xff\r"),
        complete(b"two and a half"),
        complete(b"last"),
    ];
    for size in 1..=input.len() {
        assert_eq!(decode(input.chunks(size)).0, expected, "chunks of {size}");
    }
}

#[test]
fn oversized_line_is_skipped_in_bounded_memory() {
    let long = vec![b'x'; 5 * MAX_BYTES];
    let longest = vec![b'y'; MAX_BYTES];
    let chunks = long.chunks(BUFFER_BYTES);
    let chunks = chunks.chain([b"\nnext\n".as_slice()]);
    let chunks = chunks.chain(longest.chunks(BUFFER_BYTES));
    let chunks = chunks.chain([b"\nend".as_slice()]);
    let (lines, capacity) = decode(chunks);
    let expected = [
        Line::Oversized,
        complete(b"next"),
        complete(&longest),
        complete(b"end"),
    ];
    assert!(lines == expected, "{} lines", lines.len());
    assert!(capacity <= 3 * MAX_BYTES, "{capacity} bytes");
}

#[test]
fn oversized_line_at_the_end_is_reported() {
    let long = vec![b'x'; MAX_BYTES + 1];
    assert!(decode([long.as_slice()]).0 == [Line::Oversized]);
}

#[test]
fn oversized_line_is_reported_before_its_end() {
    let mut decoder = LineDecoder::new(4);
    let mut buffer = BytesMut::from(b"12345".as_slice());
    assert_eq!(decoder.decode(&mut buffer).unwrap(), Some(Line::Oversized));
    buffer.extend_from_slice(b"6\nnext\n");
    assert_eq!(
        decoder.decode(&mut buffer).unwrap(),
        Some(complete(b"next"))
    );
}

//! Lines of JSON.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn lines_decode_alike_however_cut() {
    let table: &[(&str, &[&str])] = &[
        ("{}\n[]\n", &["{}", "[]"]),
        ("{}\r\n\n \r\n[]", &["{}", "[]"]),
        ("\"grüße 🙂\"\n", &["\"grüße 🙂\""]),
        ("", &[]),
    ];
    for (stream, expected) in table {
        let bytes = stream.as_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = FrameDecoder::new(Framing::Lines);
            let (left, right) = bytes.split_at(cut);
            let mut lines = decoder.push(left).unwrap();
            lines.extend(decoder.push(right).unwrap());
            lines.extend(decoder.end().unwrap());
            assert_eq!(lines, *expected, "{stream:?} cut at {cut}");
        }
    }
}

#[test]
fn line_length_is_limited() {
    let mut decoder = FrameDecoder::with_limits(Framing::Lines, 4, 4);
    assert_eq!(decoder.push(b"1234\n12"), Ok(vec!["1234".to_owned()]));
    assert_eq!(decoder.push(b"34"), Ok(vec![]));
    assert_eq!(decoder.push(b"5"), Err(FrameTooLong { limit: 4 }));
}

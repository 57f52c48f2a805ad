use pretty_assertions::assert_eq;

use super::{Encoding, Text, decode};

#[test]
fn encodings_are_decoded_and_encoded_exactly() {
    let cases: &[(&[u8], &str, Encoding)] = &[
        (b"", "", Encoding::Utf8),
        ("é\n".as_bytes(), "é\n", Encoding::Utf8),
        (b"\xef\xbb\xbfa", "\u{feff}a", Encoding::Utf8),
        (b"\xff\xfea\0\r\0\n\0", "a\r\n", Encoding::Utf16Le),
        (b"\xfe\xff\0a\xd8\x3d\xde\0", "a😀", Encoding::Utf16Be),
        (b"caf\xe9\r\n", "café\r\n", Encoding::Windows1252),
        (
            b"\x93q\x94 \x80 \x81",
            "“q” € \u{81}",
            Encoding::Windows1252,
        ),
    ];
    for (bytes, text, encoding) in cases {
        let expected = Text {
            text: (*text).to_owned(),
            encoding: *encoding,
        };
        assert_eq!(decode(bytes.to_vec()), Ok(expected));
        assert_eq!(encoding.encode(text), Ok(bytes.to_vec()));
    }
}

#[test]
fn every_byte_of_windows_1252_comes_back() {
    let bytes: Vec<u8> = (0x20..=0xff).collect();
    let Text { text, encoding } = decode(bytes.clone()).expect("a text");
    assert_eq!(
        (encoding, encoding.encode(&text)),
        (Encoding::Windows1252, Ok(bytes))
    );
    for missing in ['→', '\u{80}', '\u{9f}', '\u{100}'] {
        let encoded = encoding.encode(&format!("a{missing}"));
        assert_eq!(encoded, Err(missing));
    }
}

#[test]
fn bytes_that_are_no_text_are_returned() {
    let cases: &[&[u8]] = &[
        b"a\0b",
        b"%PDF-1.7 all ASCII",
        b"\xff\xd8\xff\xe0",
        // A control character beside bytes that are not UTF-8.
        b"\xe9\x01",
        // UTF-32, an odd length, an unpaired surrogate, a zero character.
        b"\xff\xfe\0\0a\0\0\0",
        b"\xff\xfea",
        b"\xff\xfe\0\xd8a\0",
        b"\xff\xfe\0\0",
    ];
    for bytes in cases {
        assert_eq!(decode(bytes.to_vec()), Err(bytes.to_vec()));
    }
}

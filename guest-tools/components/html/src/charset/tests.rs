use pretty_assertions::assert_eq;

use super::decode;

#[test]
fn bytes_are_read_by_their_encoding() {
    let cases: &[(&[u8], Result<&str, &str>)] = &[
        (b"\xef\xbb\xbfa", Ok("a")),
        ("größe".as_bytes(), Ok("größe")),
        (b"\xe4\x80", Ok("ä€")),
        (
            b"<meta charset=ISO-8859-1>\xe4",
            Ok("<meta charset=ISO-8859-1>ä"),
        ),
        (
            b"<meta charset = 'utf-8'>\xe4",
            Ok("<meta charset = 'utf-8'>\u{fffd}"),
        ),
        (
            b"<meta content=\"text/html; charset=Shift_JIS\">\x82",
            Err("shift_jis"),
        ),
        (b"\xff\xfea\0", Err("utf-16")),
    ];
    for (bytes, expected) in cases {
        let expected = expected.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        assert_eq!(decode(bytes.to_vec()), expected);
    }
}

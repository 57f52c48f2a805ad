use super::*;
use pretty_assertions::assert_eq;

#[test]
fn malformed_bytes_have_no_parts() {
    for bytes in [&b""[..], b"\0asm\x0d\0\x01\0\x05", b"hello"] {
        assert_eq!(parts(bytes), []);
    }
}

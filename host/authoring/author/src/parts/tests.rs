use super::*;
use pretty_assertions::assert_eq;

#[test]
fn only_sections_of_the_component_itself_are_read() {
    // The section `a` of the component with 1, after a nested component whose section has 2.
    let nested = b"\0asm\x0d\0\x01\0\0\x03\x01a\x02";
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    component.extend([4, u8::try_from(nested.len()).unwrap()]);
    component.extend(nested);
    component.extend(b"\0\x03\x01a\x01");
    assert_eq!(outer_section(&component, "a"), Some(&b"\x01"[..]));
    assert_eq!(outer_section(&component, "b"), None);
    assert_eq!(outer_section(b"hello", "a"), None);
}

#[test]
fn malformed_bytes_have_no_parts() {
    for bytes in [&b""[..], b"\0asm\x0d\0\x01\0\x05", b"hello"] {
        assert_eq!(parts(bytes), []);
    }
}

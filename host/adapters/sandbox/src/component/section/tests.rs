use super::custom_section;
use pretty_assertions::assert_eq;

#[test]
fn only_sections_of_the_component_itself_are_read() {
    // The section `a` of the component with 1, after a nested component whose section has 2.
    let nested = b"\0asm\x0d\0\x01\0\0\x03\x01a\x02";
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    component.extend([4, u8::try_from(nested.len()).unwrap()]);
    component.extend(nested);
    component.extend(b"\0\x03\x01a\x01");
    assert_eq!(custom_section(&component, "a"), Some(&b"\x01"[..]));
    assert_eq!(custom_section(&component, "b"), None);
    assert_eq!(custom_section(b"hello", "a"), None);
}

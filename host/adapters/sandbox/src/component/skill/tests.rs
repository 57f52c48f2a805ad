use super::{MAX_SKILL_BYTES, read};
use pretty_assertions::assert_eq;

/// Writes a custom section (Component Model, Binary.md: id 0, size, name, data).
fn section(name: &str, data: &[u8]) -> Vec<u8> {
    let number = |value: usize| {
        let mut value = value;
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    };
    let body = [number(name.len()), name.as_bytes().to_vec(), data.to_vec()].concat();
    [vec![0], number(body.len()), body].concat()
}

#[test]
fn skill_of_the_component_itself_is_read() {
    let outer = wat::parse_str("(component (core module))").unwrap();
    let with = |sections: &[Vec<u8>]| [outer.clone(), sections.concat()].concat();
    let one = section("act:skill", b"one");
    // One in a nested component is that component's.
    let nested = [b"\0asm\x0d\0\x01\0".to_vec(), one.clone()].concat();
    let nested = [vec![4, u8::try_from(nested.len()).unwrap()], nested].concat();
    let long = |more| section("act:skill", &vec![b'a'; MAX_SKILL_BYTES + more]);
    for (component, expected) in [
        (outer.clone(), 0),
        (with(&[section("other", b"x"), one.clone()]), 3),
        (with(&[one, section("act:skill", b"another")]), 3),
        (with(&[nested]), 0),
        (with(&[long(0)]), MAX_SKILL_BYTES),
        (with(&[long(1)]), 0),
        (b"no component".to_vec(), 0),
    ] {
        assert_eq!(read(&component).len(), expected);
    }
}

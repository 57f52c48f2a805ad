use super::read;
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
fn skills_of_the_component_itself_are_read() {
    let outer = wat::parse_str("(component (core module))").unwrap();
    let long = vec![b'a'; 256 * 1024 + 1];
    let with = |sections: &[Vec<u8>]| [outer.clone(), sections.concat()].concat();
    let one = section("agent-skill", b"one");
    assert_eq!(read(&outer), Vec::<String>::new());
    let sections = [
        section("other", b"x"),
        one.clone(),
        section("agent-skill", &long),
        section("agent-skill", &[0xff]),
        section("agent-skill", b"two"),
    ];
    assert_eq!(read(&with(&sections)), ["one", "two"]);
    assert_eq!(read(&with(&vec![one.clone(); 17])).len(), 16);
    // One in a nested component is that component's.
    let module = [b"\0asm\x0d\0\x01\0".to_vec(), one].concat();
    let nested = [vec![4, u8::try_from(module.len()).unwrap()], module].concat();
    assert_eq!(read(&with(&[nested])), Vec::<String>::new());
    assert_eq!(read(b"no component"), Vec::<String>::new());
}

use super::PackageInfo;
use agent_host_test_guests::{ECHO, Guest};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

#[test]
fn interface_and_annotations_are_read_from_the_outer_component() {
    let info = PackageInfo::from_component(&Guest::running(ECHO).bytes()).unwrap();
    assert_eq!(info.exports, ["agent:tool/tool@0.1.0"]);
    assert_eq!(info.annotations, BTreeMap::new());

    let long = "x".repeat(5000);
    let component = wat::parse_str(format!(
        r#"(component
            (core module (@custom "version" "inner"))
            (@custom "version" "1.2.0")
            (@custom "description" "{long}")
            (@custom "homepage" "https://acme.example")
            (@custom "other" "x"))"#
    ));
    let info = PackageInfo::from_component(&component.unwrap()).unwrap();
    let expected = [("url", "https://acme.example"), ("version", "1.2.0")];
    let expected = expected.map(|(key, value)| {
        let key = format!("org.opencontainers.image.{key}");
        (key, value.to_owned())
    });
    assert_eq!(info.annotations, BTreeMap::from(expected));
    for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"no component"] {
        assert!(PackageInfo::from_component(bytes).is_err());
    }
}

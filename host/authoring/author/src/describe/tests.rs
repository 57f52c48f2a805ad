use super::{Description, LanguageSource, MAX_PRODUCER_BYTES, MAX_PRODUCERS, Producers, WrittenIn};
use agent_host_test_guests::{ECHO, Guest, PROGRESS, TIMER};
use pretty_assertions::assert_eq;
use std::fmt::Write as _;

/// A component with one function, and producers inside and outside of its module.
fn adder(inside: &str, outside: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component
            (core module $m
                (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
                {inside})
            (core instance $i (instantiate $m))
            (func (export "add") (param "left" u32) (param "right" u32) (result u32)
                (canon lift (core func $i "add")))
            {outside})"#
    ))
    .unwrap()
}

fn producers(fields: &[(&str, &[(&str, &str)])]) -> Producers {
    let owned = |(name, version): &(&str, &str)| ((*name).to_owned(), (*version).to_owned());
    fields
        .iter()
        .map(|(field, values)| ((*field).to_owned(), values.iter().map(owned).collect()))
        .collect()
}

#[test]
fn producers_are_gathered_from_the_inside_out() {
    let cases = [
        ("", "", producers(&[])),
        (
            r#"(@producers (language "C" "") (processed-by "clang" "20.1") (processed-by "ours" "1"))"#,
            r#"(@producers (processed-by "ours" "2") (sdk "kit" "3"))"#,
            producers(&[
                ("language", &[("C", "")]),
                ("processed-by", &[("clang", "20.1"), ("ours", "2")]),
                ("sdk", &[("kit", "3")]),
            ]),
        ),
    ];
    for (inside, outside, expected) in cases {
        let described = Description::from_component(&adder(inside, outside));
        assert_eq!(described.producers, Ok(expected), "{inside} {outside}");
    }
}

#[test]
fn language_is_told_with_its_source() {
    const INSIDE: &str = r#"(@producers (language "Rust" ""))"#;
    let python =
        r#"(core module (import "env" "libcomponentize_py_runtime.so:memory_base" (global i32)))"#;
    let javascript = r#"(@producers (language "JavaScript" "") (language "WIT" "1"))"#;
    for (inside, outside, expected) in [
        ("", String::new(), None),
        (
            INSIDE,
            String::new(),
            Some(("Rust", LanguageSource::Modules)),
        ),
        (
            INSIDE,
            python.to_owned(),
            Some(("Python", LanguageSource::Toolchain)),
        ),
        (
            INSIDE,
            javascript.to_owned(),
            Some(("JavaScript, WIT 1", LanguageSource::Component)),
        ),
        (
            INSIDE,
            format!("{python} {javascript}"),
            Some(("JavaScript, WIT 1", LanguageSource::Component)),
        ),
    ] {
        let expected = expected.map(|(language, source)| WrittenIn {
            language: language.to_owned(),
            source,
        });
        let described = Description::from_component(&adder(inside, &outside));
        assert_eq!(described.written_in, expected, "{inside} {outside}");
    }
}

#[test]
fn producers_are_bounded() {
    let mut many = String::new();
    for number in 0..=MAX_PRODUCERS {
        write!(
            many,
            r#" (sdk "kit-{number}" "{}")"#,
            "é".repeat(MAX_PRODUCER_BYTES)
        )
        .unwrap();
    }
    let found = Description::from_component(&adder(&format!("(@producers{many})"), ""))
        .producers
        .unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["sdk"]);
    assert_eq!(found["sdk"].len(), MAX_PRODUCERS);
    for version in found["sdk"].values() {
        assert_eq!(*version, "é".repeat(MAX_PRODUCER_BYTES / 2));
    }
}

#[test]
fn interface_omits_standard_packages() {
    assert_eq!(
        Description::from_component(&adder("", "")).wit.unwrap(),
        "package root:component;

world root {
  export add: func(left: u32, right: u32) -> u32;
}
"
    );

    let guest = Guest {
        imports: &[PROGRESS, TIMER],
        ..Guest::running(ECHO)
    };
    let wit = Description::from_component(&guest.bytes()).wit.unwrap();
    for shown in [
        "  import wasi:clocks/monotonic-clock@0.2.6;\n",
        "  export agent:tool/tool@0.1.0;\n",
        "package agent:tool@0.1.0 {\n",
        "    report: func(message: string, fraction: option<f64>);\n",
    ] {
        assert!(wit.contains(shown), "no {shown:?} in {wit}");
    }
    assert!(!wit.contains("package wasi:"), "{wit}");
}

#[test]
fn unreadable_component_has_a_reason() {
    let component = adder("", "");
    let cases: [(&[u8], &str); 3] = [
        (b"", "unexpected end"),
        (b"not wasm", "magic header not detected"),
        (&component[..component.len() - 1], "unexpected end"),
    ];
    for (bytes, expected) in cases {
        let described = Description::from_component(bytes);
        for why in [described.producers.unwrap_err(), described.wit.unwrap_err()] {
            assert!(why.as_str().contains(expected), "{why}");
        }
    }
}

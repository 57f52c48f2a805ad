use super::{NameMode, strip};
use pretty_assertions::assert_eq;
use wasmparser::{Parser, Payload, Validator};

/// A component with a nested module and component, each with custom sections.
const NESTED: &str = r#"(component
    (@custom "debug" "outer")
    (core module $m
        (func $named (export "run") (result i32) (i32.const 7))
        (@custom ".debug_info" "inner")
        (@producers (processed-by "clang" "19")))
    (component $c
        (core module (func $deep) (@custom "linking" "deep"))
        (@custom "package-docs" "docs"))
    (core instance $i (instantiate $m))
    (func (export "run") (result u32) (canon lift (core func $i "run"))))"#;

/// Returns the custom sections with their nesting depth.
fn custom_sections(bytes: &[u8]) -> Vec<(usize, String)> {
    let mut depth = 0;
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.max(1) - 1,
            Payload::CustomSection(section) => found.push((depth, section.name().to_owned())),
            _ => {}
        }
    }
    found
}

/// Returns the bytes of all other sections in order.
fn other_sections(bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    Parser::new(0)
        .parse_all(bytes)
        .map(Result::unwrap)
        .filter(|payload| !matches!(payload, Payload::CustomSection(_)))
        // Sections with nested parts change in length; the parts themselves follow.
        .filter(|payload| {
            !matches!(
                payload,
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. }
            )
        })
        .filter_map(|payload| payload.as_section())
        .map(|(id, range)| (id, bytes[range].to_vec()))
        .collect()
}

#[test]
fn custom_sections_are_stripped_at_every_depth() {
    let whole = wat::parse_str(NESTED).unwrap();
    let cases: [(NameMode, &[(usize, &str)]); 2] = [
        (NameMode::Strip, &[(1, "package-docs")]),
        (
            NameMode::Keep,
            &[
                (1, "name"),
                (2, "name"),
                (1, "package-docs"),
                (1, "component-name"),
                (0, "component-name"),
            ],
        ),
    ];
    for (names, kept) in cases {
        let stripped = strip(&whole, names).unwrap();
        let kept: Vec<(usize, String)> = kept
            .iter()
            .map(|(depth, name)| (*depth, (*name).to_owned()))
            .collect();
        assert_eq!(custom_sections(&stripped), kept, "{names:?}");
        assert_eq!(
            other_sections(&stripped),
            other_sections(&whole),
            "{names:?}"
        );
        Validator::new().validate_all(&stripped).unwrap();
    }
}

#[test]
fn strip_of_invalid_bytes_is_an_error() {
    let text = strip(b"\0asm, but then it was not", NameMode::Strip)
        .unwrap_err()
        .to_string();
    assert_eq!(text, "unknown binary version: 0x7562202c (at offset 0x4)");
}

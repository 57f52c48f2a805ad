mod fuzz;
mod select;

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn raw() -> RawDefinition {
    RawDefinition {
        name: "t".to_owned(),
        title: Some("T".to_owned()),
        description: "Does it.\nWell.".to_owned(),
        input_schema: r#"{"type":"object"}"#.to_owned(),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

fn schema(text: impl Into<String>) -> RawDefinition {
    RawDefinition {
        input_schema: text.into(),
        ..raw()
    }
}

fn output(text: &str) -> RawDefinition {
    RawDefinition {
        output_schema: Some(text.to_owned()),
        ..raw()
    }
}

fn titled(title: &str) -> RawDefinition {
    RawDefinition {
        title: Some(title.to_owned()),
        ..raw()
    }
}

fn named(name: &str) -> RawDefinition {
    RawDefinition {
        name: name.to_owned(),
        ..raw()
    }
}

fn described(description: impl Into<String>) -> RawDefinition {
    RawDefinition {
        description: description.into(),
        ..raw()
    }
}

/// A tool with this many patterns.
fn patterns(name: &str, count: usize) -> RawDefinition {
    let all: Vec<String> = (0..count)
        .map(|n| format!(r#"{{"pattern":"{n}"}}"#))
        .collect();
    RawDefinition {
        name: name.to_owned(),
        ..schema(format!(
            r#"{{"type":"object","anyOf":[{}]}}"#,
            all.join(",")
        ))
    }
}

/// A tool with the longest schema that is accepted.
fn large(name: &str) -> RawDefinition {
    let frame = r#"{"type":"object","description":""}"#.len();
    let text = "a".repeat(MAX_SCHEMA_BYTES - frame);
    RawDefinition {
        name: name.to_owned(),
        ..schema(format!(r#"{{"type":"object","description":"{text}"}}"#))
    }
}

fn nested(levels: usize) -> String {
    format!(
        r#"{{"type":"object","default":{}{}}}"#,
        "[".repeat(levels - 1),
        "]".repeat(levels - 1)
    )
}

#[test]
fn definition_within_bounds_is_taken_unchanged() {
    let full = RawDefinition {
        output_schema: Some(r#"{"type":"array"}"#.to_owned()),
        effect: Effect::Effectful,
        ..raw()
    };
    let (definitions, notes) = Definitions::select(vec![full], InputChecks::Host).unwrap();
    assert_eq!(notes, []);
    let expected = ToolDefinition {
        name: "t".to_owned(),
        title: Some("T".to_owned()),
        description: "Does it.\nWell.".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: Some(json!({"type": "array"})),
        effect: Effect::Effectful,
    };
    assert_eq!(definitions.all(), std::slice::from_ref(&expected));
    assert!(definitions.schemas("t").is_some() && definitions.schemas("u").is_none());
}

#[test]
fn definitions_out_of_bounds_are_refused_with_the_reason() {
    let cases = [
        (vec![], "no tool"),
        (vec![raw(); MAX_TOOLS + 1], "129 tools"),
        (vec![patterns("t", 33)], "32 patterns"),
        (vec![named("")], "1 to 64 letters"),
        (vec![named("a b")], "1 to 64 letters"),
        (vec![named("раss")], "1 to 64 letters"),
        (vec![named(&"a".repeat(65))], "1 to 64 letters"),
        (
            vec![titled("a\u{1b}[2J")],
            "the title has control characters",
        ),
        (
            vec![titled("a\u{202E}b")],
            "the title has control characters",
        ),
        (vec![titled(&"a".repeat(129))], "129 bytes"),
        (
            vec![described("a\0")],
            "the description has control characters",
        ),
        (
            vec![described("a\u{2067}b")],
            "the description has control characters",
        ),
        (
            vec![titled("a\u{E0041}b")],
            "the title has control characters",
        ),
        (
            vec![described("a\u{200B}b")],
            "the description has control characters",
        ),
        (
            vec![schema(r#"{"type":"object","title":"a\u202Eb"}"#)],
            "the input schema has control characters",
        ),
        (
            vec![schema(r#"{"type":"object","properties":{"a\u0007":{}}}"#)],
            "the input schema has control characters",
        ),
        (
            vec![schema(
                r#"{"type":"object","properties":{"a":{"enum":["\u001b[2J"]}}}"#,
            )],
            "the input schema has control characters",
        ),
        (
            vec![output(r#"{"description":"\u2066"}"#)],
            "the output schema has control characters",
        ),
        (
            vec![schema(r#"{"type":"object","maxProperties":1e999}"#)],
            "not JSON",
        ),
        (
            vec![schema(r#"{"type":"object","maxProperties":-1}"#)],
            "the input schema",
        ),
        (vec![schema("")], "not JSON"),
        (vec![schema("{")], "not JSON"),
        (vec![schema("[".repeat(60_000))], "not JSON"),
        (vec![schema("true")], "\"type\": \"object\""),
        (vec![schema(r#"{"type":"string"}"#)], "\"type\": \"object\""),
        (vec![schema(nested(MAX_SCHEMA_DEPTH + 1))], "32 levels"),
        (
            vec![schema(format!(
                r#"{{"type":"object","x":"{}"}}"#,
                "a".repeat(70_000)
            ))],
            "and the maximum is 65536",
        ),
        (
            vec![schema(
                r#"{"type":"object","$ref":"http://127.0.0.1:1/schema"}"#,
            )],
            "the input schema",
        ),
        (
            vec![schema(r#"{"type":"object","$ref":"file:///etc/passwd"}"#)],
            "the input schema",
        ),
        (
            vec![schema(
                r#"{"type":"object","properties":{"a":{"type":"nothing"}}}"#,
            )],
            "the input schema",
        ),
        (
            vec![schema(
                r#"{"type":"object","properties":{"a":{"pattern":"((((a{1000}){1000}){1000}){1000})"}}}"#,
            )],
            "the input schema",
        ),
        (
            vec![schema(r#"{"type":"object","title":"a\u202eb"}"#)],
            "the input schema has control",
        ),
        (
            vec![output(r#"{"properties":{"a\u009b":{"type":"object"}}}"#)],
            "the output schema has control",
        ),
        (
            vec![schema(r##"{"type":"object","allOf":[{"$ref":"#"}]}"##)],
            "references are circular",
        ),
        (vec![output("{")], "the output schema is not JSON"),
        (vec![output(r#"{"type":"nothing"}"#)], "the output schema"),
    ];
    for (raw, says) in cases {
        let error = Definitions::select(raw, InputChecks::Host);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
        assert!(error.len() < 1_000, "{says}: {error}");
    }
}

#[test]
fn definition_exactly_at_each_bound_is_accepted() {
    let cases = [
        named(&"a".repeat(64)),
        titled(&"a".repeat(128)),
        described("a".repeat(8_192)),
        schema(nested(MAX_SCHEMA_DEPTH)),
        large("t"),
        patterns("t", 32),
        output("true"),
    ];
    for raw in cases {
        let name = raw.name.clone();
        let (_, notes) = Definitions::select(vec![raw], InputChecks::Host).unwrap();
        assert_eq!(notes, [], "{name}");
    }
}

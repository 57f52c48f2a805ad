//! Section A: components whose tool definitions or schemas are malformed or misleading.

use super::{
    bombs,
    case::{Case, Ends},
    load::refused,
};
use agent_host_sandbox::LoadFault::ContractMismatch;
use agent_host_test_guests::{Definition, Guest};
use agent_host_types::failure::ToolErrorCode;

pub(super) fn cases() -> Vec<Case> {
    [definitions(), schemas()].into_iter().flatten().collect()
}

/// A guest with this definition of its tools.
fn defining(definitions: Vec<Definition>) -> Vec<u8> {
    Guest {
        definitions,
        ..Guest::default()
    }
    .bytes()
}

fn hostile() -> Definition {
    Definition {
        name: "hostile".to_owned(),
        ..Definition::default()
    }
}

/// Tool definitions of a component.
fn definitions() -> Vec<Case> {
    let named = |name: &str| Definition {
        name: name.to_owned(),
        ..Definition::default()
    };
    let described = |text: &str| Definition {
        description: text.to_owned(),
        ..hostile()
    };
    let titled = |text: &str| Definition {
        title: Some(text.to_owned()),
        ..hostile()
    };
    let many = |count| {
        (0..count)
            .map(|index| named(&format!("tool-{index}")))
            .collect()
    };
    let all: [(&str, Vec<Definition>, &str); 14] = [
        ("no tool", Vec::new(), "defines no tools"),
        ("129 tools", many(129), "defines 129 tools"),
        (
            "a name that looks like another",
            vec![named("h\u{43e}stile")],
            "a name has 1 to 64",
        ),
        (
            "a name in full-width letters",
            vec![named("\u{ff48}ostile")],
            "a name has 1 to 64",
        ),
        (
            "a name with a mark of direction",
            vec![named("hostile\u{200e}")],
            "a name has 1 to 64",
        ),
        ("an empty name", vec![named("")], "a name has 1 to 64"),
        (
            "a name of 65 letters",
            vec![named(&"n".repeat(65))],
            "a name has 1 to 64",
        ),
        (
            "a name with a line break",
            vec![named("a\nb")],
            "a name has 1 to 64",
        ),
        (
            "a description that clears the terminal",
            vec![described("\u{1b}[2J")],
            "control characters",
        ),
        (
            "a description that turns the writing",
            vec![described("a\u{202e}b")],
            "change the text direction",
        ),
        (
            "a description with a zero byte",
            vec![described("a\0b")],
            "control characters",
        ),
        (
            // It is cut, and checked.
            "a description of 9,000 bytes that turns the writing",
            vec![described(&format!("\u{202e}{}", "d".repeat(9_000)))],
            "change the text direction",
        ),
        (
            "a title with a C1 control",
            vec![titled("a\u{9b}31m")],
            "control characters",
        ),
        (
            "a title of 129 bytes",
            vec![titled(&"t".repeat(129))],
            "129 bytes",
        ),
    ];
    let mut cases: Vec<Case> = all
        .into_iter()
        .map(|(name, definitions, says)| {
            refused(name, defining(definitions), ContractMismatch, says)
        })
        .collect();
    cases.push(refused(
        "an effect that there is not",
        defining(vec![Definition {
            effect: 7,
            ..hostile()
        }]),
        ContractMismatch,
        "discriminant",
    ));
    // The second is left out, with a warning.
    cases.push(Case::made(
        'A',
        "two tools of one name",
        defining(vec![hostile(), hostile()]),
        Ends::Anyhow,
    ));
    cases.push(
        Case::made(
            'A',
            "two components with tools of one name",
            bombs::good(),
            Ends::Unusable("both have a tool named `hostile`"),
        )
        .config("[[tool]]\nname = \"other\"\ncomponent = \"hostile.wasm\""),
    );
    cases
}

/// Schemas that are invalid or costly to evaluate.
fn schemas() -> Vec<Case> {
    let with = |schema: String| {
        defining(vec![Definition {
            input_schema: schema,
            ..hostile()
        }])
    };
    let deep = |levels| format!("{}true{}", r#"{"not":"#.repeat(levels), "}".repeat(levels));
    let all: [(&str, String, &str); 12] = [
        ("a schema that is no JSON", "{".to_owned(), "not JSON"),
        ("an empty schema", String::new(), "not JSON"),
        ("a schema that is a number", "7".to_owned(), "schema"),
        (
            "a schema of 10 MB",
            format!(r#"{{"title":"{}"}}"#, "t".repeat(10_000_000)),
            "definitions",
        ),
        (
            "a schema of 70,000 bytes",
            format!(r#"{{"title":"{}"}}"#, "t".repeat(70_000)),
            "and the maximum is 65536",
        ),
        ("a schema 33 levels deep", deep(33), "nests deeper"),
        ("a schema 6,000 levels deep", deep(6_000), "not JSON"),
        (
            "a reference to another server",
            r#"{"type":"object","$ref":"http://127.0.0.1:9/schema.json"}"#.to_owned(),
            "schema",
        ),
        (
            "a reference to a file",
            r#"{"type":"object","$ref":"file:///etc/passwd"}"#.to_owned(),
            "schema",
        ),
        (
            "a reference to itself",
            r##"{"$ref":"#"}"##.to_owned(),
            "schema",
        ),
        (
            "a pattern that is too large",
            r#"{"type":"object","properties":{"a":{"pattern":"((a{1000}){1000}){1000}"}}}"#
                .to_owned(),
            "schema",
        ),
        (
            "a schema that clears the terminal",
            r#"{"type":"object","description":"\u001b[2J"}"#.to_owned(),
            "control characters",
        ),
    ];
    let mut cases: Vec<Case> = all
        .into_iter()
        .map(|(name, schema, says)| refused(name, with(schema), ContractMismatch, says))
        .collect();
    // A backtracking engine would need 2^40 steps for this text.
    cases.push(
        Case::made(
            'A',
            "a pattern that explodes elsewhere",
            with(
                r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}"#
                    .to_owned(),
            ),
            Ends::Failed(ToolErrorCode::InvalidInput, "does not match"),
        )
        .calling("hostile", &format!(r#"{{"a":"{}!"}}"#, "a".repeat(40))),
    );
    cases
}

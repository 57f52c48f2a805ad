//! Arbitrary texts as definitions: what passes is bounded, has no deceptive characters, and passes
//! again.

use super::*;
use crate::mutations::mutated;
use proptest::prelude::*;

/// Text that is mostly plain and sometimes deceptive.
fn text(max: usize) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        20 => proptest::char::range(' ', '~'),
        1 => prop::sample::select(vec!['\n', '\t', '\0', '\u{1b}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{feff}', 'é', '🙂']),
        1 => any::<char>(),
    ];
    prop::collection::vec(character, 0..max).prop_map(|characters| characters.into_iter().collect())
}

fn schema_text() -> impl Strategy<Value = String> {
    let real = r##"{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]{1,9}$"},"b":{"$ref":"#/$defs/b"}},
        "required":["a"],"$defs":{"b":{"enum":[1,"\u202e",null]}}}"##;
    prop_oneof![
        4 => mutated(real.as_bytes().to_vec()).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        1 => Just(real.to_owned()),
        1 => Just(r#"{"type":"object"}"#.to_owned()),
        1 => text(40),
        1 => (0..200_usize).prop_map(nested_text),
    ]
}

fn nested_text(levels: usize) -> String {
    format!(
        r#"{{"type":"object","default":{}{}}}"#,
        "[".repeat(levels),
        "]".repeat(levels)
    )
}

fn definition() -> impl Strategy<Value = RawDefinition> {
    let name = prop_oneof![4 => "[a-zA-Z0-9_-]{1,64}", 1 => text(70)];
    let effect = prop::sample::select(vec![
        Effect::ReadOnly,
        Effect::Idempotent,
        Effect::Effectful,
    ]);
    (
        name,
        prop::option::of(text(140)),
        prop_oneof![9 => text(300), 1 => "a{8190,8194}"],
        schema_text(),
        prop::option::of(schema_text()),
        effect,
    )
        .prop_map(
            |(name, title, description, input_schema, output_schema, effect)| RawDefinition {
                name,
                title,
                description,
                input_schema,
                output_schema,
                effect,
            },
        )
}

proptest! {
    #[test]
    fn raw_definitions(raw in prop::collection::vec(definition(), 0..4)) {
        let count = raw.len();
        let (definitions, notes) = match Definitions::select(raw, InputChecks::Host) {
            Ok(selected) => selected,
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.len() < 1_000, "{error}");
                prop_assert!(!error.chars().any(text::is_deceptive), "{error}");
                return Ok(());
            }
        };
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        let left_out = notes.iter().filter(|note| note.ends_with("; the tool is left out"));
        prop_assert_eq!(definitions.all().len() + left_out.count(), count);
        prop_assert!(!notes.concat().chars().any(text::is_deceptive), "{notes:?}");
        let shown = serde_json::to_string(definitions.all()).unwrap();
        prop_assert!(!shown.chars().any(text::is_deceptive), "{shown}");
    }
}

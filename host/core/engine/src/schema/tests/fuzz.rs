//! Arbitrary JSON as a schema and as an input: both are untrusted.

use super::*;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// The longest time for compiling one schema and checking one input.
const BOUND: Duration = Duration::from_secs(2);

/// Words that mean something in a schema, as keys and as values.
const WORDS: [&str; 39] = [
    "type",
    "object",
    "array",
    "string",
    "number",
    "properties",
    "items",
    "required",
    "enum",
    "const",
    "pattern",
    "(a|b)*c{2,9}",
    "format",
    "date-time",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "#",
    "#/properties/a",
    "$defs",
    "a",
    "additionalProperties",
    "patternProperties",
    "multipleOf",
    "minItems",
    "uniqueItems",
    "contains",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "#a",
    "dependentSchemas",
    "unevaluatedProperties",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => ".{0,12}",
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map(word(), json(), 0..6).prop_map(|map| map.into_iter().collect())
}

proptest! {
    /// A schema compiles or is refused, and an input is accepted or refused, all in bounded time
    /// and with bounded words.
    #[test]
    fn schemas_and_inputs(schema in object(), input in object()) {
        let mut schema = schema;
        schema.insert("type".to_owned(), "object".into());
        let begin = Instant::now();
        if let Ok(compiled) = InputSchema::compile(&Value::Object(schema))
            && let Err(failure) = compiled.validate(&input)
        {
            prop_assert_eq!(failure.code, ToolErrorCode::InvalidInput);
            prop_assert!(failure.message().len() <= agent_host_types::failure::MAX_MESSAGE_BYTES);
        }
        prop_assert!(begin.elapsed() < BOUND, "{:?}", begin.elapsed());
    }
}

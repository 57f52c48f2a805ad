//! The rules of each provider, checked on the results for arbitrary schemas by code that shares
//! nothing with the tables.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

/// A schema with valid, invalid and unknown keywords.
fn schemas() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("a"),
        Just("b c"),
        Just("é"),
        Just("1x"),
        Just("per-page"),
        Just("")
    ];
    let scalar = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(1)),
        Just(json!(-2.5)),
        Just(json!("a")),
        Just(json!(["a", null])),
        Just(json!([1, "b"])),
        Just(json!({"b c": 1})),
    ];
    let of = prop_oneof![
        Just(json!("object")),
        Just(json!("array")),
        Just(json!("string")),
        Just(json!("integer")),
        Just(json!("null")),
        Just(json!(["string", "null"])),
        Just(json!(["array", "object", "number"])),
        Just(json!("any")),
    ];
    let reference = prop_oneof![
        Just("#"),
        Just("#/$defs/a"),
        Just("#/$defs/b%20c"),
        Just("#/properties/a"),
        Just("https://x")
    ];
    let plain = prop::sample::select(vec![
        "title",
        "default",
        "examples",
        "deprecated",
        "format",
        "pattern",
        "minLength",
        "minimum",
        "exclusiveMinimum",
        "uniqueItems",
        "minItems",
        "maxProperties",
        "required",
        "dependentRequired",
        "const",
        "enum",
        "x-unknown",
        "$id",
        "$schema",
        "description",
    ]);
    let leaf = (
        of.clone(),
        prop::collection::vec((plain.clone(), scalar.clone()), 0..4),
    )
        .prop_map(|(of, more)| {
            let mut schema = json!({"type": of});
            more.into_iter()
                .for_each(|(keyword, value)| schema[keyword] = value);
            schema
        });
    let leaf = prop_oneof![4 => leaf, 1 => any::<bool>().prop_map(Value::Bool), 1 => reference.prop_map(|to| json!({"$ref": to}))];
    leaf.prop_recursive(4, 40, 4, move |inner| {
        let map = prop::collection::btree_map(name.clone(), inner.clone(), 0..4);
        let list = prop::collection::vec(inner.clone(), 0..3);
        let in_map = prop::sample::select(vec![
            "properties",
            "patternProperties",
            "dependentSchemas",
            "$defs",
        ]);
        let in_list = prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items"]);
        let in_one = prop::sample::select(vec![
            "items",
            "additionalProperties",
            "not",
            "if",
            "then",
            "contains",
            "propertyNames",
        ]);
        (
            prop::option::of(of.clone()),
            prop::collection::vec((in_map, map), 0..3),
            prop::collection::vec((in_list, list), 0..2),
            prop::collection::vec((in_one, inner), 0..2),
            prop::collection::vec((plain.clone(), scalar.clone()), 0..3),
        )
            .prop_map(|(of, maps, lists, ones, plain)| {
                let mut schema = json!({});
                of.into_iter().for_each(|of| schema["type"] = of);
                plain
                    .into_iter()
                    .for_each(|(keyword, value)| schema[keyword] = value);
                lists
                    .into_iter()
                    .for_each(|(keyword, value)| schema[keyword] = json!(value));
                ones.into_iter()
                    .for_each(|(keyword, value)| schema[keyword] = value);
                maps.into_iter()
                    .for_each(|(keyword, value)| schema[keyword] = json!(value));
                schema
            })
    })
}

/// Returns the schemas in a schema.
fn parts(schema: &Map<String, Value>) -> Vec<&Value> {
    let mut parts = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => {
                parts.extend(schemas.values())
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                parts.extend(schemas)
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                schema,
            ) => parts.push(schema),
            _ => {}
        }
    }
    parts
}

fn word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Why a provider would refuse a schema below the root.
fn refusal(dialect: SchemaDialect, schema: &Value) -> Option<String> {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(_) => return None,
        _ => return Some("no schema".to_owned()),
    };
    let has = |keyword: &str| schema.contains_key(keyword);
    let is = |name: &str| {
        schema.get("type").is_some_and(|of| {
            *of == name
                || of
                    .as_array()
                    .is_some_and(|list| list.contains(&json!(name)))
        })
    };
    let names = || {
        schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
    };
    let name_is = |first: fn(char) -> bool, rest: fn(char) -> bool| {
        names().all(|name| name.starts_with(first) && name.chars().all(rest) && name.len() <= 64)
    };

    let allowed: &[&str] = match dialect {
        SchemaDialect::Gemini => &[
            "type",
            "format",
            "title",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "properties",
            "additionalProperties",
            "required",
        ],
        SchemaDialect::Ollama => &[
            "anyOf",
            "type",
            "items",
            "description",
            "enum",
            "properties",
            "required",
        ],
        _ => &[],
    };
    let unknown = schema
        .keys()
        .find(|keyword| !allowed.is_empty() && !allowed.contains(&keyword.as_str()));
    let beside_union = || {
        schema
            .keys()
            .any(|keyword| !["anyOf", "title", "description"].contains(&keyword.as_str()))
    };
    let values = schema.get("enum").and_then(Value::as_array);
    let why = match dialect {
        _ if has("$ref") || has("$defs") => "a reference",
        _ if is("array") && !has("items") => "an array without items",
        _ if schema.get("items").is_some_and(Value::is_array) => "a list of items",
        _ if values.is_some_and(Vec::is_empty) => "no values",
        _ if is("any") => "an unknown type",
        _ if unknown.is_some() => unknown?,
        SchemaDialect::Anthropic
            if !name_is(
                |_| true,
                |character| word(character) || character == '-' || character == '.',
            ) =>
        {
            "a name"
        }
        SchemaDialect::Anthropic if names().any(String::is_empty) => "an empty name",
        SchemaDialect::Responses | SchemaDialect::Chat if is("object") && !has("properties") => {
            "an object without properties"
        }
        SchemaDialect::Gemini
            if !name_is(|first| first.is_ascii_alphabetic() || first == '_', word) =>
        {
            "a name"
        }
        SchemaDialect::Gemini | SchemaDialect::Ollama if has("anyOf") && beside_union() => {
            "a union that does not stand alone"
        }
        SchemaDialect::Gemini
            if schema
                .get("type")
                .unwrap_or(&Value::Null)
                .as_array()
                .is_some_and(|list| list.len() > 2 || !list.contains(&json!("null"))) =>
        {
            "several types"
        }
        SchemaDialect::Gemini
            if values.is_some_and(|values| {
                !values.iter().all(Value::is_string) && !values.iter().all(Value::is_number)
            }) =>
        {
            "values"
        }
        SchemaDialect::Gemini
            if schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|list| {
                    list.iter().any(|name| !names().any(|known| name == known))
                }) =>
        {
            "a required property that is not declared"
        }
        _ => {
            return parts(schema)
                .into_iter()
                .find_map(|part| refusal(dialect, part));
        }
    };
    Some(why.to_owned())
}

/// Why a provider would refuse a schema as a tool's.
fn root_refusal(dialect: SchemaDialect, schema: &Value) -> Option<String> {
    let composed = ["anyOf", "oneOf", "allOf", "enum", "not"]
        .into_iter()
        .find(|keyword| schema.get(keyword).is_some());
    let why = match composed {
        Some(keyword) => keyword,
        None if schema.get("type").unwrap_or(&Value::Null) != "object" => "no object",
        None if !schema["properties"].is_object() => "no properties",
        None => return refusal(dialect, schema),
    };
    Some(format!("{why} at the root"))
}

#[test]
fn cases_are_refused_unless_fitted() {
    // The checker sees the faults that it is for.
    let refused = |dialect| {
        let refused = |(_, schema): &(&str, Value)| root_refusal(dialect, schema).is_some();
        cases::all().iter().filter(|case| refused(case)).count()
    };
    assert_eq!(DIALECTS.map(refused), [12, 11, 11, 13, 13]);
}

proptest! {
    #[test]
    fn fitted_schema_keeps_the_rules(schema in schemas()) {
        for dialect in DIALECTS {
            let (fitted, _) = fit_schema(dialect, &schema);
            let why = root_refusal(dialect, &fitted);
            prop_assert_eq!(why, None, "{:?}: {} became {}", dialect, schema, fitted);
        }
    }

    #[test]
    fn declared_arguments_come_back(schema in schemas(), value in values()) {
        for dialect in DIALECTS {
            let (_, map) = fit_schema(dialect, &schema);
            let arguments = value.as_object().unwrap().clone();
            prop_assert_eq!(map.for_tool(map.for_model(arguments.clone())), arguments);
        }
    }
}

/// Arguments with the names of [`schemas`].
fn values() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["a", "b c", "é", "1x", "per-page", ""]);
    let object = move |inner: BoxedStrategy<Value>| {
        prop::collection::btree_map(name.clone(), inner, 0..4).prop_map(|map| json!(map))
    };
    let inner = Just(json!(1)).prop_recursive(4, 20, 4, {
        let object = object.clone();
        move |inner| {
            prop_oneof![
                object(inner.clone().boxed()),
                prop::collection::vec(inner, 0..3).prop_map(Value::Array)
            ]
        }
    });
    object(inner.boxed())
}

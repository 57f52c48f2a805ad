mod choices;
mod fuzz;
mod references;
mod relaxed;

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn input(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn input_mismatches_are_reported_with_their_pointers() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "depth": {"type": "integer", "minimum": 1},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
            "name": {"type": "string", "pattern": "^[a-z]+$"},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let schema = InputSchema::compile(&schema).unwrap();
    let cases = [
        (json!({"path": "."}), None),
        (
            json!({"path": ".", "depth": 2, "rows": [{"id": 1}], "name": "ab"}),
            None,
        ),
        (
            json!({}),
            Some(r#"the arguments: "path" is a required property"#),
        ),
        (
            json!({"path": "", "depth": 0}),
            Some(
                r#"`/depth`: 0 is less than the minimum of 1; `/path`: "" is shorter than 1 character"#,
            ),
        ),
        (
            json!({"path": ".", "rows": [{"id": 1}, {"id": "x"}]}),
            Some(r#"`/rows/1/id`: "x" is not of type "integer""#),
        ),
        (
            json!({"path": ".", "name": "A"}),
            Some(r#"`/name`: "A" does not match "^[a-z]+$""#),
        ),
        (
            json!({"path": ".", "mode": 1}),
            Some("the arguments: Additional properties are not allowed ('mode' was unexpected)"),
        ),
    ];
    for (value, fault) in cases {
        let expected = fault.map_or(Ok(()), |fault| {
            let message = format!(
                "The arguments do not fit the tool's schema; the tool did not run. {fault}"
            );
            Err(ToolFailure::new(ToolErrorCode::InvalidInput, message))
        });
        assert_eq!(schema.validate(&input(&value)), expected, "{value}");
    }
}

/// The message to the model is bounded, however wrong the input is.
#[test]
fn input_mismatches_are_bounded_in_number_and_size() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let schema = InputSchema::compile(&schema).unwrap();
    let many: Value = (0..100)
        .map(|n| (format!("k{n}"), json!("x")))
        .collect::<Map<_, _>>()
        .into();
    let failure = schema.validate(&input(&many)).unwrap_err();
    assert_eq!(
        failure.message().matches("is not of type").count(),
        MAX_MISMATCHES
    );
    let huge = json!({"k": "x".repeat(100_000)});
    let failure = schema.validate(&input(&huge)).unwrap_err();
    assert_eq!(
        failure.message().len(),
        agent_host_types::failure::MAX_MESSAGE_BYTES
    );
}

/// An untrusted schema must not make the host read a file or open a connection. Port 1 would refuse
/// a connection with an error that says so; the error here must be that nothing can be fetched.
#[test]
fn schema_with_remote_reference_is_refused_unfetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let here = format!("http://{}/schema.json", listener.local_addr().unwrap());
    for reference in [
        here.as_str(),
        "http://127.0.0.1:1/",
        "https://example.com/s.json",
        "file:///etc/hostname",
        "other.json",
    ] {
        for schema in [
            json!({"type": "object", "properties": {"x": {"$ref": reference}}}),
            json!({"type": "object", "$schema": reference}),
        ] {
            let error = InputSchema::compile(&schema).unwrap_err().to_string();
            assert!(
                !error.contains("onnection") && !error.contains("No such file"),
                "{error}"
            );
        }
    }
    let accepted = listener.accept().map(|(_, peer)| peer);
    assert_eq!(accepted.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn schema_with_local_reference_is_accepted() {
    let schema = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer"}},
    });
    let schema = InputSchema::compile(&schema).unwrap();
    assert_eq!(schema.validate(&input(&json!({"x": 1}))), Ok(()));
    assert!(schema.validate(&input(&json!({"x": "1"}))).is_err());
}

#[test]
fn schema_that_is_invalid_is_refused() {
    let root = "the root of an input schema must have `\"type\": \"object\"`";
    let cases = [
        (json!({}), root),
        (json!(true), root),
        (json!({"type": "string"}), root),
        (json!({"type": ["object"]}), root),
        (
            json!({"type": "object", "properties": {"x": {"type": "strange"}}}),
            "strange",
        ),
        (
            json!({"type": "object", "properties": {"x": {"pattern": "("}}}),
            "(",
        ),
        // A look-around needs a backtracking engine, which a hostile pattern could keep busy for
        // ever.
        (
            json!({"type": "object", "properties": {"x": {"pattern": "(?=a)b"}}}),
            "(?=a)b",
        ),
        (
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/missing"}}}),
            "missing",
        ),
    ];
    for (schema, expected) in cases {
        let error = InputSchema::compile(&schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{schema}: {error}");
    }
}

/// A chain of definitions, each of which uses the next one `width` times.
fn staircase(steps: usize, width: usize) -> Value {
    let mut parts: Map<String, Value> = (0..steps)
        .map(|step| {
            let next = json!({"$ref": format!("#/$defs/{}", step + 1)});
            (step.to_string(), json!({"allOf": vec![next; width]}))
        })
        .collect();
    parts.insert(steps.to_string(), json!({"maxProperties": 1}));
    json!({"type": "object", "$ref": "#/$defs/0", "$defs": parts})
}

/// Schemas that cost a validator exponential time or endless recursion, or lead it out of the
/// schema.
#[test]
fn schema_that_unfolds_too_large_is_refused() {
    let with = |key: &str, value: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {}}});
        schema["properties"]["a"][key] = value;
        schema
    };
    let loops = "references are circular, or expand to more than 50000 keywords";
    let cases = [
        (staircase(14, 2), loops),
        (staircase(3, 40), loops),
        (staircase(300, 1), loops),
        (staircase(3_000, 1), loops),
        (json!({"type": "object", "$ref": "#"}), loops),
        (with("$ref", json!("#/properties/a")), loops),
        (with("allOf", json!([{"$ref": "#/properties/a"}])), loops),
        (with("$ref", json!("#/$defs/none")), "does not resolve"),
        (with("$ref", json!("#/properties/%ff")), "does not resolve"),
        (with("$ref", json!("other.json")), "does not resolve"),
        (
            with("$ref", json!("http://127.0.0.1/s")),
            "does not resolve",
        ),
        (
            with("$ref", json!("http://json-schema.org/draft-07/schema#")),
            "does not resolve",
        ),
        (with("$dynamicRef", json!("#x")), "does not resolve"),
        (
            with("$schema", json!("http://json-schema.org/draft-07/schema#")),
            "its `$schema`",
        ),
        (with("$id", json!("http://[")), "http://["),
    ];
    for (schema, says) in cases {
        let errors = [
            InputSchema::compile(&schema).map(drop).unwrap_err(),
            OutputSchema::compile(&schema).map(drop).unwrap_err(),
        ];
        for error in errors.map(|error| error.to_string()) {
            assert!(error.contains(says), "{says}: {error}");
            assert!(error.len() < 300, "{error}");
        }
    }
}

/// References as generators write them, several to one part, and properties with the names of
/// keywords.
#[test]
fn schema_with_shared_references_is_accepted() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://tools.example/search",
        "type": "object",
        "properties": {
            "$ref": {"type": "string"},
            "$id": {"type": "string"},
            "from": {"$ref": "#/$defs/place"},
            "to": {"$ref": "#/$defs/place"},
        },
        "$defs": {
            "place": {"$anchor": "place", "type": "object", "properties": {"at": {"$ref": "#/$defs/point~1"}}},
            "point/": {"type": "number"},
        },
    });
    let schema = InputSchema::compile(&schema).unwrap();
    let cases = [
        (
            json!({"from": {"at": 1}, "to": {"at": 2}, "$ref": "x"}),
            true,
        ),
        (json!({"from": {"at": "x"}}), false),
        (json!({"to": {"at": "x"}}), false),
        (json!({"$id": 1}), false),
    ];
    for (value, fits) in cases {
        assert_eq!(schema.validate(&input(&value)).is_ok(), fits, "{value}");
    }
    assert!(InputSchema::compile(&staircase(10, 2)).is_ok());
}

/// A schema that only a particular input makes costly is accepted; that input is refused.
#[test]
fn input_too_costly_to_check_is_refused() {
    let choices: Vec<u32> = (0..8_000).collect();
    let long_choice = json!({
        "type": "object",
        "properties": {"x": {"items": {"enum": choices}}},
    });
    let pattern = json!({
        "type": "object",
        "properties": {"x": {"items": {"pattern": "a*b"}}},
    });
    let unique = json!({"type": "object", "properties": {"x": {"uniqueItems": true}}});
    let nested = |depth| (0..depth).fold(json!([]), |inner, _| json!([inner]));
    // Pairs of nested arrays, which the validator tells apart by comparing each with each.
    let alike: Vec<Value> = (0..2_500)
        .map(|pair| json!([nested(pair % 50), nested(pair / 50)]))
        .collect();
    let cases = [
        (&long_choice, json!({"x": vec![9_000; 1_000]})),
        (&pattern, json!({"x": vec!["a".repeat(100_000); 200]})),
        (&unique, json!({"x": alike})),
    ];
    for (schema, value) in cases {
        let schema = InputSchema::compile(schema).unwrap();
        let failure = schema.validate(&input(&value)).unwrap_err();
        assert_eq!(
            failure,
            ToolFailure::new(
                ToolErrorCode::InvalidInput,
                "The arguments do not fit the tool's schema; the tool did not run. the arguments: too large or too deep to be \
                 checked against this schema; send less"
            )
        );
    }
}

/// Patterns, long arrays and long texts, as real tools have them.
#[test]
fn schemas_and_inputs_of_real_tools_are_accepted() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/tree.json",
        "type": "object",
        "properties": {
            "mail": {"pattern": "^[\\w.-]{1,64}@[\\w.-]{1,64}$"},
            "rows": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true},
            "text": {"type": "string", "minLength": 1},
            // Fields may have the names of keywords.
            "$ref": {"type": "string"},
            "$id": {"type": "string"},
            "pattern": {"type": "string"},
        },
    });
    let schema = InputSchema::compile(&schema).unwrap();
    let rows: Vec<u32> = (0..100_000).collect();
    let good = json!({
        "mail": "a.b@example.com", "rows": rows, "text": "x".repeat(4_000_000), "$ref": "http://x/", "$id": "i",
    });
    assert_eq!(schema.validate(&input(&good)), Ok(()));
    for bad in [
        json!({"mail": "@"}),
        json!({"rows": [1, 2, 1]}),
        json!({"rows": vec![1; 100_000]}),
        json!({"$ref": 1}),
    ] {
        assert!(schema.validate(&input(&bad)).is_err(), "{bad}");
    }
}

#[test]
fn result_that_does_not_fit_the_output_schema_is_refused() {
    let schema = OutputSchema::compile(&json!({"type": "array", "items": {"type": "integer"}}));
    let schema = schema.unwrap();
    assert_eq!(schema.validate(&json!([1, 2])), Ok(()));
    let said = |fault: &str| {
        Err(ToolFailure::invalid_output(format!(
            "The tool ran, but its result does not match the schema that it declares. {fault}"
        )))
    };
    assert_eq!(
        schema.validate(&json!([1, "x"])),
        said(r#"`/1`: "x" is not of type "integer""#)
    );
    assert_eq!(
        schema.validate(&json!({})),
        said(r#"the result: {} is not of type "array""#)
    );
}

#[test]
fn schema_patterns_are_bounded_in_number_and_size() {
    let patterns =
        |count: usize| json!({"type": "object", "anyOf": vec![json!({"pattern": "a"}); count]});
    let compiled = InputSchema::compile(&patterns(MAX_PATTERNS)).unwrap();
    assert_eq!(compiled.patterns(), MAX_PATTERNS);
    let named = json!({"type": "object", "patternProperties": {"a": {}, "b": {}}});
    assert_eq!(OutputSchema::compile(&named).unwrap().patterns(), 2);
    let cases = [
        (patterns(MAX_PATTERNS + 1), "more than 32 patterns"),
        (
            json!({"type": "object", "pattern": "((a{1000}){1000}){1000}"}),
            "((a{1000}){1000}){1000}",
        ),
        (
            json!({"type": "object", "patternProperties": {"\\cA".repeat(65): {}}}),
            "has more than 64 control character escapes (`\\cA`)",
        ),
    ];
    for (schema, says) in cases {
        let error = InputSchema::compile(&schema).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}

use super::{FieldChoice, FieldKind, Form, FormField, MAX_FIELD_CHOICES, MAX_FIELDS, NumberRange};
use crate::reason::Reason;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn field(name: &str, kind: FieldKind) -> FormField {
    FormField {
        name: name.to_owned(),
        title: None,
        description: None,
        required: false,
        default: None,
        kind,
    }
}

fn order() -> Form {
    Form::parse(
        r#"{
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "size": { "type": "string", "enum": ["s", "m"], "enumNames": ["Small"], "default": "m" },
                "name": { "type": "string", "title": "Your name", "description": "As on the card",
                          "minLength": 2, "maxLength": 4, "format": "email" },
                "count": { "type": "integer", "minimum": 1, "maximum": 9, "default": 10 },
                "price": { "type": "number", "minimum": 0.5 },
                "gift": { "type": "boolean", "default": false },
                "color": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] }
            },
            "required": ["name", "count"],
            "additionalProperties": false
        }"#,
    )
    .unwrap()
}

/// The fields keep the order of the schema, and a default that does not fit is dropped.
#[test]
fn form_is_read_from_its_schema() {
    let choice = |value: &str, title: Option<&str>| FieldChoice {
        value: value.to_owned(),
        title: title.map(str::to_owned),
    };
    let range = |minimum: Value, maximum: Value| NumberRange {
        minimum: minimum.as_number().cloned(),
        maximum: maximum.as_number().cloned(),
    };
    let sizes = vec![choice("s", Some("Small")), choice("m", None)];
    let colors = vec![choice("r", Some("Red"))];
    let name = FieldKind::Text {
        format: Some("email".to_owned()),
        min_length: Some(2),
        max_length: Some(4),
    };
    let expected = [
        FormField {
            default: Some(json!("m")),
            ..field("size", FieldKind::One { choices: sizes })
        },
        FormField {
            title: Some("Your name".to_owned()),
            description: Some("As on the card".to_owned()),
            required: true,
            ..field("name", name)
        },
        FormField {
            required: true,
            ..field("count", FieldKind::Integer(range(json!(1), json!(9))))
        },
        field("price", FieldKind::Number(range(json!(0.5), Value::Null))),
        FormField {
            default: Some(json!(false)),
            ..field("gift", FieldKind::Boolean)
        },
        field("color", FieldKind::One { choices: colors }),
    ];
    assert_eq!(order().fields(), expected);
}

#[test]
fn form_keeps_its_value_in_json_and_as_a_schema() {
    let form = order();
    let stored = json!(form).to_string();
    assert_eq!(serde_json::from_str::<Form>(&stored).unwrap(), form);
    for field in form.fields() {
        let again = FormField::from_schema(&field.name, &field.schema(), field.required);
        assert_eq!(again.as_ref(), Ok(field));
    }
}

#[test]
fn answer_is_checked_against_the_form() {
    let form = order();
    let whole = json!({ "name": "ann", "count": 3 });
    let with = |name: &str, value: Value| {
        let mut values = whole.clone();
        values[name] = value;
        values
    };
    let cases = [
        (whole.clone(), Ok(())),
        (with("price", json!(0.5)), Ok(())),
        (with("count", json!(3.0)), Ok(())),
        (
            with("count", json!(1e300)),
            Err("the field `count` takes a number without a fraction"),
        ),
        (with("size", json!("s")), Ok(())),
        (
            json!({ "name": "ann" }),
            Err("the field `count` needs a value"),
        ),
        (
            with("name", json!("a")),
            Err("the field `name` takes text of at least 2 characters"),
        ),
        (
            with("name", json!("annie")),
            Err("the field `name` takes text of at most 4 characters"),
        ),
        (with("name", json!(1)), Err("the field `name` takes text")),
        (
            with("name", json!("x".repeat(16_385))),
            Err("the field `name` takes text of at most 16384 bytes"),
        ),
        (
            with("count", json!(0)),
            Err("the field `count` takes a number of at least 1"),
        ),
        (
            with("count", json!(10)),
            Err("the field `count` takes a number of at most 9"),
        ),
        (
            with("count", json!(1.5)),
            Err("the field `count` takes a number without a fraction"),
        ),
        (
            with("price", json!("1")),
            Err("the field `price` takes a number"),
        ),
        (
            with("price", json!(0.4)),
            Err("the field `price` takes a number of at least 0.5"),
        ),
        (
            with("gift", json!("yes")),
            Err("the field `gift` takes true or false"),
        ),
        (
            with("size", json!("Small")),
            Err("the field `size` takes one of its 2 choices"),
        ),
        (
            with("color", json!(["r"])),
            Err("the field `color` takes one of its 1 choices"),
        ),
        (
            with("gift", Value::Null),
            Err("the field `gift` takes true or false"),
        ),
        (
            with("\u{1b}[2J", json!(1)),
            Err("the form has no field `\\u{1b}[2J`"),
        ),
    ];
    for (values, expected) in cases {
        let checked = form.check(values.as_object().unwrap());
        assert_eq!(checked, expected.map_err(Reason::from), "{values}");
    }
}

#[test]
fn hostile_form_is_refused_with_the_reason() {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let one = |field: Value| object(json!({ "f": field })).to_string();
    let many: serde_json::Map<String, Value> = (0..10_000)
        .map(|index| (format!("f{index}"), json!({ "type": "boolean" })))
        .collect();
    let over: serde_json::Map<String, Value> = (0..=MAX_FIELDS)
        .map(|index| (index.to_string(), json!({ "type": "boolean" })))
        .collect();
    let choices: Vec<String> = (0..=MAX_FIELD_CHOICES).map(|n| n.to_string()).collect();
    let nested = json!({ "type": "object", "properties": { "g": { "type": "string" } } });
    let deep = "[".repeat(1000);
    let cases = [
        (object(json!(many)).to_string(), "its schema has more than 65536 bytes"),
        (
            object(json!(over)).to_string(),
            "its schema does not consist of flat fields (more than 32 fields at line 1 column 797)",
        ),
        (deep, "its schema does not consist of flat fields (invalid type: sequence, expected a string at line 1 \
            column 1)"),
        ("{".to_owned(), "its schema does not consist of flat fields (EOF while parsing an object at line 1 column 1)"),
        (
            r#"{"type": "object", "properties": {"\u001b[2J": {"type": "null"}}}"#.to_owned(),
            "its field `\\u{1b}[2J` is not a string, number, integer or boolean",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "string"}, "a": {"type": "string"}}}"#
                .to_owned(),
            "its schema does not consist of flat fields (two fields `a` at line 1 column 83)",
        ),
        (object(json!({})).to_string(), "it has no fields"),
        (
            json!({ "type": "array", "properties": {} }).to_string(),
            "its schema does not have the type `object`",
        ),
        (
            json!({ "type": "object", "properties": { "f": { "type": "string" } }, "required": ["g"] })
                .to_string(),
            "it requires `g`, which is not one of its fields",
        ),
        (one(nested), "its field `f` is not a string, number, integer or boolean"),
        (one(json!(true)), "its field `f` has no schema"),
        (
            one(json!({ "type": "integer", "minimum": 2, "maximum": 1 })),
            "its field `f` has bounds that no value satisfies",
        ),
        (
            one(json!({ "type": "number", "minimum": 0.5, "maximum": 0.25 })),
            "its field `f` has bounds that no value satisfies",
        ),
        (
            one(json!({ "type": "string", "minLength": 3, "maxLength": 2 })),
            "its field `f` has bounds that no value satisfies",
        ),
        (
            one(json!({ "type": "string", "minLength": 16_385 })),
            "its field `f` has bounds that no value satisfies",
        ),
        (one(json!({ "$ref": "#" })), "its field `f` is not a string, number, integer or boolean"),
        (
            one(json!({ "type": ["string", "null"] })),
            "its field `f` is not a string, number, integer or boolean",
        ),
        (
            one(json!({ "type": "string", "pattern": "(a+)+$" })),
            "its field `f` has `pattern`, which is not allowed in a flat field",
        ),
        (
            one(json!({ "type": "array", "items": { "enum": ["a"] } })),
            "its field `f` is a list, but a field has one value",
        ),
        (one(json!({ "type": "string", "enum": choices })), "its field `f` does not have 1 to 64 choices"),
        (one(json!({ "type": "string", "enum": [] })), "its field `f` does not have 1 to 64 choices"),
        (one(json!({ "type": "string", "enum": [1] })), "its field `f` has a choice that is not a string"),
        (one(json!({ "type": "string", "enum": ["a", "a"] })), "its field `f` lists a choice twice"),
        (
            one(json!({ "type": "integer", "enum": [1] })),
            "its field `f` has `enum`, which is not allowed in a flat field",
        ),
        (
            one(json!({ "type": "string", "description": "x".repeat(2049) })),
            "its field `f` has a string of more than 2048 bytes",
        ),
        (one(json!({ "type": "string", "title": 1 })), "its field `f` has a `title` that is not a string"),
        (
            one(json!({ "type": "string", "minLength": -1 })),
            "its field `f` has a `minLength` that is not a whole number of at least 0",
        ),
        (
            one(json!({ "type": "integer", "minimum": 0.5 })),
            "its field `f` has a bound that is not a 64-bit integer",
        ),
        (
            one(json!({ "type": "string", "format": "regex" })),
            "its field `f` has a `format` that is not one of email, uri, date, date-time",
        ),
        (
            one(json!({ "type": "number", "minimum": "0" })),
            "its field `f` has a `minimum` that is not a number",
        ),
    ];
    for (schema, why) in cases {
        let schema_start: String = schema.chars().take(80).collect();
        assert_eq!(Form::parse(&schema), Err(why.into()), "{schema_start}");
    }
}

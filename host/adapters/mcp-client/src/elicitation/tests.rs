use super::{Elicitation, ElicitationKind};
use agent_host_types::{
    form::{FieldKind, FormField, MAX_FIELD_CHOICES, MAX_FIELDS},
    reason::Reason,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

fn form(properties: &Value, required: &[&str]) -> Result<Vec<FormField>, String> {
    form_of_text(&properties.to_string(), required)
}

fn form_of_text(properties: &str, required: &[&str]) -> Result<Vec<FormField>, String> {
    let required = json!(required);
    let params = format!(
        r#"{{"mode": "form", "message": "Who?", "requestedSchema":
            {{"type": "object", "properties": {properties}, "required": {required}}}}}"#
    );
    let params = serde_json::from_str(&params).map_err(|error| error.to_string())?;
    let Elicitation { kind, .. } = Elicitation::new("s", params)?;
    match kind {
        ElicitationKind::Form(fields) => Ok(fields),
        ElicitationKind::Url(url) => Err(url),
    }
}

fn field(schema: &Value, required: &[&str]) -> FormField {
    form(&json!({ "f": schema }), required).unwrap().remove(0)
}

#[test]
fn field_takes_values_that_fit_its_schema() {
    let text = json!({ "type": "string", "minLength": 2, "maxLength": 4 });
    let number = json!({ "type": "number", "minimum": 0, "maximum": 1.5 });
    let integer = json!({ "type": "integer", "minimum": 0 });
    let boolean = json!({ "type": "boolean" });
    let plain = json!({ "type": "string", "enum": ["red", "blue"] });
    let titled = json!({ "type": "string", "oneOf": [
        { "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" } ] });
    let many = json!({ "type": "array", "maxItems": 2,
        "items": { "type": "string", "enum": ["a", "b", "c"] } });
    let many_titled = json!({ "type": "array",
        "items": { "anyOf": [{ "const": "x", "title": "X" }] } });
    let with_default = json!({ "type": "integer", "default": 42 });
    let bad_default = json!({ "type": "string", "enum": ["a"], "default": "z" });
    let cases = [
        (&text, "ann", Some(json!("ann"))),
        (&text, "a", None),
        (&text, "annie", None),
        (&number, "0.5", Some(json!(0.5))),
        (&number, "2", None),
        (&number, "\"1\"", None),
        (&integer, "7", Some(json!(7))),
        (&integer, "7.5", None),
        (&integer, "-1", None),
        (&boolean, "Yes", Some(json!(true))),
        (&boolean, "n", Some(json!(false))),
        (&boolean, "maybe", None),
        (&plain, "2", Some(json!("blue"))),
        (&plain, "0", None),
        (&plain, "3", None),
        (&plain, "red", None),
        (&titled, "1", Some(json!("r"))),
        (&many, "1, 3", Some(json!(["a", "c"]))),
        (&many, "1,2,3", None),
        (&many, "1,4", None),
        (&many_titled, "1", Some(json!(["x"]))),
        (&with_default, "", Some(json!(42))),
        (&with_default, "7", Some(json!(7))),
        (&bad_default, "", None),
    ];
    for (schema, typed, expected) in cases {
        let parsed = field(schema, &["f"]).parse(typed);
        assert_eq!(parsed.ok().flatten(), expected, "{schema} {typed}");
    }
    assert_eq!(field(&text, &[]).parse(""), Ok(None));
}

#[test]
fn fields_keep_the_order_and_titles_of_the_server() {
    let fields = form_of_text(
        r#"{
            "b": { "type": "string", "title": "B", "description": "the b", "format": "email" },
            "a": { "type": "boolean", "default": true }
        }"#,
        &["b"],
    )
    .unwrap();
    let seen: Vec<_> = fields
        .iter()
        .map(|field| (field.name.as_str(), field.required, field.kind.clone()))
        .collect();
    let text = FieldKind::Text {
        format: Some("email".to_owned()),
        min_length: None,
        max_length: None,
    };
    assert_eq!(seen, [("b", true, text), ("a", false, FieldKind::Boolean),]);
    assert_eq!(fields[0].title.as_deref(), Some("B"));
    assert_eq!(fields[0].description.as_deref(), Some("the b"));
    assert_eq!(fields[1].default, Some(json!(true)));
}

#[test]
fn form_beyond_a_bound_is_refused() {
    let many: Map<String, Value> = (0..=MAX_FIELDS)
        .map(|index| (index.to_string(), json!({ "type": "boolean" })))
        .collect();
    let choices: Vec<String> = (0..=MAX_FIELD_CHOICES)
        .map(|index| index.to_string())
        .collect();
    let long = "x".repeat(2049);
    let cases = [
        (Value::Object(many), "more than 32 fields"),
        (
            json!({ "f": { "type": "string", "enum": choices } }),
            "does not have 1 to 64 choices",
        ),
        (
            json!({ "f": { "type": "string", "title": long } }),
            "more than 2048 bytes",
        ),
    ];
    for (properties, why) in cases {
        let error = form(&properties, &[]).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn only_web_addresses_without_a_user_are_shown() {
    let ascii = "https://xn--pple-43d.example/";
    let cases = [
        ("https://a.example/x?y=1", Ok("https://a.example/x?y=1")),
        ("http://localhost:8080/", Ok("http://localhost:8080/")),
        ("https://\u{430}pple.example/", Ok(ascii)),
        (
            "file:///etc/passwd",
            Err("its address is not an http or https URL"),
        ),
        (
            "javascript:alert(1)",
            Err("its address is not an http or https URL"),
        ),
        (
            "https://bank.example@evil.example/",
            Err("its address contains a user name"),
        ),
        ("no address", Err("its address is invalid")),
    ];
    for (url, expected) in cases {
        let params = json!({ "mode": "url", "message": "m", "url": url, "elicitationId": "1" });
        let shown = Elicitation::new("s", serde_json::from_value(params).unwrap());
        let shown = shown.map(|elicitation| match elicitation.kind {
            ElicitationKind::Url(url) => url,
            ElicitationKind::Form(_) => panic!("a form"),
        });
        let expected = expected.map(str::to_owned).map_err(Reason::from);
        assert_eq!(shown, expected, "{url}");
    }
}

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR";

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.into(),
        data,
        filename: None,
    })
}

/// Every variant, every kind of part, and its JSON form.
fn forms() -> Vec<(ToolResultOutput, Value)> {
    let blob = Blob::new(b"abc".to_vec());
    let parts = vec![
        text("see"),
        file("image/png", FileData::Bytes(vec![0xfb, 0xef, 0xff, 0x00])),
        ContentPart::File(FilePart {
            media_type: "application/pdf".into(),
            data: FileData::Url("https://example.com/a.pdf".into()),
            filename: Some("a.pdf".into()),
        }),
        file("text/csv", FileData::Text("a,b".into())),
        file("image/jpeg", FileData::Blob(blob.reference())),
    ];
    vec![
        (
            ToolResultOutput::Text("hi".into()),
            json!({"type": "text", "value": "hi"}),
        ),
        (
            ToolResultOutput::json(json!({"type": "text", "value": 1})),
            json!({"type": "json", "value": {"type": "text", "value": 1}}),
        ),
        (
            ToolResultOutput::json(Value::Null),
            json!({"type": "json", "value": null}),
        ),
        (
            ToolResultOutput::Content(parts),
            json!({"type": "content", "value": [
                {"type": "text", "text": "see"},
                {"type": "file", "media_type": "image/png", "data": {"type": "bytes", "value": "++//AA=="}},
                {"type": "file", "media_type": "application/pdf", "data": {"type": "url", "value": "https://example.com/a.pdf"}, "filename": "a.pdf"},
                {"type": "file", "media_type": "text/csv", "data": {"type": "text", "value": "a,b"}},
                {"type": "file", "media_type": "image/jpeg", "data": {"type": "blob", "value": {
                    "digest": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "size": 3}}},
            ]}),
        ),
        (
            ToolResultOutput::ErrorText("no".into()),
            json!({"type": "error-text", "value": "no"}),
        ),
        (
            ToolResultOutput::error_json(json!({"code": "trap"})),
            json!({"type": "error-json", "value": {"code": "trap"}}),
        ),
        (
            ToolResultOutput::ExecutionDenied(None),
            json!({"type": "execution-denied"}),
        ),
        (
            ToolResultOutput::ExecutionDenied(Some("not today".into())),
            json!({"type": "execution-denied", "reason": "not today"}),
        ),
    ]
}

/// U2 and U5: every variant has one JSON form and comes back from it; bytes are standard base64
/// with padding.
#[test]
fn json_forms() {
    for (output, form) in forms() {
        assert_eq!(serde_json::to_value(&output).unwrap(), form);
        let read: ToolResultOutput = serde_json::from_str(&form.to_string()).unwrap();
        assert_eq!(read, output);
        assert_eq!(form["type"], output.tag());
    }
}

/// A tool returned a value, an error, or neither.
#[test]
fn from_run_maps_value_error_and_no_result() {
    let table = [
        (Ok(Some(json!("x"))), ToolResultOutput::Text("x".into())),
        (Ok(Some(Value::Null)), ToolResultOutput::json(Value::Null)),
        (
            Ok(None),
            ToolResultOutput::ErrorText("The tool returned no result.".into()),
        ),
        (
            Err("no such file".into()),
            ToolResultOutput::ErrorText("no such file".into()),
        ),
    ];
    for (run, expected) in table {
        assert_eq!(ToolResultOutput::from_run(run), expected);
    }
}

/// A denial is neither a success nor an error: the loop continues, and a run that waits for a
/// success does not end.
#[test]
fn success_error_and_denial_are_three_states() {
    let states: Vec<(&str, bool, bool)> = forms()
        .iter()
        .map(|(output, _)| (output.tag(), output.is_success(), output.is_error()))
        .collect();
    let expected = vec![
        ("text", true, false),
        ("json", true, false),
        ("json", true, false),
        ("content", true, false),
        ("error-text", false, true),
        ("error-json", false, true),
        ("execution-denied", false, false),
        ("execution-denied", false, false),
    ];
    assert_eq!(states, expected);
}

/// Anything but exactly the form is refused, and never read as something similar.
#[test]
fn json_of_another_form_is_refused() {
    let part = |part: Value| json!({"type": "content", "value": [part]});
    let data = |data: Value| part(json!({"type": "file", "media_type": "a/b", "data": data}));
    let cases = [
        (
            json!({"type": "image", "value": ""}),
            "unknown variant `image`",
        ),
        (
            json!({"type": "Text", "value": ""}),
            "unknown variant `Text`",
        ),
        (json!({"value": "x"}), "missing field `type`"),
        (json!({"type": "text"}), "missing field `value`"),
        (json!({"type": "json"}), "missing field `value`"),
        (json!({"type": "text", "value": 1}), "invalid type"),
        (
            json!({"type": "text", "value": "x", "is_error": true}),
            "unknown field `is_error`",
        ),
        (
            json!({"type": "execution-denied", "value": "x"}),
            "unknown field `value`",
        ),
        (json!("plain"), "invalid type"),
        (
            part(json!({"type": "image-data", "data": "AA=="})),
            "unknown variant `image-data`",
        ),
        (
            part(json!({"type": "text", "text": "x", "cache": 1})),
            "unknown field `cache`",
        ),
        (
            part(
                json!({"type": "file", "media_type": "a/b", "data": {"type": "text", "value": ""}, "path": "/x"}),
            ),
            "unknown field `path`",
        ),
        (
            data(json!({"type": "path", "value": "/x"})),
            "unknown variant `path`",
        ),
        (
            data(json!({"type": "text", "value": "", "more": 1})),
            "more",
        ),
        (
            part(json!({"type": "file", "data": {"type": "bytes", "value": "AA=="}})),
            "missing field `media_type`: only a URL can omit it",
        ),
        (data(json!({"type": "bytes", "value": "-_8="})), "Invalid"),
        (data(json!({"type": "bytes", "value": "AA"})), "Invalid"),
        (
            data(json!({"type": "blob", "value": {"digest": "sha256:00", "size": 1}})),
            "a digest is",
        ),
    ];
    for (form, expected) in cases {
        let error = serde_json::from_value::<ToolResultOutput>(form.clone()).unwrap_err();
        assert!(error.to_string().contains(expected), "{form}: {error}");
    }
}

/// U1 and U3: a string is text, everything else is JSON, and a `type` key inside changes nothing.
#[test]
fn host_side_value_is_coerced_by_its_type_alone() {
    let union_like = json!({"type": "text", "value": "x", "extra": [1]});
    assert_eq!(
        ToolResultOutput::from_value(json!("plain")),
        ToolResultOutput::Text("plain".into())
    );
    for value in [
        Value::Null,
        json!(1),
        json!(true),
        json!([1]),
        json!({"a": 1}),
        union_like,
    ] {
        assert_eq!(
            ToolResultOutput::from_value(value.clone()),
            ToolResultOutput::json(value)
        );
    }
}

/// U7: the text is part of the contract.
#[test]
fn denial_without_reason_has_the_default_text() {
    assert_eq!(DENIED_TEXT, "Tool call execution denied.");
}

#[test]
fn validate_names_the_invalid_part() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let bytes = |media: &str, bytes: &[u8]| {
        ToolResultOutput::Content(vec![
            text("x"),
            file(media, FileData::Bytes(bytes.to_vec())),
        ])
    };
    let blob = Blob::new(Vec::new()).reference();
    let cases = [
        (ToolResultOutput::Text("x".into()), None),
        (bytes("image/png", PNG), None),
        (
            bytes("image/jpeg", PNG),
            Some("part 1 of the result is declared as `image/jpeg`, but its bytes are `image/png`"),
        ),
        (
            ToolResultOutput::Content(vec![file("image/png", FileData::Blob(blob))]),
            Some("part 0 of the result refers to a stored blob, which only the host may do"),
        ),
        (ToolResultOutput::Content(vec![text("x"); MAX_PARTS]), None),
        (
            ToolResultOutput::Content(vec![text("x"); MAX_PARTS + 1]),
            Some("the result has 257 parts; the maximum is 256"),
        ),
        (ToolResultOutput::json(nested(100)), None),
        (
            ToolResultOutput::json(nested(101)),
            Some("the JSON of the result nests more than 100 levels deep"),
        ),
        (
            ToolResultOutput::error_json(nested(101)),
            Some("the JSON of the result nests more than 100 levels deep"),
        ),
    ];
    for (output, expected) in cases {
        let expected = expected.map_or(Ok(()), |why| Err(ToolFailure::invalid_output(why)));
        assert_eq!(output.validate(), expected);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // JSON has no infinities; every other double must survive to the last bit.
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("type|value|[a-z]*", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_part() -> impl Strategy<Value = ContentPart> {
    let data = prop_oneof![
        any::<Vec<u8>>().prop_map(FileData::Bytes),
        ".*".prop_map(FileData::Url),
        ".*".prop_map(FileData::Text),
        any::<Vec<u8>>().prop_map(|bytes| FileData::Blob(Blob::new(bytes).reference())),
    ];
    prop_oneof![
        ".*".prop_map(|text| ContentPart::Text { text }),
        (".*", data, prop::option::of(".*")).prop_map(|(media_type, data, filename)| {
            ContentPart::File(FilePart {
                media_type,
                data,
                filename,
            })
        }),
    ]
}

fn any_output() -> impl Strategy<Value = ToolResultOutput> {
    prop_oneof![
        ".*".prop_map(ToolResultOutput::Text),
        any_json().prop_map(ToolResultOutput::json::<Value>),
        prop::collection::vec(any_part(), 0..4).prop_map(ToolResultOutput::Content),
        ".*".prop_map(ToolResultOutput::ErrorText),
        any_json().prop_map(ToolResultOutput::error_json::<Value>),
        prop::option::of(".*").prop_map(ToolResultOutput::ExecutionDenied),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn output_round_trips_through_json(output in any_output()) {
        let text = serde_json::to_string(&output).unwrap();
        prop_assert_eq!(serde_json::from_str::<ToolResultOutput>(&text).unwrap(), output);
    }
}

/// Arguments are approved by their digest and parsed again from text. A parser that is off by one
/// in the last digit (as serde_json is without its feature `float_roundtrip`) would refuse them as
/// altered.
#[test]
fn doubles_round_trip_to_the_last_bit() {
    for text in [
        "31.245270191439438",
        "121.48791951161945",
        "100.78399658203125",
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value.to_string(), text);
    }
}

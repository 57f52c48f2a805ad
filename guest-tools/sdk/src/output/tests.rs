use std::collections::BTreeMap;
use std::fmt;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Data, IntoOutput, Json, Output, Part};

/// An error with a cause, printed as the usual error crates do.
struct Chain;

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if f.alternate() {
            "outer: inner"
        } else {
            "outer"
        })
    }
}

#[test]
fn every_type_becomes_its_variant() {
    let image = Part::File {
        media_type: "image/png".to_owned(),
        data: Data::Bytes(vec![1]),
        filename: None,
    };
    let cases = [
        ("a".into_output(), Output::Text("a".to_owned())),
        (
            String::from("b").into_output(),
            Output::Text("b".to_owned()),
        ),
        (Json([1, 2]).into_output(), Output::Json(json!([1, 2]))),
        (
            json!({"type": "text", "value": "x"}).into_output(),
            Output::Json(json!({"type": "text", "value": "x"})),
        ),
        (
            image.clone().into_output(),
            Output::Content(vec![image.clone()]),
        ),
        (
            vec![Part::text("t"), image.clone()].into_output(),
            Output::Content(vec![Part::Text("t".to_owned()), image.clone()]),
        ),
        (
            Output::image("image/png", vec![1]),
            Output::Content(vec![image]),
        ),
        (
            Ok::<_, Chain>("fine").into_output(),
            Output::Text("fine".to_owned()),
        ),
        (
            Err::<String, _>(Chain).into_output(),
            Output::ErrorText("outer: inner".to_owned()),
        ),
        (
            Ok::<_, Chain>(Output::denied("no")).into_output(),
            Output::Denied(Some("no".to_owned())),
        ),
        (
            Output::error_json(&json!({"status": 404})),
            Output::ErrorJson(json!({"status": 404})),
        ),
    ];
    for (actual, expected) in cases {
        assert_eq!(actual, expected);
    }
}

#[test]
fn value_without_a_json_form_is_an_error() {
    let keys_are_lists = BTreeMap::from([(vec![1], 2)]);
    let expected =
        Output::error("the tool made a result that has no JSON form: key must be a string");
    assert_eq!(Json(&keys_are_lists).into_output(), expected);
    assert_eq!(Output::error_json(&keys_are_lists), expected);
}

#[test]
fn files_take_a_name_and_text_does_not() {
    assert_eq!(
        Output::file("text/csv", vec![b'a'], "a.csv"),
        Output::Content(vec![Part::File {
            media_type: "text/csv".to_owned(),
            data: Data::Bytes(vec![b'a']),
            filename: Some("a.csv".to_owned())
        }])
    );
    assert_eq!(
        Part::url("image/png", "https://example.com/a.png").named("a.png"),
        Part::File {
            media_type: "image/png".to_owned(),
            data: Data::Url("https://example.com/a.png".to_owned()),
            filename: Some("a.png".to_owned())
        }
    );
    assert_eq!(Part::text("t").named("n"), Part::Text("t".to_owned()));
}

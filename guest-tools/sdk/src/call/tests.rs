use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Call, NoInput, run};
use crate::Output;
use crate::schema::input_schema;

fn call() -> Call {
    Call {
        id: "c1".to_owned(),
        name: "add".to_owned(),
        idempotency_key: "k1".to_owned(),
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    a: i64,
    b: i64,
}

#[test]
fn input_mismatch_is_an_error_that_names_the_field() {
    let cases = [
        (r#"{"a":1,"b":2}"#, Output::text("c1: 3")),
        (
            r#"{"a":1}"#,
            Output::error(
                "the input of `add` does not fit: missing field `b` at line 1 column 7; correct it and call again",
            ),
        ),
        (
            r#"{"a":1,"b":2,"c":3}"#,
            Output::error(
                "the input of `add` does not fit: unknown field `c`, expected `a` or `b` at line 1 column 16; correct it and call again",
            ),
        ),
        (
            "[",
            Output::error(
                "the input of `add` does not fit: EOF while parsing a list at line 1 column 1; correct it and call again",
            ),
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(
            run(&call(), input, |call, pair: Pair| format!(
                "{}: {}",
                call.id,
                pair.a + pair.b
            )),
            expected,
            "{input}"
        );
    }
}

#[test]
fn tool_without_parameters_takes_an_empty_object() {
    assert_eq!(
        run(&call(), "{}", |_, NoInput {}| "ran"),
        Output::text("ran")
    );
    assert_eq!(
        input_schema::<NoInput>(),
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
}

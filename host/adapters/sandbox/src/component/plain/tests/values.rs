//! Each type: its schema, and its values in both directions.

use super::{call, failure, load, made::echo};
use crate::ToolComponent;
use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// An interface with these types and a function that takes and returns a list of `ty`.
async fn echoing(types: &str, ty: &str) -> ToolComponent {
    let wit = format!(
        "package test:made; interface api {{ {types} echo: func(v: list<{ty}>) -> list<{ty}>; }} world w {{ export api; }}"
    );
    load(&wit, &echo("test:made/api#echo")).await.unwrap()
}

/// Named types, the type under test, its schema, and its signature.
fn schemas() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let wide = |range: &str, least: Value, most: Value| {
        json!({
            "type": ["integer", "string"], "minimum": least, "maximum": most, "maxLength": 20,
            "description": format!("An integer from {range}; as a string of digits where a number would be inexact."),
        })
    };
    let bytes =
        json!({ "type": "string", "contentEncoding": "base64", "description": "Bytes in base64." });
    let no_number = json!({ "enum": ["NaN", "Infinity", "-Infinity"] });
    let integer =
        |least: i64, most: i64| json!({ "type": "integer", "minimum": least, "maximum": most });
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let tagged = |tag: &str| object(json!({ "tag": { "const": tag } }), &["tag"]);
    let holding = |tag: &str, val: &Value| {
        object(
            json!({ "tag": { "const": tag }, "val": val }),
            &["tag", "val"],
        )
    };
    let maybe = |schema: Value| json!({ "anyOf": [schema, { "type": "null" }] });
    let u32_schema = integer(0, 4_294_967_295);
    vec![
        ("", "bool", json!({ "type": "boolean" }), "bool"),
        ("", "s8", integer(-128, 127), "s8"),
        ("", "s16", integer(-32_768, 32_767), "s16"),
        ("", "u16", integer(0, 65_535), "u16"),
        ("", "s32", integer(-2_147_483_648, 2_147_483_647), "s32"),
        ("", "u32", u32_schema.clone(), "u32"),
        (
            "",
            "s64",
            wide(
                "-9223372036854775808 to 9223372036854775807",
                json!(i64::MIN),
                json!(i64::MAX),
            ),
            "s64",
        ),
        (
            "",
            "u64",
            wide("0 to 18446744073709551615", json!(0), json!(u64::MAX)),
            "u64",
        ),
        (
            "",
            "f32",
            json!({ "anyOf": [
                { "type": "number", "minimum": -3.402_823_5e38, "maximum": 3.402_823_5e38 },
                no_number,
            ] }),
            "f32",
        ),
        (
            "",
            "f64",
            json!({ "anyOf": [{ "type": "number" }, no_number] }),
            "f64",
        ),
        (
            "",
            "char",
            json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            "char",
        ),
        ("", "string", json!({ "type": "string" }), "string"),
        ("", "list<u8>", bytes, "list<u8>"),
        (
            "",
            "list<s8>",
            json!({ "type": "array", "items": integer(-128, 127) }),
            "list<s8>",
        ),
        (
            "",
            "tuple<bool, string>",
            json!({ "type": "array", "prefixItems": [{ "type": "boolean" }, { "type": "string" }], "minItems": 2, "maxItems": 2 }),
            "tuple<bool, string>",
        ),
        (
            "record point { x: u32, in-colour: option<bool> }",
            "point",
            object(
                json!({ "x": u32_schema, "in-colour": maybe(json!({ "type": "boolean" })) }),
                &["x"],
            ),
            "record { x: u32, in-colour: option<bool> }",
        ),
        (
            "variant shape { point, circle(u32) }",
            "shape",
            json!({ "oneOf": [tagged("point"), holding("circle", &u32_schema)] }),
            "variant { point, circle(u32) }",
        ),
        (
            "",
            "result<_, string>",
            json!({ "oneOf": [tagged("ok"), holding("err", &json!({ "type": "string" }))] }),
            "result<_, string>",
        ),
        (
            "",
            "result<option<u32>>",
            json!({ "oneOf": [
                object(json!({ "tag": { "const": "ok" }, "val": maybe(u32_schema.clone()) }), &["tag"]),
                tagged("err"),
            ] }),
            "result<option<u32>>",
        ),
        (
            "enum level { low, high }",
            "level",
            json!({ "type": "string", "enum": ["low", "high"] }),
            "enum { low, high }",
        ),
        (
            "flags rights { read, write }",
            "rights",
            json!({ "type": "array", "items": { "type": "string", "enum": ["read", "write"] }, "uniqueItems": true }),
            "flags { read, write }",
        ),
        ("", "option<u32>", maybe(u32_schema.clone()), "option<u32>"),
        (
            "",
            "option<option<u32>>",
            json!({ "oneOf": [
                tagged("none"),
                object(json!({ "tag": { "const": "some" }, "val": maybe(u32_schema) }), &["tag"]),
            ] }),
            "option<option<u32>>",
        ),
    ]
}

#[tokio::test]
async fn every_type_has_a_schema() {
    for (types, ty, schema, reads) in schemas() {
        let tool = echoing(types, ty).await;
        let list = json!({ "type": "array", "items": schema });
        assert_eq!(
            tool.definitions(),
            [ToolDefinition {
                name: "echo".to_owned(),
                title: None,
                description: format!(
                    "Calls the function `test:made/api#echo(v: list<{reads}>) -> list<{reads}>`."
                ),
                input_schema: json!({
                    "type": "object", "properties": { "v": list }, "required": ["v"], "additionalProperties": false,
                }),
                output_schema: Some(list),
                effect: Effect::ReadOnly,
            }],
            "{ty}"
        );
    }
}

/// A type, argument values, and the result.
fn round_trips() -> Vec<(&'static str, Value, Value)> {
    let same = |ty, value: Value| (ty, value.clone(), value);
    vec![
        same("bool", json!([true, false])),
        ("s8", json!([-128, 127, 1.0]), json!([-128, 127, 1])),
        (
            "u32",
            json!([0, 4_294_967_295_u32, 1e3]),
            json!([0, 4_294_967_295_u32, 1_000]),
        ),
        (
            "s64",
            json!([
                i64::MIN,
                "-9223372036854775808",
                -9_007_199_254_740_991_i64,
                "-9007199254740992",
                "7"
            ]),
            json!([
                "-9223372036854775808",
                "-9223372036854775808",
                -9_007_199_254_740_991_i64,
                "-9007199254740992",
                7
            ]),
        ),
        (
            "u64",
            json!([
                u64::MAX,
                "18446744073709551615",
                9_007_199_254_740_991_u64,
                9_007_199_254_740_992_u64,
                0
            ]),
            json!([
                "18446744073709551615",
                "18446744073709551615",
                9_007_199_254_740_991_u64,
                "9007199254740992",
                0
            ]),
        ),
        (
            "f32",
            json!([
                0.5,
                0.1,
                16_777_217,
                3.402_823_5e38,
                1e-45,
                -0.0,
                "NaN",
                "Infinity",
                "-Infinity"
            ]),
            json!([
                0.5,
                0.1,
                16_777_216.0,
                3.402_823_5e38,
                1e-45,
                -0.0,
                "NaN",
                "Infinity",
                "-Infinity"
            ]),
        ),
        (
            "f64",
            json!([0.1, -0.0, 5e-324, "NaN"]),
            json!([0.1, -0.0, 5e-324, "NaN"]),
        ),
        same("char", json!(["a", "\u{0}", "é", "🦀"])),
        same(
            "string",
            json!(["", "a\u{0}b", "日本語 🦀", "x".repeat(10_000)]),
        ),
        same("list<u8>", json!(["", "AP/+", "aGk="])),
        ("u8", json!("AP/+"), json!("AP/+")),
        same("tuple<u8, tuple<string>>", json!([[1, ["a"]]])),
        same(
            "result<u8, string>",
            json!([{ "tag": "ok", "val": 1 }, { "tag": "err", "val": "no" }]),
        ),
        same("result", json!([{ "tag": "ok" }, { "tag": "err" }])),
        same("option<string>", json!([null, "null"])),
        same(
            "option<option<bool>>",
            json!([{ "tag": "none" }, { "tag": "some", "val": null }, { "tag": "some", "val": true }]),
        ),
        same("list<list<string>>", json!([[], [[]], [["a"], []]])),
    ]
}

#[tokio::test]
async fn values_round_trip() {
    for (ty, input, expected) in round_trips() {
        let tool = echoing("", ty).await;
        assert_eq!(
            call(&tool, "echo", &json!({ "v": input })).await,
            ToolResultOutput::json(expected),
            "{ty}"
        );
    }
}

#[tokio::test]
async fn named_type_values_round_trip() {
    let names: Vec<String> = (0..300).map(|at| format!("e{at}")).collect();
    let wide = format!("enum wide {{ {} }}", names.join(", "));
    let cases = [
        (wide.as_str(), "wide", json!(names), json!(names)),
        (
            "record point { x: u16, note: option<string> }",
            "point",
            json!([{ "x": 1 }, { "x": 2, "note": null }, { "x": 3, "note": "n" }]),
            json!([{ "x": 1, "note": null }, { "x": 2, "note": null }, { "x": 3, "note": "n" }]),
        ),
        (
            "variant shape { point, circle(f64), named(string) }",
            "shape",
            json!([{ "tag": "point" }, { "tag": "circle", "val": 2 }, { "tag": "named", "val": "x" }]),
            json!([{ "tag": "point" }, { "tag": "circle", "val": 2.0 }, { "tag": "named", "val": "x" }]),
        ),
        (
            "enum level { low, high }",
            "level",
            json!(["high", "low"]),
            json!(["high", "low"]),
        ),
        (
            "flags rights { read, write, run }",
            "rights",
            json!([["run", "read"], []]),
            json!([["read", "run"], []]),
        ),
    ];
    for (types, ty, input, expected) in cases {
        let tool = echoing(types, ty).await;
        assert_eq!(
            call(&tool, "echo", &json!({ "v": input })).await,
            ToolResultOutput::json(expected),
            "{ty}"
        );
    }
}

/// The function always traps, so a value that reaches it is a `trap`.
async fn trapping(types: &str, ty: &str) -> ToolComponent {
    let wit = format!(
        "package test:made; interface api {{ {types} take: func(v: list<{ty}>); }} world w {{ export api; }}"
    );
    let core = r#"(func (export "test:made/api#take") (param i32 i32) unreachable)"#;
    load(&wit, core).await.unwrap()
}

#[tokio::test]
async fn mistyped_argument_never_reaches_the_function() {
    let cases = [
        ("", "bool", json!(0)),
        ("", "s8", json!(128)),
        ("", "s8", json!(-129)),
        ("", "s8", json!(1.5)),
        ("", "s8", json!("1")),
        ("", "u32", json!(-1)),
        ("", "u64", json!("18446744073709551616")),
        ("", "u64", json!(1.8446744073709552e19)),
        ("", "u64", json!("-1")),
        ("", "u64", json!("")),
        ("", "u64", json!("1.0")),
        ("", "s64", json!("9223372036854775808")),
        ("", "f32", json!(1e39)),
        ("", "f64", json!("nan")),
        ("", "char", json!("")),
        ("", "char", json!("ab")),
        ("", "string", json!(1)),
        ("", "list<u8>", json!([1, 2])),
        ("", "list<u8>", json!("aGk")),
        ("", "list<u8>", json!("a-_=")),
        ("", "tuple<u8, u8>", json!([1])),
        ("", "tuple<u8, u8>", json!([1, 2, 3])),
        ("record r { x: u8 }", "r", json!({})),
        ("record r { x: u8 }", "r", json!({ "x": 1, "y": 1 })),
        ("record r { x: u8 }", "r", json!({ "x": null })),
        ("variant c { a, b(u8) }", "c", json!({ "tag": "c" })),
        ("variant c { a, b(u8) }", "c", json!({ "tag": "b" })),
        (
            "variant c { a, b(u8) }",
            "c",
            json!({ "tag": "a", "val": 1 }),
        ),
        ("variant c { a, b(u8) }", "c", json!("a")),
        ("enum e { a, b }", "e", json!("c")),
        ("flags f { a, b }", "f", json!(["a", "a"])),
        ("flags f { a, b }", "f", json!(["c"])),
        ("", "option<u8>", json!("1")),
    ];
    for (types, ty, value) in cases {
        let tool = trapping(types, ty).await;
        let input = json!({ "v": [value] });
        let output = call(&tool, "take", &input).await;
        assert_eq!(failure(&output).0, "invalid-input", "{ty} {value}");
        let object = input.as_object().unwrap();
        let fits = tool.check_input("take", &object.clone().into());
        let refused = fits.and_then(|()| tool.check("take", object)).unwrap_err();
        assert_eq!(failure(&refused.into()), failure(&output), "{ty} {value}");
    }
    // Cases that the tables above do not reach.
    let tool = trapping("", "bool").await;
    let output = call(&tool, "take", &json!({ "v": [true] })).await;
    assert_eq!(failure(&output).0, "trap");
}

#[tokio::test]
async fn argument_error_beyond_schema_names_its_path() {
    let tool = trapping("record r { a: tuple<bool, u64> }", "r").await;
    let output = call(&tool, "take", &json!({ "v": [{ "a": [true, "x"] }] })).await;
    assert_eq!(
        failure(&output).1,
        "The arguments do not match the function's types; it did not run. `/v/0/a/1` is not an integer in the valid \
         range"
    );
    let many = json!({ "v": vec![false; 400_000] });
    let output = call(&trapping("", "bool").await, "take", &many).await;
    assert_eq!(
        failure(&output).1,
        "The arguments do not match the function's types; it did not run. `/v/399999` is too large: all arguments \
         together may have at most 400000 values, counting each byte in a list of bytes"
    );
}

#[tokio::test]
async fn parameters_are_input_fields() {
    let wit = "package test:made; world w { export pick: func(first-name: string, times: option<u8>) -> u32; export all: func(); }";
    let core = r#"(func (export "pick") (param i32 i32 i32 i32) (result i32)
            (i32.add (local.get 1) (i32.mul (local.get 2) (local.get 3))))
        (func (export "all"))"#;
    let tool = load(wit, core).await.unwrap();
    let [pick, all] = tool.definitions() else {
        panic!("{:?}", tool.definitions());
    };
    assert_eq!(
        (pick.name.as_str(), &pick.input_schema, &pick.output_schema),
        (
            "pick",
            &json!({
                "type": "object",
                "properties": {
                    "first-name": { "type": "string" },
                    "times": { "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 255 }, { "type": "null" }] },
                },
                "required": ["first-name"],
                "additionalProperties": false,
            }),
            &Some(json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 })),
        )
    );
    assert_eq!(
        (
            all.name.as_str(),
            &all.input_schema,
            &all.output_schema,
            all.description.as_str()
        ),
        (
            "all",
            &json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false }),
            &None,
            "Calls the function `all()`.",
        )
    );
    let cases = [
        (json!({ "first-name": "abc", "times": 5 }), json!(8)),
        (json!({ "first-name": "abc", "times": null }), json!(3)),
        (json!({ "first-name": "" }), json!(0)),
    ];
    for (input, expected) in cases {
        assert_eq!(
            call(&tool, "pick", &input).await,
            ToolResultOutput::json(expected)
        );
    }
    assert_eq!(
        call(&tool, "all", &json!({})).await,
        ToolResultOutput::json(Value::Null)
    );
    let output = call(&tool, "none", &json!({})).await;
    assert_eq!(failure(&output).0, "unknown-tool");
}

//! Outcomes of calls of plain functions: results by their types, and the same failures as any other
//! tool.

use super::{call, failure, load, report};
use agent_host_types::{limits::Limits, output::ToolResultOutput};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Signatures, their code, and the outcome of a call.
fn results() -> Vec<(&'static str, String, ToolResultOutput)> {
    use ToolResultOutput::{ErrorText, Text};
    // At 8: the case of a result; at 12 and 16 its payload: the text at 24.
    const HI: &str = r#"(data (i32.const 24) "hi")"#;
    vec![
        ("()", "", ToolResultOutput::json(Value::Null)),
        ("() -> bool", "(i32.const 1)", ToolResultOutput::json(json!(true))),
        ("() -> u64", "(i64.const -1)", ToolResultOutput::json(json!("18446744073709551615"))),
        ("() -> s64", "(i64.const -1)", ToolResultOutput::json(json!(-1))),
        ("() -> f64", "(f64.const nan)", ToolResultOutput::json(json!("NaN"))),
        ("() -> char", "(i32.const 0x1f980)", ToolResultOutput::json(json!("🦀"))),
        ("() -> string", "(call $return (i32.const 24) (i32.const 2))", Text("hi".to_owned())),
        ("() -> list<u8>", "(call $return (i32.const 24) (i32.const 2))", ToolResultOutput::json(json!("aGk="))),
        ("() -> option<u8>", "(i32.const 8)", ToolResultOutput::json(Value::Null)),
        ("() -> result", "(i32.const 0)", ToolResultOutput::json(Value::Null)),
        (
            "() -> result",
            "(i32.const 1)",
            ErrorText("The function failed without a reason.".to_owned()),
        ),
        (
            "() -> result<string, u8>",
            "(i32.store (i32.const 12) (i32.const 24)) (i32.store (i32.const 16) (i32.const 2)) (i32.const 8)",
            Text("hi".to_owned()),
        ),
        (
            "() -> result<u8, string>",
            "(i32.store8 (i32.const 8) (i32.const 1)) (i32.store (i32.const 12) (i32.const 24)) (i32.store (i32.const 16) (i32.const 2)) (i32.const 8)",
            ErrorText("hi".to_owned()),
        ),
        (
            "() -> result<u8, tuple<u8, u8>>",
            "(i32.store8 (i32.const 8) (i32.const 1)) (i32.store8 (i32.const 9) (i32.const 3)) (i32.store8 (i32.const 10) (i32.const 4)) (i32.const 8)",
            ToolResultOutput::error_json(json!([3, 4])),
        ),
        (
            "() -> result<tuple<u8, u8>>",
            "(i32.store8 (i32.const 9) (i32.const 3)) (i32.const 8)",
            ToolResultOutput::json(json!([3, 0])),
        ),
    ]
    .into_iter()
    .map(|(signature, code, expected)| {
        let core = match signature {
            "()" => r#"(func (export "f"))"#.to_owned(),
            "() -> u64" | "() -> s64" => format!(r#"(func (export "f") (result i64) {code})"#),
            "() -> f64" => format!(r#"(func (export "f") (result f64) {code})"#),
            _ => format!(r#"{HI} (func (export "f") (result i32) {code})"#),
        };
        (signature, core, expected)
    })
    .collect()
}

#[tokio::test]
async fn function_result_converts_by_its_type() {
    for (signature, core, expected) in results() {
        let wit = format!("package test:made; world w {{ export f: func{signature}; }}");
        let tool = load(&wit, &core).await.unwrap();
        assert_eq!(call(&tool, "f", &json!({})).await, expected, "{signature}");
    }
}

/// A result type, the code, and the failure code.
const ENDS: [(&str, &str, &str); 12] = [
    ("-> u32", "unreachable", "trap"),
    ("-> u32", "(loop $l (br $l)) unreachable", "timeout"),
    ("-> u32", "(call $f)", "stack-overflow"),
    (
        "-> u32",
        "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 16))))) unreachable",
        "out-of-memory",
    ),
    // More than `output-bytes`.
    (
        "-> string",
        "(drop (memory.grow (i32.const 32))) (call $return (i32.const 65536) (i32.const 2000000))",
        "output-too-large",
    ),
    // More than `max-transfer-bytes`, counted by the values.
    (
        "-> list<u8>",
        "(drop (memory.grow (i32.const 32))) (call $return (i32.const 65536) (i32.const 500000))",
        "output-too-large",
    ),
    (
        "-> list<result>",
        "(drop (memory.grow (i32.const 32))) (call $return (i32.const 65536) (i32.const 500000))",
        "output-too-large",
    ),
    (
        "-> string",
        "(i32.store8 (i32.const 24) (i32.const 255)) (call $return (i32.const 24) (i32.const 1))",
        "invalid-output",
    ),
    (
        "-> string",
        "(call $return (i32.const 65536) (i32.const 1))",
        "invalid-output",
    ),
    (
        "-> list<u32>",
        "(call $return (i32.const 2) (i32.const 1))",
        "invalid-output",
    ),
    ("-> char", "(i32.const 0xd800)", "invalid-output"),
    ("-> result", "(i32.const 2)", "invalid-output"),
];

#[tokio::test]
async fn plain_function_failures_match_other_tools() {
    let limits = Limits {
        deadline_ms: 300,
        memory_bytes: 16 * 1024 * 1024,
        output_bytes: 1024 * 1024,
        ..Limits::default()
    };
    for (returns, code, expected) in ENDS {
        let wit = format!("package test:made; world w {{ export f: func() {returns}; }}");
        let core = format!(r#"(func $f (export "f") (result i32) {code})"#);
        let tool = load(&wit, &core).await.unwrap();
        let report = report(&tool, "f", &json!({}), &limits).await;
        assert_eq!(
            failure(&report.output).0,
            expected,
            "{returns} {code}: {report:?}"
        );
        assert_eq!(report.accounting.limits, Some(limits.clone()));
    }
}

#[tokio::test]
async fn trap_in_post_return_fails_the_call() {
    let wit = "package test:made; world w { export f: func() -> string; }";
    let core = r#"(func (export "f") (result i32) (call $return (i32.const 24) (i32.const 1)))
        (func (export "cabi_post_f") (param i32) unreachable)"#;
    let tool = load(wit, core).await.unwrap();
    let report = report(&tool, "f", &json!({}), &Limits::default()).await;
    assert_eq!(failure(&report.output).0, "trap");
}

#[tokio::test]
async fn calls_share_no_state() {
    let wit = "package test:made; world w { export next: func() -> u32; }";
    let core = r#"(global $count (mut i32) (i32.const 0))
        (func (export "next") (result i32)
            (global.set $count (i32.add (global.get $count) (i32.const 1)))
            (global.get $count))"#;
    let tool = load(wit, core).await.unwrap();
    for _ in 0..40 {
        let report = report(&tool, "next", &json!({}), &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::json(json!(1)));
    }
}

/// A result that takes long to convert leaves its caller's thread first.
#[tokio::test]
async fn large_result_converts_whole() {
    let wit = "package test:made; world w { export f: func(v: list<string>) -> list<string>; }";
    let tool = load(wit, &super::made::echo("f")).await.unwrap();
    let words: Vec<String> = (0..5_000).map(|index| format!("word {index}")).collect();
    for _ in 0..20 {
        let report = report(&tool, "f", &json!({ "v": words }), &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::json(json!(words)));
    }
}

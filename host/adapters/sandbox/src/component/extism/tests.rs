//! The plugins in `tests/guests/extism`, made with the PDK, and hostile ones as WebAssembly text.
//! `tests/interop/extism.rs` compares with Extism's own host.

use super::compose;
use crate::{
    LoadFault, Sandbox, SandboxConfig, ToolComponent, call::tests::call_as,
    component::tool::Compiled, engine::Allocator, mutations::mutated,
};
use agent_host_engine::{policy::Grants, tool::CallReport};
use agent_host_types::{
    failure::FailureFields,
    id::Digest,
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The imports of a plugin that says something.
const IMPORTS: &str = r#"
    (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
    (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
    (import "extism:host/env" "output_set" (func $output (param i64 i64)))
    (import "extism:host/env" "error_set" (func $error (param i64)))
    (memory (export "memory") 1)"#;

fn real(name: &str) -> Vec<u8> {
    let guests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/guests/extism");
    std::fs::read(format!("{guests}/{name}.wasm")).unwrap()
}

fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn call(tool: &ToolComponent, name: &str, input: Value) -> CallReport {
    let limits = Limits {
        memory_bytes: 32 << 20,
        ..Limits::default()
    };
    let grants = Grants::default();
    call_as(Effect::Effectful, tool, name, input, grants, &limits).await
}

fn plugin(functions: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {IMPORTS} {functions})")).unwrap()
}

/// A function that names a text as its output, before it writes it, or as its error.
fn says(export: &str, text: &str, is_error: bool) -> String {
    let bytes = text.len();
    let (named, code) = match is_error {
        true => ("(call $error (local.get $at))".to_owned(), 1),
        false => (
            format!("(call $output (local.get $at) (i64.const {bytes}))"),
            0,
        ),
    };
    let stores = text.bytes().enumerate().map(|(index, byte)| {
        let address = format!("(i64.add (local.get $at) (i64.const {index}))");
        format!("(call $store {address} (i32.const {byte}))")
    });
    let stores: String = stores.collect();
    format!(
        "(func (export \"{export}\") (result i32) (local $at i64)
        (local.set $at (call $alloc (i64.const {bytes}))) {named} {stores} (i32.const {code}))"
    )
}

fn lists(tools: &str) -> Vec<u8> {
    plugin(
        &[
            says("list_tools", tools, false),
            says("call_tool", "{}", false),
        ]
        .concat(),
    )
}

/// The failure of a call, as `code: message`.
fn failure(report: CallReport) -> String {
    let ToolResultOutput::ErrorJson(json) = report.output else {
        panic!("it does not fail: {:?}", report.output);
    };
    let FailureFields { code, message } = FailureFields::from_json(&json).unwrap();
    format!("{code}: {message}")
}

async fn refusal(bytes: &[u8]) -> String {
    sandbox().load(bytes).await.unwrap_err().to_string()
}

fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.to_owned())
}

fn error(text: &str) -> ToolResultOutput {
    ToolResultOutput::ErrorText(text.to_owned())
}

#[tokio::test]
async fn plugin_of_hyper_mcp_offers_what_it_lists() {
    let bytes = real("tools");
    let tool = sandbox().load(bytes.as_slice()).await.unwrap();
    assert_eq!(tool.format(), "Extism plugin (hyper-mcp-v2), WASI 0.2");
    assert_eq!(tool.digest(), Digest::of(&bytes));
    assert_eq!(tool.allocator(), Allocator::Pooling);
    let tools = tool.definitions().iter();
    let tools: Vec<_> = tools.map(|it| (it.name.as_str(), it.effect)).collect();
    assert_eq!(
        tools,
        [
            ("greet", Effect::ReadOnly),
            ("sum", Effect::Idempotent),
            ("picture", Effect::Effectful),
            ("refuse", Effect::Effectful),
            ("ask", Effect::Effectful),
            ("sample", Effect::Effectful),
            ("request", Effect::Effectful),
        ]
    );
    assert_eq!(
        tool.notes(),
        [
            "functions that are not tools: configured, count_up, count_vowels, crash, fail, get, grow, leave, list_prompts, \
          log, reverse, spin, wasi"
        ]
    );
}

#[tokio::test]
async fn results_of_hyper_mcp_become_results() {
    let tool = sandbox().load(real("tools")).await.unwrap();
    let file = |media_type: &str, data| {
        ContentPart::File(FilePart {
            media_type: media_type.to_owned(),
            data,
            filename: None,
        })
    };
    let part = |text: &str| ContentPart::Text {
        text: text.to_owned(),
    };
    let request = json!({"context": {"id": "call-1", "_meta": {}}, "request": {"name": "request", "arguments": {"a": [1, null]}}});
    for (name, input, expected) in [
        ("greet", json!({"name": "Ann"}), text("Hello, Ann!")),
        (
            "sum",
            json!({"numbers": [1, 2.5]}),
            ToolResultOutput::json(json!({"sum": 3.5})),
        ),
        ("refuse", json!({}), error("no\nnot now")),
        (
            "request",
            json!({"a": [1, null]}),
            ToolResultOutput::json(request),
        ),
        (
            "ask",
            json!({}),
            ToolResultOutput::Content(vec![
                part(r#"{"action":"decline"}"#),
                part(r#"{"roots":[]}"#),
            ]),
        ),
    ] {
        assert_eq!(call(&tool, name, input).await.output, expected, "{name}");
    }
    let ToolResultOutput::Content(parts) = call(&tool, "picture", json!({})).await.output else {
        panic!("a picture is content");
    };
    let [pixel, image, table, link] = parts.try_into().unwrap();
    assert_eq!(pixel, part("A pixel:"));
    let ContentPart::File(image) = image else {
        panic!("an image is a file");
    };
    assert_eq!(image.media_type, "image/png");
    assert_eq!(table, file("text/csv", FileData::Text("a,b\n".to_owned())));
    assert_eq!(
        link,
        part(r#"{"name":"x","type":"resource_link","uri":"https://example.com/x"}"#)
    );
    assert_eq!(
        failure(call(&tool, "sample", json!({})).await),
        "trap: The tool crashed: this host does not offer `create_message` to plugins"
    );
}

#[tokio::test]
async fn functions_of_plugin_take_and_give_text_and_json() {
    let tool = sandbox().load(real("functions")).await.unwrap();
    assert_eq!(tool.format(), "Extism plugin (functions), WASI 0.2");
    let wasi = json!({"after_2020": true, "arguments": 0, "directory": false, "file": false, "hashed": true,
        "variables": 0, "written": false});
    for (name, input, expected) in [
        (
            "count_vowels",
            json!({"input": "banana"}),
            ToolResultOutput::json(json!({"count": 3})),
        ),
        (
            "count_vowels",
            json!({"input": {"a": ["e"]}}),
            ToolResultOutput::json(json!({"count": 2})),
        ),
        (
            "count_vowels",
            json!({}),
            ToolResultOutput::json(json!({"count": 0})),
        ),
        ("reverse", json!({"input": "abc"}), text("cba")),
        ("configured", json!({"input": "key"}), text("(none)")),
        ("count_up", json!({}), text("Some(3) None")),
        ("log", json!({"input": "x"}), text("logged")),
        ("fail", json!({"input": "rain"}), error("not today: rain")),
        ("wasi", json!({}), ToolResultOutput::json(wasi)),
    ] {
        assert_eq!(call(&tool, name, input).await.output, expected, "{name}");
    }
}

#[tokio::test]
async fn plugin_that_ends_or_takes_too_much_fails_in_one_sentence() {
    let tool = sandbox().load(real("functions")).await.unwrap();
    for (name, expected) in [
        (
            "leave",
            "trap: The tool crashed: the plugin ended itself with exit code 3",
        ),
        ("crash", "trap: The tool crashed: it broke"),
        (
            "grow",
            "out-of-memory: The tool needed more memory than the 33554432 bytes allowed for one call (limit \
             `memory-bytes`). Try it with a smaller input.",
        ),
    ] {
        let report = call(&tool, name, json!({})).await;
        assert_eq!(failure(report), expected, "{name}");
    }
    let limits = Limits {
        deadline_ms: 50,
        ..Limits::default()
    };
    let (input, grants) = (json!({}), Grants::default());
    let spun = call_as(Effect::Effectful, &tool, "spin", input, grants, &limits).await;
    assert!(failure(spun).starts_with("timeout: "));
}

#[tokio::test]
async fn definitions_of_plugin_are_checked_like_any_other() {
    for (list, expected) in [
        (
            "{",
            "`list_tools` failed: it returned malformed JSON: EOF while parsing an object at line 1 column 1",
        ),
        ("7", "`list_tools` failed: it returned no list of `tools`"),
        (
            r#"{"tools":[{}]}"#,
            "`list_tools` failed: it listed a tool without a `name`",
        ),
        (r#"{"tools":[]}"#, "it defines no tools"),
    ] {
        let error = refusal(&lists(list)).await;
        assert!(error.contains(expected), "{list}: {error}");
        assert!(
            error.starts_with("cannot use the component's tool definitions: "),
            "{error}"
        );
    }
    for (functions, expected) in [
        (says("list_tools", "no tools today", true), "`list_tools` failed: no tools today"),
        (r#"(func (export "list_tools") (result i32) (i32.const 7))"#.to_owned(),
         "`list_tools` failed: the plugin returned the code 7 and no error"),
        (r#"(func (export "list_tools") (result i32) (unreachable))"#.to_owned(), "trap: "),
        (r#"(func (export "list_tools") (result i32) (call $output (i64.const 38654705664) (i64.const 9)) (i32.const 0))"#.to_owned(),
         "the plugin's output is outside of its memory"),
        (r#"(func (export "list_tools") (result i32) (loop (drop (call $alloc (i64.const 1048576))) (br 0)) (i32.const 0))"#.to_owned(),
         "out-of-memory: "),
        (r#"(func (export "list_tools") (result i32) (drop (call $alloc (i64.const -1))) (i32.const 0))"#.to_owned(),
         "the memory is full"),
        (r#"(func (export "list_tools") (result i32) (i32.const 0)) (func (export "_initialize") (unreachable))"#.to_owned(), "trap: "),
        (r#"(func (export "list_tools") (result i32) (i32.const 0)) (func $start (unreachable)) (start $start)"#.to_owned(), "trap: "),
    ] {
        let calls = says("call_tool", "{}", false);
        let error = refusal(&plugin(&[functions, calls].concat())).await;
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn module_that_is_no_plugin_for_this_host_is_refused() {
    for (module, expected) in [
        (
            r#"(import "extism:host/env" "frob" (func))"#,
            "it imports `extism:host/env frob`, which is not offered",
        ),
        (
            r#"(import "extism:host/user" "mine" (func))"#,
            "it imports `extism:host/user mine`, which is not offered",
        ),
        (
            r#"(import "env" "abort" (func))"#,
            "it imports `env abort`, which is not offered",
        ),
        (
            r#"(import "extism:host/env" "free" (func (param i32)))"#,
            "type mismatch",
        ),
        (
            r#"(import "extism:host/env" "free" (memory 1))"#,
            "type mismatch",
        ),
        (
            r#"(func (export "list_tools") (param i32)) (func (export "call_tool"))"#,
            "type mismatch",
        ),
        (
            r#"(func (export "_initialize") (param i32))"#,
            "type mismatch",
        ),
    ] {
        let bytes = match module.starts_with("(import") {
            true => wat::parse_str(format!("(module {module} {IMPORTS})")),
            false => wat::parse_str(format!("(module {IMPORTS} {module})")),
        };
        let error = refusal(&bytes.unwrap()).await;
        assert!(error.contains(expected), "{module}: {error}");
        assert!(
            error.starts_with("the module is an Extism plugin that this host does not run: "),
            "{error}"
        );
    }
    let other =
        wat::parse_str(r#"(module (func (export "f") (result i32) (i32.const 0)))"#).unwrap();
    let mentions =
        wat::parse_str(r#"(module (memory 1) (data (i32.const 0) "extism:host/env"))"#).unwrap();
    for bytes in [other, mentions] {
        let error = sandbox().load(bytes.as_slice()).await.unwrap_err();
        assert_eq!(error.fault(), LoadFault::NotAComponent, "{error}");
    }
}

#[tokio::test]
async fn truncated_plugin_is_refused() {
    let bytes = real("functions");
    let sandbox = sandbox();
    for part in 1..64 {
        let cut = bytes.len() * part / 64;
        let error = sandbox.load(&bytes[..cut]).await.unwrap_err().to_string();
        assert!(error.len() < 500, "{cut}: {error}");
    }
}

#[tokio::test]
async fn names_and_memory_that_lie_do_not_confuse_functions() {
    let functions = [
        says("b", "I am b", false),
        says("a\\0ab", "I am two", false),
        says("c", "I am c", false),
        r#"(func (export "takes") (param i32))"#.to_owned(),
        r#"(func (export "gives") (result i64) (i64.const 0))"#.to_owned(),
    ];
    let tool = sandbox().load(plugin(&functions.concat())).await.unwrap();
    assert_eq!(tool.notes(), ["functions that are not tools: gives, takes"]);
    for name in ["b", "c"] {
        let output = call(&tool, name, json!({})).await.output;
        assert_eq!(output, text(&format!("I am {name}")));
    }
    let no_memory = r#"(module (import "extism:host/env" "input_length" (func $input (result i64)))
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (func (export "memory") (result i32) (call $random (i32.const 0) (i32.const 8))))"#;
    let tool = sandbox()
        .load(wat::parse_str(no_memory).unwrap())
        .await
        .unwrap();
    let failure = failure(call(&tool, "memory", json!({})).await);
    assert!(failure.starts_with("trap: "), "{failure}");
}

#[tokio::test]
async fn plugin_in_the_cache_stays_one() {
    let dir = tempfile::tempdir().unwrap();
    for compiled in [Compiled::Now, Compiled::FromCache] {
        let sandbox = Sandbox::new(SandboxConfig {
            concurrent_calls: 4,
            cache_dir: Some(dir.path().join("cache")),
            ..SandboxConfig::default()
        });
        let tool = sandbox.unwrap().load(real("tools")).await.unwrap();
        assert_eq!(tool.compiled(), compiled);
        assert_eq!(tool.format(), "Extism plugin (hyper-mcp-v2), WASI 0.2");
        assert_eq!(tool.notes().len(), 1);
        let greeted = call(&tool, "greet", json!({"name": "Ann"})).await.output;
        assert_eq!(greeted, text("Hello, Ann!"));
    }
}

proptest! {
    /// A mutated plugin is composed, or refused in one sentence.
    #[test]
    fn plugin_bytes(bytes in Just(lists("{}")).prop_flat_map(mutated)) {
        if let Err(error) = compose(bytes.into()) {
            prop_assert!(error.to_string().len() < 600, "{error}");
        }
    }
}

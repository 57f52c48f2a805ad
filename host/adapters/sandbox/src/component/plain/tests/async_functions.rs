//! Components with async functions: their other functions are tools.

use super::*;
use pretty_assertions::assert_eq;

/// The core functions of an async function `f` without parameters, as toolchains export them.
const ASYNC_F: &str = r#"
    (func (export "[async-lift]f") (result i32) unreachable)
    (func (export "[callback][async-lift]f") (param i32 i32 i32) (result i32) unreachable)"#;

/// A plain function that adds one.
const NEXT: &str = r#"(func (export "next") (param i32) (result i32)
    (i32.add (local.get 0) (i32.const 1)))"#;

/// A component whose plain functions stay: the WIT, the items of its core module, and the notes on
/// the functions that are left out.
struct Mixed {
    items: &'static str,
    core: String,
    left_out: &'static [&'static str],
}

fn mixed() -> Vec<Mixed> {
    let with = |core: &str| format!("{core}{ASYNC_F}{NEXT}");
    let f_is_async = &["`f`: it is an async function, which needs `wasi = \"0.3\"` in `[sandbox]`"];
    vec![
        Mixed {
            items: "export f: async func() -> string; export next: func(n: u32) -> u32;",
            core: with(
                r#"(import "[export]$root" "[task-return]f" (func (param i32 i32)))
                (import "$root" "[context-get-0]" (func (result i32)))"#,
            ),
            left_out: f_is_async,
        },
        // Both imports are only those of the async function.
        Mixed {
            items: "import wait: async func(ms: u64); import host: interface { nap: async func(); }
                export f: async func(); export next: func(n: u32) -> u32;",
            core: with(
                r#"(import "[export]$root" "[task-return]f" (func))
                (import "$root" "[async-lower]wait" (func (param i64) (result i32)))
                (import "host" "[async-lower]nap" (func (result i32)))
                (import "host" "nap" (func))"#,
            ),
            left_out: f_is_async,
        },
        // Functions before and after those that are left out keep their meaning.
        Mixed {
            items: "export f: async func(); export next: func(n: u32) -> u32;
                export ops: interface {
                    record item { bytes: stream<u8> }
                    a: func(n: u32) -> u32;
                    slow: async func(n: u32) -> u32;
                    put: func(i: item);
                    get: func() -> future<string>;
                    b: func(n: u32) -> u32;
                }",
            core: with(
                r#"(import "[export]$root" "[task-return]f" (func))
                (import "[export]ops" "[task-return]slow" (func (param i32)))
                (import "[export]ops" "[stream-new-0]put" (func (result i64)))
                (import "[export]ops" "[future-drop-readable-0]get" (func (param i32)))
                (func (export "[async-lift]ops#slow") (param i32) (result i32) unreachable)
                (func (export "[callback][async-lift]ops#slow") (param i32 i32 i32) (result i32)
                    unreachable)
                (func (export "ops#a") (param i32) (result i32) (i32.const 7))
                (func (export "ops#b") (param i32) (result i32) (i32.const 8))
                (func (export "ops#put") (param i32))
                (func (export "ops#get") (result i32) unreachable)"#,
            ),
            left_out: &[
                "`f`: it is an async function, which needs `wasi = \"0.3\"` in `[sandbox]`",
                "`ops#slow`: it is an async function, which needs `wasi = \"0.3\"` in `[sandbox]`",
                "`ops#put`: its types have a stream, which needs `wasi = \"0.3\"` in `[sandbox]`",
                "`ops#get`: its types have a future, which needs `wasi = \"0.3\"` in `[sandbox]`",
            ],
        },
        // An async function that was lifted as a blocking one.
        Mixed {
            items: "export f: async func(); export next: func(n: u32) -> u32;",
            core: format!(r#"(func (export "f")) {NEXT}"#),
            left_out: f_is_async,
        },
    ]
}

#[tokio::test]
async fn plain_functions_beside_async_ones_are_tools() {
    for Mixed {
        items,
        core,
        left_out,
    } in mixed()
    {
        let wit = format!("package test:made; world w {{ {items} }}");
        let tool = load(&wit, &core).await.unwrap();
        let mut notes = tool.notes().to_vec();
        notes.sort_by_key(|note| left_out.iter().position(|left_out| left_out == note));
        assert_eq!(notes, left_out, "{items}");
        assert_eq!(
            call(&tool, "next", &json!({"n": 41})).await,
            ToolResultOutput::json(json!(42)),
            "{items}"
        );
        let others: &[(&str, u32)] = match names(&tool).len() {
            1 => &[],
            _ => &[("a", 7), ("b", 8)],
        };
        for (name, expected) in others {
            let output = call(&tool, name, &json!({"n": 1})).await;
            assert_eq!(output, ToolResultOutput::json(json!(expected)), "{name}");
        }
    }
}

/// The functions of the host for async functions: name, type, and a call of it.
const BUILTINS: [(&str, &str, &str); 21] = [
    ("[context-get-0]", "(result i32)", "drop"),
    ("[context-set-0]", "(param i32)", ""),
    ("[backpressure-inc]", "", ""),
    ("[backpressure-dec]", "", ""),
    ("[waitable-set-new]", "(result i32)", "drop"),
    (
        "[waitable-set-wait]",
        "(param i32 i32) (result i32)",
        "drop",
    ),
    (
        "[waitable-set-poll]",
        "(param i32 i32) (result i32)",
        "drop",
    ),
    ("[waitable-set-drop]", "(param i32)", ""),
    ("[waitable-join]", "(param i32 i32)", ""),
    ("[subtask-drop]", "(param i32)", ""),
    ("[subtask-cancel]", "(param i32) (result i32)", "drop"),
    ("[thread-yield]", "(result i32)", "drop"),
    ("[stream-new-0]take", "(result i64)", "drop"),
    (
        "[async-lower][stream-read-0]take",
        "(param i32 i32 i32) (result i32)",
        "drop",
    ),
    (
        "[async-lower][stream-write-0]take",
        "(param i32 i32 i32) (result i32)",
        "drop",
    ),
    ("[stream-drop-readable-0]take", "(param i32)", ""),
    ("[stream-drop-writable-0]take", "(param i32)", ""),
    ("[future-new-1]take", "(result i64)", "drop"),
    (
        "[async-lower][future-read-1]take",
        "(param i32 i32) (result i32)",
        "drop",
    ),
    (
        "[async-lower][future-write-1]take",
        "(param i32 i32) (result i32)",
        "drop",
    ),
    ("[future-drop-readable-1]take", "(param i32)", ""),
];

#[tokio::test]
async fn async_builtin_in_plain_function_traps_at_once() {
    let wit = "package test:made; world w {
        export f: async func();
        export take: func(bytes: stream<u8>, last: future<string>);
        export flood: func() -> u32;
    }";
    let sandbox = sandbox();
    for (name, ty, after) in BUILTINS {
        let module = if name.ends_with("take") {
            "[export]$root"
        } else {
            "$root"
        };
        let zeros =
            "(i32.const 0)".repeat(ty.split(" (result").next().unwrap().matches("i32").count());
        let zeros = if ty.starts_with("(param") {
            zeros.as_str()
        } else {
            ""
        };
        // It never ends by itself.
        let core = format!(
            r#"(import "{module}" "{name}" (func $builtin {ty}))
            {ASYNC_F}
            (func (export "take") (param i32 i32))
            (func (export "flood") (result i32)
                (loop $again {zeros} (call $builtin) {after} (br $again)) unreachable)"#
        );
        let tool = sandbox.load(component(wit, &core)).await.unwrap();
        assert_eq!(names(&tool), ["flood"], "{name}");
        let report = report(&tool, "flood", &json!({}), &Limits::default()).await;
        let (code, message) = failure(&report.output);
        assert_eq!(
            (code, message),
            (
                "trap",
                "The tool used async functions, which need `wasi = \"0.3\"` in `[sandbox]`, and was stopped."
            ),
            "{name}"
        );
    }
}

#[tokio::test]
async fn component_with_only_async_functions_is_refused() {
    let wit = "package test:made; world w { export f: async func(); }";
    let error = load(wit, ASYNC_F).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of the functions that the component exports can be a tool: `f`: it is an async function, which needs \
         `wasi = \"0.3\"` in `[sandbox]`. Export functions that take and return plain values, or build it against the WIT package agent:tool \
         (contract-mismatch)"
    );
}

#[tokio::test]
async fn missing_plain_import_beside_async_ones_is_refused() {
    let wit = "package test:made; world w {
        import host: interface { nap: async func(); now: func() -> u64; }
        export next: func(n: u32) -> u32;
    }";
    let core = format!(
        r#"(import "host" "now" (func (result i64)))
        (import "host" "[async-lower]nap" (func (result i32))) {NEXT}"#
    );
    let error = load(wit, &core).await.unwrap_err();
    assert_eq!(error.fault(), LoadFault::MissingCapability, "{error}");
}

#[tokio::test]
async fn left_out_functions_are_named_from_cache() {
    let dir = tempfile::tempdir().unwrap();
    let wit = "package test:made; world w {
        export f: async func(); export next: func(n: u32) -> u32;
    }";
    let bytes = component(wit, &format!("{ASYNC_F}{NEXT}"));
    for compiled in [Compiled::Now, Compiled::FromCache] {
        let sandbox = Sandbox::new(SandboxConfig {
            cache_dir: Some(dir.path().join("cache")),
            concurrent_calls: 1,
            ..SandboxConfig::default()
        });
        let tool = sandbox.unwrap().load(&bytes).await.unwrap();
        assert_eq!(tool.compiled(), compiled);
        assert_eq!(
            tool.notes(),
            ["`f`: it is an async function, which needs `wasi = \"0.3\"` in `[sandbox]`"]
        );
    }
}

/// The core functions that trap come from a module before those of the component, also where a
/// nested one takes a module of the outer one.
#[tokio::test]
async fn nested_component_keeps_the_modules_of_the_outer_one() {
    let component = r#"(component $outer
        (core module $other (func (export "next") (param i32) (result i32) unreachable))
        (core module $next (func (export "next") (param i32) (result i32)
            (i32.add (local.get 0) (i32.const 1))))
        (core func (canon context.get i32 0))
        (component $inner
            (alias outer $outer $next (core module $m))
            (core instance $i (instantiate $m))
            (func (export "next") (param "n" u32) (result u32)
                (canon lift (core func $i "next"))))
        (instance $ops (instantiate $inner))
        (export "ops" (instance $ops)))"#;
    let tool = sandbox()
        .load(wat::parse_str(component).unwrap())
        .await
        .unwrap();
    assert_eq!(
        call(&tool, "next", &json!({"n": 41})).await,
        ToolResultOutput::json(json!(42))
    );
}

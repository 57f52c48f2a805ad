mod concurrent;
mod context;
mod hostile;
mod limits;
mod links;
mod partial;
mod remote;
mod secrets;
mod sharing;
mod stack;
mod stopping;

use crate::{
    Call, CallContext, Sandbox, SandboxConfig, ToolComponent,
    guests::{
        ASK, Body, CWD, DIRECTORIES, Definition, ENVIRONMENT, Guest, PROGRESS, STATE_GET, STDOUT,
        WRITE,
    },
};
use agent_host_engine::{
    policy::{DirGrant, DirMode, EnvGrant, Grants},
    tool::{CallReport, CallUpdate},
};
use agent_host_types::{
    failure::FailureFields,
    id::CallId,
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 4,
        ..SandboxConfig::default()
    })
    .unwrap()
}

fn input(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

async fn call_with(
    tool: &ToolComponent,
    name: &str,
    arguments: Value,
    grants: Grants,
    limits: &Limits,
) -> CallReport {
    call_as(Effect::ReadOnly, tool, name, arguments, grants, limits).await
}

/// Calls a tool that may have this effect.
pub(crate) async fn call_as(
    effect: Effect,
    tool: &ToolComponent,
    name: &str,
    arguments: Value,
    grants: Grants,
    limits: &Limits,
) -> CallReport {
    tool.call(Call {
        tool: name,
        call_id: &CallId("call-1".to_owned()),
        input: &input(&arguments).into(),
        idempotency_key: "key-1",
        effect,
        grants: Arc::new(grants),
        secrets: Arc::default(),
        limits,
        context: CallContext::default(),
        progress: &|_| {},
    })
    .await
    .settled()
    .unwrap()
}

async fn call(tool: &ToolComponent, limits: &Limits) -> CallReport {
    call_with(tool, "echo", json!({}), Grants::default(), limits).await
}

/// Returns the code and the message of a failure.
fn code(report: &CallReport) -> (&'static str, &'static str) {
    let ToolResultOutput::ErrorJson(value) = &report.output else {
        panic!("not a failure: {report:?}");
    };
    let FailureFields { code, message } = FailureFields::from_json(value).unwrap();
    (code.leak(), message.leak())
}

#[tokio::test]
async fn each_result_variant_is_returned() {
    let sandbox = sandbox();
    let cases = [
        (Body::Text(0, b"t"), ToolResultOutput::Text("t".to_owned())),
        (Body::Text(1, b"[1]"), ToolResultOutput::json(json!([1]))),
        (
            Body::Content("t", "image/png", PNG),
            ToolResultOutput::Content(vec![
                ContentPart::Text {
                    text: "t".to_owned(),
                },
                ContentPart::File(FilePart {
                    media_type: "image/png".to_owned(),
                    data: FileData::Bytes(PNG.to_vec()),
                    filename: None,
                }),
            ]),
        ),
        (
            Body::Text(3, b"t"),
            ToolResultOutput::ErrorText("t".to_owned()),
        ),
        (
            Body::Text(4, b"{}"),
            ToolResultOutput::error_json(json!({})),
        ),
        (Body::Denied(None), ToolResultOutput::ExecutionDenied(None)),
        (
            Body::Denied(Some("r")),
            ToolResultOutput::ExecutionDenied(Some("r".to_owned())),
        ),
    ];
    for (body, expected) in cases {
        let tool = sandbox.load(&Guest::returning(body).bytes()).await.unwrap();
        let report = call(&tool, &Limits::default()).await;
        assert_eq!(report.output, expected);
    }
}

#[tokio::test]
async fn call_passes_arguments_and_reports_accounting() {
    let sandbox = sandbox();
    let tool = sandbox.load(&Guest::default().bytes()).await.unwrap();
    let limits = Limits::default();
    let arguments = json!({"a": [1, "ü", null], "type": "error-text"});
    let report = call_with(&tool, "echo", arguments.clone(), Grants::default(), &limits).await;
    assert_eq!(report.output, ToolResultOutput::json(arguments));
    let accounting = report.accounting;
    assert!(accounting.wall_us > 0);
    assert_eq!(accounting.peak_memory_bytes, 4 * 65_536);
    assert_eq!(accounting.limits, Some(limits));
    assert_eq!((accounting.stdio.as_str(), report.audit.len()), ("", 0));
}

#[tokio::test]
async fn invalid_arguments_are_refused_before_the_guest_runs() {
    let sandbox = sandbox();
    let guest = Guest {
        definitions: vec![Definition {
            input_schema:
                r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#
                    .to_owned(),
            ..Definition::default()
        }],
        ..Guest::running("unreachable")
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let limits = Limits::default();
    let cases = [
        ("echo", json!({}), "invalid-input", "\"n\" is a required"),
        ("echo", json!({"n": "1"}), "invalid-input", "/n"),
        ("other", json!({"n": 1}), "unknown-tool", "`other`"),
        ("echo", json!({"n": 1}), "trap", "crashed"),
    ];
    for (name, arguments, expected, says) in cases {
        let report = call_with(&tool, name, arguments, Grants::default(), &limits).await;
        let (code, message) = code(&report);
        assert_eq!(code, expected, "{message}");
        assert!(message.contains(says), "{message}");
    }
}

/// Only a JSON result is checked against the schema; errors have none.
#[tokio::test]
async fn result_outside_the_output_schema_is_invalid_output() {
    let sandbox = sandbox();
    let cases: [(u32, &[u8], Option<&str>); 4] = [
        (1, br#"{"n":1}"#, None),
        (1, br#"{"n":"1"}"#, Some("`/n`")),
        (0, b"text", None),
        (4, br#"{"n":"1"}"#, None),
    ];
    for (variant, text, fault) in cases {
        let guest = Guest {
            definitions: vec![Definition {
                output_schema: Some(
                    r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.to_owned(),
                ),
                ..Definition::default()
            }],
            ..Guest::returning(Body::Text(variant, text))
        };
        let tool = sandbox.load(&guest.bytes()).await.unwrap();
        let report = call(&tool, &Limits::default()).await;
        match (fault, &report.output) {
            (Some(says), _) => {
                let (code, message) = code(&report);
                assert_eq!(code, "invalid-output");
                assert!(message.contains(says), "{message}");
            }
            (None, ToolResultOutput::Json(value) | ToolResultOutput::ErrorJson(value)) => {
                assert_eq!(value.to_string().as_bytes(), text);
            }
            (None, output) => assert_eq!(*output, ToolResultOutput::Text("text".to_owned())),
        }
    }
}

#[tokio::test]
async fn stdout_keeps_its_tail_and_never_blocks() {
    let sandbox = sandbox();
    // A gigabyte: 262,144 writes of 4,096 bytes, the most that WASI takes at once.
    let code = format!(
        "(local $n i32) (local $out i32)
        (memory.fill (i32.const 8192) (i32.const 55) (i32.const 4096))
        (local.set $out (call $stdout))
        (loop $l
            (call $write (local.get $out) (i32.const 8192) (i32.const 4096) (i32.const 0))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $n) (i32.const 262144))))
        {}",
        crate::guests::ECHO
    );
    let guest = Guest {
        imports: &[WRITE, STDOUT],
        ..Guest::running(&code)
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let limits = Limits {
        stdio_bytes: 1_000,
        // A gigabyte takes a second on an idle machine.
        deadline_ms: 300_000,
        ..Limits::default()
    };
    let report = call(&tool, &limits).await;
    assert_eq!(report.output, ToolResultOutput::json(json!({})));
    assert_eq!(report.accounting.stdio, "7".repeat(1_000));
    assert_eq!(report.accounting.peak_memory_bytes, 4 * 65_536);
}

#[tokio::test]
async fn progress_reaches_the_caller() {
    let sandbox = sandbox();
    let code = format!(
        "(i32.store (i32.const 0) (i32.const 0x1b6968))
        (call $report (i32.const 0) (i32.const 3) (i32.const 1) (f64.const 7))
        (call $report (i32.const 0) (i32.const 3) (i32.const 0) (f64.const 0))
        {}",
        crate::guests::ECHO
    );
    let guest = Guest {
        imports: &[PROGRESS],
        ..Guest::running(&code)
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let seen = Mutex::new(Vec::new());
    let report = tool
        .call(Call {
            tool: "echo",
            call_id: &CallId("c".to_owned()),
            input: &Map::new().into(),
            idempotency_key: "k",
            effect: Effect::ReadOnly,
            grants: Arc::default(),
            secrets: Arc::default(),
            limits: &Limits::default(),
            context: CallContext::default(),
            progress: &|update| {
                let CallUpdate::Progress { message, fraction } = update else {
                    panic!("{update:?}");
                };
                seen.lock().unwrap().push((message.to_owned(), fraction));
            },
        })
        .await
        .settled()
        .unwrap();
    assert_eq!(report.output, ToolResultOutput::json(json!({})));
    let seen = seen.into_inner().unwrap();
    // The second report may be dropped.
    assert_eq!(
        seen.first(),
        Some(&("hi\u{FFFD}".to_owned(), Some(1.0))),
        "{seen:?}"
    );
}

#[tokio::test]
async fn default_context_has_empty_state_and_no_user() {
    let sandbox = sandbox();
    // Returns the text of `state.get`, whose address and length are at 20.
    let get = Guest {
        imports: &[STATE_GET],
        ..Guest::running(
            "(i32.store (i32.const 16) (i32.const 0)) (call $get (i32.const 20)) (i32.const 16)",
        )
    };
    let tool = sandbox.load(&get.bytes()).await.unwrap();
    let report = call(&tool, &Limits::default()).await;
    assert_eq!(report.output, ToolResultOutput::Text("{}".to_owned()));

    // Traps unless the answer is the fifth case, `unavailable`.
    let code = format!(
        "(call $ask (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 32))
        (if (i32.ne (i32.load8_u (i32.const 32)) (i32.const 4)) (then unreachable))
        {}",
        crate::guests::ECHO
    );
    let ask = Guest {
        imports: &[ASK],
        ..Guest::running(&code)
    };
    let tool = sandbox.load(&ask.bytes()).await.unwrap();
    let report = call(&tool, &Limits::default()).await;
    assert_eq!(report.output, ToolResultOutput::json(json!({})));
}

/// Grants a read-only directory as `/workspace`.
fn workspace(host: &Path) -> Grants {
    Grants {
        dirs: vec![DirGrant::new(host, "/workspace", DirMode::ReadOnly)],
        ..Grants::default()
    }
}

#[tokio::test]
async fn missing_granted_directory_makes_the_tool_unavailable() {
    let sandbox = sandbox();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    dir.close().unwrap();
    let unavailable = json!({
        "code": "tool-unavailable",
        "message": "A directory granted to this tool cannot be opened, so the tool did not run. The log has the \
            reason.",
    });
    let cases = [
        (
            &[DIRECTORIES][..],
            ToolResultOutput::error_json(unavailable),
        ),
        (&[], ToolResultOutput::json(json!({}))),
    ];
    for (imports, expected) in cases {
        let guest = Guest {
            imports,
            ..Guest::default()
        };
        let tool = sandbox.load(&guest.bytes()).await.unwrap();
        let grants = workspace(&path);
        let report = call_with(&tool, "echo", json!({}), grants, &Limits::default()).await;
        assert_eq!(report.output, expected);
    }
}

#[tokio::test]
async fn relative_paths_start_at_the_first_directory() {
    let sandbox = sandbox();
    // Returns the result of `initial-cwd` as the reason of a denial, which has the same layout.
    let guest = Guest {
        imports: &[CWD],
        ..Guest::running(
            "(i32.store (i32.const 16) (i32.const 5)) (call $cwd (i32.const 20)) (i32.const 16)",
        )
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits::default();
    let cases = [
        (workspace(dir.path()), Some("/workspace".to_owned())),
        (Grants::default(), None),
    ];
    for (grants, expected) in cases {
        let report = call_with(&tool, "echo", json!({}), grants, &limits).await;
        assert_eq!(report.output, ToolResultOutput::ExecutionDenied(expected));
    }
}

#[test]
fn component_outlives_its_sandbox_and_drops_in_async_code() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let sandbox = sandbox();
        let tool = sandbox.load(&Guest::default().bytes()).await.unwrap();
        drop(sandbox);
        let report = call(&tool, &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::json(json!({})));
    });
}

#[test]
fn call_future_is_send() {
    fn is_send<T: Send>(_: &T) {}
    fn check(tool: &ToolComponent, call: Call<'_>) {
        is_send(&tool.call(call));
    }
    let _: fn(&ToolComponent, Call<'_>) = check;
}

#[tokio::test]
async fn guest_sees_only_granted_environment_variables() {
    assert!(std::env::var_os("PATH").is_some());
    let sandbox = sandbox();
    // Each variable as `NAME=VALUE` and a line end.
    let guest = Guest {
        imports: &[ENVIRONMENT],
        ..Guest::running(
            "(local $at i32) (local $end i32) (local $to i32)
            (call $environment (i32.const 64))
            (local.set $at (i32.load (i32.const 64)))
            (local.set $end (i32.add (local.get $at) (i32.shl (i32.load (i32.const 68)) (i32.const 4))))
            (local.set $to (i32.const 2048))
            (block $done (loop $next
                (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
                (memory.copy (local.get $to) (i32.load (local.get $at)) (i32.load offset=4 (local.get $at)))
                (local.set $to (i32.add (local.get $to) (i32.load offset=4 (local.get $at))))
                (i32.store8 (local.get $to) (i32.const 61))
                (local.set $to (i32.add (local.get $to) (i32.const 1)))
                (memory.copy (local.get $to) (i32.load offset=8 (local.get $at)) (i32.load offset=12 (local.get $at)))
                (local.set $to (i32.add (local.get $to) (i32.load offset=12 (local.get $at))))
                (i32.store8 (local.get $to) (i32.const 10))
                (local.set $to (i32.add (local.get $to) (i32.const 1)))
                (local.set $at (i32.add (local.get $at) (i32.const 16)))
                (br $next)))
            (i32.store (i32.const 16) (i32.const 0))
            (i32.store (i32.const 20) (i32.const 2048))
            (i32.store (i32.const 24) (i32.sub (local.get $to) (i32.const 2048)))
            (i32.const 16)",
        )
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let variable = |name: &str, value: &str| EnvGrant {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    for (env, expected) in [
        (vec![], ""),
        (
            vec![variable("LANG", "C.UTF-8"), variable("EMPTY", "")],
            "LANG=C.UTF-8\nEMPTY=\n",
        ),
    ] {
        let grants = Grants {
            env,
            ..Grants::default()
        };
        let report = call_with(&tool, "echo", json!({}), grants, &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::Text(expected.to_owned()));
    }
}

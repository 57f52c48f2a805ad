//! A tool that reaches each limit: one case for each field of [`Limits`], with only this field set.

use super::code;
use crate::{
    Call, CallContext, Sandbox, SandboxConfig, ToolComponent,
    caps::http::tests::server::Server,
    guests::{Body, Guest, RANDOM, STDOUT, WRITE},
};
use agent_host_engine::{
    policy::{DirGrant, DirMode, Grants},
    tool::CallReport,
};
use agent_host_types::{id::CallId, limits::Limits, tool::Effect};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::{path::Path, sync::Arc};

/// A tool that reaches a limit.
struct Trip {
    /// The limit's name, as in `agent.toml`.
    limit: &'static str,
    value: u64,
    tool: Tool,
    ends: End,
}

enum Tool {
    /// A guest, called without arguments.
    Guest(Guest<'static>),
    /// A built-in component, one of its tools, and the arguments.
    Builtin(&'static str, &'static str, Value),
}

enum End {
    /// A failure with this code, and a text that names the limit.
    Fails(&'static str),
    /// A result, with this many bytes of stdout.
    Keeps(usize),
}

fn trip(limit: &'static str, value: u64, tool: Tool, code: &'static str) -> Trip {
    Trip {
        limit,
        value,
        tool,
        ends: End::Fails(code),
    }
}

/// Four instances of a module with a memory and a table, beside the guest's own.
fn crowd() -> Tool {
    Tool::Guest(Guest {
        component: "(core module $m (memory 1) (table 1 funcref)) (core instance (instantiate $m)) \
            (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))",
        ..Guest::default()
    })
}

fn running(code: &'static str) -> Tool {
    Tool::Guest(Guest::running(code))
}

fn of_the_engine() -> Vec<Trip> {
    const LONG: &[u8] = &[b'x'; 2_000];
    let streams = || Guest {
        imports: &[WRITE, STDOUT],
        ..Guest::default()
    };
    vec![
        trip(
            "deadline-ms",
            100,
            running("(loop $l (br $l)) unreachable"),
            "timeout",
        ),
        trip(
            "memory-bytes",
            1024 * 1024,
            running(
                "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 1))))) unreachable",
            ),
            "out-of-memory",
        ),
        trip(
            "table-elements",
            100,
            Tool::Guest(Guest {
                core: "(table $t 1 funcref)",
                ..Guest::running(
                    "(loop $l (br_if $l (i32.ne (i32.const -1) (table.grow $t (ref.null func) (i32.const 1))))) unreachable",
                )
            }),
            "resource-limit",
        ),
        trip("instances", 3, crowd(), "resource-limit"),
        trip("memories", 3, crowd(), "resource-limit"),
        trip("tables", 3, crowd(), "resource-limit"),
        trip(
            "max-transfer-bytes",
            1_000,
            Tool::Guest(Guest::returning(Body::Text(0, LONG))),
            "output-too-large",
        ),
        trip(
            "open-resources",
            50,
            Tool::Guest(Guest {
                body: Body::Code("(loop $l (drop (call $stdout)) (br $l)) unreachable"),
                ..streams()
            }),
            "resource-limit",
        ),
        trip(
            "output-bytes",
            1_000,
            Tool::Guest(Guest::returning(Body::Text(0, LONG))),
            "output-too-large",
        ),
        Trip {
            limit: "stdio-bytes",
            value: 10,
            tool: Tool::Guest(Guest {
                body: Body::Code(
                    "(call $write (call $stdout) (i32.const 0) (i32.const 11) (i32.const 32))
                    (i32.store (i32.const 16) (i32.const 0))
                    (i32.store (i32.const 20) (i32.const 0))
                    (i32.store (i32.const 24) (i32.const 0))
                    (i32.const 16)",
                ),
                ..streams()
            }),
            ends: End::Keeps(10),
        },
        trip(
            "random-bytes",
            1_000,
            Tool::Guest(Guest {
                imports: &[RANDOM],
                // 2 to the power of 40.
                ..Guest::running(
                    "(call $random (i64.const 1099511627776) (i32.const 0)) unreachable",
                )
            }),
            "resource-limit",
        ),
    ]
}

fn of_files() -> Vec<Trip> {
    let write = || {
        let arguments = json!({"path": "new.txt", "content": "1234"});
        Tool::Builtin("files", "write_file", arguments)
    };
    vec![
        trip("file-write-bytes", 3, write(), "resource-limit"),
        trip("file-creates", 0, write(), "resource-limit"),
    ]
}

/// `long` sends a long response, `silent` none.
fn of_http(long: &Server, silent: &Server) -> Vec<Trip> {
    let get = |server: &Server| Tool::Builtin("fetch", "fetch", json!({"url": server.url("/")}));
    let post = Tool::Builtin(
        "fetch",
        "http_post",
        json!({"url": long.url("/"), "body": "x".repeat(2_000)}),
    );
    let limit = "resource-limit";
    vec![
        trip("http-header-bytes", 1_000, get(long), limit),
        trip("http-request-bytes", 1_000, post, limit),
        trip("http-response-bytes", 1_000, get(long), limit),
        trip("http-requests", 0, get(long), limit),
        trip("http-connections", 0, get(long), limit),
        trip("http-timeout-ms", 100, get(silent), limit),
    ]
}

fn grants(dir: &Path, servers: [&Server; 2]) -> Grants {
    Grants {
        dirs: vec![DirGrant::new(dir, "/workspace", DirMode::ReadWrite)],
        http: servers.map(Server::grant).into(),
        ..Grants::default()
    }
}

async fn load(sandbox: &Sandbox, tool: &Tool) -> ToolComponent {
    let bytes = match tool {
        Tool::Guest(guest) => guest.bytes(),
        Tool::Builtin(name, ..) => {
            let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../guest-tools/dist");
            std::fs::read(format!("{dist}/{name}.wasm")).unwrap()
        }
    };
    sandbox.load(&bytes).await.unwrap()
}

async fn call(tool: &ToolComponent, what: &Tool, grants: Grants, limits: &Limits) -> CallReport {
    let (name, arguments) = match what {
        Tool::Guest(_) => ("echo", json!({})),
        Tool::Builtin(_, name, arguments) => (*name, arguments.clone()),
    };
    tool.call(Call {
        tool: name,
        call_id: &CallId("call-1".to_owned()),
        input: &arguments.as_object().unwrap().clone().into(),
        idempotency_key: "key-1",
        effect: Effect::Effectful,
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

/// The defaults with one field changed.
fn with(limit: &str, value: u64) -> Limits {
    serde_json::from_value(json!({ limit: value })).unwrap()
}

#[tokio::test]
async fn each_limit_is_enforced_and_named() {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let response = |fields: usize, body: usize| {
        let (field, text) = ("y".repeat(fields), "x".repeat(body));
        format!("HTTP/1.1 200 OK\r\nx: {field}\r\ncontent-length: {body}\r\n\r\n{text}")
    };
    let long = Server::start(&response(2_000, 2_000)).await;
    let silent = Server::silent("").await;
    let trips: Vec<Trip> = [of_the_engine(), of_files(), of_http(&long, &silent)]
        .into_iter()
        .flatten()
        .collect();

    // Fails for a field of `Limits` without a case.
    let Value::Object(all) = json!(Limits::default()) else {
        panic!("limits are an object");
    };
    let mut tripped: Map<String, Value> = all.clone();
    tripped.retain(|name, _| trips.iter().any(|trip| trip.limit == name));
    assert_eq!((tripped, trips.len()), (all.clone(), all.len()));

    for Trip {
        limit,
        value,
        tool: what,
        ends,
    } in trips
    {
        let dir = tempfile::tempdir().unwrap();
        let grants = grants(dir.path(), [&long, &silent]);
        let tool = load(&sandbox, &what).await;
        let limits = with(limit, value);
        let report = call(&tool, &what, grants, &limits).await;
        assert_eq!(report.accounting.limits, Some(limits), "{limit}");
        match ends {
            End::Fails(expected) => {
                let (code, message) = code(&report);
                assert_eq!(code, expected, "{limit}: {message}");
                assert!(message.contains(limit), "{limit}: {message}");
            }
            End::Keeps(bytes) => assert_eq!(report.accounting.stdio.len(), bytes, "{limit}"),
        }
    }
}

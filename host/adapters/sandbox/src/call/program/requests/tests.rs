//! Tests handlers of HTTP requests with the server in `guest-tools/mcp-server/src/http.rs`.

use super::{ProgramRequests, RequestFailure, ResponseBody};
use crate::{
    Sandbox, ToolComponent,
    call::program::{
        ProgramControl, ProgramIo, ProgramUse,
        tests::{ASYNC_SERVER, LONG, newer_sandbox, sandbox, using},
    },
};
use agent_host_engine::policy::{DirGrant, DirMode, EnvGrant, Grants};
use agent_host_types::limits::Limits;
use http::{Request, Response};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{io, sync::Arc, time::Duration};
use tokio::io::AsyncReadExt as _;

const SERVER: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/mcp-server-http.wasm"
));

async fn server(sandbox: &Sandbox) -> ToolComponent {
    sandbox.load_program(SERVER, &|_| {}).await.unwrap()
}

fn start(server: &ToolComponent, using: ProgramUse) -> (ProgramRequests, ProgramControl) {
    let program = server.serve(using).unwrap();
    match program.io {
        ProgramIo::Requests(requests) => (requests, program.control),
        ProgramIo::Streams(..) => panic!("it has streams"),
    }
}

/// Sends a call of a tool.
async fn call(
    requests: &ProgramRequests,
    tool: &str,
    input: Value,
) -> Result<Response<ResponseBody>, RequestFailure> {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": input},
    });
    let request = Request::post("http://localhost/mcp")
        .header("mcp-session-id", "the-session")
        .header("mcp-protocol-version", "2025-06-18")
        .body(call.to_string().into_bytes())
        .unwrap();
    requests.send(request).await
}

/// Calls a tool, and returns the text of its only event.
async fn answer(requests: &ProgramRequests, tool: &str, input: Value) -> String {
    let response = call(requests, tool, input).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = String::new();
    response
        .into_body()
        .read_to_string(&mut body)
        .await
        .unwrap();
    let data = body.lines().find_map(|line| line.strip_prefix("data: "));
    let message: Value = serde_json::from_str(data.unwrap()).unwrap();
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn handler_answers_requests_from_one_instance() {
    let sandbox = sandbox();
    let server = server(&sandbox).await;
    assert_eq!(
        server.format(),
        "a handler of HTTP requests (wasi:http/incoming-handler@0.2), WASI 0.2"
    );
    let (requests, control) = start(&server, using());
    assert!(control.begin_call());
    // They wait for each other.
    let answers = tokio::join!(
        answer(&requests, "count", json!({})),
        answer(&requests, "count", json!({}))
    );
    assert_eq!(answers, ("1".to_owned(), "2".to_owned()));
    assert!(!control.has_ended());
    drop(control);
    let (requests, _control) = start(&server, using());
    assert_eq!(answer(&requests, "count", json!({})).await, "1");
}

#[tokio::test]
async fn handler_of_a_response_that_is_given_up_answers_again() {
    let sandbox = sandbox();
    let (requests, _control) = start(&server(&sandbox).await, using());
    let response = call(&requests, "flood", json!({})).await.unwrap();
    let mut some = vec![0; 1024 * 1024];
    response.into_body().read_exact(&mut some).await.unwrap();
    // Dropped with its body.
    assert_eq!(answer(&requests, "count", json!({})).await, "2");
}

#[tokio::test]
async fn handler_without_a_response_says_so() {
    let sandbox = sandbox();
    let (requests, _control) = start(&server(&sandbox).await, using());
    for (with, says) in [
        ("nothing", "its handler returned without a response"),
        (
            "a refusal",
            "its handler returned an error: InternalError(Some(\"out of order\"))",
        ),
    ] {
        let answered = call(&requests, "answer_badly", json!({"with": with})).await;
        let failure = answered.map(drop).unwrap_err();
        assert_eq!(failure, RequestFailure::Unanswered(says.to_owned()));
    }
    assert_eq!(answer(&requests, "count", json!({})).await, "1");
}

/// Some toolchains make components that answer one request.
#[tokio::test]
async fn instance_that_answers_one_request_is_replaced() {
    let sandbox = sandbox();
    let grants = Grants {
        env: vec![EnvGrant {
            name: "ONE_REQUEST".to_owned(),
            value: "1".to_owned(),
        }],
        ..Grants::default()
    };
    let using = ProgramUse {
        grants: Arc::new(grants),
        ..using()
    };
    let (requests, control) = start(&server(&sandbox).await, using);
    for _ in 0..3 {
        assert_eq!(answer(&requests, "count", json!({})).await, "1");
    }
    assert!(!control.has_ended());
}

/// A later request without a response is none of a toolchain.
#[tokio::test]
async fn instance_that_answered_twice_keeps_its_state() {
    let sandbox = sandbox();
    let (requests, _control) = start(&server(&sandbox).await, using());
    for count in ["1", "2"] {
        assert_eq!(answer(&requests, "count", json!({})).await, count);
    }
    let answered = call(&requests, "answer_badly", json!({"with": "nothing"})).await;
    assert!(answered.is_err());
    assert_eq!(answer(&requests, "count", json!({})).await, "3");
}

/// A request that changed something runs once, whatever becomes of it.
#[tokio::test]
async fn request_that_changed_something_is_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = sandbox();
    let grants = Grants {
        dirs: vec![DirGrant::new(dir.path(), "/data", DirMode::ReadWrite)],
        ..Grants::default()
    };
    let using = ProgramUse {
        grants: Arc::new(grants),
        ..using()
    };
    let (requests, _control) = start(&server(&sandbox).await, using);
    assert_eq!(answer(&requests, "count", json!({})).await, "1");
    let answered = call(&requests, "answer_badly", json!({"with": "a change"})).await;
    let says = "its handler returned without a response".to_owned();
    assert_eq!(
        answered.map(drop).unwrap_err(),
        RequestFailure::Unanswered(says)
    );
    assert_eq!(std::fs::read(dir.path().join("log.txt")).unwrap(), b"x");
    // The instance is the same.
    assert_eq!(answer(&requests, "count", json!({})).await, "2");
}

#[tokio::test]
async fn requests_beyond_the_queue_are_refused() {
    let sandbox = sandbox();
    let (requests, _control) = start(&server(&sandbox).await, using());
    let waiting: Vec<_> = (0..super::MAX_WAITING)
        .map(|_| requests.send(Request::new(Vec::new())))
        .collect();
    // One may have been taken.
    let more = [0; 2].map(|_| requests.send(Request::new(Vec::new())));
    let [_, last] = more;
    let says = "64 requests wait for it already".to_owned();
    assert_eq!(
        last.await.map(drop).unwrap_err(),
        RequestFailure::Unanswered(says)
    );
    drop(waiting);
}

#[tokio::test]
async fn crash_limits_and_idleness_end_a_handler_with_the_reason() {
    let sandbox = sandbox();
    let server = server(&sandbox).await;
    for (tool, idle, says) in [
        ("crash", LONG, "it crashed: the tool `crash` was called"),
        (
            "spin",
            LONG,
            "it was stopped: it computed for more than 100 ms without taking another message (`deadline-ms`)",
        ),
        (
            "answer_badly",
            Duration::from_millis(100),
            "it was idle (`idle-seconds`)",
        ),
    ] {
        let limits = Limits {
            deadline_ms: 100,
            ..Limits::default()
        };
        let using = ProgramUse {
            limits,
            idle,
            ..using()
        };
        let (requests, control) = start(&server, using);
        match call(&requests, tool, json!({"with": "silence"})).await {
            // Its stream had begun.
            Ok(response) => {
                let read = response.into_body().read_to_end(&mut Vec::new()).await;
                assert_eq!(
                    read.unwrap_err().kind(),
                    io::ErrorKind::BrokenPipe,
                    "{tool}"
                );
            }
            Err(failure) => assert_eq!(failure, RequestFailure::Ended, "{tool}"),
        }
        let ended = control.ended().await.unwrap();
        assert!(ended.starts_with(says), "{tool}: {ended}");
        assert!(control.has_ended(), "{tool}");
        let after = call(&requests, "count", json!({})).await.map(drop);
        assert_eq!(after.unwrap_err(), RequestFailure::Ended, "{tool}");
    }
}

/// Each of the two calls ends when the other runs.
#[tokio::test]
async fn handler_of_wasi_0_3_answers_requests_at_once() {
    let sandbox = newer_sandbox();
    // Without its main function, by which it would be entered.
    let server = renamed(ASYNC_SERVER, b"wasi:cli/run@", b"test:cli/run@");
    let server = sandbox.load_program(server, &|_| {}).await.unwrap();
    assert_eq!(
        server.program_form(),
        Some("a handler of HTTP requests (wasi:http/handler@0.3)")
    );
    let (requests, control) = start(&server, using());
    let answers = tokio::join!(
        answer(&requests, "meet", json!({})),
        answer(&requests, "meet", json!({}))
    );
    assert_eq!(answers, ("met".to_owned(), "met".to_owned()));
    assert_eq!(answer(&requests, "count", json!({})).await, "1");
    assert!(call(&requests, "crash", json!({})).await.is_err());
    let ended = control.ended().await.unwrap();
    assert!(
        ended.starts_with("it crashed: the tool `crash` was called"),
        "{ended}"
    );
}

fn renamed(component: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = component.to_vec();
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

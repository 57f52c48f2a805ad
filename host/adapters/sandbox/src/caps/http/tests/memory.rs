//! Searches the memory of a guest that used a secret, byte by byte, after its response.

use super::server::Server;
use crate::{
    Call, CallContext, Sandbox, SandboxConfig, Secrets,
    guests::{Guest, http::CLIENT},
    secrets::tests::{VALUE, forms, secrets},
};
use agent_host_engine::policy::{Grants, SecretGrant};
use agent_host_types::{
    id::CallId,
    limits::Limits,
    output::{ContentPart, FileData, ToolResultOutput},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// The mask that the guest XORs each byte of its memory with, so that nothing on the way out takes
/// it for a secret.
const VEIL: u8 = 0x5A;

/// The guest's strings, in the scratch space of its memory.
const STRINGS: usize = 1_024;

/// The buffer in which the guest joins the pieces of the body. They arrive one by one, which must
/// not be what protects the value.
const BODY: usize = 2_048;

/// A guest: sends one request with a field `x: VALUE` to an authority, reads all fields and the
/// whole body of the response, and returns all of its memory, masked.
fn code(value: &str, authority: &str) -> (String, String) {
    let (value_at, authority_at) = (STRINGS + 8, STRINGS + 512);
    let (value_len, authority_len) = (value.len(), authority.len());
    let word = |text: &[u8; 8]| i64::from_le_bytes(*text);
    let (media_0, media_1, media_2) = (word(b"applicat"), word(b"ion/octe"), word(b"t-stream"));
    let data = format!(
        r#"(data (i32.const {STRINGS}) "x/") (data (i32.const {value_at}) "{value}")
        (data (i32.const {authority_at}) "{authority}")"#
    );
    let code = format!(
        "(local $at i32) (local $to i32) (local $body i32)
        (local.set $at (call $fields))
        (call $append (local.get $at) (i32.const {STRINGS}) (i32.const 1)
            (i32.const {value_at}) (i32.const {value_len}) (i32.const 64))
        (if (i32.load8_u (i32.const 64)) (then unreachable))
        (local.set $to (call $request (local.get $at)))
        (drop (call $scheme (local.get $to) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
        (drop (call $authority (local.get $to) (i32.const 1) (i32.const {authority_at}) (i32.const {authority_len})))
        (drop (call $path (local.get $to) (i32.const 1) (i32.add (i32.const {STRINGS}) (i32.const 1)) (i32.const 1)))
        (call $handle (local.get $to) (i32.const 0) (i32.const 0) (i32.const 64))
        (if (i32.load8_u (i32.const 64)) (then unreachable))
        (local.set $at (i32.load (i32.const 72)))
        (call $block (call $subscribe (local.get $at)))
        (call $get (local.get $at) (i32.const 64))
        (if (i32.load8_u (i32.const 80)) (then unreachable))
        (local.set $at (i32.load (i32.const 88)))
        (call $entries (call $headers (local.get $at)) (i32.const 64))
        (call $consume (local.get $at) (i32.const 64))
        (call $stream (i32.load (i32.const 68)) (i32.const 64))
        (local.set $body (i32.load (i32.const 68)))
        (local.set $to (i32.const {BODY}))
        (block $end (loop $more
            (call $read (local.get $body) (i64.const 4096) (i32.const 64))
            (br_if $end (i32.load8_u (i32.const 64)))
            (memory.copy (local.get $to) (i32.load (i32.const 68)) (i32.load (i32.const 72)))
            (local.set $to (i32.add (local.get $to) (i32.load (i32.const 72))))
            (br $more)))
        (local.set $to (i32.shl (memory.size) (i32.const 16)))
        (local.set $at (i32.const 0))
        (loop $next
            (i32.store8 (local.get $at) (i32.xor (i32.load8_u (local.get $at)) (i32.const {VEIL})))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $at) (local.get $to))))
        (drop (memory.grow (i32.const 1)))
        (i32.store (local.get $to) (i32.const 2))
        (i32.store offset=4 (local.get $to) (i32.add (local.get $to) (i32.const 16)))
        (i32.store offset=8 (local.get $to) (i32.const 1))
        (i32.store offset=16 (local.get $to) (i32.const 1))
        (i32.store offset=20 (local.get $to) (i32.add (local.get $to) (i32.const 64)))
        (i32.store offset=24 (local.get $to) (i32.const 24))
        (i32.store offset=36 (local.get $to) (local.get $to))
        (i64.store offset=64 (local.get $to) (i64.const {media_0}))
        (i64.store offset=72 (local.get $to) (i64.const {media_1}))
        (i64.store offset=80 (local.get $to) (i64.const {media_2}))
        (local.get $to)"
    );
    (data, code)
}

/// Returns the memory of a guest after it sent `Bearer secret://github` to the server and read the
/// response.
async fn memory_after(server: &Server, secrets: Arc<Secrets>) -> Vec<u8> {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let authority = format!("127.0.0.1:{}", server.port);
    let (data, code) = code("Bearer secret://github", &authority);
    let guest = Guest {
        imports: &CLIENT,
        core: &data,
        ..Guest::running(&code)
    };
    let tool = sandbox.load(&guest.bytes()).await.unwrap();
    let grants = Grants {
        http: vec![server.grant()],
        secrets: vec![SecretGrant {
            name: "github".to_owned(),
            scheme: "http".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: server.port,
            in_query: false,
        }],
        ..Grants::default()
    };
    let report = tool
        .call(Call {
            tool: "echo",
            call_id: &CallId("call-1".to_owned()),
            input: &serde_json::Map::new().into(),
            idempotency_key: "key-1",
            effect: Effect::ReadOnly,
            grants: Arc::new(grants),
            secrets,
            limits: &Limits {
                output_bytes: 8 * 1024 * 1024,
                ..Limits::default()
            },
            context: CallContext::default(),
            progress: &|_| {},
        })
        .await
        .settled()
        .unwrap();
    let ToolResultOutput::Content(parts) = report.output else {
        panic!("{report:?}");
    };
    let [ContentPart::File(file)] = parts.as_slice() else {
        panic!("{} parts", parts.len());
    };
    let FileData::Bytes(veiled) = &file.data else {
        panic!("no bytes");
    };
    veiled.iter().map(|byte| byte ^ VEIL).collect()
}

fn count(memory: &[u8], text: &str) -> usize {
    memory
        .windows(text.len())
        .filter(|window| window.eq_ignore_ascii_case(text.as_bytes()))
        .count()
}

#[tokio::test]
async fn secret_value_is_never_in_guest_memory() {
    // Chunks of one byte, so that every form is cut at every position.
    let body: String = forms().iter().map(|form| format!("<{form}>")).collect();
    let chunks: String = body.chars().map(|c| format!("1\r\n{c}\r\n")).collect();
    let server = Server::start(&format!(
        "HTTP/1.1 200 OK\r\nx-echo: Bearer {VALUE}\r\nset-cookie: k={VALUE}\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    ))
    .await;
    let memory = memory_after(&server, secrets(&[("github", VALUE)])).await;
    assert!(
        server.seen()[0].contains(&format!("\r\nx: Bearer {VALUE}\r\n")),
        "{:?}",
        server.seen()
    );
    for form in forms() {
        assert_eq!(count(&memory, &form), 0, "{form}");
    }
    let shown = "<[secret:github]>".repeat(forms().len());
    assert_eq!(&memory[BODY..BODY + shown.len()], shown.as_bytes());
    assert_eq!(count(&memory, "Bearer [secret:github]"), 1);
    assert_eq!(count(&memory, "k=[secret:github]"), 1);

    // A control: a text that is not the value of a secret comes through whole, so the search works.
    let other = secrets(&[("github", "another-value")]);
    let memory = memory_after(&server, other).await;
    for form in forms() {
        assert!(count(&memory, &form) > 0, "{form}");
    }
    assert_eq!(&memory[BODY..BODY + body.len()], body.as_bytes());
}

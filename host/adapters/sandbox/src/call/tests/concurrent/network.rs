//! wasi:http 0.3 against a server of this machine.

use super::*;
use agent_host_engine::policy::HttpGrant;
use pretty_assertions::assert_eq;
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

/// Answers each request on a port of its own with its method, path and body.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            let is_whole = |request: &[u8]| {
                let text = String::from_utf8_lossy(request);
                !text.starts_with("POST") && text.ends_with("\r\n\r\n")
                    || text.ends_with("0\r\n\r\n")
            };
            while !is_whole(&request) {
                let count = stream.read(&mut chunk).unwrap();
                request.extend(&chunk[..count]);
            }
            let text = String::from_utf8(request).unwrap();
            let first = text.lines().next().unwrap();
            let sent = if text.contains("sent by a stream") {
                " with a body"
            } else {
                ""
            };
            let body = format!("{first}{sent}");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream
                .write_all(format!("{head}{body}").as_bytes())
                .unwrap();
        }
    });
    port
}

#[tokio::test]
async fn http_of_wasi_0_3_passes_the_gate() {
    use End::{Denied, Ok};

    let port = server();
    let grants = Grants {
        http: vec![HttpGrant {
            host: "127.0.0.1".to_owned(),
            port: Some(port),
            ..HttpGrant::default()
        }],
        ..Grants::default()
    };
    let tool = tool().await;
    for (operation, path, body, expected) in [
        ("get", "/a", "", Ok("200 GET /a HTTP/1.1")),
        (
            "post",
            "/b",
            "sent by a stream",
            Ok("200 POST /b HTTP/1.1 with a body"),
        ),
    ] {
        let url = format!("http://127.0.0.1:{port}{path}");
        attempt(&tool, &grants, &[(operation, &url, body, expected)]).await;
    }
    let elsewhere = Denied("HttpRequestDenied");
    attempt(
        &tool,
        &grants,
        &[("get", "http://127.0.0.1:1/", "", elsewhere)],
    )
    .await;
    let arguments =
        json!({"operation": "get", "path": format!("http://127.0.0.1:{port}/a"), "value": ""});
    let limits = Limits {
        http_response_bytes: 4,
        ..Limits::default()
    };
    let report = run_within(&tool, "attempt", arguments, &grants, &limits).await;
    let (found, message) = code(&report);
    assert_eq!(found, "resource-limit");
    assert!(
        message.contains("rule limits.http-response-bytes"),
        "{message}"
    );
}

//! Requests of attackers, byte by byte: each has exactly these responses, and what a request hides
//! in its body, its fields or its address is answered by none. Hosts, origins and slow clients of
//! the same front are in `fronts/mcp/src/http/tests`.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// A request that is answered with 200, where an attacker wants it to be found.
const HIDDEN: &str = "GET /api/v1/tools HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n\r\n";

/// The time after which a connection that stays open fails the test.
const DEADLINE: Duration = Duration::from_secs(60);

/// The fields of every request.
const FIELDS: &str = "Host: HOST\r\nAuthorization: Bearer TOKEN\r\n";

/// Sends bytes over a connection of its own, and returns the statuses of the responses.
fn statuses(server: &ApiServer, request: &str) -> Vec<u16> {
    let fill = |text: &str| {
        text.replace("HOST", &server.address)
            .replace("TOKEN", TOKEN)
    };
    let request = fill(request).replace("LENGTH", &fill(HIDDEN).len().to_string());
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // The server may have refused it before its end.
    let _ = stream.write_all(request.as_bytes());
    let mut answered = Vec::new();
    let ended = stream.read_to_end(&mut answered);
    // What it did not read makes the system reset the connection.
    let is_open = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    assert!(!ended.as_ref().is_err_and(is_open), "{request}");
    let answered = String::from_utf8_lossy(&answered).into_owned();
    let lines = answered.split("HTTP/1.").skip(1);
    lines.map(|line| line[2..5].parse().unwrap()).collect()
}

/// Starts a server with one session, and returns a check that no other one was created.
fn started(env: &TestEnv) -> (ApiServer, ChatServer) {
    let model = ChatServer::start(vec![Answer::text("Hello.")]);
    let server = ApiServer::start(env, &model, &[]);
    let session = server.create("hi");
    server.events(&session, None).until("turn-ended");
    (server, model)
}

/// Checks rows of bytes and statuses; none of them starts a session or asks the model.
fn check(rows: &[(String, &[u16])]) {
    let env = TestEnv::new();
    let (server, model) = started(&env);
    for (request, expected) in rows {
        let shown: String = request.chars().take(300).collect();
        assert_eq!(statuses(&server, request), *expected, "{shown:?}");
    }
    let sessions = server.get("/sessions").json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(model.requests().len(), 1);
}

/// A message whose length is given twice, in two ways or in none that is valid.
#[test]
fn request_is_not_smuggled_in_another() {
    let post = |fields: &str, body: &str| {
        format!(
            "POST /api/v1/sessions HTTP/1.1\r\n{FIELDS}Content-Type: application/json\r\n{fields}\r\n\r\n{body}{HIDDEN}"
        )
    };
    let chunked = |body: &str| post("Transfer-Encoding: chunked", body);
    let refused: &[u16] = &[400];
    // The body is that of the first request, which is refused, and what follows it is its own.
    let separate: &[u16] = &[400, 200];
    let both = "Content-Length: 4\r\nTransfer-Encoding: chunked";
    let get = |fields: &str| {
        format!("GET /api/v1/health HTTP/1.1\r\n{FIELDS}Connection: close\r\n{fields}\r\n")
    };
    check(&[
        (post(both, "0\r\n\r\n"), refused),
        (
            post(
                "Transfer-Encoding: chunked\r\nContent-Length: 6",
                "0\r\n\r\n",
            ),
            refused,
        ),
        (
            post("Content-Length: 2\r\nContent-Length: 4", "{}"),
            refused,
        ),
        (post("Content-Length: 2, 4", "{}"), refused),
        (post("Content-Length: +2", "{}"), refused),
        (post("Content-Length: -2", "{}"), refused),
        (post("Content-Length: 0x2", "{}"), refused),
        (
            post("Content-Length: 99999999999999999999999", "{}"),
            refused,
        ),
        (post("Transfer-Encoding: identity", "{}"), refused),
        (
            post("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
            refused,
        ),
        (post("Transfer-Encoding: xchunked", "0\r\n\r\n"), refused),
        (
            post("Transfer-Encoding: \u{b}chunked", "0\r\n\r\n"),
            refused,
        ),
        (post("Transfer-Encoding : chunked", "0\r\n\r\n"), refused),
        (chunked("2;\n{}\r\n0\r\n\r\n"), refused),
        (chunked("-2\r\n{}\r\n0\r\n\r\n"), refused),
        (chunked("fffffffffffffffff\r\n{}\r\n0\r\n\r\n"), refused),
        (chunked("2\r\n{}0\r\n\r\n"), refused),
        (post("Content-Length: 2", "{}"), separate),
        (
            post("Content-Length: 2\r\nContent-Length: 2", "{}"),
            separate,
        ),
        (chunked("2;a=b\r\n{}\r\n0\r\n\r\n"), separate),
        (
            chunked("2\r\n{}\r\n0\r\nHost: evil.example\r\n\r\n"),
            separate,
        ),
        (get("X: a\r\n b\r\n"), refused),
        (get("X y: a\r\n"), refused),
        (get("X: a\0b\r\n"), refused),
        (get("Content-Length: LENGTH\r\n") + HIDDEN, &[200]),
        (format!("GET /api/v1/health\r\n\r\n{HIDDEN}"), refused),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), &[]),
    ]);
}

/// Addresses that another program would take for one of the server's, or of another server.
#[test]
fn path_is_taken_as_it_is_written() {
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\n{FIELDS}Connection: close\r\n\r\n");
    let nowhere: &[u16] = &[404];
    let mut rows: Vec<(String, &[u16])> = [
        "/api/v1/../v1/health",
        "/api/v1/%2e%2e/v1/health",
        "//api/v1/health",
        "/api/v1//health",
        "/api/v1/health/",
        "/API/v1/health",
        "/api/v1/health%00",
        "/api/v1/health;x",
        "/api/v1\\health",
        "/api/v1/sessions/..%2f..%2fhealth",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/app.js%2f..%2f..%2fetc%2fpasswd",
        "//evil.example/",
        "/\\evil.example",
        "*",
    ]
    .map(|path| (get(path), nowhere))
    .into();
    rows.extend([
        (get("/api/v1/health\u{1}"), &[400][..]),
        (get("http://HOST/api/v1/health"), &[200]),
        (get("http://evil.example/api/v1/health"), &[403]),
        (get("http://evil.example@HOST/api/v1/health"), &[400]),
        (get("evil.example:443"), &[403]),
        (get("/x").replacen("GET", "CONNECT", 1), &[404]),
        (
            get("evil.example:443").replacen("GET", "CONNECT", 1),
            &[403],
        ),
        (get("/api/v1/health").replacen("GET", "TRACE", 1), &[405]),
        (
            get("/api/v1/health").replacen("close", "Upgrade, close\r\nUpgrade: h2c", 1),
            &[200],
        ),
    ]);
    check(&rows);
}

/// A page of another origin can neither send what has no token nor read an answer, whatever a
/// browser lets it send without asking; and a page whose name leads to this machine is refused by
/// it.
#[test]
fn foreign_page_is_refused() {
    let body = r#"{"message": "hi"}"#;
    let post = |fields: &str, media_type: &str| {
        format!(
            "POST /api/v1/sessions HTTP/1.1\r\n{fields}Content-Type: {media_type}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let origin = |origin: &str| format!("{FIELDS}Origin: {origin}\r\n");
    let preflight = "OPTIONS /api/v1/sessions HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\nConnection: close\r\n\r\n";
    let mut rows: Vec<(String, &[u16])> = vec![
        (
            post(
                "Host: evil.example\r\nAuthorization: Bearer TOKEN\r\n",
                "application/json",
            ),
            &[403],
        ),
        (
            post(&origin("http://evil.example"), "application/json"),
            &[403],
        ),
        (post(&origin("null"), "application/json"), &[403]),
        (
            post(&origin("http://HOST.evil.example"), "application/json"),
            &[403],
        ),
        (preflight.to_owned(), &[403]),
        (
            post("Host: HOST\r\nCookie: token=TOKEN\r\n", "application/json"),
            &[401],
        ),
        (
            post(
                "Host: HOST\r\nAuthorization: Basic TOKEN\r\n",
                "application/json",
            ),
            &[401],
        ),
    ];
    for simple in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        // As a form sends it: no token; and none of these is taken with one.
        rows.push((post("Host: HOST\r\n", simple), &[401]));
        rows.push((post(FIELDS, simple), &[400]));
    }
    check(&rows);
}

/// Every part of a request has a bound, which holds before the part is read.
#[test]
fn oversized_parts_are_refused() {
    let get = |path: &str, fields: &str| {
        format!("GET {path} HTTP/1.1\r\n{FIELDS}{fields}Connection: close\r\n\r\n")
    };
    let long = "a".repeat(100_000);
    let post = |length: usize, body: &str| {
        format!(
            "POST /api/v1/sessions HTTP/1.1\r\n{FIELDS}Content-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let deep = format!("{{\"message\": {}", "[".repeat(100_000));
    let parts = format!(
        "{{\"message\": \"hi\", \"parts\": [{}]}}",
        vec![r#"{"type": "text", "text": "a"}"#; 65].join(", ")
    );
    check(&[
        (get(&format!("/{long}"), ""), &[431]),
        (get("/api/v1/health", &format!("X: {long}\r\n")), &[431]),
        (get("/api/v1/health", &"X: a\r\n".repeat(1000)), &[431]),
        // Nothing of the body was sent.
        (post(33 * 1024 * 1024, ""), &[413]),
        (post(usize::MAX / 2, ""), &[413]),
        (post(deep.len(), &deep), &[400]),
        (post(parts.len(), &parts), &[400]),
        (post(4, "\u{1}{}\0"), &[400]),
    ]);
}

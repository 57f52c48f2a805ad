//! Section E: the standard services of WASI, and malicious servers.

use super::{
    case::{Case, Ends},
    script::{Script, final_attempts, op},
    table,
};
use agent_host_types::failure::ToolErrorCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Grants the malicious server.
const SERVER: &str = "[[grants.http]]\nhost = \"127.0.0.1\"\nport = {server}";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        of_the_process(),
        standard_output(),
        of_the_session(),
        exits(true),
        exits(false),
        broken_answers(),
        redirects(),
        targets(),
        fields(),
        header_sections(),
        too_long_and_failed(),
        framing(),
        methods(),
        read_only_methods(),
        requests(),
        held(),
        totals(),
        slow_answers(),
        dripping(),
    ]
}

/// A request to the malicious server.
fn http(path: &str, mut more: Value) -> Value {
    more["url"] = json!(format!("http://127.0.0.1:{{server}}{path}"));
    op("http", more)
}

fn get(path: &str) -> Value {
    http(path, json!({}))
}

/// An answer with a length, as the guest sees it.
fn answer(body: &str) -> Value {
    json!({ "status": 200, "headers": [["content-length", body.len().to_string()]], "body": body })
}

/// The request that reached the server on `/seen`: this request line and these lines, in order.
fn seen(request: &str) -> Value {
    answer(&request.replace('\n', "\r\n"))
}

/// The host's process is not visible: its environment has a secret in every run.
fn of_the_process() -> Case {
    Script::default()
        .gives(json!([]), op("env", json!({})))
        .gives(json!([]), op("args", json!({})))
        .gives(Value::Null, op("cwd", json!({})))
        .gives(json!([]), op("roots", json!({})))
        .gives(
            json!({ "stdin": false, "stdout": false, "stderr": false }),
            op("terminal", json!({})),
        )
        .refused("closed", [op("stdin", json!({}))])
        .row('E', "the environment, arguments and terminal")
}

/// A gigabyte on stdout; the small part that is kept does not reach the host's own stdout. The
/// 278,528 writes take more than the 30 s of the default on a slow machine.
fn standard_output() -> Case {
    let flood =
        |word: &str, times: u64| op(word, json!({ "text": "x".repeat(4096), "times": times }));
    Script::default()
        .gives(Value::Null, flood("stdout", 262_144))
        .gives(Value::Null, flood("stderr", 16_384))
        .row('E', "a gigabyte of standard output")
        .limits("deadline-ms = 300000")
}

fn of_the_session() -> Case {
    Script::default()
        .gives(json!({}), op("state-get", json!({})))
        .gives(
            Value::Null,
            op(
                "progress",
                json!({ "message": "\u{1b}[2J\u{202e}approved by the user" }),
            ),
        )
        .row('E', "the session's state and progress")
}

fn exits(ok: bool) -> Case {
    let name = if ok {
        "an exit with success"
    } else {
        "an exit with failure"
    };
    let ends = Ends::Failed(ToolErrorCode::Trap, "The tool ended itself");
    final_attempts('E', name, &[op("exit", json!({ "ok": ok }))], ends)
}

fn broken_answers() -> Case {
    let errors = [
        "/nothing",
        "/two-lengths",
        "/negative-length",
        "/vast-length",
        "/other-protocol",
        "/http-2",
        "/control",
        "/many-fields",
    ];
    let broken = |headers: Value| json!({ "status": 200, "headers": headers, "body": "hello", "broken": "last-operation-failed" });
    Script::default()
        .gives(answer("hello"), get("/hello"))
        .refused("http-protocol-error", errors.map(get))
        .refused("http-response-header-section-size", [get("/long-field")])
        .gives(broken(json!([["content-length", "9"]])), get("/cut"))
        .gives(broken(json!([])), get("/vast-chunk"))
        .row('E', "answers that are none")
        .config(SERVER)
}

/// A redirect is an ordinary answer; only the guest can make the next request.
fn redirects() -> Case {
    let redirect = |location: &str| json!({ "status": 302, "headers": [["location", location], ["content-length", "0"]], "body": "" });
    Script::default()
        .gives(
            redirect("http://169.254.169.254/latest/"),
            get("/to-metadata"),
        )
        .refused(
            "http-request-denied",
            [op(
                "http",
                json!({ "url": "http://169.254.169.254/latest/" }),
            )],
        )
        .gives(redirect("/hello"), get("/to-hello"))
        .row('E', "redirects")
        .config(SERVER)
}

/// The request line: no other host, no second request.
fn targets() -> Case {
    let invalid = [
        "http://169.254.169.254/",
        "http://127.0.0.1:{sink}/",
        "*",
        "@127.0.0.1:{sink}/",
        ".example.com/",
        "/seen\r\nx: y",
        "/seen HTTP/1.1\r\nhost: other\r\n\r\nGET /hello",
        "/se en",
    ];
    let target = |target: &str| http("/", json!({ "target": target }));
    let rest = "accept: */*\nhost: 127.0.0.1:PORT\n\n";
    Script::default()
        .refused("invalid-target", invalid.map(target))
        .gives(answer("hello"), get("/seen/../hello"))
        .gives(answer("hello"), get("/seen/%2e%2e/hello"))
        .gives(
            seen(&format!("GET /seen?a=b HTTP/1.1\n{rest}")),
            get("/seen?a=b#fragment"),
        )
        .gives(
            seen(&format!("GET /seen?%C3%A9 HTTP/1.1\n{rest}")),
            get("/seen?\u{e9}"),
        )
        .row('E', "request lines")
        .config(SERVER)
}

fn fields() -> Case {
    let with = |name: &str, value: &str| http("/seen", json!({ "headers": [[name, value]] }));
    let forbidden = [
        "host",
        "Host",
        "transfer-encoding",
        "connection",
        "upgrade",
        "keep-alive",
        "proxy-authorization",
    ];
    let invalid = [
        ("x", "a\r\ny: b"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x\r\ny", "a"),
        ("x y", "a"),
        ("", "a"),
        (":authority", "127.0.0.1"),
    ];
    Script::default()
        .refused(
            "header-forbidden",
            forbidden.map(|name| with(name, "127.0.0.1:{sink}")),
        )
        .refused(
            "header-invalid-syntax",
            invalid.map(|(name, value)| with(name, value)),
        )
        .gives(
            seen("GET /seen HTTP/1.1\nx: y\naccept: */*\nhost: 127.0.0.1:PORT\n\n"),
            with("x", "y"),
        )
        .row('E', "header fields")
        .config(SERVER)
}

/// Exceeding the limit by little or by much gives the standard error; the tool continues.
fn header_sections() -> Case {
    // On the wire a field has its name, its value and four more bytes.
    let with = |length: usize| {
        http(
            "/hello",
            json!({ "headers": [["x", "y".repeat(length - 1 - 4)]] }),
        )
    };
    let many: Vec<Value> = (0..100).map(|n| json!([format!("x-{n:03}"), ""])).collect();
    Script::default()
        .gives(answer("hello"), with(1000))
        .refused(
            "http-request-header-section-size",
            [with(1001), with(2000), with(30_000)],
        )
        .gives(answer("hello"), http("/hello", json!({ "headers": many })))
        .row('E', "header sections beyond the limit")
        .config("[limits]\nhttp-header-bytes = 1000")
        .config(SERVER)
}

fn too_long_and_failed() -> Case {
    let attempts = [
        http("/hello", json!({ "headers": [["x", "y".repeat(1000)]] })),
        op("panic", json!({ "message": "refused" })),
    ];
    let ends = Ends::Failed(ToolErrorCode::ResourceLimit, "limits.http-header-bytes");
    final_attempts(
        'E',
        "a header section beyond the limit, and a crash",
        &attempts,
        ends,
    )
    .config("[limits]\nhttp-header-bytes = 1000")
    .config(SERVER)
}

/// Ambiguous body lengths are refused.
fn framing() -> Case {
    let post = |lengths: &[&str]| {
        let fields: Vec<Value> = lengths
            .iter()
            .map(|length| json!(["content-length", length]))
            .collect();
        http(
            "/seen",
            json!({ "method": "POST", "body": "hello", "headers": fields }),
        )
    };
    Script::default()
        .refused("header-invalid-syntax", [post(&["5", "9"]), post(&["5", "5"])])
        .refused("http-protocol-error", [post(&["9"])])
        .refused("http-request-body-size", [post(&["2"])])
        .gives(
            seen("POST /seen HTTP/1.1\ncontent-length: 5\naccept: */*\nhost: 127.0.0.1:PORT\n\nhello"),
            post(&["5"]),
        )
        .gives(
            seen("POST /seen HTTP/1.1\naccept: */*\nhost: 127.0.0.1:PORT\ntransfer-encoding: chunked\n\n5\nhello\n0\n\n"),
            post(&[]),
        )
        .row('E', "lengths of bodies")
        .config(SERVER)
}

fn methods() -> Case {
    let method = |method: &str| http("/hello", json!({ "method": method }));
    let invalid = ["", "G ET", "GET /x HTTP/1.1\r\n\r\nGET", "GET\0"];
    Script::default()
        .refused("invalid-method", invalid.map(method))
        .refused("http-request-method-invalid", [method("CONNECT")])
        .row('E', "methods that are none")
        .config(SERVER)
}

fn read_only_methods() -> Case {
    let method = |method: &str| http("/hello", json!({ "method": method }));
    let changing = [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "PROPFIND",
    ];
    let head = json!({ "status": 200, "headers": [["content-length", "5"]], "body": "" });
    Script::default()
        .refused("http-request-denied", changing.map(method))
        .gives(answer("hello"), method("GET"))
        .gives(head, method("HEAD"))
        .row_of("probe_read", 'E', "methods of a tool that reads only")
        .config(SERVER)
}

/// More requests than one call may make.
fn requests() -> Case {
    let each = get("/hello");
    Script::default()
        .gives(
            json!({ "ok": 64, "http-request-denied": 36 }),
            op("repeat", json!({ "count": 100, "each": each })),
        )
        .row('E', "a hundred requests")
        .config(SERVER)
}

/// A hundred answers that are not read to their end.
fn held() -> Case {
    let each = http("/half", json!({ "keep": true }));
    Script::default()
        .gives(
            json!({ "ok": 16, "connection-limit-reached": 84 }),
            op("repeat", json!({ "count": 100, "each": each })),
        )
        .row('E', "a hundred answers held open")
        .config("[limits]\nhttp-requests = 100")
        .config(SERVER)
}

/// The limit on bodies covers the call, not each of them.
fn totals() -> Case {
    let post = |times: u64| {
        http(
            "/hello",
            json!({ "method": "POST", "body": "x".repeat(100), "times": times }),
        )
    };
    let cut =
        json!({ "status": 200, "headers": [], "body": "", "broken": "last-operation-failed" });
    Script::default()
        .gives(answer("hello"), post(6))
        .refused("http-request-body-size", [post(6)])
        .gives(answer("hello"), get("/hello"))
        .refused("http-response-body-size", [get("/hello")])
        .gives(cut, get("/endless"))
        .row('E', "bodies beyond the call's budget")
        .config("[limits]\nhttp-request-bytes = 1000\nhttp-response-bytes = 12")
        .config(SERVER)
}

/// Servers that are slow, or never end.
fn slow_answers() -> Case {
    let half = json!({
        "status": 200, "headers": [["content-length", "9"]], "body": "hello", "broken": "last-operation-failed",
    });
    let late = ["/silent", "/endless-interim", "/dripping-fields"];
    Script::default()
        .refused("http-response-timeout", late.map(get))
        .gives(half, get("/half"))
        .row('E', "answers that do not end")
        .config("[limits]\nhttp-timeout-ms = 300")
        .config(SERVER)
}

/// Each byte is in time, and the whole is not.
fn dripping() -> Case {
    let ends = Ends::Checked(|output| {
        let answer = &output["value"][0]["ok"];
        assert_eq!(
            (&answer["status"], &answer["broken"]),
            (&json!(200), &json!("last-operation-failed")),
            "{output}"
        );
        let body = answer["body"].as_str().unwrap();
        assert!(
            body.len() < 1000 && body.bytes().all(|byte| byte == b'x'),
            "{output}"
        );
    });
    final_attempts('E', "an answer that drips", &[get("/drip")], ends)
        .config("[limits]\nhttp-timeout-ms = 300")
        .config(SERVER)
}

#[test]
fn services() {
    table::run(&cases());
}

//! Bytes on the wire: the parts of a guest's request that reach a server, and of a server's
//! response that reach a guest.

use super::{
    call::{Call, HELLO, request, with_body},
    server::Server,
};
use agent_host_engine::policy::HttpGrant;
use bytes::Bytes;
use http::{HeaderName, Request, Uri};
use pretty_assertions::assert_eq;

/// A request with additional fields.
fn with_fields(
    method: &str,
    url: &str,
    body: &'static [u8],
    fields: &[(&str, &str)],
) -> Request<wasmtime_wasi_http::WasiBody> {
    let mut request = with_body(method, url, Bytes::from_static(body));
    for (name, value) in fields {
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn guest_framing_fields_are_not_sent() {
    let server = Server::start(HELLO).await;
    let port = server.port;
    let url = server.url("/p");
    let text = |method: &str, fields: &str, body: &str| {
        format!("{method} /p HTTP/1.1\r\n{fields}accept: */*\r\nhost: 127.0.0.1:{port}\r\n{body}")
    };
    let smuggled = [
        ("host", "internal.example"),
        ("transfer-encoding", "chunked"),
        ("connection", "close, x-token"),
        ("keep-alive", "timeout=99"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic eA=="),
        ("upgrade", "h2c"),
        ("http2-settings", "AAMAAABk"),
        ("te", "trailers"),
        ("trailer", "x-late"),
        ("expect", "100-continue"),
        ("x-token", "kept"),
    ];
    let get = call_seen(&server, with_fields("GET", &url, b"", &smuggled)).await;
    assert_eq!(
        get,
        (
            "200 hello".to_owned(),
            Some(text("GET", "x-token: kept\r\n", "\r\n"))
        )
    );
    let post = call_seen(&server, with_fields("POST", &url, b"hello", &smuggled)).await;
    let body = "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(
        post,
        (
            "200 hello".to_owned(),
            Some(text("POST", "x-token: kept\r\n", body))
        )
    );
    // One length stays, in the canonical spelling, and is the only framing.
    let sized = with_fields(
        "POST",
        &url,
        b"hello",
        &[("content-length", "0005"), ("transfer-encoding", "chunked")],
    );
    let sized = call_seen(&server, sized).await;
    assert_eq!(
        sized,
        (
            "200 hello".to_owned(),
            Some(text("POST", "content-length: 5\r\n", "\r\nhello"))
        )
    );
}

/// Returns the result for the guest, and the request as the server saw it.
async fn call_seen(
    server: &Server,
    request: Request<wasmtime_wasi_http::WasiBody>,
) -> (String, Option<String>) {
    let before = server.seen().len();
    let found = Call::to(vec![server.grant()]).start().send(request).await;
    (found, server.seen().get(before).cloned())
}

#[tokio::test]
async fn ambiguous_content_length_is_not_sent() {
    let server = Server::start(HELLO).await;
    let url = server.url("/");
    for (lengths, expected) in [
        (vec!["5", "5"], "HttpProtocolError"),
        (vec!["5", "6"], "HttpProtocolError"),
        (vec!["5, 5"], "HttpProtocolError"),
        (vec!["+5"], "HttpProtocolError"),
        (vec!["0x5"], "HttpProtocolError"),
        (vec!["-1"], "HttpProtocolError"),
        (vec![""], "HttpProtocolError"),
        (vec!["99999999999999999999"], "HttpProtocolError"),
        (vec!["4"], "HttpRequestBodySize(Some(5))"),
        (vec!["6"], "HttpRequestBodySize(Some(5))"),
    ] {
        let fields: Vec<_> = lengths
            .iter()
            .map(|length| ("content-length", *length))
            .collect();
        let found = call_seen(&server, with_fields("POST", &url, b"hello", &fields)).await;
        assert_eq!(found, (expected.to_owned(), None), "{lengths:?}");
    }
}

#[tokio::test]
async fn judged_url_is_the_sent_url() {
    let server = Server::start(HELLO).await;
    let here = format!("127.0.0.1:{}", server.port);
    // (authority, path, result for the guest, request line that the server sees)
    let table = [
        (
            &*here,
            "/v1/a/../b",
            "200 hello",
            Some("GET /v1/b HTTP/1.1"),
        ),
        (&*here, "/v1/%2e/b", "200 hello", Some("GET /v1/b HTTP/1.1")),
        (
            &*here,
            "/v1/b?/../../x",
            "200 hello",
            Some("GET /v1/b?/../../x HTTP/1.1"),
        ),
        (
            &*here,
            "/v1/http://evil.example/",
            "HttpRequestDenied",
            None,
        ),
        (&*here, "/v1/../admin", "HttpRequestDenied", None),
        (&*here, "/v1/%2e%2E/admin", "HttpRequestDenied", None),
        (&*here, "/v1/..%2fadmin", "HttpRequestDenied", None),
        (&*here, "/v1/..;/admin", "HttpRequestDenied", None),
        (&*here, "//evil.example/v1/", "HttpRequestDenied", None),
        (&*here, "/V1/b", "HttpRequestDenied", None),
        (&*here, "/", "HttpRequestDenied", None),
        (&*here, "*", "HttpRequestUriInvalid", None),
        ("user@127.0.0.1", "/v1/", "HttpRequestDenied", None),
        ("evil.example", "/v1/", "HttpRequestDenied", None),
    ];
    for (authority, path, expected, line) in table {
        let mut uri = Uri::builder().scheme("http").authority(authority);
        uri = uri.path_and_query(path);
        let mut request = request("GET", "/");
        *request.uri_mut() = uri.build().unwrap();
        let mut call = Call::to(vec![HttpGrant {
            methods: vec!["GET".to_owned()],
            path_prefix: Some("/v1/".to_owned()),
            ..server.grant()
        }]);
        call.limits.http_requests = 1;
        let before = server.seen().len();
        assert_eq!(
            call.start().send(request).await,
            expected,
            "{authority} {path}"
        );
        let seen = server.seen().get(before).cloned();
        let first = seen.as_deref().and_then(|text| text.lines().next());
        assert_eq!(first, line, "{authority} {path}");
    }
}

#[tokio::test]
async fn pipelined_second_response_is_ignored() {
    let second = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
    let table = [
        // Bytes after a response are not the next one: the connection ends with its exchange.
        (format!("{HELLO}{second}"), "200 hello"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 50\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_owned(),
            "200 hello",
        ),
        (
            format!("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n{second}"),
            "204 ",
        ),
        ("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n".to_owned(), "101 "),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nhello".to_owned(), "200 hello"),
        ("HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello".to_owned(), "HttpProtocolError"),
        ("HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 5\r\n\r\nhello".to_owned(), "HttpProtocolError"),
        ("HTTP/1.1 200 OK\r\nx : a\r\ncontent-length: 5\r\n\r\nhello".to_owned(), "HttpProtocolError"),
        ("HTTP/1.1 200 OK\r\nx: a\rb\r\ncontent-length: 5\r\n\r\nhello".to_owned(), "HttpProtocolError"),
        ("HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 5\r\n\r\nhello".to_owned(), "HttpProtocolError"),
        ("HTTP/1.1 999 Odd\r\ncontent-length: 5\r\n\r\nhello".to_owned(), "999 hello"),
        ("HTTP/2 200 OK\r\n\r\n".to_owned(), "HttpProtocolError"),
    ];
    for (answer, expected) in table {
        let server = Server::start(&answer).await;
        let mut call = Call::to(vec![server.grant()]).start();
        assert_eq!(call.get(&server.url("/")).await, expected, "{answer:?}");
    }
}

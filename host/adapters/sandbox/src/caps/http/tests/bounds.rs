//! Every bound, exceeded.

use super::{
    call::{Call, HELLO, Running, request, with_body},
    server::Server,
};
use agent_host_types::limits::Limits;
use bytes::Bytes;
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use pretty_assertions::assert_eq;
use std::time::{Duration, Instant};
use wasmtime_wasi_http::{RequestOptions, WasiBody};

/// The rules of the call's denials, in order.
fn denials(call: &Running) -> Vec<String> {
    let audit = call.stats().audit.into_iter();
    audit
        .map(|entry| entry.rule)
        .filter(|rule| !rule.starts_with("grants."))
        .collect()
}

#[tokio::test]
async fn response_beyond_limit_is_refused() {
    let limits = Limits {
        http_response_bytes: 1_000,
        http_header_bytes: 500,
        ..Limits::default()
    };
    let body = |length: usize| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{}",
            "x".repeat(length)
        )
    };
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(5_000));
    let fields = format!(
        "HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n",
        "y".repeat(600)
    );
    let many = |count: usize| {
        format!(
            "HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n",
            "a: b\r\n".repeat(count)
        )
    };
    let reason = |length: usize| {
        format!(
            "HTTP/1.1 200 {}\r\ncontent-length: 0\r\n\r\n",
            "O".repeat(length)
        )
    };
    let table = [
        (body(1_000), format!("200 {}", "x".repeat(1_000)), None),
        (
            body(1_001),
            "HttpResponseBodySize(Some(1001))".to_owned(),
            Some("limits.http-response-bytes"),
        ),
        (
            endless,
            "200 then HttpResponseBodySize(Some(1000))".to_owned(),
            Some("limits.http-response-bytes"),
        ),
        (
            fields,
            "HttpResponseHeaderSectionSize(Some(624))".to_owned(),
            Some("limits.http-header-bytes"),
        ),
        // A field of one letter has six bytes on the wire, so the number of fields has a bound of
        // its own.
        (many(60), "200 ".to_owned(), None),
        (many(100), "HttpProtocolError".to_owned(), None),
        (many(10_000), "HttpProtocolError".to_owned(), None),
        // The reason phrase is dropped, and the client limits its length.
        (reason(100_000), "200 ".to_owned(), None),
        (reason(1_000_000), "HttpProtocolError".to_owned(), None),
    ];
    for (response, expected, rule) in table {
        let server = Server::start(&response).await;
        let mut call = Call::to(vec![server.grant()]);
        call.limits = limits.clone();
        let mut call = call.start();
        assert_eq!(call.get(&server.url("/")).await, expected);
        assert_eq!(denials(&call), Vec::from_iter(rule));
    }
}

#[tokio::test]
async fn endless_response_is_ended() {
    let limits = |http_timeout_ms| Limits {
        http_response_bytes: 10_000,
        http_timeout_ms,
        ..Limits::default()
    };
    let size = "limits.http-response-bytes";
    let time = "limits.http-timeout-ms";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let extension = format!("{chunked}1;");
    let trailers = format!("{chunked}0\r\n");
    for (head, again, pause, expected, rule) in [
        (
            chunked,
            "1\r\nx\r\n",
            0,
            "200 then HttpResponseBodySize(Some(10000))",
            Some(size),
        ),
        (
            "HTTP/1.1 200 OK\r\n\r\n",
            "x",
            0,
            "200 then HttpResponseBodySize(Some(10000))",
            Some(size),
        ),
        // One byte at a time: each pause is short, the sum is not.
        (
            chunked,
            "1\r\nx\r\n",
            5,
            "200 then HttpResponseTimeout",
            Some(time),
        ),
        // Leading zeros of a chunk size are no body bytes, so only the time limit ends them.
        (chunked, "0", 0, "200 then HttpResponseTimeout", Some(time)),
        (&*extension, "a", 0, "200 then HttpProtocolError", None),
        (
            &*trailers,
            "x: y\r\n",
            0,
            "200 then HttpProtocolError",
            None,
        ),
        ("HTTP/1.1 200 OK\r\nx: ", "y", 0, "HttpProtocolError", None),
        // Interim responses are read and dropped.
        (
            "",
            "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
            0,
            "HttpResponseTimeout",
            Some(time),
        ),
        (
            "HTTP/1.1 200 OK\r\nx: ",
            "y",
            5,
            "HttpResponseTimeout",
            Some(time),
        ),
    ] {
        let server = Server::endless(head, again, Duration::from_millis(pause)).await;
        let mut call = Call::to(vec![server.grant()]);
        call.limits = limits(if rule == Some(time) { 300 } else { 20_000 });
        let mut call = call.start();
        let began = Instant::now();
        assert_eq!(call.get(&server.url("/")).await, expected, "{head}{again}");
        assert!(began.elapsed() < Duration::from_secs(10), "{head}{again}");
        assert_eq!(denials(&call), Vec::from_iter(rule), "{head}{again}");
    }
}

#[tokio::test]
async fn request_beyond_limit_is_refused() {
    let limits = Limits {
        http_header_bytes: 500,
        http_requests: 2,
        ..Limits::default()
    };
    let server = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant()]);
    call.limits = limits;
    let mut call = call.start();
    let url = server.url("/");
    assert_eq!(call.get(&url).await, "200 hello");
    let mut large = request("GET", &url);
    large
        .headers_mut()
        .insert("x", "y".repeat(600).parse().unwrap());
    assert_eq!(
        call.send(large).await,
        "HttpRequestHeaderSectionSize(Some(605))"
    );
    assert_eq!(call.get(&url).await, "HttpRequestDenied");
    assert_eq!(
        denials(&call),
        ["limits.http-header-bytes", "limits.http-requests"]
    );
    assert_eq!(server.seen().len(), 1);
}

/// A request with a body of unknown length.
fn streamed(url: &str, pieces: usize) -> Request<WasiBody> {
    let pieces = (0..pieces).map(|_| Ok(Frame::data(Bytes::from(vec![b'x'; 100]))));
    let body = StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync();
    Request::post(url).body(body).unwrap()
}

#[tokio::test]
async fn body_limit_is_shared_by_exchanges() {
    let limits = Limits {
        http_request_bytes: 1_000,
        http_response_bytes: 12,
        ..Limits::default()
    };
    let server = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant()]);
    call.limits = limits;
    let mut call = call.start();
    let url = server.url("/");
    let sized = |length: usize| with_body("POST", &url, vec![b'x'; length].into());
    assert_eq!(
        call.send(sized(1_001)).await,
        "HttpRequestBodySize(Some(1001))"
    );
    assert_eq!(call.send(sized(600)).await, "200 hello");
    assert_eq!(
        call.send(sized(401)).await,
        "HttpRequestBodySize(Some(401))"
    );
    assert_eq!(
        call.send(streamed(&url, 5)).await,
        "HttpRequestBodySize(Some(1000))"
    );
    // Two responses of 5 bytes fit into 12, a third does not.
    assert_eq!(call.get(&url).await, "200 hello");
    assert_eq!(call.get(&url).await, "HttpResponseBodySize(Some(5))");
    assert_eq!(
        denials(&call),
        ["limits.http-request-bytes", "limits.http-response-bytes"]
    );
    let stats = call.stats();
    assert_eq!((stats.bytes_in, stats.bytes_out), (10, 1_000));
}

#[tokio::test]
async fn open_exchanges_are_limited() {
    let server = Server::silent("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello").await;
    let quick = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant(), quick.grant()]);
    call.limits.http_connections = 2;
    let mut call = call.start();
    let (slow, fast) = (server.url("/"), quick.url("/"));
    let first = call.open(request("GET", &slow)).await.unwrap();
    // An exchange that has ended in any way is not open.
    for _ in 0..3 {
        assert_eq!(call.get(&fast).await, "200 hello");
        assert_eq!(
            call.get(&quick.url("/").replace("http:", "https:")).await,
            "HttpRequestDenied"
        );
    }
    let second = call.open(request("GET", &slow)).await.unwrap();
    assert_eq!(call.get(&fast).await, "ConnectionLimitReached");
    assert_eq!(call.get(&slow).await, "ConnectionLimitReached");
    // Unread bodies keep their permits; dropping one releases its permit.
    drop(first);
    assert_eq!(call.get(&fast).await, "200 hello");
    let third = call.open(request("GET", &slow)).await.unwrap();
    assert_eq!(call.get(&fast).await, "ConnectionLimitReached");
    drop((second, third));
    assert_eq!(call.get(&fast).await, "200 hello");
    let limit = "limits.http-connections".to_owned();
    assert_eq!(
        denials(&call),
        ["default-deny".to_owned(), limit.clone(), limit]
    );
    assert_eq!((server.seen().len(), quick.seen().len()), (3, 5));
}

#[tokio::test]
async fn unfinished_request_body_ends_with_its_exchange() {
    // The server answers before the body has ended, and the guest reads the answer to its end.
    let server = Server::hasty(HELLO).await;
    let mut call = Call::to(vec![server.grant()]);
    call.limits.http_connections = 1;
    call.limits.http_timeout_ms = 300;
    let mut call = call.start();
    let url = server.url("/");
    let never = StreamBody::new(futures_util::stream::pending()).boxed_unsync();
    let request = Request::post(&url).body(never).unwrap();
    assert_eq!(call.send(request).await, "200 hello");
    // Its permit is released when its time is over, at the latest.
    let began = Instant::now();
    while call.get(&url).await == "ConnectionLimitReached" {
        assert!(began.elapsed() < Duration::from_secs(5));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn silent_server_times_out() {
    let short = Duration::from_millis(150);
    let silent = Server::silent("").await;
    let dripping = Server::silent("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello").await;
    let table = [
        (&silent, "HttpResponseTimeout"),
        (&dripping, "200 then HttpResponseTimeout"),
    ];
    // The end of the call is no limit to record; the limit of one exchange is.
    for (limit_ms, rule) in [(30_000, None), (100, Some("limits.http-timeout-ms"))] {
        for (server, expected) in table {
            let mut call = Call::to(vec![server.grant()]);
            call.time = short;
            call.limits.http_timeout_ms = limit_ms;
            let mut call = call.start();
            let began = Instant::now();
            assert_eq!(call.get(&server.url("/")).await, expected);
            assert!(began.elapsed() < Duration::from_secs(5));
            assert_eq!(denials(&call), Vec::from_iter(rule));
        }
    }
    let first = RequestOptions {
        first_byte_timeout: Some(short),
        ..RequestOptions::default()
    };
    let between = RequestOptions {
        between_bytes_timeout: Some(short),
        ..RequestOptions::default()
    };
    for (server, options, expected) in [
        (&silent, first, "HttpResponseTimeout"),
        (&dripping, between, "200 then ConnectionReadTimeout"),
    ] {
        let mut call = Call::to(vec![server.grant()]).start();
        let found = call
            .send_with(request("GET", &server.url("/")), Some(options))
            .await;
        assert_eq!(found, expected);
    }
}

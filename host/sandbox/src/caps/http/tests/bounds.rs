//! Every bound, tripped.

use super::{
    call::{Call, HELLO, request, with_body},
    server::Server,
};
use agent_host_core::limits::Limits;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, StreamBody};
use pretty_assertions::assert_eq;
use std::time::{Duration, Instant};
use wasmtime_wasi_http::RequestOptions;

#[tokio::test]
async fn responses_are_capped() {
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
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n",
        "a: b\r\n".repeat(10_000)
    );
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
        (many, "HttpProtocolError".to_owned(), None),
    ];
    for (response, expected, rule) in table {
        let server = Server::start(&response).await;
        let mut call = Call::to(vec![server.grant()]);
        call.limits = limits.clone();
        let mut call = call.start();
        assert_eq!(call.get(&server.url("/")).await, expected);
        let rules: Vec<String> = call
            .tally()
            .audit
            .into_iter()
            .map(|entry| entry.rule)
            .collect();
        let expected: Vec<&str> = ["grants.http[0]"].into_iter().chain(rule).collect();
        assert_eq!(rules, expected);
    }
}

#[tokio::test]
async fn requests_are_capped() {
    let limits = Limits {
        http_request_bytes: 1_000,
        http_header_bytes: 500,
        http_requests: 4,
        ..Limits::default()
    };
    let server = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant()]);
    call.limits = limits;
    let mut call = call.start();
    let url = server.url("/");
    let sized = |length: usize| with_body("POST", &url, vec![b'x'; length].into());
    assert_eq!(call.send(sized(1_000)).await, "200 hello");
    assert_eq!(
        call.send(sized(1_001)).await,
        "HttpRequestBodySize(Some(1001))"
    );

    // A body that does not say how large it is.
    let pieces = (0..20).map(|_| Ok(http_body::Frame::data(Bytes::from(vec![b'x'; 100]))));
    let streamed = StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync();
    let streamed = Request::builder()
        .method("POST")
        .uri(&url)
        .body(streamed)
        .unwrap();
    assert_eq!(call.send(streamed).await, "HttpRequestBodySize(Some(1000))");

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
        call.tally().audit.last().map(|entry| entry.rule.clone()),
        Some("limits.http-requests".to_owned())
    );
    assert_eq!(call.tally().bytes_out, 2_000);
}

#[tokio::test]
async fn servers_that_do_not_answer_are_given_up() {
    let short = Duration::from_millis(150);
    let silent = Server::silent("").await;
    let dripping = Server::silent("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello").await;
    let table = [
        (&silent, None, "HttpResponseTimeout"),
        (&dripping, None, "200 then HttpResponseTimeout"),
    ];
    for (server, options, expected) in table {
        let mut call = Call::to(vec![server.grant()]);
        call.time = short;
        let began = Instant::now();
        let found = call
            .start()
            .send_with(request("GET", &server.url("/")), options)
            .await;
        assert_eq!(found, expected);
        assert!(began.elapsed() < Duration::from_secs(5));
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

use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;
use serde_json::json;

use agent_tool::http::{Address, Followed, Method, Response};

use super::{MAX_ERROR_BODY_BYTES, output};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn arrived(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Followed {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let response = Response {
        status,
        headers,
        body: body.to_vec(),
        whole: true,
    };
    Followed {
        response,
        method: Method::Get,
        address: Address::parse("https://a.example/d/x.bin").expect("an address"),
        hops: 0,
    }
}

fn of_type(content_type: &str, body: &[u8]) -> Output {
    output(arrived(200, &[("content-type", content_type)], body))
}

fn part(media_type: &str, body: &[u8]) -> Output {
    Output::content([Part::bytes(media_type, body.to_vec()).named("x.bin")])
}

#[test]
fn result_kind_is_decided_by_content_type_and_bytes() {
    let cases = [
        (
            "application/json",
            &br#"{"type":"text"}"#[..],
            Output::Json(json!({"type": "text"})),
        ),
        (
            "application/problem+json; charset=utf-8",
            b"[1]",
            Output::Json(json!([1])),
        ),
        ("application/json", b"not json", Output::text("not json")),
        ("text/html; charset=utf-8", b"<p>x", Output::text("<p>x")),
        ("text/plain", br#"{"a":1}"#, Output::text(r#"{"a":1}"#)),
        ("", "grüße".as_bytes(), Output::text("grüße")),
        ("application/octet-stream", b"plain", Output::text("plain")),
        (
            "text/html; charset=ISO-8859-1",
            b"caf\xe9",
            Output::text("café"),
        ),
        ("image/png", PNG, part("image/png", PNG)),
        ("text/plain", PNG, part("image/png", PNG)),
        (
            "image/png",
            b"no\0png",
            part("application/octet-stream", b"no\0png"),
        ),
        (
            "application/pdf",
            b"%PDF-1.7",
            part("application/pdf", b"%PDF-1.7"),
        ),
        ("font/woff", b"\xff\0x", part("font/woff", b"\xff\0x")),
        (
            "not a type",
            b"\xff\0x",
            part("application/octet-stream", b"\xff\0x"),
        ),
    ];
    for (content_type, body, expected) in cases {
        assert_eq!(
            of_type(content_type, body),
            expected,
            "{content_type} {body:?}"
        );
    }
}

#[test]
fn refusals_are_errors_with_the_status() {
    let refused =
        |status, headers: &[(&str, &str)], body: &[u8]| output(arrived(status, headers, body));
    assert_eq!(
        refused(404, &[], b"gone"),
        Output::ErrorJson(
            json!({"status": 404, "url": "https://a.example/d/x.bin", "body": "gone"})
        )
    );
    assert_eq!(
        refused(429, &[("retry-after", "30")], b""),
        Output::ErrorJson(
            json!({"status": 429, "url": "https://a.example/d/x.bin", "body": "", "retry_after": "30"})
        )
    );
    let Output::ErrorJson(long) = refused(500, &[], &[b'x'; MAX_ERROR_BODY_BYTES + 1]) else {
        panic!("an error")
    };
    assert_eq!(
        long.get("body")
            .and_then(|body| body.as_str())
            .map(str::len),
        Some(MAX_ERROR_BODY_BYTES)
    );
}

#[test]
fn empty_responses_are_reported() {
    assert_eq!(
        output(arrived(204, &[], b"")),
        Output::text("[status 204, no content]")
    );
    let head = Followed {
        method: Method::Head,
        ..arrived(200, &[("a", "1"), ("a", "2")], b"")
    };
    assert_eq!(
        output(head),
        Output::Json(
            json!({"status": 200, "url": "https://a.example/d/x.bin", "headers": [["a", "1"], ["a", "2"]]})
        )
    );
}

#[test]
fn compressed_content_is_an_opaque_file() {
    let expected =
        "a.example sends its content in the encoding `gzip` only, which this tool does not read";
    assert_eq!(
        output(arrived(200, &[("content-encoding", "gzip")], b"\x1f\x8b")),
        Output::error(expected)
    );
    assert_eq!(
        output(arrived(200, &[("content-encoding", "identity")], b"x")),
        Output::text("x")
    );
}

#[test]
fn cut_is_reported_and_never_splits_a_character() {
    let cut = |content_type: &str, body: &[u8], hops| {
        let mut arrived = arrived(200, &[("content-type", content_type)], body);
        arrived.response.whole = false;
        output(Followed { hops, ..arrived })
    };
    let cases = [
        (
            cut("text/plain", b"ab", 0),
            Output::text("ab\n[cut after 2 bytes; max_bytes sets how many]"),
        ),
        (
            cut("text/plain", "aé".as_bytes().get(..2).expect("two"), 0),
            Output::text("a\n[cut after 2 bytes; max_bytes sets how many]"),
        ),
        (
            cut("application/json", b"[1", 1),
            Output::text(
                "[1\n[from https://a.example/d/x.bin; cut after 2 bytes; max_bytes sets how many]",
            ),
        ),
        (
            cut("image/png", PNG, 0),
            Output::error(
                "https://a.example/d/x.bin is larger than max_bytes and is no text that could be cut; ask for more bytes",
            ),
        ),
    ];
    for (actual, expected) in cases {
        assert_eq!(actual, expected);
    }
}

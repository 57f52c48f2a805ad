use std::collections::BTreeMap;

use pretty_assertions::assert_eq;

use super::{Method, Request, USER_AGENT, fields};
use crate::http::address::Address;
use crate::http::error::HttpError;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn fields_have_defaults_and_are_checked() {
    let cases = [
        (
            map(&[]),
            Ok(map(&[("accept", "*/*"), ("user-agent", USER_AGENT)])),
        ),
        (
            map(&[("Accept", "text/html"), ("X-A", "b")]),
            Ok(map(&[
                ("accept", "text/html"),
                ("user-agent", USER_AGENT),
                ("x-a", "b"),
            ])),
        ),
        (
            map(&[("a b", "c")]),
            Err(HttpError::HeaderField("a b".to_owned())),
        ),
        (
            map(&[("", "c")]),
            Err(HttpError::HeaderField(String::new())),
        ),
        (
            map(&[("a", "b\r\nc: d")]),
            Err(HttpError::HeaderField("a".to_owned())),
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(fields(given), expected);
    }
}

#[test]
fn redirect_drops_headers_meant_for_another_origin() {
    let [here, same, other] = [
        "https://a.example/",
        "https://a.example/b",
        "https://b.example/",
    ]
    .map(|url| Address::parse(url).expect("an address"));
    let secret = [
        ("authorization", "Bearer x"),
        ("content-type", "text/plain"),
        ("idempotency-key", "k"),
        ("user-agent", "u"),
    ];
    let post = Request {
        method: Method::Post,
        address: here,
        headers: map(&secret),
        body: Some(b"x".to_vec()),
    };
    let cases = [
        (
            303,
            &same,
            Method::Get,
            map(&[("authorization", "Bearer x"), ("user-agent", "u")]),
            None,
        ),
        (302, &other, Method::Get, map(&[("user-agent", "u")]), None),
        (307, &same, Method::Post, map(&secret), Some(b"x".to_vec())),
        (
            308,
            &other,
            Method::Post,
            map(&[("content-type", "text/plain"), ("user-agent", "u")]),
            Some(b"x".to_vec()),
        ),
    ];
    for (status, to, method, headers, body) in cases {
        let expected = Request {
            method,
            address: to.clone(),
            headers,
            body,
        };
        assert_eq!(
            post.clone().redirected(status, to.clone()),
            expected,
            "{status}"
        );
    }
    let head = Request {
        method: Method::Head,
        ..post
    };
    assert_eq!(head.redirected(301, other).method, Method::Head);
}

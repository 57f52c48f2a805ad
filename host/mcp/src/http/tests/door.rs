//! Who is let in, and what the others are told.

use super::{
    double::{Running, TOKEN},
    raw::{Answer, Ask, Raw, request},
};
use crate::http::{
    AllowedHost, AllowedOrigin,
    allowed::{self, Host},
    warning,
};
use http::{HeaderMap, Uri};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{collections::BTreeMap, net::SocketAddr};

/// What the protocol answers to [`ping`]: it passed the door.
const PASSED: (u16, &str) = (400, "Bad Request: Session ID is required");

const FOREIGN_HOST: (u16, &str) = (
    403,
    "the server is not to be called by this Host; its operator can allow it with --allow-host",
);
const NO_HOST: (u16, &str) = (
    400,
    "the request needs one Host field with a name or an address",
);
const FOREIGN_ORIGIN: (u16, &str) = (
    403,
    "pages of this Origin may not use the server; its operator can allow them with --allow-origin",
);
const NO_PATH: (u16, &str) = (404, "there is nothing but /mcp here");
const NO_TOKEN: (u16, &str) = (
    401,
    "the request needs the server's token: Authorization: Bearer TOKEN",
);
const WRONG_TOKEN: (u16, &str) = (
    401,
    "the token is not the server's; ask its operator for it",
);

/// A request that the door lets in, and the protocol does not answer without a session.
fn ping() -> Ask {
    Ask::post(request(1, "ping", &json!({})))
}

fn no_token() -> Ask {
    ping().without("Authorization")
}

/// Asks each on a connection of its own, and compares what is answered.
async fn check(server: &Running, cases: Vec<(Ask, (u16, &str))>) {
    for (ask, expected) in cases {
        let answer = Raw::connect(server.address).await.ask(&ask).await;
        assert_eq!(answer.brief(), expected, "{ask:?}");
        // Who was not let in keeps no connection.
        let closes = answer.field("connection") == Some("close");
        assert_eq!(closes, expected != PASSED, "{ask:?}");
    }
}

#[tokio::test]
async fn a_request_needs_a_name_of_the_server() {
    let server = Running::start(|_| {}).await;
    let named = |host| ping().with("Host", host);
    check(
        &server,
        vec![
            (named("localhost:PORT"), PASSED),
            (named("LocalHost:PORT"), PASSED),
            (named("127.0.0.1:PORT"), PASSED),
            (named("[::1]:PORT"), PASSED),
            (named("localhost"), FOREIGN_HOST),
            (named("localhost:1"), FOREIGN_HOST),
            (named("evil.example:PORT"), FOREIGN_HOST),
            (named("localhost.evil.example:PORT"), FOREIGN_HOST),
            (named("127.0.0.2:PORT"), FOREIGN_HOST),
            (named("localhost:PORT@evil.example"), NO_HOST),
            (named("evil.example@localhost:PORT"), NO_HOST),
            (named("localhost:99999"), NO_HOST),
            (named("localhost:"), NO_HOST),
            (named("local host"), NO_HOST),
            (named(""), NO_HOST),
            (ping().without("Host"), NO_HOST),
            (ping().and("Host", "evil.example"), NO_HOST),
            (ping().at("http://localhost:PORT/mcp"), PASSED),
            (ping().at("http://evil.example/mcp"), FOREIGN_HOST),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_page_needs_to_be_allowed() {
    let server = Running::start(|_| {}).await;
    let of = |origin| ping().and("Origin", origin);
    check(
        &server,
        vec![
            (ping(), PASSED),
            (of("http://localhost:PORT"), PASSED),
            (of("http://localhost:3000"), FOREIGN_ORIGIN),
            (of("http://127.0.0.1:PORT"), FOREIGN_ORIGIN),
            (of("http://evil.example"), FOREIGN_ORIGIN),
            (of("http://localhost:PORT.evil.example"), FOREIGN_ORIGIN),
            (of("http://localhost:PORT/page"), FOREIGN_ORIGIN),
            (of("null"), FOREIGN_ORIGIN),
            (of(""), FOREIGN_ORIGIN),
            (
                of("http://localhost:PORT").and("Origin", "http://evil.example"),
                FOREIGN_ORIGIN,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_request_needs_the_token() {
    let server = Running::start(|_| {}).await;
    let shows = |value: &str| no_token().and("Authorization", value);
    let right = format!("Bearer {TOKEN}");
    check(
        &server,
        vec![
            (shows(&right), PASSED),
            (shows(&format!("bearer   {TOKEN}")), PASSED),
            (no_token(), NO_TOKEN),
            (shows(""), WRONG_TOKEN),
            (shows("Bearer"), WRONG_TOKEN),
            (shows(TOKEN), WRONG_TOKEN),
            (shows(&format!("Basic {TOKEN}")), WRONG_TOKEN),
            (shows(&format!("Bearer {TOKEN}x")), WRONG_TOKEN),
            (shows(right.strip_suffix('e').unwrap()), WRONG_TOKEN),
            (shows(&right).and("Authorization", &right), WRONG_TOKEN),
            (
                no_token().at("/mcp?token=a-token-of-16-bytes-or-more"),
                NO_TOKEN,
            ),
        ],
    )
    .await;
    for (ask, challenge) in [
        (no_token(), "Bearer"),
        (shows("Bearer x"), "Bearer error=\"invalid_token\""),
    ] {
        let answer = Raw::connect(server.address).await.ask(&ask).await;
        assert_eq!(answer.field("www-authenticate"), Some(challenge), "{ask:?}");
    }
}

#[tokio::test]
async fn the_first_reason_is_the_one_that_is_told() {
    let server = Running::start(|_| {}).await;
    check(
        &server,
        vec![
            (ping().at("/"), NO_PATH),
            (ping().at("/mcp/"), NO_PATH),
            // Where clients look for a way to log in.
            (
                no_token().at("/.well-known/oauth-protected-resource"),
                NO_PATH,
            ),
            (no_token().at("/").and("Origin", "null"), FOREIGN_ORIGIN),
            (
                no_token()
                    .and("Origin", "null")
                    .with("Host", "evil.example"),
                FOREIGN_HOST,
            ),
            (Ask::bare("PUT").without("Authorization"), NO_TOKEN),
            (ping().at("/mcp?query"), PASSED),
        ],
    )
    .await;
    let answer = Raw::connect(server.address)
        .await
        .ask(&Ask::bare("PUT"))
        .await;
    assert_eq!(answer.brief(), (405, "Method Not Allowed"));
    assert_eq!(answer.field("allow"), Some("GET, POST, DELETE"));
}

#[tokio::test]
async fn the_operator_can_allow_names_and_pages() {
    let server = Running::start(|options| {
        options.allowed_hosts = ["mcp.example.org", "proxy.example:8443"]
            .map(|host| host.parse().unwrap())
            .into();
        options.allowed_origins = vec!["https://app.example.org".parse().unwrap()];
    })
    .await;
    let named = |host| ping().with("Host", host);
    let of = |origin| named("mcp.example.org").and("Origin", origin);
    check(
        &server,
        vec![
            (named("localhost:PORT"), PASSED),
            (named("MCP.example.org"), PASSED),
            (named("mcp.example.org:8443"), PASSED),
            (named("proxy.example:8443"), PASSED),
            (named("proxy.example"), FOREIGN_HOST),
            (named("other.example.org"), FOREIGN_HOST),
            (of("https://app.example.org"), PASSED),
            (of("https://APP.example.org:443"), PASSED),
            // The server's own, behind a proxy with TLS.
            (of("https://mcp.example.org"), PASSED),
            (of("http://app.example.org"), FOREIGN_ORIGIN),
            (of("https://app.example.org:444"), FOREIGN_ORIGIN),
            (of("https://evil.app.example.org"), FOREIGN_ORIGIN),
        ],
    )
    .await;
}

/// What a browser reads of an answer before its page may.
fn for_browsers(answer: &Answer) -> BTreeMap<&str, &str> {
    let fields = answer.fields.iter();
    fields
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| name.starts_with("access-control-") || *name == "vary")
        .collect()
}

#[tokio::test]
async fn an_allowed_page_may_ask_and_read() {
    let server = Running::start(|options| {
        options.allowed_origins = vec!["https://app.example.org".parse().unwrap()];
    })
    .await;
    let mut connection = Raw::connect(server.address).await;
    let question = Ask::bare("OPTIONS")
        .without("Authorization")
        .and("Origin", "https://app.example.org")
        .and("Access-Control-Request-Method", "POST")
        .and("Access-Control-Request-Headers", "authorization,mcp-name");
    let answer = connection.ask(&question).await;
    assert_eq!(answer.brief(), (204, ""));
    let readable = BTreeMap::from([
        ("access-control-allow-origin", "https://app.example.org"),
        ("access-control-expose-headers", "mcp-session-id"),
        ("vary", "origin"),
    ]);
    let mut allowed = readable.clone();
    allowed.extend([
        ("access-control-allow-headers", "authorization,mcp-name"),
        ("access-control-allow-methods", "GET, POST, DELETE"),
        ("access-control-max-age", "600"),
    ]);
    assert_eq!(for_browsers(&answer), allowed);
    for ask in [ping(), no_token()] {
        let ask = ask.and("Origin", "https://app.example.org");
        let answer = Raw::connect(server.address).await.ask(&ask).await;
        assert_eq!(for_browsers(&answer), readable, "{ask:?}");
    }
    let foreign = question.with("Origin", "https://evil.example");
    let answer = Raw::connect(server.address).await.ask(&foreign).await;
    assert_eq!(answer.brief(), FOREIGN_ORIGIN);
    assert_eq!(for_browsers(&answer), BTreeMap::new());
}

#[test]
fn what_is_no_name_or_page_cannot_be_allowed() {
    for text in [
        "",
        "*",
        "http://host",
        "host/path",
        "host:port",
        "a b",
        "user@host",
        "*.host",
    ] {
        let error = text.parse::<AllowedHost>().unwrap_err().to_string();
        assert!(error.starts_with("this is no host; "), "{text:?}: {error}");
    }
    for text in [
        "",
        "*",
        "null",
        "host",
        "https://",
        "https://host/",
        "ftp://host",
        "https://*",
    ] {
        let error = text.parse::<AllowedOrigin>().unwrap_err().to_string();
        assert!(
            error.starts_with("this is no origin; "),
            "{text:?}: {error}"
        );
    }
    assert!("ftp://host:21".parse::<AllowedOrigin>().is_ok());
}

#[test]
fn the_names_of_a_server_follow_from_where_it_listens() {
    let all = [
        "localhost:80",
        "127.0.0.1:80",
        "[::1]:80",
        "192.0.2.1:80",
        "[2001:db8::1]:80",
    ];
    let cases = [
        (
            "127.0.0.1:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            None,
        ),
        (
            "[::1]:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            None,
        ),
        (
            "0.0.0.0:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            Some("0.0.0.0:80"),
        ),
        (
            "[::]:80",
            vec!["localhost:80", "127.0.0.1:80", "[::1]:80"],
            Some("[::]:80"),
        ),
        ("192.0.2.1:80", vec!["192.0.2.1:80"], Some("192.0.2.1:80")),
        (
            "[2001:db8::1]:80",
            vec!["[2001:db8::1]:80"],
            Some("[2001:db8::1]:80"),
        ),
    ];
    for (address, expected, reachable) in cases {
        let address: SocketAddr = address.parse().unwrap();
        let allowed = allowed::hosts(address, Vec::new());
        let ours = all.into_iter().filter(|host| {
            let headers = HeaderMap::from_iter([(http::header::HOST, host.parse().unwrap())]);
            matches!(
                Host::of(&Uri::from_static("/"), &headers, &allowed),
                Host::Ours(_)
            )
        });
        assert_eq!(ours.collect::<Vec<_>>(), expected, "{address}");
        let warned = reachable.map(|address| {
            format!(
                "other machines can reach {address}, and the traffic is not encrypted: whoever sees it sees the token; listen \
                 at 127.0.0.1 and put a proxy with TLS before it"
            )
        });
        assert_eq!(warning(address), warned);
    }
}

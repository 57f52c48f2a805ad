//! Which requests reach the protocol, and how the others are refused.

use super::{
    double::{Running, TOKEN},
    raw::{Answer, Ask, Raw, request},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::BTreeMap;

/// The protocol's response to [`ping`], which has passed the guard.
const PASSED: (u16, &str) = (400, "Bad Request: Session ID is required");

const FOREIGN_HOST: (u16, &str) = (
    403,
    "this Host is not allowed; the server's operator can allow it with --allow-host",
);
const NO_HOST: (u16, &str) = (
    400,
    "the request needs exactly one Host field, with a name or an address",
);
const FOREIGN_ORIGIN: (u16, &str) = (
    403,
    "pages of this Origin may not use the server; its operator can allow them with --allow-origin",
);
const NO_PATH: (u16, &str) = (404, "the only path here is /mcp");
const NO_TOKEN: (u16, &str) = (
    401,
    "the request needs the server's token: Authorization: Bearer TOKEN",
);
const WRONG_TOKEN: (u16, &str) = (
    401,
    "the token is not the server's; ask its operator for it",
);

/// A request that passes the guard, and that the protocol refuses without a session.
fn ping() -> Ask {
    Ask::post(request(1, "ping", &json!({})))
}

fn no_token() -> Ask {
    ping().without("Authorization")
}

/// Sends each request on a connection of its own, and compares the response.
async fn check(server: &Running, cases: Vec<(Ask, (u16, &str))>) {
    for (ask, expected) in cases {
        let answer = Raw::connect(server.address).await.ask(&ask).await;
        assert_eq!(answer.brief(), expected, "{ask:?}");
        // A refusal closes the connection.
        let closes = answer.field("connection") == Some("close");
        assert_eq!(closes, expected != PASSED, "{ask:?}");
    }
}

#[tokio::test]
async fn host_is_checked_before_all_else() {
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
async fn origin_not_allowed_is_refused() {
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
async fn token_missing_or_wrong_is_refused() {
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
async fn refusal_gives_the_first_failed_check() {
    let server = Running::start(|_| {}).await;
    check(
        &server,
        vec![
            (ping().at("/"), NO_PATH),
            (ping().at("/mcp/"), NO_PATH),
            // Clients look for a way to log in there.
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
async fn configured_hosts_and_origins_are_allowed() {
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
            // The server's own origin behind a proxy with TLS.
            (of("https://mcp.example.org"), PASSED),
            (of("http://app.example.org"), FOREIGN_ORIGIN),
            (of("https://app.example.org:444"), FOREIGN_ORIGIN),
            (of("https://evil.app.example.org"), FOREIGN_ORIGIN),
        ],
    )
    .await;
}

/// The header fields of a response that only browsers read.
fn cors_fields(answer: &Answer) -> BTreeMap<&str, &str> {
    let fields = answer.fields.iter();
    fields
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| name.starts_with("access-control-") || *name == "vary")
        .collect()
}

#[tokio::test]
async fn allowed_origin_gets_cors_headers() {
    let server = Running::start(|options| {
        options.allowed_origins = vec!["https://app.example.org".parse().unwrap()];
    })
    .await;
    let mut connection = Raw::connect(server.address).await;
    let preflight = Ask::bare("OPTIONS")
        .without("Authorization")
        .and("Origin", "https://app.example.org")
        .and("Access-Control-Request-Method", "POST")
        .and("Access-Control-Request-Headers", "authorization,mcp-name");
    let answer = connection.ask(&preflight).await;
    assert_eq!(answer.brief(), (204, ""));
    let readable = BTreeMap::from([
        ("access-control-allow-origin", "https://app.example.org"),
        ("access-control-expose-headers", "mcp-session-id"),
        ("vary", "origin"),
    ]);
    let mut allowed = readable.clone();
    allowed.extend([
        ("access-control-allow-headers", "authorization,mcp-name"),
        ("access-control-allow-methods", "GET, POST, PATCH, DELETE"),
        ("access-control-max-age", "600"),
    ]);
    assert_eq!(cors_fields(&answer), allowed);
    for ask in [ping(), no_token()] {
        let ask = ask.and("Origin", "https://app.example.org");
        let answer = Raw::connect(server.address).await.ask(&ask).await;
        assert_eq!(cors_fields(&answer), readable, "{ask:?}");
    }
    let foreign = preflight.with("Origin", "https://evil.example");
    let answer = Raw::connect(server.address).await.ask(&foreign).await;
    assert_eq!(answer.brief(), FOREIGN_ORIGIN);
    assert_eq!(cors_fields(&answer), BTreeMap::new());
}

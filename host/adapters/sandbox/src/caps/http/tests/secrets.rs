//! Placeholders in requests, and values in responses.

use super::{
    call::{Call, HELLO, Running, grant, request, with_body},
    server::Server,
};
use crate::secrets::tests::{VALUE, forms, secrets};
use agent_host_engine::policy::SecretGrant;
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::AuditRequest,
    limits::Limits,
};
use http::{HeaderName, Request};
use pretty_assertions::assert_eq;
use wasmtime_wasi_http::WasiBody;

/// Grants a secret for this machine, in header fields and possibly in a query.
fn secret(name: &str, port: u16, in_query: bool) -> SecretGrant {
    SecretGrant {
        name: name.to_owned(),
        scheme: "http".to_owned(),
        host: "127.0.0.1".to_owned(),
        port,
        in_query,
    }
}

/// A call that may reach the server, and use `github` and `git` with it in header fields and `key`
/// in a query, too.
fn holding(server: &Server) -> Running {
    let mut call = Call::to(vec![server.grant()]);
    call.secret_grants = vec![
        secret("github", server.port, false),
        secret("git", server.port, false),
        secret("key", server.port, true),
    ];
    call.secrets = secrets(&[
        ("git", "git-value-0"),
        ("github", VALUE),
        ("key", "a key&more=1"),
        ("ungranted", "ungranted-value"),
    ]);
    call.start()
}

fn with_field(url: &str, value: &str) -> Request<WasiBody> {
    let mut request = request("GET", url);
    request
        .headers_mut()
        .insert("authorization", value.parse().unwrap());
    request
}

/// The requests that the gate refused, with rules.
fn denied(call: &Running) -> Vec<(String, String)> {
    call.stats()
        .audit
        .into_iter()
        .filter(|entry| entry.verdict == AuditVerdict::Denied)
        .map(|entry| (entry.request.to_string(), entry.rule))
        .collect()
}

#[tokio::test]
async fn placeholder_in_header_field_is_filled() {
    let table = [
        ("secret://github", VALUE.to_owned()),
        ("Bearer secret://github", format!("Bearer {VALUE}")),
        ("token=\"secret://git\"", "token=\"git-value-0\"".to_owned()),
        (
            "secret://git:secret://github, secret://git",
            format!("git-value-0:{VALUE}, git-value-0"),
        ),
        ("secret:/github", "secret:/github".to_owned()),
        ("SECRET://github", "SECRET://github".to_owned()),
    ];
    for (value, sent) in table {
        let server = Server::start(HELLO).await;
        let mut call = holding(&server);
        assert_eq!(
            call.send(with_field(&server.url("/"), value)).await,
            "200 hello"
        );
        let expected = format!("\r\nauthorization: {sent}\r\n");
        assert!(
            server.seen()[0].contains(&expected),
            "{value}: {:?}",
            server.seen()
        );
        assert_eq!(call.stats().first_denial, None);
    }
}

#[tokio::test]
async fn audit_log_names_secrets_without_values() {
    let server = Server::start(HELLO).await;
    let mut call = holding(&server);
    let url = server.url("/p?k=secret%3A%2F%2Fkey&x");
    assert_eq!(
        call.send(with_field(&url, "secret://github")).await,
        "200 hello"
    );
    let entry = |request: String, rule: &str, status| AuditEntry {
        request: AuditRequest::from_text(&request),
        verdict: AuditVerdict::Allowed,
        rule: rule.to_owned(),
        count: 1,
        grant: None,
        status,
    };
    assert_eq!(
        call.stats().audit,
        [
            entry(format!("GET {url}"), "grants.http[0]", Some(200)),
            entry(
                format!("secret://github in GET {url}"),
                "grants.secrets[0]",
                None
            ),
            entry(
                format!("secret://key in GET {url}"),
                "grants.secrets[2]",
                None
            ),
        ]
    );
}

#[tokio::test]
async fn placeholder_in_query_is_filled_and_rest_kept() {
    let table = [
        ("k=secret://key", "k=a%20key%26more%3D1"),
        ("k=secret%3a%2F%2Fkey", "k=a%20key%26more%3D1"),
        (
            "a=%20+&&b&k=x+secret://key;&c=%41",
            "a=%20+&&b&k=x%20a%20key%26more%3D1%3B&c=%41",
        ),
        ("a=%20+&&b&c=%41%ff", "a=%20+&&b&c=%41%ff"),
    ];
    for (query, sent) in table {
        let server = Server::start(HELLO).await;
        let mut call = holding(&server);
        let found = call.get(&server.url(&format!("/p?{query}"))).await;
        assert_eq!(found, "200 hello", "{query}");
        let expected = format!("GET /p?{sent} HTTP/1.1\r\n");
        assert!(
            server.seen()[0].starts_with(&expected),
            "{query}: {:?}",
            server.seen()
        );
    }
}

#[tokio::test]
async fn placeholder_elsewhere_is_refused() {
    let server = Server::start(HELLO).await;
    let table = [
        ("/", "secret://gi", "default-deny"),
        ("/", "secret://githubx", "default-deny"),
        ("/", "secret://git-hub", "default-deny"),
        ("/", "secret://ungranted", "default-deny"),
        ("/", "see secret://", "default-deny"),
        ("/", "secret://github secret://nothing", "default-deny"),
        ("/?k=secret://github", "x", "secret.github.in-query"),
        ("/?k=secret://nothing", "x", "default-deny"),
        ("/?secret://key=1", "x", "secret.key.place"),
        ("/?secret%3A%2F%2Fkey", "x", "secret.key.place"),
        ("/a/secret://key/b", "x", "secret.key.place"),
        ("/a/secret://nothing", "x", "default-deny"),
    ];
    for (path, value, rule) in table {
        let mut call = holding(&server);
        let found = call.send(with_field(&server.url(path), value)).await;
        assert_eq!(found, "HttpRequestDenied", "{path} {value}");
        let rules: Vec<String> = denied(&call).into_iter().map(|(_, rule)| rule).collect();
        assert_eq!(rules, [rule], "{path} {value}");
    }
    // A field's name cannot hold one.
    assert!(HeaderName::from_bytes(b"secret://github").is_err());
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn secret_for_other_audience_is_refused() {
    let server = Server::start(HELLO).await;
    let port = server.port;
    let other_port = Server::start(HELLO).await;
    let cases = [
        // The host, the port, the scheme.
        format!("http://127.0.0.2:{port}/"),
        other_port.url("/"),
        format!("https://127.0.0.1:{port}/"),
    ];
    for url in cases {
        let mut call = Call::to(vec![
            grant(None, "127.0.0.1", Some(port)),
            grant(None, "127.0.0.2", Some(port)),
            other_port.grant(),
        ]);
        call.secret_grants = vec![secret("github", port, true)];
        call.secrets = secrets(&[("github", VALUE)]);
        let mut call = call.start();
        let query = format!("{url}?k=secret://github");
        for request in [with_field(&url, "secret://github"), request("GET", &query)] {
            assert_eq!(call.send(request).await, "HttpRequestDenied", "{url}");
        }
        let rule = || "secret.github.audience".to_owned();
        assert_eq!(
            denied(&call),
            [
                (format!("secret://github in GET {url}"), rule()),
                (format!("secret://github in GET {query}"), rule()),
            ]
        );
        assert_eq!(
            call.stats().first_denial.map(|denial| denial.sentence),
            Some(format!(
                "secret://github in GET {url} was refused: the secret `github` can be sent only to \
                 http://127.0.0.1:{port} (rule secret.github.audience)"
            ))
        );
    }
    assert_eq!((server.seen(), other_port.seen()), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn secret_grant_does_not_grant_its_host() {
    let server = Server::start(HELLO).await;
    let mut call = Call::to(Vec::new());
    call.secret_grants = vec![secret("github", server.port, false)];
    call.secrets = secrets(&[("github", VALUE)]);
    let mut call = call.start();
    let url = server.url("/");
    let found = call.send(with_field(&url, "secret://github")).await;
    assert_eq!(found, "HttpRequestDenied");
    assert_eq!(
        denied(&call),
        [(format!("GET {url}"), "default-deny".to_owned())]
    );
}

#[tokio::test]
async fn followed_redirect_does_not_carry_the_secret() {
    let elsewhere = Server::start(HELLO).await;
    let location = format!("{}?stolen={VALUE}", elsewhere.url("/"));
    let encoded = location.replace('"', "%22").replace([' ', '>'], "%20");
    let server = Server::start(&format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ))
    .await;
    let mut call = Call::to(vec![server.grant(), elsewhere.grant()]);
    call.secret_grants = vec![secret("github", server.port, false)];
    call.secrets = secrets(&[("github", VALUE)]);
    let mut call = call.start();
    let told = call
        .send(with_field(&server.url("/"), "secret://github"))
        .await;
    let shown = format!("{}?stolen=[secret:github]", elsewhere.url("/"));
    assert_eq!(told, format!("302 to {shown} "), "{encoded}");
    let found = call.send(with_field(&shown, "secret://github")).await;
    assert_eq!(found, "HttpRequestDenied");
    assert_eq!(elsewhere.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn too_many_or_unknown_placeholders_are_refused() {
    let server = Server::start(HELLO).await;
    let url = server.url("/");
    let table = [
        (16, "200 hello", None),
        (17, "HttpRequestDenied", Some("secrets.placeholders")),
    ];
    for (count, expected, rule) in table {
        let mut call = holding(&server);
        let found = call
            .send(with_field(&url, &"secret://git ".repeat(count)))
            .await;
        assert_eq!(found, expected, "{count}");
        let rules: Vec<String> = denied(&call).into_iter().map(|(_, rule)| rule).collect();
        assert_eq!(rules, Vec::from_iter(rule), "{count}");
    }
    let mut call = Call::to(vec![server.grant()]);
    call.secret_grants = vec![secret("github", server.port, false)];
    let mut call = call.start();
    let found = call.send(with_field(&url, "secret://github")).await;
    assert_eq!(found, "HttpRequestDenied");
    assert_eq!(
        denied(&call),
        [(format!("GET {url}"), "secrets.value".to_owned())]
    );
    // The values count in the size of the header fields.
    let mut call = Call::to(vec![server.grant()]);
    call.secret_grants = vec![secret("long", server.port, false)];
    let long = "0123456789".repeat(40);
    call.secrets = secrets(&[("long", &long)]);
    call.limits = Limits {
        http_header_bytes: 300,
        ..Limits::default()
    };
    let found = call.start().send(with_field(&url, "secret://long")).await;
    assert!(found.starts_with("HttpRequestHeaderSectionSize"), "{found}");
}

#[tokio::test]
async fn placeholder_in_body_is_kept_as_text() {
    let server = Server::start(HELLO).await;
    let mut call = holding(&server);
    let body = with_body("POST", &server.url("/"), "k=secret://github".into());
    assert_eq!(call.send(body).await, "200 hello");
    let seen = server.seen();
    assert!(
        seen[0].contains("\r\n\r\n11\r\nk=secret://github\r\n") && !seen[0].contains(VALUE),
        "{seen:?}"
    );
}

/// The response in chunks of one byte, so that every form is cut at every position.
fn chunked(body: &str) -> String {
    let chunks: String = body.chars().map(|c| format!("1\r\n{c}\r\n")).collect();
    format!("{chunks}0\r\n\r\n")
}

#[tokio::test]
async fn response_is_redacted_of_granted_secrets_only() {
    let body: String = forms().iter().map(|form| format!("<{form}>")).collect();
    let expected = "<[secret:github]>".repeat(forms().len());
    let fields = format!("x-value: a {VALUE} b\r\nx-value: plain\r\nx-known-git-value-0: y\r\n");
    let length = body.len();
    let answers = [
        format!("HTTP/1.1 200 OK\r\n{fields}content-length: {length}\r\n\r\n{body}"),
        format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}"),
        format!(
            "HTTP/1.1 200 OK\r\n{fields}transfer-encoding: chunked\r\n\r\n{}",
            chunked(&body)
        ),
    ];
    for answer in answers {
        let server = Server::start(&answer).await;
        let mut ungranted = Call::to(vec![server.grant()]);
        ungranted.secrets = secrets(&[("github", VALUE), ("git", "git-value-0")]);
        let ungranted = ungranted.start();
        let as_sent = format!("a {VALUE} b");
        let table = [
            (holding(&server), &expected, "a [secret:github] b", false),
            (ungranted, &body, as_sent.as_str(), true),
        ];
        for (mut call, body, value, has_all) in table {
            let (fields, received) = call.exchange(request("GET", &server.url("/"))).await;
            assert_eq!(received, body.as_bytes(), "{answer}");
            let values: Vec<&str> = fields
                .get_all("x-value")
                .iter()
                .map(|value| value.to_str().unwrap())
                .collect();
            assert_eq!(values, [value, "plain"]);
            let has = |name: &str| fields.contains_key(name);
            assert_eq!(has("x-known-git-value-0"), has_all, "{fields:?}");
            let is_sized = has_all && answer.contains("content-length");
            assert_eq!(has("content-length"), is_sized, "{fields:?}");
        }
    }
}

#[tokio::test]
async fn encoded_response_is_not_requested_and_refused() {
    let body = "content-length: 5\r\n\r\nhello";
    let refused = Some("secrets.content-encoding");
    let table = [
        (
            "content-encoding: gzip\r\n",
            "HttpResponseContentCoding(None)",
            refused,
        ),
        (
            "content-encoding: identity\r\ncontent-encoding: br\r\n",
            "HttpResponseContentCoding(None)",
            refused,
        ),
        ("content-encoding: Identity\r\n", "200 hello", None),
    ];
    for (field, expected, rule) in table {
        let server = Server::start(&format!("HTTP/1.1 200 OK\r\n{field}{body}")).await;
        let wishes = || {
            let mut wish = request("GET", &server.url("/"));
            wish.headers_mut()
                .insert("accept-encoding", "gzip, br".parse().unwrap());
            wish
        };
        let mut call = holding(&server);
        assert_eq!(call.send(wishes()).await, expected, "{field}");
        let rules: Vec<String> = denied(&call).into_iter().map(|(_, rule)| rule).collect();
        assert_eq!(rules, Vec::from_iter(rule), "{field}");
        let plain = Call::to(vec![server.grant()]).start().send(wishes()).await;
        assert_eq!(plain, "200 hello", "{field}");
        let seen = server.seen();
        assert!(
            seen[0].contains("accept-encoding: identity\r\n")
                && seen[1].contains("accept-encoding: gzip, br\r\n"),
            "{seen:?}"
        );
    }
}

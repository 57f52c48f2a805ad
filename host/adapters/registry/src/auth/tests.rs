use super::{Challenge, bearer, realm_is_accepted, token_url};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use reqwest::Url;

fn token_of(realm: &str, service: Option<&str>) -> Option<Challenge> {
    Some(Challenge::Bearer {
        realm: realm.parse().unwrap(),
        service: service.map(str::to_owned),
    })
}

#[test]
fn challenge_is_parsed_in_every_form_of_writing() {
    let realm = "https://auth.example/token";
    let cases = [
        (
            r#"Bearer realm="https://auth.example/token",service="r.example",scope="repository:*:*""#,
            token_of(realm, Some("r.example")),
        ),
        (
            "bearer realm=https://auth.example/token",
            token_of(realm, None),
        ),
        (
            r#"Negotiate, Bearer service="a \"b\", c" , realm="https://auth.example/token""#,
            token_of(realm, Some(r#"a "b", c"#)),
        ),
        ("Basic realm=\"x\"", Some(Challenge::Basic)),
        // The first value of a parameter counts.
        (
            r#"Bearer realm="https://auth.example/token",realm="https://evil.example""#,
            token_of(realm, None),
        ),
        ("Bearer realm=\"/token\"", None),
        ("Bearer service=x", None),
        ("Digest realm=x", None),
        ("realm=\"https://auth.example/token\"", None),
        ("", None),
    ];
    for (header, expected) in cases {
        assert_eq!(Challenge::parse(header), expected, "{header}");
    }
    assert_eq!(
        Challenge::parse(&format!("Basic {}", "x".repeat(4096))),
        None
    );
}

#[test]
fn credentials_go_to_accepted_realm_only() {
    let cases = [
        ("https://ghcr.io", "https://ghcr.io/token", true),
        (
            "https://registry.gitlab.com",
            "https://gitlab.com/jwt/auth",
            true,
        ),
        (
            "https://registry-1.docker.io",
            "https://auth.docker.io/token",
            true,
        ),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000/token", true),
        ("https://ghcr.io", "https://ghcr.io:8443/token", false),
        ("https://ghcr.io", "http://ghcr.io/token", false),
        ("https://ghcr.io", "https://evil.example/token", false),
        ("https://ghcr.io", "https://io/token", false),
        ("https://ghcr.io", "https://xghcr.io/token", false),
        ("https://xghcr.io", "https://ghcr.io/token", false),
        (
            "https://ghcr.io",
            "https://ghcr.io.evil.example/token",
            false,
        ),
        ("https://ghcr.io", "https://sub.ghcr.io/token", false),
        (
            "https://other.example",
            "https://auth.docker.io/token",
            false,
        ),
        ("https://10.0.0.1", "https://0.0.1/token", false),
        (
            "http://127.0.0.1:5000",
            "http://127.0.0.1:5001/token",
            false,
        ),
    ];
    for (registry, realm, expected) in cases {
        let (registry, realm): (Url, Url) = (registry.parse().unwrap(), realm.parse().unwrap());
        assert_eq!(
            realm_is_accepted(&registry, &realm),
            expected,
            "{registry} {realm}"
        );
    }
}

#[test]
fn token_is_asked_for_one_repository() {
    let realm = "https://auth.example/token?scope=repository:other:push#x"
        .parse()
        .unwrap();
    let url = token_url(&realm, Some("a&b"), "acme/x", true);
    let query = "service=a%26b&scope=repository%3Aacme%2Fx%3Apull%2Cpush";
    assert_eq!(url.as_str(), format!("https://auth.example/token?{query}"));
    let header = |answer: &[u8]| bearer(answer).map(|it| it.to_str().unwrap().to_owned());
    assert_eq!(header(br#"{"token":"a"}"#), Some("Bearer a".to_owned()));
    assert_eq!(
        header(br#"{"access_token":"b"}"#),
        Some("Bearer b".to_owned())
    );
    assert_eq!(header(br#"{"token":"a\r\nx: y"}"#), None);
    assert_eq!(header(b"{}"), None);
    assert_eq!(header(b"<html>"), None);
}

proptest! {
    #[test]
    fn challenge_fuzz(header in r#"(Bearer|Basic|[a-z]{0,8})? ?(realm|service|[a-z]{0,3})?=?("|\\|,|[ -~]){0,40}"#) {
        if let Some(Challenge::Bearer { realm, service }) = Challenge::parse(&header) {
            let url = token_url(&realm, service.as_deref(), "a/b", false);
            prop_assert!(url.query().unwrap().ends_with("scope=repository%3Aa%2Fb%3Apull"));
        }
    }
}

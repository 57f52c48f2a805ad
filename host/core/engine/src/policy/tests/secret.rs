//! Rulings on secrets: the name, the part of the request, and each part of the audience.

use crate::policy::{Grants, HttpRequest, Ruling, SecretGrant, SecretPlace, decide_secret};
use pretty_assertions::assert_eq;

fn secret(name: &str, scheme: &str, host: &str, port: u16, in_query: bool) -> SecretGrant {
    SecretGrant {
        name: name.to_owned(),
        scheme: scheme.to_owned(),
        host: host.to_owned(),
        port,
        in_query,
    }
}

fn grants() -> Grants {
    Grants {
        secrets: vec![
            secret("git", "https", "api.example.com", 443, false),
            secret("github", "https", "api.example.com", 443, true),
            secret("local", "http", "::1", 8080, false),
        ],
        ..Grants::default()
    }
}

fn to<'a>(scheme: &'a str, host: &'a str, port: u16) -> HttpRequest<'a> {
    HttpRequest {
        method: "GET",
        scheme,
        host,
        port,
        path: "/",
    }
}

#[test]
fn secret_ruling_follows_grant_and_place() {
    use SecretPlace::{Elsewhere, Header, Query};
    let api = to("https", "api.example.com", 443);
    let table = [
        ("git", Header, api, "allow grants.secrets[0]"),
        ("github", Header, api, "allow grants.secrets[1]"),
        ("github", Query, api, "allow grants.secrets[1]"),
        (
            "github",
            Header,
            to("https", "API.example.com", 443),
            "allow grants.secrets[1]",
        ),
        (
            "local",
            Header,
            to("http", "0:0::1", 8080),
            "allow grants.secrets[2]",
        ),
        ("git", Query, api, "deny secret.git.in-query"),
        ("git", Elsewhere, api, "deny secret.git.place"),
        ("github", Elsewhere, api, "deny secret.github.place"),
        ("", Header, api, "deny default-deny"),
        ("gi", Header, api, "deny default-deny"),
        ("Git", Header, api, "deny default-deny"),
        ("githubx", Header, api, "deny default-deny"),
    ];
    for (name, place, request, expected) in table {
        let ruling = decide_secret(&grants(), name, place, &request);
        assert_eq!(super::short(ruling), expected, "{name} {place:?}");
    }
}

#[test]
fn secret_is_denied_if_any_audience_part_differs() {
    let wrong = [
        to("http", "api.example.com", 443),
        to("http", "api.example.com", 80),
        to("https", "api.example.com", 8443),
        to("https", "example.com", 443),
        to("https", "x.api.example.com", 443),
        to("https", "api.example.com.", 443),
        to("https", "api.example.com.evil.net", 443),
        to("https", "xapi.example.com", 443),
        to("https", "93.184.216.34", 443),
    ];
    for request in wrong {
        for place in [SecretPlace::Header, SecretPlace::Query] {
            assert_eq!(
                decide_secret(&grants(), "github", place, &request),
                Ruling::Deny {
                    rule: "secret.github.audience".to_owned(),
                    reason: "the secret `github` can be sent only to https://api.example.com:443"
                        .to_owned(),
                    grant: None,
                },
                "{request:?}"
            );
        }
    }
    let Ruling::Deny { reason, .. } = decide_secret(
        &grants(),
        "local",
        SecretPlace::Header,
        &to("http", "127.0.0.1", 8080),
    ) else {
        panic!("allowed");
    };
    assert_eq!(
        reason,
        "the secret `local` can be sent only to http://[::1]:8080"
    );
}

#[test]
fn secret_denial_suggests_a_grant_that_would_help() {
    let api = to("https", "api.example.com", 443);
    let table = [
        (
            "other",
            SecretPlace::Header,
            Some("[grants]\nsecrets = [\"other\"]"),
        ),
        ("no name", SecretPlace::Header, None),
        (
            "git",
            SecretPlace::Query,
            Some("[[secret]]\nname = \"git\"\nin-query = true"),
        ),
        ("git", SecretPlace::Elsewhere, None),
    ];
    for (name, place, expected) in table {
        let ruling = decide_secret(&grants(), name, place, &api);
        let Ruling::Deny { grant, .. } = ruling else {
            panic!("{ruling:?}");
        };
        assert_eq!(grant.as_deref(), expected, "{name}");
    }
}

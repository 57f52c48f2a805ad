//! Rulings on requests and on the addresses that they resolve to.

use super::short;
use crate::policy::{Grants, HttpGrant, HttpRequest, Ruling, decide_address, decide_http};
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;
use std::net::IpAddr;

fn http(scheme: Option<&str>, host: &str, port: Option<u16>) -> HttpGrant {
    HttpGrant {
        scheme: scheme.map(str::to_owned),
        host: host.to_owned(),
        port,
        ..HttpGrant::default()
    }
}

fn request<'a>(method: &'a str, scheme: &'a str, host: &'a str, port: u16) -> HttpRequest<'a> {
    HttpRequest {
        method,
        scheme,
        host,
        port,
        path: "/",
    }
}

#[test]
fn http_ruling_follows_grant_and_effect() {
    let grants = Grants {
        http: vec![
            http(Some("https"), "Api.example.com", None),
            http(None, "*.example.org", Some(8443)),
            http(None, "127.0.0.1", Some(9000)),
            http(Some("http"), "0:0:0:0:0:0:0:1", None),
        ],
        ..Grants::default()
    };
    let all = Grants {
        http: vec![http(None, "*", None)],
        ..Grants::default()
    };
    let table = [
        (
            &grants,
            request("GET", "https", "api.example.com", 443),
            "allow grants.http[0]",
        ),
        (
            &grants,
            request("POST", "https", "api.example.com", 443),
            "allow grants.http[0]",
        ),
        (
            &grants,
            request("GET", "http", "api.example.com", 80),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "api.example.com", 8443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "api.example.com.", 443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "xapi.example.com", 443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "api.example.com.evil.net", 443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "a.example.org", 8443),
            "allow grants.http[1]",
        ),
        (
            &grants,
            request("GET", "http", "a.b.example.org", 8443),
            "allow grants.http[1]",
        ),
        (
            &grants,
            request("GET", "https", "example.org", 8443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", ".example.org", 8443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "badexample.org", 8443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "https", "a.example.org", 443),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "http", "127.0.0.1", 9000),
            "allow grants.http[2]",
        ),
        (
            &grants,
            request("GET", "http", "127.0.0.1", 80),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "http", "127.0.0.2", 9000),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "http", "::ffff:127.0.0.1", 9000),
            "deny default-deny",
        ),
        (
            &grants,
            request("GET", "http", "::1", 80),
            "allow grants.http[3]",
        ),
        (
            &all,
            request("GET", "https", "anything.example", 443),
            "allow grants.http[0]",
        ),
        (
            &all,
            request("GET", "http", "anything.example", 80),
            "allow grants.http[0]",
        ),
        (
            &all,
            request("GET", "http", "anything.example", 8080),
            "deny default-deny",
        ),
        (
            &all,
            request("GET", "http", "93.184.216.34", 80),
            "deny default-deny",
        ),
        (
            &all,
            request("GET", "http", "2606:2800:220:1::1", 80),
            "deny default-deny",
        ),
    ];
    for (grants, request, expected) in table {
        assert_eq!(
            short(decide_http(grants, Effect::Effectful, &request)),
            expected,
            "{request:?}"
        );
    }
    for (method, expected) in [
        ("GET", "allow grants.http[0]"),
        ("HEAD", "allow grants.http[0]"),
        ("POST", "deny effect.read-only"),
        ("PUT", "deny effect.read-only"),
        ("DELETE", "deny effect.read-only"),
        ("OPTIONS", "deny effect.read-only"),
        ("get", "deny effect.read-only"),
    ] {
        let request = request(method, "https", "api.example.com", 443);
        assert_eq!(
            short(decide_http(&grants, Effect::ReadOnly, &request)),
            expected,
            "{method}"
        );
    }
    assert_eq!(
        decide_http(
            &Grants::default(),
            Effect::Effectful,
            &request("GET", "https", "example.com", 443)
        ),
        Ruling::Deny {
            rule: "default-deny".to_owned(),
            reason: "no HTTP grant covers https://example.com:443".to_owned(),
            grant: Some(
                "[[grants.http]]\nhost = \"example.com\"\nscheme = \"https\"\nmethods = [\"GET\"]"
                    .to_owned()
            ),
        }
    );
}

#[test]
fn special_address_needs_a_grant_of_itself() {
    let grants = Grants {
        http: vec![
            http(None, "*", None),
            http(Some("http"), "10.1.2.3", Some(80)),
            http(None, "::1", Some(8080)),
        ],
        ..Grants::default()
    };
    let table = [
        (
            "http",
            "example.com",
            80,
            "93.184.216.34",
            "allow address.public",
        ),
        (
            "http",
            "example.com",
            80,
            "127.0.0.1",
            "deny address.loopback",
        ),
        (
            "http",
            "example.com",
            80,
            "10.1.2.3",
            "deny address.private",
        ),
        ("http", "10.1.2.3", 80, "10.1.2.3", "allow grants.http[1]"),
        ("https", "10.1.2.3", 443, "10.1.2.3", "deny address.private"),
        ("http", "10.1.2.4", 80, "10.1.2.4", "deny address.private"),
        (
            "http",
            "::ffff:10.1.2.3",
            80,
            "::ffff:10.1.2.3",
            "deny address.private",
        ),
        ("http", "::1", 8080, "::1", "allow grants.http[2]"),
        (
            "http",
            "169.254.169.254",
            80,
            "169.254.169.254",
            "deny address.link-local",
        ),
        (
            "http",
            "168.63.129.16",
            80,
            "168.63.129.16",
            "deny address.platform",
        ),
    ];
    for (scheme, host, port, address, expected) in table {
        let request = request("GET", scheme, host, port);
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(
            short(decide_address(&grants, &request, address, false)),
            expected,
            "{request:?} {address}"
        );
    }
}

#[test]
fn public_address_of_this_machine_needs_its_own_grant() {
    let address: IpAddr = "93.184.216.34".parse().unwrap();
    let named = request("GET", "http", "example.com", 80);
    let literal = request("GET", "http", "93.184.216.34", 80);
    let everywhere = http(None, "*", None);
    let grants = |http| Grants {
        http,
        ..Grants::default()
    };
    let all = grants(vec![everywhere.clone()]);
    let own = grants(vec![
        everywhere,
        http(Some("http"), "93.184.216.34", Some(80)),
    ]);
    for (grants, request, expected) in [
        (&all, &named, "deny address.own"),
        (&all, &literal, "deny address.own"),
        (&own, &named, "deny address.own"),
        (&own, &literal, "allow grants.http[1]"),
    ] {
        let ruling = decide_address(grants, request, address, true);
        assert_eq!(short(ruling), expected, "{request:?}");
    }
    assert_eq!(
        decide_address(&all, &named, address, true),
        Ruling::Deny {
            rule: "address.own".to_owned(),
            reason: "example.com resolves to this machine; only a grant for that exact address allows it"
                .to_owned(),
            grant: None,
        }
    );
}

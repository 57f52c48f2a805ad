//! HTTP grants: methods, paths, validation, and suggestions after a denial.

use super::short;
use crate::policy::{
    DEFAULT_DENY, Grants, HttpGrant, HttpRequest, Ruling, decide_address, decide_http,
};
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;

fn grant(methods: &[&str], path: Option<&str>) -> HttpGrant {
    HttpGrant {
        scheme: Some("https".to_owned()),
        host: "api.example".to_owned(),
        port: None,
        methods: methods.iter().map(|&method| method.to_owned()).collect(),
        path_prefix: path.map(str::to_owned),
    }
}

fn request<'a>(method: &'a str, path: &'a str) -> HttpRequest<'a> {
    HttpRequest {
        method,
        scheme: "https",
        host: "api.example",
        port: 443,
        path,
    }
}

fn grants(http: Vec<HttpGrant>) -> Grants {
    Grants {
        http,
        ..Grants::default()
    }
}

#[test]
fn http_grant_covers_only_its_methods_and_paths() {
    let grants = grants(vec![
        grant(&["GET", "HEAD"], Some("/v1/")),
        grant(&["POST"], Some("/v1/items")),
        grant(&["GET"], Some("/v1/items")),
        grant(&["DELETE"], None),
    ]);
    for (method, path, expected) in [
        ("GET", "/v1/", "allow grants.http[0]"),
        ("HEAD", "/v1/a/b", "allow grants.http[0]"),
        ("GET", "/v1", "deny default-deny"),
        ("GET", "/v1a", "deny default-deny"),
        ("GET", "/V1/a", "deny default-deny"),
        ("GET", "/", "deny default-deny"),
        ("GET", "/v2/v1/", "deny default-deny"),
        ("get", "/v1/", "deny default-deny"),
        ("PUT", "/v1/", "deny default-deny"),
        ("POST", "/v1/items", "allow grants.http[1]"),
        ("POST", "/v1/items/", "allow grants.http[1]"),
        ("POST", "/v1/items/7", "allow grants.http[1]"),
        ("POST", "/v1/items7", "deny default-deny"),
        ("POST", "/v1/items;x=1", "deny default-deny"),
        ("POST", "/v1/item%73", "deny default-deny"),
        // Of overlapping grants, the first that covers is the rule.
        ("GET", "/v1/items", "allow grants.http[0]"),
        ("DELETE", "/anything/..%2f", "allow grants.http[3]"),
    ] {
        assert_eq!(
            short(decide_http(
                &grants,
                Effect::Effectful,
                &request(method, path)
            )),
            expected,
            "{method} {path}"
        );
    }
}

#[test]
fn ambiguous_path_is_covered_by_no_path_grant() {
    let grants = grants(vec![grant(&[], Some("/v1/"))]);
    for path in [
        "/v1/%2e%2e/admin",
        "/v1/.%2E/admin",
        "/v1/../admin",
        "/v1/.",
        "/v1/%2e",
        "/v1/a%2fb",
        "/v1/..%2Fadmin",
        "/v1/..%5cadmin",
        "/v1/..\\admin",
        "/v1/%252e%252e/admin",
        "/v1/a%25",
        "/v1/..;/admin",
        "/v1/..;a=b/admin",
        "/v1/..%3b/admin",
        "/v1/.;/admin",
        "/v1/;/admin",
        "/v1/%20/admin",
        "/v1/..%20/admin",
        "/v1/.../admin",
        "/v1//admin",
        "/v1/a//",
        "/v1/a%00",
        "/v1/a%0d%0ab",
        "/v1/%7f",
        "/v1/%c0%ae%c0%ae/admin",
        "/v1/%ff",
        "/v1/%",
        "/v1/%2",
        "/v1/%zz",
        "/v1/%+2",
    ] {
        let ruling = decide_http(&grants, Effect::Effectful, &request("GET", path));
        assert_eq!(short(ruling), "deny default-deny", "{path}");
    }
    for path in [
        "/v1/.well-known",
        "/v1/a..b",
        "/v1/a.",
        "/v1/a;b=c",
        "/v1/a%20b",
        "/v1/%c3%a9",
        "/v1/~x@:$&'()*+,=!",
    ] {
        let ruling = decide_http(&grants, Effect::Effectful, &request("GET", path));
        assert_eq!(short(ruling), "allow grants.http[0]", "{path}");
    }
}

#[test]
fn http_denial_says_what_is_uncovered_and_suggests() {
    let suggested = |rest: &str| {
        Some(format!(
            "[[grants.http]]\nhost = \"api.example\"\nscheme = \"https\"\n{rest}"
        ))
    };
    let grants = grants(vec![grant(&["GET"], Some("/v1/"))]);
    let elsewhere = HttpRequest {
        host: "::1",
        port: 8443,
        ..request("PUT", "/")
    };
    let local = HttpRequest {
        host: "localhost",
        ..request("GET", "/")
    };
    let dotted = HttpRequest {
        host: "api.example.",
        ..request("GET", "/")
    };
    for (effect, request, reason, grant) in [
        (
            Effect::Effectful,
            request("POST", "/v1/a"),
            "no HTTP grant covers POST to https://api.example:443",
            suggested("methods = [\"POST\"]\npath = \"/v1/a\""),
        ),
        (
            Effect::Effectful,
            request("GET", "/v2/"),
            "no HTTP grant covers GET of this path of https://api.example:443",
            suggested("methods = [\"GET\"]\npath = \"/v2/\""),
        ),
        // No grant can name this path, so the suggestion names none.
        (
            Effect::Effectful,
            request("GET", "/v1/a%2fb"),
            "HTTP grants cover only some paths of https://api.example:443, and this path has an encoded separator, \
             so a server could read it as another path",
            suggested("methods = [\"GET\"]"),
        ),
        (
            Effect::Effectful,
            request("GET", "/"),
            "no HTTP grant covers GET of this path of https://api.example:443",
            suggested("methods = [\"GET\"]"),
        ),
        (
            Effect::Effectful,
            elsewhere,
            "no HTTP grant covers https://::1:8443",
            Some(
                "[[grants.http]]\nhost = \"::1\"\nscheme = \"https\"\nport = 8443\nmethods = [\"PUT\"]"
                    .to_owned(),
            ),
        ),
        // A grant that would be refused is not suggested.
        (
            Effect::Effectful,
            local,
            "no HTTP grant covers https://localhost:443",
            None,
        ),
        (
            Effect::Effectful,
            dotted,
            "no HTTP grant covers https://api.example.:443",
            None,
        ),
        (
            Effect::Effectful,
            request("post", "/v1/a"),
            "no HTTP grant covers post to https://api.example:443",
            None,
        ),
        (
            Effect::ReadOnly,
            request("POST", "/v1/a"),
            "no HTTP grant covers POST to https://api.example:443",
            None,
        ),
    ] {
        assert_eq!(
            decide_http(&grants, effect, &request),
            Ruling::Deny {
                rule: DEFAULT_DENY.to_owned(),
                reason: reason.to_owned(),
                grant,
            },
            "{request:?}"
        );
    }
}

#[test]
fn address_grant_is_suggested_only_for_a_literal() {
    let literal = HttpRequest {
        scheme: "http",
        host: "10.0.0.1",
        port: 8080,
        ..request("GET", "/x")
    };
    let name = HttpRequest {
        host: "intern.example",
        ..literal
    };
    let suggestion = "[[grants.http]]\nhost = \"10.0.0.1\"\nscheme = \"http\"\nport = 8080\nmethods = [\"GET\"]\npath = \"/x\"";
    for (request, expected) in [(literal, Some(suggestion)), (name, None)] {
        let ruling = decide_address(
            &Grants::default(),
            &request,
            "10.0.0.1".parse().unwrap(),
            false,
        );
        let host = request.host;
        assert_eq!(
            ruling,
            Ruling::Deny {
                rule: "address.private".to_owned(),
                reason: format!(
                    "{host} resolves to a private address; only a grant for that exact address allows it"
                ),
                grant: expected.map(str::to_owned),
            }
        );
    }
    // A grant of the address for other methods or paths does not open it for this one.
    for (methods, path, expected) in [
        (vec!["GET".to_owned()], "/x", "allow grants.http[0]"),
        (vec!["PUT".to_owned()], "/x", "deny address.private"),
        (Vec::new(), "/y", "deny address.private"),
    ] {
        let grants = grants(vec![HttpGrant {
            scheme: None,
            host: "10.0.0.1".to_owned(),
            port: Some(8080),
            methods,
            path_prefix: Some(path.to_owned()),
        }]);
        let ruling = decide_address(&grants, &literal, "10.0.0.1".parse().unwrap(), false);
        assert_eq!(short(ruling), expected);
    }
}

#[test]
fn http_grant_is_normalised_or_refused_with_a_reason() {
    let written = HttpGrant {
        scheme: Some("HTTPS".to_owned()),
        host: "API.example".to_owned(),
        port: Some(8443),
        methods: vec!["get".to_owned(), "VERSION-CONTROL".to_owned()],
        path_prefix: Some("/v1/%C3%A9/".to_owned()),
    };
    assert_eq!(
        written.checked(),
        Ok(HttpGrant {
            port: Some(8443),
            ..grant(&["GET", "VERSION-CONTROL"], Some("/v1/%C3%A9/"))
        })
    );
    assert_eq!(grant(&[], Some("/")).checked(), Ok(grant(&[], None)));
    let method = |method: &str, why: &str| {
        let text = format!("invalid method `{method}` of an HTTP grant: {why}");
        (grant(&[method], None), text)
    };
    let path = |path: &str, why: &str| {
        let text = format!(
            "invalid path `{}` of an HTTP grant: it {why}; write it as it is sent, such as `/v1/` or `/a%20b`",
            path.escape_debug()
        );
        (grant(&[], Some(path)), text)
    };
    let no_method = "it is not a method; write it like `GET` or `POST`";
    let never = "has a character that is not allowed in a path";
    for (grant, expected) in [
        method("", no_method),
        method("G E T", no_method),
        method("GET,POST", no_method),
        method(
            "connect",
            "it opens tunnels, which tools cannot use; leave it out",
        ),
        path("", "does not begin with `/`"),
        path("v1", "does not begin with `/`"),
        path("https://api.example/v1", "does not begin with `/`"),
        path(
            "/v1/../v2",
            "has a segment that could be read as `.` or `..`",
        ),
        path("/v1//", "has an empty segment"),
        path("/a%2fb", "has an encoded separator"),
        path("/a%252fb", "is encoded more than once"),
        path("/a\\b", "has an encoded separator"),
        path("/a\nb", "has a control character"),
        path("/a%zz", "has an escape that is not UTF-8 text"),
        path("/v1?x=1", never),
        path("/v1#x", never),
        path("/a b", never),
        path("/é", never),
    ] {
        let found = grant.checked().map_err(|error| error.to_string());
        assert_eq!(found, Err(expected));
    }
}

//! HTTP grants of the configuration and of the command line.

use super::{Tree, granted};
use crate::config::{Overrides, http_grants::to_text};
use agent_host_engine::policy::HttpGrant;
use pretty_assertions::assert_eq;

#[test]
fn http_grant_of_command_line_is_read() {
    let tree = Tree::new();
    let grant = |scheme: Option<&str>, host: &str, port| HttpGrant {
        scheme: scheme.map(str::to_owned),
        host: host.to_owned(),
        port,
        ..HttpGrant::default()
    };
    for (argument, expected) in [
        ("http:api.example.com", grant(None, "api.example.com", None)),
        (
            "http:API.Example.com:8080",
            grant(None, "api.example.com", Some(8080)),
        ),
        (
            "http:https://api.example.com/",
            grant(Some("https"), "api.example.com", None),
        ),
        (
            "http:HTTP://127.0.0.1:9",
            grant(Some("http"), "127.0.0.1", Some(9)),
        ),
        ("http:[0:0::1]:8080", grant(None, "::1", Some(8080))),
        ("http:[::1]", grant(None, "::1", None)),
        ("http:2001:DB8::1", grant(None, "2001:db8::1", None)),
        ("http:*.example.com", grant(None, "*.example.com", None)),
        ("http:*", grant(None, "*", None)),
        (
            "http:get,HEAD=https://api.example.com:8443/v1/",
            HttpGrant {
                methods: vec!["GET".to_owned(), "HEAD".to_owned()],
                path_prefix: Some("/v1/".to_owned()),
                ..grant(Some("https"), "api.example.com", Some(8443))
            },
        ),
        (
            "http:POST=[::1]/a=b",
            HttpGrant {
                methods: vec!["POST".to_owned()],
                path_prefix: Some("/a=b".to_owned()),
                ..grant(None, "::1", None)
            },
        ),
        (
            "http:api.example.com/a=b",
            HttpGrant {
                path_prefix: Some("/a=b".to_owned()),
                ..grant(None, "api.example.com", None)
            },
        ),
    ] {
        let config = tree.load("", &granted(&[argument])).unwrap();
        assert_eq!(
            config.grants.http,
            std::slice::from_ref(&expected),
            "{argument}"
        );
        let again = tree
            .load("", &granted(&[&format!("http:{}", to_text(&expected))]))
            .unwrap();
        assert_eq!(again.grants.http, [expected], "{argument}");
    }
}

#[test]
fn http_grant_methods_and_paths_are_read() {
    let tree = Tree::new();
    let toml = "[[grants.http]]\nhost = \"a.example\"\nmethods = [\"get\"]\npath = \"/v1/\"\n\
                [[tool]]\nname = \"t\"\ncomponent = \"builtin:fetch\"\n\
                [[tool.http]]\nhost = \"a.example\"\nmethods = [\"POST\"]\npath = \"/\"";
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let grant = |method: &str, path: Option<&str>| HttpGrant {
        host: "a.example".to_owned(),
        methods: vec![method.to_owned()],
        path_prefix: path.map(str::to_owned),
        ..HttpGrant::default()
    };
    assert_eq!(config.grants.http, [grant("GET", Some("/v1/"))]);
    assert_eq!(config.tools[0].grants.http, [grant("POST", None)]);
}

#[test]
fn http_grant_with_bad_host_is_refused() {
    let tree = Tree::new();
    let host = |host: &str, why: &str| format!("invalid host `{host}` of an HTTP grant: {why}");
    let more = "it is more than a host; write only the name, and set the scheme and port with `scheme` and `port`";
    let star = "`*` must stand alone, or before a name as in `*.example.com`; correct it";
    let local = "it resolves to this machine, which can be granted only by address; write 127.0.0.1 or ::1, and let \
        the tool use that";
    let name = "it is not a host name; write it like `api.example.com`";
    let ascii =
        "it contains letters that are not allowed in host names; write its ASCII form (`xn--...`)";
    for (written, why) in [
        ("https://example.com", more),
        ("example.com:443", more),
        ("user@example.com", more),
        ("example.com/path", more),
        ("api.*.com", star),
        ("*example.com", star),
        ("localhost", local),
        ("App.localhost", local),
        ("", name),
        ("a..b", name),
        ("a b", name),
        ("bücher.example", ascii),
    ] {
        let toml = format!("[[grants.http]]\nhost = \"{written}\"");
        assert_eq!(
            tree.problem(&toml, &Overrides::default()),
            host(written, why)
        );
    }
    let long = format!("{}.example", "a".repeat(64));
    let toml = format!("[[grants.http]]\nhost = \"{long}\"");
    assert_eq!(
        tree.problem(&toml, &Overrides::default()),
        host(&long, name)
    );
    for (rest, expected) in [
        (
            "scheme = \"ftp\"",
            "the scheme `ftp` of an HTTP grant is neither `http` nor `https`; write one of them, or leave it out for \
             both",
        ),
        (
            "port = 0",
            "an HTTP grant has port 0, which is not a valid port; write the server's port, or leave it out for the \
             scheme's default",
        ),
        (
            "methods = []",
            "`methods` of an HTTP grant is empty, which would allow nothing; list methods, or leave it out to allow \
             all",
        ),
        (
            "methods = [\"GET\", \"P UT\"]",
            "invalid method `P UT` of an HTTP grant: it is not a method; write it like `GET` or `POST`",
        ),
        (
            "path = \"/v1/../v2\"",
            "invalid path `/v1/../v2` of an HTTP grant: it has a segment that could be read as `.` or `..`; write it \
             as it is sent, such as `/v1/` or `/a%20b`",
        ),
    ] {
        let toml =
            format!("model = \"script:tour\"\n\n[[grants.http]]\nhost = \"a.example\"\n{rest}");
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected);
    }
    for (argument, why) in [
        (
            "example.com:https",
            "its port is not a number from 1 to 65535",
        ),
        (
            "example.com:70000",
            "its port is not a number from 1 to 65535",
        ),
    ] {
        assert_eq!(
            tree.refusal("", &granted(&[&format!("http:{argument}")])),
            format!(
                "invalid grant `http:{argument}`: {why}; write it like `http:api.example.com`, `http:[::1]:8080` or \
                 `http:GET,HEAD=https://api.example.com:8443/v1/`"
            )
        );
    }
    for (argument, expected) in [
        ("//example.com", host("", name)),
        (
            "=example.com",
            "invalid method `` of an HTTP grant: it is not a method; write it like `GET` or `POST`"
                .to_owned(),
        ),
        ("a.example=b", host("a.example=b", name)),
        ("user@a.example/", host("user@a.example", more)),
    ] {
        assert_eq!(
            tree.refusal("", &granted(&[&format!("http:{argument}")])),
            expected
        );
    }
}

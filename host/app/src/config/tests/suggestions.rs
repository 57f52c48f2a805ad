//! The suggestion of a denial is a configuration, and allows what was denied and no more than
//! grants can say.

use super::Tree;
use crate::config::{Config, Overrides, http_grants::to_text, parse, raw::RawConfig};
use agent_host_engine::policy::{FileOp, Grants, HttpRequest, Ruling, decide_file, decide_http};
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::{path::Path, sync::Arc};

fn grants(tree: &Tree, toml: &str, overrides: &Overrides) -> Arc<Grants> {
    let raw: RawConfig = parse(Path::new("agent.toml"), toml).unwrap();
    Config::resolve(raw, None, overrides, &tree.environment)
        .unwrap()
        .grants
}

fn allows(grants: &Grants, request: &HttpRequest<'_>) -> bool {
    match decide_http(grants, Effect::Effectful, request) {
        Ruling::Allow { .. } => true,
        Ruling::Deny { .. } | Ruling::Ask { .. } => false,
    }
}

/// Whether a grant can name it: what is not so is never suggested.
fn can_be_granted(request: &HttpRequest<'_>) -> bool {
    request.method.bytes().all(|byte| byte.is_ascii_uppercase())
        && !request.host.ends_with('.')
        && request.host != "localhost"
}

proptest! {
    #[test]
    fn http_suggestion_allows_exactly_the_request(
        method in prop::sample::select(vec!["GET", "HEAD", "POST", "PROPFIND", "get"]),
        scheme in prop::sample::select(vec!["http", "https"]),
        host in prop::sample::select(vec![
            "api.example", "xn--bcher-kva.example", "10.0.0.1", "::1", "2606:4700::1111", "localhost", "api.example.",
        ]),
        port in prop::sample::select(vec![80_u16, 443, 8080]),
        path in "(/[a-z.;%=@~\"'2e5fF\\-]{0,6}){1,4}",
    ) {
        let tree = Tree::new();
        let request = HttpRequest { method, scheme, host, port, path: &path };
        let Ruling::Deny { grant, .. } = decide_http(&Grants::default(), Effect::Effectful, &request) else {
            panic!("nothing is granted, and this is allowed");
        };
        prop_assert_eq!(grant.is_some(), can_be_granted(&request));
        let Some(toml) = grant else { return Ok(()) };
        let granted = grants(&tree, &toml, &Overrides::default());
        prop_assert!(allows(&granted, &request), "{}", toml);
        let other_scheme = if scheme == "http" { "https" } else { "http" };
        // No path here begins with `/0`, so that one is not below the granted one.
        let (longer, nested) = (format!("{path}x"), format!("/0{path}"));
        let mut neighbours = vec![
            HttpRequest { method: "DELETE", ..request },
            HttpRequest { scheme: other_scheme, ..request },
            HttpRequest { host: "other.example", ..request },
            HttpRequest { host: "a.api.example", ..request },
            HttpRequest { port: 8081, ..request },
        ];
        // A path that ends in `/` covers what is below it, and a path that no grant can name is
        // left out of the suggestion.
        if toml.contains("\npath = ") {
            neighbours.push(HttpRequest { path: &nested, ..request });
            if !path.ends_with('/') {
                neighbours.push(HttpRequest { path: &longer, ..request });
            }
        }
        for neighbour in neighbours {
            prop_assert!(!allows(&granted, &neighbour), "{} allows {:?}", toml, neighbour);
        }
        // The command line says the same.
        let overrides = Overrides {
            grants: vec![format!("http:{}", to_text(&granted.http[0]))],
            ..Overrides::default()
        };
        prop_assert_eq!(&grants(&tree, "", &overrides).http, &granted.http);
    }
}

/// The lines of a grant with some of them changed, as an operator does it.
fn changed(block: &str, suggestion: &str) -> String {
    let mut lines: Vec<&str> = block.lines().collect();
    for change in suggestion.lines().filter(|line| !line.starts_with('#')) {
        let (key, _) = change.split_once(' ').unwrap();
        lines.retain(|line| line.split_once(' ').is_none_or(|(old, _)| old != key));
        lines.push(change);
    }
    lines.join("\n")
}

#[test]
fn dir_suggestion_allows_exactly_the_operation() {
    let tree = Tree::new();
    let allowed = |toml: &str, op, path| {
        let grants = grants(&tree, toml, &Overrides::default());
        decide_file(&grants, Effect::Effectful, 0, op, path)
    };
    let rule = "grants.dir[0]".to_owned();
    for (rest, op, path, neighbour) in [
        ("", FileOp::Write, "notes.txt", None),
        (
            "allow = [\"docs/*\"]",
            FileOp::Read,
            "a\"b [1]*é\u{202e}\n.txt",
            Some("sub/a\"b [1]*é\u{202e}\n.txt"),
        ),
        (
            "mode = \"read-only\"\nallow = [\"docs/*\"]",
            FileOp::Write,
            "src/a",
            Some("src/b"),
        ),
    ] {
        let block = format!("[[grants.dir]]\nhost = \".\"\n{rest}");
        let Ruling::Deny {
            grant: Some(suggestion),
            ..
        } = allowed(&block, op, path)
        else {
            panic!("{path:?} has no suggestion");
        };
        let toml = changed(&block, &suggestion);
        let rule = rule.clone();
        assert_eq!(allowed(&toml, op, path), Ruling::Allow { rule }, "{toml}");
        if let Some(neighbour) = neighbour {
            let ruling = allowed(&toml, op, neighbour);
            assert!(matches!(ruling, Ruling::Deny { .. }), "{toml}");
        }
    }
}

//! Tables of requests and rulings.

use super::{
    AddressClass, DirGrant, DirMode, FileOp, GrantError, Grants, HttpGrant, HttpRequest, PathRules,
    Ruling, classify, decide_address, decide_call, decide_file, decide_http,
};
use crate::tool::{Approval, Effect};
use pretty_assertions::assert_eq;
use std::net::IpAddr;

/// The rule of a ruling, with its verdict before it.
fn short(ruling: Ruling) -> String {
    match ruling {
        Ruling::Allow { rule } => format!("allow {rule}"),
        Ruling::Deny { rule, .. } => format!("deny {rule}"),
        Ruling::Ask { rule } => format!("ask {rule}"),
    }
}

fn rules(patterns: &[&str]) -> PathRules {
    PathRules::new(patterns).unwrap()
}

#[test]
fn patterns_cover_paths() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            ".env*",
            &[".env", ".env.local", "a/b/.env", ".envs/x", "a/.env/b/c"],
            &["env", "a.env", "a/x.env"],
        ),
        (
            ".ssh/",
            &[".ssh", ".ssh/id", "a/.ssh/b/c"],
            &["ssh", ".sshx", "a/.sshx/b"],
        ),
        (
            ".git/config",
            &[".git/config", ".git/config/x"],
            &["config", ".git", "a/.git/config", ".git/configs"],
        ),
        ("/a/*.key", &["a/x.key", "a/.key"], &["a/b/x.key", "x.key"]),
        (
            "**/b/c",
            &["b/c", "a/b/c", "a/a/b/c/d"],
            &["c", "ab/c", "b/d"],
        ),
        ("a/**", &["a/b", "a/b/c"], &["b", "ab"]),
        ("./x", &["x", "x/y"], &["a/x"]),
        ("{a,b}.txt", &["a.txt", "c/b.txt"], &["c.txt"]),
    ];
    for (pattern, covered, others) in table {
        let rules = rules(&[pattern]);
        for path in *covered {
            assert_eq!(
                rules.first_match(path),
                Some(*pattern),
                "{pattern} on {path}"
            );
        }
        for path in *others {
            assert_eq!(rules.first_match(path), None, "{pattern} on {path}");
        }
    }
}

#[test]
fn patterns_know_the_folders_above_them() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (".ssh", &[], &[".ssh", "a", "a/.ssh"]),
        (".git/config", &[".git"], &["a", "a/.git", ".git/config"]),
        ("a/b/*.key", &["a", "a/b"], &["b", "a/c", "a/b/c"]),
        ("**/b/c", &["b", "a/b"], &["a", "c"]),
        ("a/**/k", &["a", "a/x", "a/x/y"], &["b"]),
    ];
    for (pattern, above, others) in table {
        let rules = rules(&[pattern]);
        for path in *above {
            assert_eq!(
                rules.first_below(path),
                Some(*pattern),
                "{pattern} on {path}"
            );
        }
        for path in *others {
            assert_eq!(rules.first_below(path), None, "{pattern} on {path}");
        }
    }
}

#[test]
fn the_pattern_that_is_named_is_the_one_that_matched() {
    let rules = rules(&["one", "two/x/y", "three/z"]);
    assert_eq!(
        (
            rules.first_match("a/one"),
            rules.first_match("two/x/y"),
            rules.first_match("three/z/q")
        ),
        (Some("one"), Some("two/x/y"), Some("three/z"))
    );
    assert_eq!(
        (
            rules.first_below("two"),
            rules.first_below("two/x"),
            rules.first_below("three")
        ),
        (Some("two/x/y"), Some("two/x/y"), Some("three/z"))
    );
    assert_eq!(rules.patterns(), ["one", "two/x/y", "three/z"]);
    assert_eq!(
        (rules.is_empty(), PathRules::default().is_empty()),
        (false, true)
    );
}

#[test]
fn bad_patterns_are_refused() {
    let relative = "write it relative to the granted folder, such as `docs/*.md`";
    let table = [
        ("", format!("the path pattern `` names nothing; {relative}")),
        (
            "/",
            format!("the path pattern `/` names nothing; {relative}"),
        ),
        (
            "../x",
            format!("the path pattern `../x` leaves the folder with `..`; {relative}"),
        ),
        (
            "{a,b/c}",
            format!(
                "the path pattern `{{a,b/c}}` has a `/` inside of braces, which needs two patterns; {relative}"
            ),
        ),
        (
            "[a",
            "the path pattern `[a` is not a glob: unclosed character class; missing ']'".to_owned(),
        ),
    ];
    for (pattern, text) in table {
        assert_eq!(PathRules::new(&[pattern]).err(), Some(GrantError(text)));
    }
}

fn dir(mode: DirMode, allow: &[&str], deny: &[&str]) -> DirGrant {
    DirGrant {
        host: "/srv/work".into(),
        guest: "/workspace".to_owned(),
        mode,
        allow: rules(allow),
        deny: rules(deny),
        mask: PathRules::default(),
    }
}

#[test]
fn file_rulings() {
    use DirMode::{ReadOnly as Ro, ReadWrite as Rw};
    use Effect::{Effectful, Idempotent, ReadOnly};
    use FileOp::{List, Move, Read, Stat, Write};
    let grants = Grants {
        dirs: vec![
            dir(Ro, &[], &[]),
            dir(Rw, &[], &["private", "a/b/c"]),
            dir(Rw, &["docs/**", "*.md"], &["docs/draft.md"]),
        ],
        http: Vec::new(),
    };
    let table = [
        (0, Effectful, Stat, "x", "allow grants.dir[0]"),
        (0, Effectful, List, "", "allow grants.dir[0]"),
        (0, Effectful, Read, "x", "allow grants.dir[0]"),
        (0, Effectful, Write, "x", "deny grants.dir[0].mode"),
        (0, Effectful, Move, "x", "deny grants.dir[0].mode"),
        (1, Effectful, Write, "x", "allow grants.dir[1]"),
        (1, Idempotent, Write, "x", "allow grants.dir[1]"),
        (1, ReadOnly, Write, "x", "deny effect.read-only"),
        (1, ReadOnly, Move, "x", "deny effect.read-only"),
        (1, ReadOnly, Read, "x", "allow grants.dir[1]"),
        (
            1,
            Effectful,
            Stat,
            "private",
            "deny grants.dir[1].deny `private`",
        ),
        (
            1,
            Effectful,
            List,
            "x/private/y",
            "deny grants.dir[1].deny `private`",
        ),
        (
            1,
            Effectful,
            Read,
            "private/y",
            "deny grants.dir[1].deny `private`",
        ),
        (1, Effectful, Write, "a", "allow grants.dir[1]"),
        (1, Effectful, Move, "a", "deny grants.dir[1].deny `a/b/c`"),
        (1, Effectful, Move, "a/b", "deny grants.dir[1].deny `a/b/c`"),
        (1, Effectful, Move, "z", "allow grants.dir[1]"),
        (2, Effectful, Read, "docs/a/b", "allow grants.dir[2]"),
        (2, Effectful, Read, "x/y.md", "allow grants.dir[2]"),
        (
            2,
            Effectful,
            Read,
            "docs/draft.md",
            "deny grants.dir[2].deny `docs/draft.md`",
        ),
        (2, Effectful, Read, "src/x.rs", "deny grants.dir[2].allow"),
        (2, Effectful, Write, "src/x.rs", "deny grants.dir[2].allow"),
        (2, Effectful, Move, "src", "deny grants.dir[2].allow"),
        (2, Effectful, Stat, "src/x.rs", "allow grants.dir[2]"),
        (2, Effectful, List, "src", "allow grants.dir[2]"),
        (3, Effectful, Read, "x", "deny default-deny"),
    ];
    for (grant, effect, op, path, expected) in table {
        assert_eq!(
            short(decide_file(&grants, effect, grant, op, path)),
            expected,
            "{effect:?} {op:?} {path} in {grant}"
        );
    }
    assert_eq!(
        decide_file(&Grants::default(), Effectful, 0, Read, "x"),
        Ruling::Deny {
            rule: "default-deny".to_owned(),
            reason: "no folder grant covers this path".to_owned()
        }
    );
}

#[test]
fn call_rulings() {
    let table = [
        (
            Effect::ReadOnly,
            Approval::ByEffect,
            "allow effect.read-only",
        ),
        (
            Effect::Idempotent,
            Approval::ByEffect,
            "ask effect.idempotent",
        ),
        (
            Effect::Effectful,
            Approval::ByEffect,
            "ask effect.effectful",
        ),
        (Effect::ReadOnly, Approval::Always, "ask approval.always"),
        (Effect::Effectful, Approval::Never, "allow approval.never"),
    ];
    for (effect, approval, expected) in table {
        assert_eq!(short(decide_call(effect, approval)), expected);
    }
}

fn http(scheme: Option<&str>, host: &str, port: Option<u16>) -> HttpGrant {
    HttpGrant {
        scheme: scheme.map(str::to_owned),
        host: host.to_owned(),
        port,
    }
}

fn request<'a>(method: &'a str, scheme: &'a str, host: &'a str, port: u16) -> HttpRequest<'a> {
    HttpRequest {
        method,
        scheme,
        host,
        port,
    }
}

#[test]
fn http_rulings() {
    let grants = Grants {
        dirs: Vec::new(),
        http: vec![
            http(Some("https"), "Api.example.com", None),
            http(None, "*.example.org", Some(8443)),
            http(None, "127.0.0.1", Some(9000)),
            http(Some("http"), "0:0:0:0:0:0:0:1", None),
        ],
    };
    let all = Grants {
        dirs: Vec::new(),
        http: vec![http(None, "*", None)],
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
            reason: "no HTTP grant covers https://example.com:443".to_owned()
        }
    );
}

#[test]
fn address_rulings() {
    let grants = Grants {
        dirs: Vec::new(),
        http: vec![
            http(None, "*", None),
            http(Some("http"), "10.1.2.3", Some(80)),
            http(None, "::1", Some(8080)),
        ],
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
    ];
    for (scheme, host, port, address, expected) in table {
        let request = request("GET", scheme, host, port);
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(
            short(decide_address(&grants, &request, address)),
            expected,
            "{request:?} {address}"
        );
    }
}

#[test]
fn address_classes() {
    use AddressClass::{CarrierNat, LinkLocal, Loopback, Multicast, Private, Public, Reserved};
    let table: &[(AddressClass, &[&str])] = &[
        (
            Public,
            &[
                "1.1.1.1",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "128.0.0.0",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "2606:4700::1111",
                "2001:4860:4860::8888",
                "2a00::1",
                "::ffff:8.8.8.8",
                "64:ff9b::8.8.8.8",
                "2002:808:808::1",
            ],
        ),
        (
            Loopback,
            &[
                "127.0.0.1",
                "127.255.255.255",
                "0.0.0.0",
                "0.1.2.3",
                "::1",
                "::",
                "::ffff:127.0.0.1",
                "::ffff:0.0.0.0",
                "::127.0.0.1",
                "::ffff:0:127.0.0.1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
                "::2",
            ],
        ),
        (
            Private,
            &[
                "10.0.0.0",
                "10.255.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.168.0.1",
                "fc00::1",
                "fd12:3456::1",
                "fec0::1",
                "::ffff:10.0.0.1",
                "::ffff:c0a8:1",
                "64:ff9b::10.0.0.1",
                "2002:a00:1::1",
                "fd00:ec2::254",
            ],
        ),
        (
            LinkLocal,
            &[
                "169.254.169.254",
                "169.254.0.1",
                "fe80::1",
                "febf::1",
                "::ffff:169.254.169.254",
                "64:ff9b::a9fe:a9fe",
                "2002:a9fe:a9fe::",
            ],
        ),
        (
            CarrierNat,
            &[
                "100.64.0.0",
                "100.127.255.255",
                "::ffff:100.64.0.1",
                "100.100.100.200",
            ],
        ),
        (
            Multicast,
            &[
                "224.0.0.1",
                "239.255.255.255",
                "255.255.255.255",
                "ff02::1",
                "::ffff:224.0.0.1",
            ],
        ),
        (
            Reserved,
            &[
                "192.0.0.1",
                "192.0.2.1",
                "192.88.99.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.1",
                "203.0.113.1",
                "240.0.0.1",
                "254.255.255.255",
                "100::1",
                "2001::1",
                "2001:db8::1",
                "3fff::1",
                "4000::1",
                "64:ff9b:1::8.8.8.8",
                "64:ff9b:1:7f00:0:100::",
                "5f00::1",
                "64:ff9b:2::1",
            ],
        ),
    ];
    for (class, addresses) in table {
        for address in *addresses {
            assert_eq!(classify(address.parse().unwrap()), *class, "{address}");
        }
    }
}

//! Secrets and environment variables for tools: what is granted to whom, what is read when, and
//! what is refused.

use super::{Tree, finish, granted};
use crate::config::{Config, Overrides};
use agent_host_engine::policy::{EnvGrant, SecretGrant};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;

/// A secret of this name from the variable `TOKEN`, for `https://api.example.com`.
fn secret(name: &str) -> String {
    format!(
        "[[secret]]\nname = \"{name}\"\nfrom = \"env:TOKEN\"\naudience = \"https://api.example.com\"\n"
    )
}

/// A tool with these lines.
fn tool(name: &str, lines: &str) -> String {
    format!("[[tool]]\nname = \"{name}\"\ncomponent = \"builtin:files\"\n{lines}\n")
}

/// The names of the secrets of each tool.
fn names(config: &Config) -> Vec<(&str, Vec<&str>)> {
    let tools = config.tools.iter();
    tools
        .map(|tool| {
            let secrets = tool.grants.secrets.iter();
            (
                tool.name.as_str(),
                secrets.map(|grant| grant.name.as_str()).collect(),
            )
        })
        .collect()
}

#[test]
fn secret_is_granted_only_by_name() {
    let tree = Tree::new();
    let both = secret("a") + &secret("b");
    let two = tool("plain", "") + &tool("own", "secrets = [\"b\"]") + &tool("none", "secrets = []");
    let general = "[grants]\nsecrets = [\"a\", \"a\"]\n";
    for (toml, grants, expected) in [
        (format!("{both}{two}"), vec![], [vec![], vec!["b"], vec![]]),
        (
            format!("{both}{two}{general}"),
            vec![],
            [vec!["a"], vec!["b"], vec![]],
        ),
        (
            format!("{both}{two}{general}"),
            vec!["secret:b", "secret:a"],
            [vec!["a", "b"], vec!["b"], vec![]],
        ),
        (
            format!("{both}{two}"),
            vec!["secret:a"],
            [vec!["a"], vec!["b"], vec![]],
        ),
    ] {
        let config = tree.load(&toml, &granted(&grants)).unwrap();
        let [plain, own, none] = expected;
        assert_eq!(
            names(&config),
            [("plain", plain), ("own", own), ("none", none)],
            "{toml}{grants:?}"
        );
    }
}

#[test]
fn secret_audience_is_one_server() {
    let tree = Tree::new();
    for (audience, scheme, host, port) in [
        ("https://api.example.com", "https", "api.example.com", 443),
        ("HTTPS://API.Example.com/", "https", "api.example.com", 443),
        (
            "https://api.example.com:8443",
            "https",
            "api.example.com",
            8443,
        ),
        ("https://93.184.216.34", "https", "93.184.216.34", 443),
        ("http://127.0.0.1:8080", "http", "127.0.0.1", 8080),
        ("http://[0:0::1]", "http", "::1", 80),
        ("http://10.1.2.3", "http", "10.1.2.3", 80),
    ] {
        let toml = format!(
            "[[secret]]\nname = \"s\"\nfrom = \"env:TOKEN\"\naudience = \"{audience}\"\nin-query = true\n\
             [grants]\nsecrets = [\"s\"]\n"
        );
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        let expected = SecretGrant {
            name: "s".to_owned(),
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            port,
            in_query: true,
        };
        assert_eq!(config.grants.secrets, [expected], "{audience}");
    }
    let unencrypted = "the secret would be sent unencrypted; `http://` is only for addresses of this machine and its network";
    for (audience, why) in [
        ("api.example.com", "it does not start with `https://`"),
        ("ftp://api.example.com", "neither `http` nor `https`"),
        ("https://", "it is not a host name"),
        ("https://*.example.com", "it must name one whole server"),
        ("https://*", "it must name one whole server"),
        ("https://api.example.com/v1", ""),
        ("https://u@api.example.com", ""),
        ("https://api.example.com:0", ""),
        ("https://api.example.com:65536", ""),
        ("https://localhost", "it resolves to this machine"),
        ("http://api.example.com", unencrypted),
        ("http://93.184.216.34", unencrypted),
    ] {
        let toml =
            format!("[[secret]]\nname = \"s\"\nfrom = \"env:TOKEN\"\naudience = \"{audience}\"\n");
        let refusal = tree.problem(&toml, &Overrides::default());
        assert!(
            refusal.starts_with(&format!(
                "invalid audience `{audience}` of the secret `s`: "
            )) && refusal.contains(why)
                && refusal.ends_with(
                    "; write it like `https://api.example.com` or `https://api.example.com:8443`"
                ),
            "{refusal}"
        );
    }
}

#[test]
fn secret_with_bad_settings_is_refused() {
    let tree = Tree::new();
    let unknown = |name: &str, place: &str, advice: &str| {
        format!(
            "the secret `{name}` is granted in {place}, but there is no [[secret]] with this name; {advice}"
        )
    };
    let add = "add it, with its source and the server that may receive it";
    for (toml, grant, expected) in [
        (
            secret("a b"),
            None,
            "the name `a b` of a secret is invalid: names have 1 to 64 letters (A to Z), digits, `_` and `-`; change \
             `name` under [[secret]]"
                .to_owned(),
        ),
        (
            secret("a") + &secret("a"),
            None,
            "two secrets are named `a`, and `secret://a` could not tell them apart; rename one of them".to_owned(),
        ),
        (
            "[[secret]]\nname = \"a\"\nfrom = \"gh-token-123\"\naudience = \"https://api.example.com\"\n".to_owned(),
            None,
            "`from` of the secret `a` does not name the source of the secret `a`; the value itself does not belong \
             in a file that is shared and committed; write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and change the \
             exposed value)"
                .to_owned(),
        ),
        (
            secret("github") + "[grants]\nsecrets = [\"gitub\"]\n",
            None,
            unknown("gitub", "[grants]", "did you mean `github`?"),
        ),
        (
            tool("t", "secrets = [\"x\"]"),
            None,
            unknown("x", "`secrets` of `t`", add),
        ),
        (String::new(), Some("secret:x"), unknown("x", "`--grant`", add)),
    ] {
        assert_eq!(
            tree.problem(&toml, &granted(&Vec::from_iter(grant))),
            expected,
            "{toml}"
        );
    }
}

#[test]
fn secret_is_read_only_when_requested() {
    let mut tree = Tree::new();
    tree.set("TOKEN", "from-variable");
    tree.set("SHORT", "1234567");
    tree.set("LINES", "12345678\n12345678");
    std::fs::write(tree.cwd().join("token"), "from-a-file\n").unwrap();
    let from = |name: &str, from: &str| {
        format!(
            "[[secret]]\nname = \"{name}\"\nfrom = \"{from}\"\naudience = \"https://api.example.com\"\n"
        )
    };
    let toml = [
        from("variable", "env:TOKEN"),
        from("file", "file:token"),
        from("command", "cmd:echo from-command; echo ran >> runs"),
        from("short", "env:SHORT"),
        from("lines", "env:LINES"),
        from("unset", "env:NOT_SET"),
        from("gone", "file:gone"),
        from("failing", "cmd:exit 3"),
        from("long", "cmd:head -c 5000 /dev/zero | tr '\\\\0' x"),
    ]
    .concat();
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    let project = tree.cwd();
    for path in [project.join("token"), project.join("gone")] {
        assert!(config.protected_paths().contains(&path), "{path:?}");
    }
    let printed = format!("{config:?}");
    assert!(
        printed.contains("TOKEN") && !printed.contains("from-variable"),
        "{printed}"
    );
    let read = |names: &[&str]| {
        let names = names.iter().copied().collect::<BTreeSet<_>>();
        finish(config.read_secrets(&names))
    };
    assert!(read(&[]).unwrap().is_empty());
    let good = read(&["variable", "file"]).unwrap();
    assert_eq!(format!("{good:?}"), r#"{"file", "variable"}"#);
    for (name, expected) in [
        (
            "short",
            "cannot read the secret `short` from the variable SHORT: it is shorter than 8 bytes and could not be \
             distinguished from other text in an answer; correct `from` of the secret `short`",
        ),
        (
            "lines",
            "cannot read the secret `lines` from the variable LINES: it has characters other than printable ASCII, which a \
             header field cannot carry; correct `from` of the secret `lines`",
        ),
        (
            "unset",
            "the secret `unset` should be in the variable NOT_SET, which is not set; set it, or change `from` of the \
             secret `unset`",
        ),
        (
            "gone",
            "cannot read the secret `gone` from the file ROOT/home/ann/project/gone: No such file or directory (os error 2); \
             correct `from` of the secret `gone`",
        ),
        (
            "failing",
            "cannot read the secret `failing` from the command in `from`: it failed (exit status: 3); correct `from` of the \
             secret `failing`",
        ),
        (
            "long",
            "cannot read the secret `long` from the command in `from`: it is longer than 4096 bytes, which is more \
             than servers accept; correct `from` of the secret `long`",
        ),
    ] {
        assert_eq!(tree.portable(&read(&[name]).unwrap_err()), expected);
    }
}

#[test]
fn env_grant_gives_variables_by_name() {
    let mut tree = Tree::new();
    tree.set("LANG", "C.UTF-8");
    tree.set("EMPTY", "");
    let variable = |name: &str, value: &str| EnvGrant {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let general = "[[grants.env]]\nname = \"LANG\"\nfrom-host = true\n\
                   [[grants.env]]\nname = \"EMPTY\"\nfrom-host = true\n\
                   [[grants.env]]\nname = \"NOT_SET\"\nfrom-host = true\n\
                   [[grants.env]]\nname = \"TZ\"\nvalue = \"UTC\"\n";
    let own = tool("own", "[[tool.env]]\nname = \"A\"\nvalue = \"1\"") + &tool("none", "env = []");
    let from_file = vec![
        variable("LANG", "C.UTF-8"),
        variable("EMPTY", ""),
        variable("TZ", "UTC"),
    ];
    for (toml, grants, expected) in [
        (String::new(), vec![], vec![]),
        (general.to_owned(), vec![], from_file),
        (
            general.to_owned(),
            vec!["env:LANG=de", "env:HOME", "env:B=x=y", "env:EMPTY="],
            vec![
                variable("TZ", "UTC"),
                variable("LANG", "de"),
                variable("HOME", &tree.home().display().to_string()),
                variable("B", "x=y"),
                variable("EMPTY", ""),
            ],
        ),
    ] {
        let config = tree
            .load(&format!("{own}{toml}"), &granted(&grants))
            .unwrap();
        assert_eq!(config.grants.env, expected, "{toml}{grants:?}");
        let tools: Vec<_> = config
            .tools
            .iter()
            .map(|tool| tool.grants.env.clone())
            .collect();
        assert_eq!(tools, [vec![variable("A", "1")], vec![]]);
    }
}

#[test]
fn env_grant_with_bad_variable_is_refused() {
    let tree = Tree::new();
    let refused = |name: &str, why: &str| {
        format!(
            "cannot grant the variable `{}` to tools: {why}",
            name.escape_debug()
        )
    };
    let given = |name: &str, rest: &str| format!("[[grants.env]]\nname = \"{name}\"\n{rest}\n");
    let form = "its name is empty or contains `=` or NUL; correct the name";
    let long = "n".repeat(257);
    for (toml, expected) in [
        (given("", "value = \"1\""), refused("", form)),
        (given("A=B", "value = \"1\""), refused("A=B", form)),
        (given("A\\u0000", "value = \"1\""), refused("A\0", form)),
        (
            given(&long, "value = \"1\""),
            refused(
                &long,
                "its name is longer than 256 bytes; correct the name",
            ),
        ),
        (
            given("A", &format!("value = \"{}\"", "x".repeat(32_769))),
            refused(
                "A",
                "its value is longer than 32768 bytes or contains NUL; put larger data in a file",
            ),
        ),
        (
            given("A", "value = \"a\\u0000\""),
            refused(
                "A",
                "its value is longer than 32768 bytes or contains NUL; put larger data in a file",
            ),
        ),
        (
            given("A", "value = \"1\"") + &given("A", "value = \"1\""),
            refused("A", "it is granted twice; remove one of the two"),
        ),
        (
            (0..65)
                .map(|n| given(&format!("A{n}"), "value = \"1\""))
                .collect(),
            refused(
                "A64",
                "there are more than 64; grant only what the tool reads",
            ),
        ),
        (
            given("A", ""),
            "the variable `A` needs either `value` or `from-host = true` to be granted to tools; set one of them"
                .to_owned(),
        ),
        (
            given("A", "value = \"1\"\nfrom-host = true"),
            "the variable `A` needs either `value` or `from-host = true` to be granted to tools; set one of them"
                .to_owned(),
        ),
    ] {
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected, "{toml}");
    }
}

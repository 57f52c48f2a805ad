//! `[[mcp]]`: what a server is started or asked with, and what is no server.

use super::{Tree, finish};
use crate::config::Overrides;
use agent_host_mcp_client::{Endpoint, Reach, ServerConfig, Supervisor};
use agent_host_types::tool::{Approval, DecisionKind};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret as _;
use std::{os::unix::fs::PermissionsExt as _, time::Duration};

fn opened(tree: &Tree, toml: &str) -> ServerConfig {
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let supervisor = Supervisor {
        exe: "/bin/supervisor".into(),
        args: vec!["with".into()],
    };
    finish(config.servers[0].open(None, Some(&supervisor), None, &config.state_dir)).unwrap()
}

#[test]
fn mcp_program_environment_is_path_home_and_grants() {
    let mut tree = Tree::new();
    tree.set("PATH", "/bin");
    tree.set("GITHUB_TOKEN", "t");
    tree.set("OTHER", "o");
    let server = opened(
        &tree,
        "[[mcp]]\nname = \"git\"\ncommand = [\"npx\", \"-y\", \"server\"]\n\
         [[mcp.env]]\nname = \"GITHUB_TOKEN\"\nfrom-host = true\n",
    );
    let Reach::Command(command) = &server.reach else {
        panic!("{server:?}");
    };
    let home = tree.home().join(".local/state/agent-host/mcp-home/git");
    let granted = [
        ("GITHUB_TOKEN", "t"),
        ("PATH", "/bin"),
        ("HOME", home.to_str().unwrap()),
    ];
    let env = command.env.iter();
    let env = env.map(|(name, value)| (name.as_str(), value.expose_secret()));
    assert_eq!(env.collect::<Vec<_>>(), granted);
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(command.program, "npx");
    assert_eq!(command.args, ["-y", "server"]);
    assert_eq!(command.directory, tree.cwd());
    assert_eq!(command.supervisor.as_ref().unwrap().args, ["with"]);
    assert_eq!(server.reach.identity(), r#"["npx","-y","server"]"#);
}

/// The forms of other clients start the same program.
#[test]
fn mcp_program_is_written_as_clients_write_it() {
    let tree = Tree::new();
    for lines in [
        "command = [\"npx\", \"-y\", \"server\"]",
        "command = \"npx\"\nargs = [\"-y\", \"server\"]",
        "command = [\"npx\"]\nargs = [\"-y\", \"server\"]",
    ] {
        let server = opened(&tree, &format!("[[mcp]]\nname = \"git\"\n{lines}\n"));
        let expected = r#"["npx","-y","server"]"#;
        assert_eq!(server.reach.identity(), expected, "{lines}");
    }
    for (lines, expected) in [
        (
            "command = \"npx -y server\"",
            "names a program with a space in its name",
        ),
        (
            "url = \"http://127.0.0.1:1/\"\nargs = [\"-y\"]",
            "has `args`, which are only for servers with a `command`",
        ),
        (
            "args = [\"-y\"]",
            "needs one of `command`, to start it, `url`, to connect to it, and `component`",
        ),
        ("command = \"\"", "names no program"),
    ] {
        let toml = format!("[[mcp]]\nname = \"git\"\n{lines}\n");
        let refused = tree
            .load(&toml, &Overrides::default())
            .unwrap_err()
            .to_string();
        assert!(refused.contains(expected), "{lines}: {refused}");
    }
}

/// A `HOME` of the configuration is the one that the server gets.
#[test]
fn mcp_home_of_the_configuration_replaces_the_own_one() {
    let tree = Tree::new();
    for (lines, expected) in [
        ("value = \"/srv/home\"", "/srv/home".to_owned()),
        ("from-host = true", tree.home().display().to_string()),
    ] {
        let toml = format!(
            "[[mcp]]\nname = \"git\"\ncommand = [\"x\"]\n[[mcp.env]]\nname = \"HOME\"\n{lines}\n"
        );
        let Reach::Command(command) = opened(&tree, &toml).reach else {
            panic!("{lines}");
        };
        let home = command.env.iter().filter(|(name, _)| name == "HOME");
        let home: Vec<&str> = home.map(|(_, value)| value.expose_secret()).collect();
        assert_eq!(home, [expected]);
        assert!(
            !tree
                .home()
                .join(".local/state/agent-host/mcp-home")
                .exists()
        );
    }
}

/// Variables are secrets by their names, or by holding a password in an address.
#[test]
fn mcp_server_secrets_are_token_and_named_values() {
    let variables = [
        ("GITHUB_TOKEN", "ghp_0123456789", true),
        ("api-key", "0123456789ab", true),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI", true),
        ("PGPASSWORD", "correct-horse", true),
        ("DATABASE_URL", "postgres://ann:correct-horse@db/x", true),
        ("SHORT_TOKEN", "1234567", false),
        ("PATH", "/usr/local/bin:/bin", false),
        ("GIT_AUTHOR_NAME", "Ann Example", false),
        ("KEYBOARD", "en-us-intl", false),
        ("AWS_REGION", "eu-central-1", false),
        ("HOST", "https://github.example/@ann", false),
    ];
    let tree = Tree::new();
    let env: String = variables
        .iter()
        .map(|(name, value, _)| format!("[[mcp.env]]\nname = \"{name}\"\nvalue = \"{value}\"\n"))
        .collect();
    let server = opened(
        &tree,
        &format!("[[mcp]]\nname = \"s\"\ncommand = [\"x\"]\n{env}"),
    );
    for (name, value, is_secret) in variables {
        let shown = server.secrets.text(value).into_owned();
        let mark = format!("[secret:s.{name}]");
        let expected = match (is_secret, value.split_once("correct-horse")) {
            (false, _) => value.to_owned(),
            // The first name of two with the same value.
            (true, Some((before, after))) => format!("{before}[secret:s.DATABASE_URL]{after}"),
            (true, None) => mark,
        };
        assert_eq!(shown, expected, "{name}");
    }
    std::fs::write(tree.cwd().join("token"), "tok-0123456789").unwrap();
    let server = opened(
        &tree,
        "[[mcp]]\nname = \"web\"\nurl = \"https://example.com/mcp\"\ntoken = \"file:token\"\n",
    );
    assert_eq!(server.secrets.text("tok-0123456789"), "[secret:web.token]");
}

#[test]
fn mcp_server_defaults_are_as_documented() {
    let tree = Tree::new();
    let server = opened(
        &tree,
        "[limits]\noutput-bytes = 1000\n[[mcp]]\nname = \"web\"\nurl = \"https://example.com/mcp\"\n",
    );
    assert_eq!(server.connect_timeout, Duration::from_secs(60));
    assert_eq!(server.deadline, Duration::from_secs(60));
    assert_eq!(server.concurrent_calls.get(), 8);
    assert_eq!(server.output_bytes, 1000);
    assert_eq!(server.roots, Vec::<std::path::PathBuf>::new());
    assert_eq!((server.tools, server.read_only.len()), (None, 0));
    assert_eq!(server.reach.identity(), "https://example.com/mcp");
}

#[test]
fn mcp_server_settings_are_resolved() {
    let mut tree = Tree::new();
    tree.set("TOKEN", "the-token");
    let toml = "[[mcp]]\nname = \"web\"\nurl = \"https://example.com/mcp\"\ntoken = \"env:TOKEN\"\n\
        tools = [\"a\", \"b.c\"]\nread-only = [\"a\"]\napproval = \"always\"\napprovals = { a = [\"approve\"] }\n\
        roots = [\".\", \"sub\"]\nconcurrent-calls = 2\ndeadline-ms = 5\nconnect-timeout-seconds = 7\nrequired = false\n";
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let [mcp] = config.servers.as_slice() else {
        panic!("{config:?}");
    };
    assert!(!mcp.required);
    assert_eq!(mcp.confirmations.of("b.c").approval, Approval::Always);
    assert_eq!(mcp.confirmations.of("a").decisions, [DecisionKind::Approve]);
    let server = opened(&tree, toml);
    let Reach::Http(Endpoint {
        token: Some(token), ..
    }) = &server.reach
    else {
        panic!("{server:?}");
    };
    assert_eq!(token.expose_secret(), "the-token");
    assert!(!format!("{config:?} {server:?}").contains("the-token"));
    assert_eq!(server.connect_timeout, Duration::from_secs(7));
    assert_eq!(server.deadline, Duration::from_millis(5));
    assert_eq!(server.concurrent_calls.get(), 2);
    assert_eq!(
        server.tools.unwrap(),
        ["a", "b.c"].map(str::to_owned).into()
    );
    assert_eq!(server.read_only, ["a".to_owned()].into());
    assert_eq!(
        server.roots,
        [tree.cwd().to_owned(), tree.cwd().join("sub")]
    );
}

/// A value from a source is a secret, and one that is written in the file is not.
#[test]
fn mcp_headers_are_read_and_redacted() {
    let mut tree = Tree::new();
    tree.set("KEY", "key-0123456789");
    std::fs::write(tree.cwd().join("cookie"), "id=0123456789\n").unwrap();
    let server = opened(
        &tree,
        "[[mcp]]\nname = \"web\"\nurl = \"https://example.com/mcp\"\n\
         headers = { X-Api-Key = \"env:KEY\", Cookie = \"file:cookie\", X-Tenant = \"acme-tenant\" }\n",
    );
    let Reach::Http(endpoint) = &server.reach else {
        panic!("{server:?}");
    };
    let headers = endpoint.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.expose_secret()));
    assert_eq!(
        headers.collect::<Vec<_>>(),
        [
            ("Cookie", "id=0123456789"),
            ("X-Api-Key", "key-0123456789"),
            ("X-Tenant", "acme-tenant"),
        ]
    );
    assert_eq!(
        server
            .secrets
            .text("key-0123456789 id=0123456789 acme-tenant"),
        "[secret:web.X-Api-Key] [secret:web.Cookie] acme-tenant"
    );
    assert!(!format!("{server:?}").contains("0123456789"));
}

#[test]
fn mcp_server_files_are_protected() {
    let tree = Tree::new();
    let config = tree
        .load(
            "[[mcp]]\nname = \"a\"\ncommand = [\"./server.sh\"]\n\
             [[mcp]]\nname = \"b\"\nurl = \"https://example.com/\"\ntoken = \"file:key\"\n\
             headers = { X-Key = \"file:header\" }\n",
            &Overrides::default(),
        )
        .unwrap();
    for file in ["server.sh", "key", "header"] {
        let file = tree.cwd().join(file);
        assert!(config.protected_paths().contains(&file), "{config:?}");
    }
}

#[test]
fn mcp_server_with_bad_settings_is_refused() {
    let tree = Tree::new();
    let cases = [
        ("", "needs one of `command`"),
        (
            "command = [\"a\"]\nurl = \"https://a\"\n",
            "needs one of `command`",
        ),
        ("command = []\n", "names no program"),
        ("command = [\"\"]\n", "names no program"),
        ("command = [\"a\", \"\\u0000\"]\n", "contains NUL"),
        (
            "command = [\"a\"]\ntoken = \"env:T\"\n",
            "only for servers with a `url`",
        ),
        (
            "url = \"https://a\"\n[[mcp.env]]\nname = \"A\"\nvalue = \"1\"\n",
            "is not started here",
        ),
        ("url = \"ftp://a\"\n", "does not start with"),
        ("url = \"https:///mcp\"\n", "it has no host"),
        ("url = \"https://me:pw@a/\"\n", "set `token`"),
        (
            "url = \"http://a.example/\"\ntoken = \"env:T\"\n",
            "sent unencrypted",
        ),
        (
            "url = \"https://a\"\ntoken = \"secret\"\n",
            "does not name the source of the token of the MCP server `m`",
        ),
        (
            "command = [\"a\"]\nheaders = { X-A = \"1\" }\n",
            "has `headers`, which are only for servers with a `url`",
        ),
        (
            "url = \"https://a\"\nheaders = { Host = \"b\" }\n",
            "cannot set the header `Host` of the MCP server `m`: the host sets it itself",
        ),
        (
            "url = \"https://a\"\nheaders = { X-A = \"a\\nb\" }\n",
            "it contains characters that are not allowed in HTTP headers",
        ),
        (
            "url = \"https://a\"\nheaders = { X-A = \"1\", x-a = \"2\" }\n",
            "it occurs twice",
        ),
        (
            "url = \"https://a\"\nheaders = { X-Api-Key = \"k-0123456789\" }\n",
            "its name says that it is a secret",
        ),
        (
            "url = \"https://a\"\ntoken = \"env:T\"\nheaders = { authorization = \"env:T\" }\n",
            "`token` is sent in the same header",
        ),
        (
            "command = [\"a\"]\noauth = { scopes = [\"a\"] }\n",
            "has `oauth`, which is only for servers with a `url`",
        ),
        (
            "url = \"https://a\"\ntoken = \"env:T\"\noauth = { client-id = \"a\" }\n",
            "has both `oauth` and a token",
        ),
        (
            "url = \"https://a\"\noauth = { client-secret = \"env:S\" }\n",
            "it needs a `client-id`",
        ),
        (
            "url = \"https://a\"\noauth = { client-id = \"a\", client-secret = \"hunter2\" }\n",
            "does not name the source of the client secret of the MCP server `m`",
        ),
        (
            "url = \"https://a\"\noauth = { client-metadata-url = \"https://a.example\" }\n",
            "it is not the `https://` URL of a document",
        ),
        (
            "url = \"http://a.example/\"\nheaders = { X-A = \"env:T\" }\n",
            "a secret header would be sent unencrypted",
        ),
        ("command = [\"a\"]\napproval = []\n", "is an empty list"),
        (
            "command = [\"a\"]\nread_only = []\n",
            "did you mean `read-only`?",
        ),
        (
            "command = [\"a\"]\ndeadline-ms = 0\n",
            "0 milliseconds cannot be used here",
        ),
        (
            "command = [\"a\"]\n[[mcp]]\nname = \"m\"\ncommand = [\"b\"]\n",
            "line 5, column 8: the name `m` is used twice",
        ),
        (
            "command = [\"a\"]\n[[tool]]\nname = \"m\"\ncomponent = \"builtin:files\"\n",
            "the name `m` is used twice",
        ),
    ];
    for (rest, says) in cases {
        let error = tree.refusal(
            &format!("[[mcp]]\nname = \"m\"\n{rest}"),
            &Overrides::default(),
        );
        assert!(error.contains(says), "{rest}: {error}");
    }
    for name in ["", "a b", &"a".repeat(33)] {
        let toml = format!("[[mcp]]\nname = \"{name}\"\ncommand = [\"a\"]\n");
        let error = tree.refusal(&toml, &Overrides::default());
        assert!(error.contains("invalid MCP server name"), "{error}");
    }
}

/// A directory of its own, from the directory of the file.
#[test]
fn mcp_server_runs_in_the_configured_directory() {
    let tree = Tree::new();
    for (line, expected) in [
        ("", tree.cwd().to_owned()),
        ("dir = \"sub\"\n", tree.cwd().join("sub")),
        ("dir = \"/srv\"\n", "/srv".into()),
    ] {
        let toml = format!("[[mcp]]\nname = \"s\"\ncommand = [\"x\"]\n{line}");
        let server = opened(&tree, &toml);
        let Reach::Command(command) = server.reach else {
            panic!("it is no program");
        };
        assert_eq!(command.directory, expected, "{line}");
    }
}

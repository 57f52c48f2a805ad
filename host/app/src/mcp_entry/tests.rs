use super::*;
use pretty_assertions::assert_eq;

/// Returns the tables and the notes.
fn read(json: &str) -> (String, Vec<String>) {
    let read = read_servers(json).unwrap();
    (read.toml, read.notes)
}

#[test]
fn servers_of_clients_become_tables_without_secrets() {
    let cases = [
        // A file of a project, as Claude Code and others write it.
        (
            r#"{"mcpServers": {"git hub": {
                "command": "npx", "args": ["-y", "@example/server"], "cwd": "tools",
                "env": {"GITHUB_TOKEN": "ghp_1234567890", "REGION": "eu", "LEVEL": 3,
                    "HOME": "${HOME}", "API_KEY": "${OTHER_KEY:-none}", "EMPTY": ""}
            }}}"#,
            "[[mcp]]\n\
             name = \"git-hub\"\ncommand = \"npx\"\nargs = [\"-y\", \"@example/server\"]\ndir = \"tools\"\n\n\
             [[mcp.env]]\nname = \"API_KEY\"\nfrom-host = true\n\n\
             [[mcp.env]]\nname = \"EMPTY\"\nfrom-host = true\n\n\
             [[mcp.env]]\nname = \"GITHUB_TOKEN\"\nfrom-host = true\n\n\
             [[mcp.env]]\nname = \"HOME\"\nfrom-host = true\n\n\
             [[mcp.env]]\nname = \"LEVEL\"\nvalue = \"3\"\n\n\
             [[mcp.env]]\nname = \"REGION\"\nvalue = \"eu\"\n",
            &[
                "set API_KEY in your environment; it was OTHER_KEY there",
                "set GITHUB_TOKEN in your environment; its value is not copied",
            ][..],
        ),
        // One of VS Code, over HTTP.
        (
            r#"{"inputs": [], "servers": {"docs": {"type": "http", "url": "https://example.com/mcp",
                "headers": {"Authorization": "Bearer abc123", "X-Api-Key": "${input:docs_key}", "X-Tenant": "acme"}}}}"#,
            "[[mcp]]\nname = \"docs\"\nurl = \"https://example.com/mcp\"\ntoken = \"env:DOCS_TOKEN\"\n\n\
             [mcp.headers]\nX-Api-Key = \"env:docs_key\"\nX-Tenant = \"acme\"\n",
            &["set DOCS_TOKEN in your environment; the value of `Authorization` is not copied"],
        ),
        // Parts that are left out, each with the reason.
        (
            r#"{"mcpServers": {
                "a": {"command": "a", "disabled": true},
                "b": {"type": "sse"},
                "c": {"command": "c", "args": ["postgres://ann:secret@db/x"]},
                "d": {"command": "d", "args": ["--api-key", "sk-123"]},
                "e": {"command": "e", "args": ["--token=abc"]},
                "f": {"command": "f", "args": ["${HOME}/x"]},
                "g": {"serverUrl": "https://example.com/g"}
            }}"#,
            "[[mcp]]\nname = \"f\"\ncommand = \"f\"\nargs = [\"${HOME}/x\"]\n\n\
             [[mcp]]\nname = \"g\"\nurl = \"https://example.com/g\"\n",
            &[
                "`a` is disabled there, so it was skipped",
                "`b` does not have exactly one of `command` and `url`, so it was skipped",
                "`c` has a secret in its arguments, so it was skipped; pass the secret as a variable",
                "`d` has a secret in its arguments, so it was skipped; pass the secret as a variable",
                "`e` has a secret in its arguments, so it was skipped; pass the secret as a variable",
                "the argument `${HOME}/x` of `f` contains a placeholder, which is not expanded here; edit it",
            ],
        ),
    ];
    for (json, toml, notes) in cases {
        let expected = (
            toml.to_owned(),
            notes.iter().map(|&note| note.to_owned()).collect(),
        );
        assert_eq!(read(json), expected);
    }
}

#[test]
fn file_without_servers_says_why() {
    for (json, expected) in [
        ("{", "it is not JSON: "),
        ("[]", "it is not JSON: "),
        ("{\"mcp\": 1}", "it has neither mcpServers nor servers"),
        ("{\"servers\": {}}", "it has no server that can be added"),
        (
            "{\"mcpServers\": {\"a\": {\"command\": 1}}}",
            "cannot read its server `a`: ",
        ),
    ] {
        let error = read_servers(json).unwrap_err();
        assert!(error.as_str().starts_with(expected), "{json}: {error}");
    }
}

#[test]
fn servers_are_appended_once() {
    let read = read_servers(r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
    let before = "# mine\nmax-turns = 3\n";
    let after = with_servers(before, &read).unwrap();
    assert_eq!(
        after,
        format!("{before}\n[[mcp]]\nname = \"a\"\ncommand = \"x\"\n")
    );
    let exists = "it already has `a`; choose another name (of a tool, with `--as NAME`)";
    assert_eq!(with_servers(&after, &read), Err(exists.into()));
}

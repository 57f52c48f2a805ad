//! Tests `agent-host mcp config`: a client can start the printed entry.

use agent_host_test_support::mcp_client::{Client, initialize};
use agent_host_test_support::{TestEnv, program, running::Running};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn entry_paths_are_absolute() {
    let env = TestEnv::new();
    env.write("agent.toml", "[[grants.dir]]\nhost = \".\"\n");
    env.write("a/tool.wasm", "");
    let program = program();
    let path = |path: &str| env.work().join(path).display().to_string();
    let entry = |name: &str, args: &[&str]| {
        let entry = json!({ "command": program, "args": args });
        json!({ "mcpServers": { name: entry } })
    };
    let (work, config, tool) = (path(""), path("agent.toml"), path("a/tool.wasm"));
    let (directory, state) = (format!("dir:{}:read-write", path("a")), path("s"));
    let cases: [(&[&str], Value); 4] = [
        (
            &["--config", "agent.toml"],
            entry("agent-host", &["mcp", "--config", &config]),
        ),
        (
            &["--name", "mine", "--config", "agent.toml", "--write"],
            entry("mine", &["mcp", "--config", &config, "--write"]),
        ),
        (
            &[
                "--config",
                "agent.toml",
                "--tool",
                "a/tool.wasm",
                "--tool",
                "builtin:image",
            ],
            entry(
                "agent-host",
                &[
                    "mcp",
                    "--config",
                    &config,
                    "--tool",
                    &tool,
                    "--tool",
                    "builtin:image",
                ],
            ),
        ),
        (
            &[
                "--config",
                "agent.toml",
                "--grant",
                "dir:a:read-write",
                "--grant",
                "env:LANG",
                "--state-dir",
                "s",
            ],
            entry(
                "agent-host",
                &[
                    "mcp",
                    "--config",
                    &config,
                    "--grant",
                    &directory,
                    "--grant",
                    "env:LANG",
                    "--state-dir",
                    &state,
                ],
            ),
        ),
    ];
    for (args, expected) in cases {
        let ran = env.run(&[&["mcp", "config"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.json(), expected, "{args:?}");
    }
    // Without a configuration the entry names the directory granted by default.
    std::fs::remove_file(env.work().join("agent.toml")).unwrap();
    let directory = format!("dir:{}", work.trim_end_matches('/'));
    for (args, grant) in [
        (&[][..], directory.clone()),
        (&["--write"], format!("{directory}:read-write")),
    ] {
        let ran = env.run(&[&["mcp", "config"], args].concat());
        assert_eq!(
            ran.json(),
            entry("agent-host", &["mcp", "--grant", &grant]),
            "{args:?}"
        );
    }
}

#[test]
fn http_entry_has_a_place_for_the_token() {
    let env = TestEnv::new();
    let ran = env.run(&["mcp", "config", "--http", "127.0.0.1:8080"]);
    let entry = json!({
        "type": "http",
        "url": "http://127.0.0.1:8080/mcp",
        "headers": { "Authorization": "Bearer TOKEN" },
    });
    assert_eq!(ran.json(), json!({ "mcpServers": { "agent-host": entry } }));
    assert!(ran.stderr.contains("Replace TOKEN"), "{}", ran.stderr);
}

/// Each client's own form and file, and the command that adds the server where there is one.
#[test]
fn entry_has_the_form_of_each_client() {
    let env = TestEnv::new();
    env.write("agent.toml", "[[grants.dir]]\nhost = \".\"\n");
    let config = env.work().join("agent.toml").display().to_string();
    let server = json!({ "command": program(), "args": ["mcp", "--config", config] });
    let command = server.to_string();
    let (program, named) = (program(), ["mcp", "config", "--config", "agent.toml"]);
    let added =
        json!({ "args": ["mcp", "--config", config], "command": program, "name": "agent-host" });
    let claude = format!("claude mcp add-json --scope user agent-host '{command}'");
    let code = format!("code --add-mcp '{added}'");
    for (client, key, file, adds) in [
        ("claude", "mcpServers", ".mcp.json", Some(&claude)),
        (
            "claude-desktop",
            "mcpServers",
            "~/.config/Claude/claude_desktop_config.json",
            None,
        ),
        ("cursor", "mcpServers", "~/.cursor/mcp.json", None),
        ("vscode", "servers", ".vscode/mcp.json", Some(&code)),
        (
            "zed",
            "context_servers",
            "~/.config/zed/settings.json",
            None,
        ),
    ] {
        let ran = env.run(&[&named[..], &["--client", client]].concat());
        assert_eq!(
            ran.json(),
            json!({ key: { "agent-host": server } }),
            "{client}"
        );
        assert!(ran.stderr.contains(file), "{client}: {}", ran.stderr);
        let commands: Vec<&str> = ran
            .stderr
            .lines()
            .filter(|line| line.starts_with(' '))
            .collect();
        let adds: Vec<&str> = adds.into_iter().map(String::as_str).collect();
        let commands: Vec<&str> = commands.into_iter().map(str::trim).collect();
        assert_eq!(commands, adds, "{client}");
        // Without a client's name, all of them are named.
        let all = env.run(&named);
        assert!(all.stderr.contains(file), "{client}: {}", all.stderr);
    }
    let quiet = env.run(&["mcp", "config", "--quiet", "--config", "agent.toml"]);
    assert_eq!(
        (quiet.code, quiet.stderr.as_str()),
        (Some(0), ""),
        "{quiet:?}"
    );
}

#[test]
fn entry_starts_the_server_from_any_directory() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let document = env.run(&["mcp", "config"]).json();
    let entry = &document["mcpServers"]["agent-host"];
    let args: Vec<&str> = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    let mut command = env.command(&args);
    let mut client = Client {
        running: Running::start(command.current_dir("/")),
    };
    assert_eq!(client.ask(initialize("2025-11-25", json!({})))["id"], 0);
    let read =
        agent_host_test_support::mcp_client::call(1, "read_file", json!({ "path": "note.txt" }));
    let read = client.ask(read);
    assert_eq!(read["result"]["isError"], false, "{read}");
    assert_eq!(client.close().code, Some(0));
}

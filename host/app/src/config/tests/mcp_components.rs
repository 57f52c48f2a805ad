//! `component` of `[[mcp]]`: its grants, its bounds, and the keys that it does not take.

use super::Tree;
use crate::config::{ComponentServer, ComponentSource, Overrides};
use agent_host_types::limits::Limits;
use pretty_assertions::assert_eq;
use std::{path::PathBuf, time::Duration};

fn component(tree: &Tree, toml: &str) -> ComponentServer {
    let config = tree.load(toml, &Overrides::default()).unwrap();
    config.servers[0].component().unwrap().clone()
}

#[test]
fn component_server_takes_general_grants_and_limits() {
    let tree = Tree::new();
    let general = "[grants]\nartifacts = \"read-only\"\n[[grants.dir]]\nhost = \"data\"\n[[grants.http]]\nhost = \"a.example\"\n\
        [limits]\nmemory-bytes = 1048576\n[[mcp]]\nname = \"m\"\ncomponent = \"m.wasm\"\n";
    let server = component(&tree, general);
    assert_eq!(
        server.source,
        ComponentSource::File(tree.cwd().join("m.wasm"))
    );
    assert_eq!(server.grants.dirs.len(), 1);
    assert_eq!(server.grants.http.len(), 1);
    assert_eq!(server.grants.artifacts, None);
    assert_eq!(
        server.limits,
        Limits {
            memory_bytes: 1_048_576,
            deadline_ms: 60_000,
            ..Limits::default()
        }
    );
    assert_eq!(server.idle, Duration::from_secs(600));
    assert_eq!(server.lifetime, Duration::from_secs(86_400));
    assert_eq!(server.roots(), [PathBuf::from("/workspace")]);
    let own = format!(
        "{general}deadline-ms = 5000\nidle-seconds = \"1min\"\nlifetime-seconds = \"1h\"\n\
         [mcp.grants]\nhttp = []\n[mcp.limits]\nmemory-bytes = \"2MiB\"\n"
    );
    let server = component(&tree, &own);
    assert_eq!(server.grants.dirs.len(), 1);
    assert_eq!(server.grants.http.len(), 0);
    assert_eq!(
        (server.limits.memory_bytes, server.limits.deadline_ms),
        (2_097_152, 5_000)
    );
    assert_eq!(server.idle, Duration::from_secs(60));
    assert_eq!(server.lifetime, Duration::from_secs(3_600));
}

#[test]
fn component_server_with_bad_settings_is_refused() {
    let tree = Tree::new();
    let component = "component = \"m.wasm\"\n";
    let command = "command = [\"a\"]\n";
    for (rest, says) in [
        (
            format!("{component}{command}"),
            "needs one of `command`, to start it, `url`, to connect to it, and `component`, to run it in the sandbox; \
             set exactly one of them",
        ),
        (
            format!("{component}token = \"env:T\"\n"),
            "grant it with `secrets` in [mcp.grants]",
        ),
        (
            format!("{component}args = [\"-y\"]\n"),
            "has `args`, which are only for servers with a `command`",
        ),
        (
            format!("{component}dir = \".\"\n"),
            "has `dir`, which is only for servers with a `command`; grant directories with [[mcp.grants.dir]]",
        ),
        (
            format!("{component}roots = [\".\"]\n"),
            "is told the directories that it is granted",
        ),
        (
            format!("{component}[[mcp.env]]\nname = \"A\"\nvalue = \"1\"\n"),
            "grant variables with [[mcp.grants.env]]",
        ),
        (
            format!("{component}[mcp.limits]\ndeadline-ms = 1\n"),
            "set `deadline-ms` of the server itself",
        ),
        (
            format!("{component}[mcp.grants]\nartifacts = \"read-only\"\n"),
            "an MCP server runs outside of sessions",
        ),
        (
            format!("{component}[mcp.limits]\nmemory-bytes = 0\n"),
            "`memory-bytes` in [mcp.limits] of `m` is 0",
        ),
        (
            format!("{component}[mcp.grants]\nsecrets = [\"s\"]\n"),
            "`secrets` of `m`",
        ),
        (
            format!("{component}lifetime-seconds = \"32d\"\n"),
            "`lifetime-seconds` is 2764800; set it to 1 to 2678400, or leave it out",
        ),
        (
            "component = \"oci://a.example/b:1\"\n".to_owned(),
            "`component` of the MCP server `m` is not a file",
        ),
        (
            format!("{command}[mcp.grants]\nhttp = []\n"),
            "others run outside of the sandbox",
        ),
        (
            format!("{command}[mcp.limits]\ntables = 1\n"),
            "has [mcp.limits], which are only for servers with a `component`",
        ),
        (
            format!("{command}idle-seconds = 1\n"),
            "has `idle-seconds`, which is only for servers with a `component`",
        ),
        (
            "url = \"https://a\"\nlifetime-seconds = 1\n".to_owned(),
            "has `lifetime-seconds`, which is only for servers with a `component`",
        ),
    ] {
        let error = tree.refusal(
            &format!("[[mcp]]\nname = \"m\"\n{rest}"),
            &Overrides::default(),
        );
        assert!(error.contains(says), "{rest}: {error}");
    }
}

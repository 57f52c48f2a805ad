//! An MCP server that is started has a home directory of its own, where launchers such as `npx` keep
//! their caches.

use agent_host_test_support::{TestEnv, installed::here, skip};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A directory with the server as a program of its own, started with this command line and these
/// further lines.
fn place(command: &[&str], more: &str) -> TestEnv {
    let env = TestEnv::new();
    let server = env.write("home.sh", fs::read(here("it/mcp_client/home.sh")).unwrap());
    fs::set_permissions(server, Permissions::from_mode(0o755)).unwrap();
    let command = json!(command);
    env.configure(format!(
        "tool = []\n[[mcp]]\nname = \"s\"\ncommand = {command}\nread-only = [\"home\"]\n{more}"
    ));
    env
}

/// The home directory of the server in the state directory.
fn home(env: &TestEnv) -> PathBuf {
    let user = env.outside().canonicalize().unwrap().join("home");
    user.join(".local/state/agent-host/mcp-home/s")
}

/// Checks the `HOME` that the server has.
fn has_home(env: &TestEnv, expected: &Path) {
    let ran = env.run(&["call", "s", "home", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = format!("HOME is {}", expected.display());
    assert_eq!(ran.json(), json!({"type": "text", "value": text}));
}

#[test]
fn started_mcp_server_has_a_home_of_its_own() {
    let env = place(&["./home.sh"], "");
    let home = home(&env);
    has_home(&env, &home);
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let doctor = env.run(&["doctor"]).stdout;
    let line = format!("[\"./home.sh\"]; its HOME is {}\n", home.display());
    assert!(doctor.contains(&line), "{doctor}");
    // No tool may reach it, whatever is granted.
    let grant = format!("dir:{}", home.display());
    let denied = env.run(&[
        "call",
        "builtin:files",
        "list_directory",
        "{}",
        "--grant",
        &grant,
    ]);
    assert!(denied.code != Some(0), "{denied:?}");
}

#[test]
fn mcp_home_that_is_configured_is_not_replaced() {
    let env = place(
        &["./home.sh"],
        "[[mcp.env]]\nname = \"HOME\"\nvalue = \"/srv/home\"\n",
    );
    has_home(&env, Path::new("/srv/home"));
    assert!(!home(&env).exists());
    assert!(!env.run(&["doctor"]).stdout.contains("its HOME is"));
}

/// `npx` hands its packages the home directory that the user database has where there is no `HOME`,
/// and fails for a user without an entry there.
#[test]
fn npx_keeps_its_cache_in_the_home_of_the_server() {
    if Command::new("npx").arg("--version").output().is_err() {
        return skip("this machine has no npx");
    }
    let variable = |name: &str, value: &str| {
        format!("[[mcp.env]]\nname = \"npm_config_{name}\"\nvalue = \"{value}\"\n")
    };
    let offline = variable("offline", "true") + &variable("update_notifier", "false");
    let env = place(&["npx", "--no-install", "home"], &offline);
    let package = json!({"name": "home", "version": "1.0.0", "bin": {"home": "./home.sh"}});
    env.write("package.json", package.to_string());
    let home = home(&env);
    has_home(&env, &home);
    assert!(home.join(".npm").is_dir());
}

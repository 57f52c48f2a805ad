//! Runs the conformance suite of the Model Context Protocol against our server and client: the
//! package's release, and its newest version for each protocol revision. `mcp_conformance/` lists
//! the expected failures with reasons.

use crate::support::{
    TestEnv,
    installed::{here, mcp_packages},
    mcp::{Served, TOKEN, TOKEN_VARIABLE},
};
use std::{path::Path, process::Command};

/// The package of which this is the newest version.
const NEWEST: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// The released version, which knows fewer scenarios.
const RELEASED: &str = "conformance-released/dist/index.js";

/// Runs all server scenarios with these arguments. The failures must be exactly those of the file.
fn server_conforms(suite: &str, arguments: &[&str], expected: &str) {
    let Some(packages) = mcp_packages() else {
        return;
    };
    let env = TestEnv::new();
    let served = Served::start(&env, &["mcp-suite"]);
    // The package resolves its imports from its own directory.
    let token = packages.directory.join("token.mjs");
    std::fs::copy(here("mcp_conformance/token.mjs"), &token).unwrap();
    let mut command = packages.script(Some(&token), suite);
    command
        .args(["server", "--suite", "all", "--url", &served.url])
        .args(arguments)
        .env(TOKEN_VARIABLE, TOKEN);
    passes(&mut command, expected);
}

/// Runs all client scenarios of a protocol revision. Each runs the program with a scripted model
/// that calls the tools of the suite's server.
fn client_conforms(version: &str) {
    let Some(packages) = mcp_packages() else {
        return;
    };
    let env = TestEnv::new();
    let mut command = packages.script(None, NEWEST);
    let client = [
        packages.node.as_path(),
        &here("mcp_conformance/client.mjs"),
        Path::new(env!("CARGO_BIN_EXE_agent-host")),
    ];
    // The suite splits it at spaces.
    let client = client.map(|part| part.to_str().unwrap()).join(" ");
    command
        .args(["client", "--suite", "all", "--spec-version", version])
        .args(["--command", &client]);
    passes(env.prepare(&mut command), &format!("{version}.yml"));
}

/// Runs the suite, and expects exactly the failures of a file.
fn passes(command: &mut Command, expected: &str) {
    let file = here("mcp_conformance").join(expected);
    let output = command.arg("--expected-failures").arg(file).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("Baseline check passed"),
        "{told}{errors}"
    );
}

#[test]
fn server_of_the_released_suite() {
    server_conforms(RELEASED, &[], "released.yml");
}

#[test]
fn server_2025_11_25() {
    let arguments = ["--spec-version", "2025-11-25"];
    server_conforms(NEWEST, &arguments, "2025-11-25.yml");
}

#[test]
fn server_2026_07_28() {
    let arguments = ["--spec-version", "2026-07-28"];
    server_conforms(NEWEST, &arguments, "2026-07-28.yml");
}

#[test]
fn client_2025_11_25() {
    client_conforms("2025-11-25");
}

#[test]
fn client_2026_07_28() {
    client_conforms("2026-07-28");
}

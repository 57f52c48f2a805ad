//! Runs the conformance suite of the Model Context Protocol against our server and client: the
//! package's release, and its newest version for each protocol revision. `mcp_conformance/` lists
//! the expected failures with reasons.

use agent_host_test_support::{
    TestEnv,
    installed::{here, mcp_packages},
    mcp::{Served, TOKEN, TOKEN_VARIABLE},
    program,
};
use std::{path::Path, process::Command};

/// The package of which this is the newest version.
const NEWEST: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// The released version, which knows fewer scenarios.
const RELEASED: &str = "conformance-released/dist/index.js";

/// The text before the unexpected failures in the output, one a line.
const UNEXPECTED: &str = "(not in baseline):\u{1b}[0m\n";

/// The scenarios whose server sends on the stream for notifications, with a call or its end. It
/// loses the message, or takes the stream for an early reconnection, if that stream opens later, as
/// it does now and then on a busy machine.
const STREAM_FIRST: [&str; 2] = ["sse-retry", "elicitation-sep1034-client-defaults"];

/// Runs all server scenarios with these arguments. The failures must be exactly those of the file.
fn server_conforms(suite: &str, arguments: &[&str], expected: &str) {
    let Some(packages) = mcp_packages() else {
        return;
    };
    let env = TestEnv::new();
    let served = Served::start(&env, &["mcp-suite"]);
    // The package resolves its imports from its own directory.
    let token = packages.directory.join("token.mjs");
    std::fs::copy(here("interop/mcp_conformance/token.mjs"), &token).unwrap();
    let mut command = packages.script(Some(&token), suite);
    command
        .args(["server", "--suite", "all", "--url", &served.url])
        .args(arguments)
        .args(["--expected-failures", &expected_failures(expected)])
        .env(TOKEN_VARIABLE, TOKEN);
    run_suite(&mut command).unwrap_or_else(|told| panic!("{told}"));
}

/// Runs all client scenarios of a protocol revision. Each runs the program with a scripted model
/// that calls the tools of the suite's server.
fn client_conforms(version: &str) {
    let Some(packages) = mcp_packages() else {
        return;
    };
    let env = TestEnv::new();
    let client = [
        packages.node.as_path(),
        &here("interop/mcp_conformance/client.mjs"),
        Path::new(program()),
    ];
    // The suite splits it at spaces.
    let client = client.map(|part| part.to_str().unwrap()).join(" ");
    let run = |scenarios: &[&str]| {
        let mut command = packages.script(None, NEWEST);
        command.arg("client").args(scenarios);
        command.args(["--spec-version", version, "--command", &client]);
        // All scenarios run at once, and a scenario with questions or logins has several processes.
        command.args(["--timeout", "180000"]);
        run_suite(env.prepare(&mut command))
    };
    let expected = expected_failures(&format!("{version}.yml"));
    run(&["--suite", "all", "--expected-failures", &expected])
        .or_else(|told| {
            let failed = unexpected(&told);
            let is_timing = failed.iter().all(|name| STREAM_FIRST.contains(name));
            if failed.is_empty() || !is_timing {
                return Err(told);
            }
            let passes_alone = |name: &&str| (0..3).any(|_| run(&["--scenario", name]).is_ok());
            if failed.iter().all(passes_alone) {
                Ok(())
            } else {
                Err(told)
            }
        })
        .unwrap_or_else(|told| panic!("{told}"));
}

/// Returns the names of the unexpected failures in the output of a suite.
fn unexpected(told: &str) -> Vec<&str> {
    let (_, list) = told.split_once(UNEXPECTED).unwrap_or_default();
    let lines = list.lines().map_while(|line| line.strip_prefix("  ✗ "));
    lines.map(str::trim).collect()
}

/// The file of expected failures.
fn expected_failures(name: &str) -> String {
    let file = here("interop/mcp_conformance").join(name);
    file.to_str().unwrap().to_owned()
}

/// Runs the suite and returns its output, as an error if a scenario failed that was not expected
/// to.
fn run_suite(command: &mut Command) -> Result<(), String> {
    let output = command.output().unwrap();
    // A suite reports on stdout, a single scenario on stderr.
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    let passed = ["Baseline check passed", "OVERALL: PASSED"];
    if output.status.success() && passed.iter().any(|text| told.contains(text)) {
        Ok(())
    } else {
        Err(told.into_owned())
    }
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

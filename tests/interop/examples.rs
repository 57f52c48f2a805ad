//! Builds the example tools in `guest-tools/examples` with their languages' compilers and runs
//! their own cases.

use agent_host_test_support::{
    TestEnv,
    installed::{compiler_from_pypi, here},
    project,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::Path;

#[test]
fn python() {
    passes("chart", "python");
}

#[test]
fn c() {
    passes("hash", "c");
}

#[test]
fn go() {
    passes("diff", "go");
}

/// Builds an example, and expects a case for every tool and every case to pass.
fn passes(example: &str, language: &str) {
    let Some(installed) = compiler_from_pypi(language) else {
        return;
    };
    let env = TestEnv::new();
    let sources = here("../guest-tools/examples").join(example);
    project::built(&env, &sources, example, (&installed, ".venv"));
    let report = project::passes(&env, &[Path::new(example)]);
    assert_eq!(report["coverage"]["uncalled"], json!([]));
}

//! The example tools in `guest-tools/examples`: each is built by its language's compiler, and its own cases pass on it.

use crate::support::{
    Place,
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

/// Builds an example, and expects that every tool in it has a case and every case passes.
fn passes(example: &str, language: &str) {
    let Some(installed) = compiler_from_pypi(language) else {
        return;
    };
    let place = Place::new();
    let sources = here("../guest-tools/examples").join(example);
    project::built(&place, &sources, example, (&installed, ".venv"));
    let report = project::passes(&place, &[Path::new(example)]);
    assert_eq!(report["coverage"]["uncalled"], json!([]));
}

//! Builds projects in other languages as their authors do.

use super::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// Copies a project to the directory `name` of the test environment, and builds it with the
/// installed packages, linked under the other name. Returns the component.
pub fn built(
    env: &TestEnv,
    sources: &Path,
    name: &str,
    (installed, link): (&Path, &str),
) -> PathBuf {
    let project = env.work().join(name);
    copy(sources, &project);
    symlink(installed, project.join(link)).unwrap();
    let ran = env.run(&["build", name, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.json()["component"].as_str().unwrap().into()
}

/// Runs `agent-host test` with these arguments, expects every case to pass, and returns the report.
pub fn passes(env: &TestEnv, arguments: &[&Path]) -> Value {
    let mut command = vec![Path::new("test")];
    command.extend(arguments);
    command.push(Path::new("--json"));
    let ran = env.run(&command);
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    let report = ran.json();
    let cases = report["cases"].as_array().unwrap();
    let failed: Vec<&Value> = cases
        .iter()
        .filter(|case| case["mismatches"] != json!([]))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    report
}

/// Copies the sources of a project, without the output of a manual build.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if [".agent-host", ".venv", "dist", "node_modules"].contains(&name.to_str().unwrap()) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

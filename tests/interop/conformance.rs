//! Tests that tools behave the same in every language: the cases in `guest-tools/conformance` run
//! on a component of each. Compilers named by the conformance projects build them here; Rust's is
//! prebuilt.

mod http;
mod server;

use agent_host_test_support::{
    TestEnv,
    installed::{compiler_from_npm, compiler_from_pypi, here},
    project,
};
use http::{KINDS, Traits, speaks_http};
use pretty_assertions::assert_eq;
use serde::Deserialize;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// componentize-py 0.25 gives the memory of what was sent back only after the call.
const PYTHON: Traits = Traits {
    sending_bytes: 3 * http::MEMORY_BYTES / 2,
    ..KINDS
};

/// `fetch` has no kinds of failures. In componentize-js 0.23 each piece of a body takes a handle or
/// memory until the call ends.
const SCRIPT: Traits = Traits {
    denied: "NetworkError when attempting to fetch resource",
    unreachable: "NetworkError when attempting to fetch resource",
    interrupted: "IO error reading from incoming response body",
    timeout: "NetworkError when attempting to fetch resource",
    body_bytes: 1 << 20,
    ..KINDS
};

#[test]
fn rust() {
    let env = TestEnv::new();
    let component = here("guests/dist/conformance.wasm");
    conforms(&env, &component);
    speaks_http(&env, &component, &KINDS);
    // The prebuilt component has no function names, so there is no stack trace.
    let place = "panicked at conformance/rust/src/ends.rs:";
    tells_a_crash(&env, &component, "", place);
}

#[test]
fn python() {
    let Some(installed) = compiler_from_pypi("python") else {
        return;
    };
    let env = TestEnv::new();
    let component = built(&env, "python", &installed, ".venv");
    conforms(&env, &component);
    speaks_http(&env, &component, &PYTHON);
    tells_a_crash(&env, &component, "ValueError: ", "File \"tool.py\", line ");
}

#[test]
fn javascript() {
    let Some(installed) = compiler_from_npm() else {
        return;
    };
    let env = TestEnv::new();
    let component = built(&env, "js", &installed, "node_modules");
    conforms(&env, &component);
    speaks_http(&env, &component, &SCRIPT);
    tells_a_crash(&env, &component, "Error: ", "tool.js:");
}

#[test]
fn typescript() {
    // The same packages make its component; the others in its list are for editors.
    let Some(installed) = compiler_from_npm() else {
        return;
    };
    let env = TestEnv::new();
    let component = built(&env, "ts", &installed, "node_modules");
    conforms(&env, &component);
    speaks_http(&env, &component, &SCRIPT);
    tells_a_crash(&env, &component, "Error: ", "tool.ts:");
}

#[test]
fn c() {
    let Some(installed) = compiler_from_pypi("c") else {
        return;
    };
    let env = TestEnv::new();
    let component = built(&env, "c", &installed, ".venv");
    conforms(&env, &component);
    speaks_http(&env, &component, &KINDS);
    tells_a_crash(&env, &component, "", "!crash\n");
}

#[test]
fn go() {
    let Some(installed) = compiler_from_pypi("go") else {
        return;
    };
    let env = TestEnv::new();
    let component = built(&env, "go", &installed, ".venv");
    conforms(&env, &component);
    speaks_http(&env, &component, &KINDS);
    tells_a_crash(&env, &component, "", "\tconformance/tool.go:");
}

/// Builds the conformance project of a language with the installed packages, linked as `link`.
fn built(env: &TestEnv, language: &str, installed: &Path, link: &str) -> PathBuf {
    project::built(
        env,
        &suite().join(language),
        "conformance",
        (installed, link),
    )
}

/// Runs all cases on a component and expects them to pass.
fn conforms(env: &TestEnv, component: &Path) {
    #[derive(Deserialize)]
    struct Cases {
        case: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        name: String,
    }
    let cases = suite().join("cases.toml");
    let arguments = [
        Path::new("--component"),
        component,
        Path::new("--cases"),
        &cases,
    ];
    let report = project::passes(env, &arguments);
    let reports = report["cases"].as_array().unwrap();
    let names: Vec<&str> = reports
        .iter()
        .map(|case| case["name"].as_str().unwrap())
        .collect();
    let wanted: Cases = toml::from_str(&fs::read_to_string(&cases).unwrap()).unwrap();
    let wanted: Vec<String> = wanted.case.into_iter().map(|case| case.name).collect();
    assert_eq!(names, wanted);
}

/// Expects the message of a crash, after the exception's type, in the result, and the place of the
/// crash on stderr only, in the terms of the author's language; that report contains `told`.
fn tells_a_crash(env: &TestEnv, component: &Path, exception: &str, told: &str) {
    let input = r#"{"message":"the wheel came off"}"#;
    let ran = env.run(&[
        "call",
        component.to_str().unwrap(),
        "crash",
        input,
        "--json",
    ]);
    assert_eq!(
        ran.json(),
        json!({ "type": "error-json", "value": {
            "code": "trap",
            "message": format!("The tool crashed: {exception}the wheel came off"),
        }})
    );
    for part in ["the wheel came off", told] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

/// The directory with the cases and the projects.
fn suite() -> PathBuf {
    here("../guest-tools/conformance")
}

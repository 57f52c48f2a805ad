//! Tests that tools behave the same in every language: the cases in `guest-tools/conformance` run
//! on a component of each. Compilers named by the conformance projects build them here; Rust's is
//! prebuilt.

mod http;
mod server;

use agent_host_test_support::{
    TestEnv,
    installed::{compiler_from_npm, compiler_from_pypi, here},
    project::{self, Built},
    temporary_directory,
};
use http::{KINDS, Traits, speaks_http};
use pretty_assertions::assert_eq;
use serde::Deserialize;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
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
    conforms_behind_filters(&env, &component);
    speaks_http(&env, &component, &KINDS);
    // The prebuilt component has no function names, so there is no stack trace.
    let place = "panicked at conformance/rust/src/ends.rs:";
    tells_a_crash(&env, &component, "", place);
}

#[test]
fn python() {
    let Some(Built { component, .. }) = built("python") else {
        return;
    };
    let env = TestEnv::new();
    conforms(&env, component);
    conforms_behind_filters(&env, component);
    speaks_http(&env, component, &PYTHON);
    tells_a_crash(&env, component, "ValueError: ", "File \"tool.py\", line ");
}

#[test]
fn javascript() {
    let Some(Built { component, .. }) = built("js") else {
        return;
    };
    let env = TestEnv::new();
    conforms(&env, component);
    conforms_behind_filters(&env, component);
    speaks_http(&env, component, &SCRIPT);
    tells_a_crash(&env, component, "Error: ", "tool.js:");
}

#[test]
fn typescript() {
    let Some(Built { component, .. }) = built("ts") else {
        return;
    };
    let env = TestEnv::new();
    conforms(&env, component);
    conforms_behind_filters(&env, component);
    speaks_http(&env, component, &SCRIPT);
    tells_a_crash(&env, component, "Error: ", "tool.ts:");
}

#[test]
fn c() {
    let Some(Built { component, .. }) = built("c") else {
        return;
    };
    let env = TestEnv::new();
    conforms(&env, component);
    conforms_behind_filters(&env, component);
    speaks_http(&env, component, &KINDS);
    tells_a_crash(&env, component, "", "!crash\n");
}

#[test]
fn go() {
    let Some(Built { component, .. }) = built("go") else {
        return;
    };
    let env = TestEnv::new();
    conforms(&env, component);
    conforms_behind_filters(&env, component);
    speaks_http(&env, component, &KINDS);
    tells_a_crash(&env, component, "", "\tconformance/tool.go:");
}

/// Returns the component of the conformance project in a language, which the first test that needs
/// it builds; `None` where this machine has no compiler, and the test is skipped. Building and
/// compiling one of Python or JavaScript takes more than 20 s of processor time.
pub(super) fn built(language: &str) -> Option<&'static Built> {
    static C: OnceLock<Built> = OnceLock::new();
    static GO: OnceLock<Built> = OnceLock::new();
    static JAVASCRIPT: OnceLock<Built> = OnceLock::new();
    static PYTHON: OnceLock<Built> = OnceLock::new();
    static TYPESCRIPT: OnceLock<Built> = OnceLock::new();
    let (built, installed, link) = match language {
        "c" => (&C, compiler_from_pypi(language)?, ".venv"),
        "go" => (&GO, compiler_from_pypi(language)?, ".venv"),
        "js" => (&JAVASCRIPT, compiler_from_npm()?, "node_modules"),
        "python" => (&PYTHON, compiler_from_pypi(language)?, ".venv"),
        // The same packages make its component; the others in its list are for editors.
        "ts" => (&TYPESCRIPT, compiler_from_npm()?, "node_modules"),
        _ => panic!("no project in {language}"),
    };
    Some(built.get_or_init(|| build(language, (&installed, link))))
}

/// Builds the conformance project of a language with the installed packages, linked under the other
/// name, and keeps the component below the target directory.
fn build(language: &str, packages: (&Path, &str)) -> Built {
    let env = TestEnv::new();
    let mut built = project::built(&env, &suite().join(language), "conformance", packages);
    let directory = temporary_directory().join("conformance");
    fs::create_dir_all(&directory).unwrap();
    let kept = directory.join(format!("{language}.wasm"));
    fs::copy(&built.component, &kept).unwrap();
    built.component = kept;
    built
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

/// Runs all cases on the component behind two filters, of which one is the other's tool.
fn conforms_behind_filters(env: &TestEnv, component: &Path) {
    let filter = here("guests/dist/redact.wasm");
    let composed = env.work().join("composed.wasm");
    let paths = [component, &filter, &filter, &composed].map(|path| path.to_str().unwrap());
    let [tool, first, second, output] = paths;
    let args = [
        "compose",
        tool,
        "--with",
        first,
        "--with",
        second,
        "--output",
        output,
        "--unfiltered-pieces",
    ];
    let ran = env.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    conforms(env, &composed);
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

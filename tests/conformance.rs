//! What a tool does the same in every language: the cases in `guest-tools/conformance` on a component of each. The tools of other
//! languages are built here, by the compilers that the conformance projects name; Rust's is prebuilt.

use crate::support::{
    Place,
    installed::{compiler_from_npm, compiler_from_pypi, here},
    project,
};
use pretty_assertions::assert_eq;
use serde::Deserialize;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn rust() {
    let place = Place::new();
    let component = here("guests/dist/conformance.wasm");
    conforms(&place, &component);
    // The names of functions are not in the prebuilt component, so no stack is told.
    tells_a_crash(
        &place,
        &component,
        "panicked at conformance/rust/src/ends.rs:",
    );
}

#[test]
fn python() {
    let Some(installed) = compiler_from_pypi("python") else {
        return;
    };
    let place = Place::new();
    let component = built(&place, "python", &installed, ".venv");
    conforms(&place, &component);
    tells_a_crash(&place, &component, "File \"tool.py\", line ");
}

#[test]
fn javascript() {
    let Some(installed) = compiler_from_npm() else {
        return;
    };
    let place = Place::new();
    let component = built(&place, "js", &installed, "node_modules");
    conforms(&place, &component);
    tells_a_crash(&place, &component, "tool.js:");
}

#[test]
fn typescript() {
    // Its component is made by the same packages; the others of its list are for editors.
    let Some(installed) = compiler_from_npm() else {
        return;
    };
    let place = Place::new();
    let component = built(&place, "ts", &installed, "node_modules");
    conforms(&place, &component);
    tells_a_crash(&place, &component, "tool.ts:");
}

#[test]
fn c() {
    let Some(installed) = compiler_from_pypi("c") else {
        return;
    };
    let place = Place::new();
    let component = built(&place, "c", &installed, ".venv");
    conforms(&place, &component);
    tells_a_crash(&place, &component, "!crash\n");
}

#[test]
fn go() {
    let Some(installed) = compiler_from_pypi("go") else {
        return;
    };
    let place = Place::new();
    let component = built(&place, "go", &installed, ".venv");
    conforms(&place, &component);
    tells_a_crash(&place, &component, "\tconformance/tool.go:");
}

/// The conformance project of a language, built with what is installed, which it finds as `link`.
fn built(place: &Place, language: &str, installed: &Path, link: &str) -> PathBuf {
    project::built(
        place,
        &suite().join(language),
        "conformance",
        (installed, link),
    )
}

/// Runs all cases on a component, and expects that they pass.
fn conforms(place: &Place, component: &Path) {
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
    let report = project::passes(place, &arguments);
    let reports = report["cases"].as_array().unwrap();
    let names: Vec<&str> = reports
        .iter()
        .map(|case| case["name"].as_str().unwrap())
        .collect();
    let wanted: Cases = toml::from_str(&fs::read_to_string(&cases).unwrap()).unwrap();
    let wanted: Vec<String> = wanted.case.into_iter().map(|case| case.name).collect();
    assert_eq!(names, wanted);
}

/// Expects that a crash is told in the terms of the author's language, `told` among them, on stderr and to nobody else.
fn tells_a_crash(place: &Place, component: &Path, told: &str) {
    let input = r#"{"message":"the wheel came off"}"#;
    let ran = place.run(&[
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
            "message": "The tool crashed: wasm trap: wasm `unreachable` instruction executed.",
        }})
    );
    for part in ["the wheel came off", told] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

/// The folder with the cases and the projects.
fn suite() -> PathBuf {
    here("../guest-tools/conformance")
}

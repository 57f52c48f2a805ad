//! Tests that a build refuses a tool that uses a host function which its project does not declare.
//! Unrefused, a call of it would trap.

use agent_host_test_support::{
    TestEnv,
    installed::{compiler_from_npm, compiler_from_pypi},
};
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::symlink, path::Path};

#[test]
fn python_build_names_the_undeclared_function() {
    let Some(installed) = compiler_from_pypi("python") else {
        return;
    };
    refuses(
        "python",
        (&installed, ".venv"),
        ("pyproject.toml", "uses = [\"state\"]", "uses = []"),
        "tool.py:13: `state` is used and not declared: add \"state\" to `uses` in [tool.agent-host] of pyproject.toml, and build again",
    );
}

#[test]
fn python_build_names_the_line_of_http() {
    let Some(installed) = compiler_from_pypi("python") else {
        return;
    };
    refuses(
        "python",
        (&installed, ".venv"),
        ("tool.py", "ToolError, image", "ToolError, http, image"),
        "tool.py:13: `http` is used and not declared: add \"http\" to `uses` in [tool.agent-host] of pyproject.toml, and build again",
    );
}

#[test]
fn python_tool_without_http_does_not_import_it() {
    imports_no_http("python");
}

#[test]
fn c_tool_without_http_does_not_import_it() {
    imports_no_http("c");
}

#[test]
fn go_tool_without_http_does_not_import_it() {
    imports_no_http("go");
}

#[test]
fn typescript_build_names_the_undeclared_function() {
    let Some(installed) = compiler_from_npm() else {
        return;
    };
    refuses(
        "ts",
        (&installed, "node_modules"),
        ("package.json", "\"state\"", ""),
        "the tools use state, which is not declared: add \"state\" to \"uses\" of \"agent-host\" in package.json, and build again\n",
    );
}

#[test]
fn typescript_build_names_the_line_of_fetch() {
    let Some(installed) = compiler_from_npm() else {
        return;
    };
    refuses(
        "ts",
        (&installed, "node_modules"),
        (
            "tool.ts",
            "state.merge({ notes: { [title]: text } });",
            "void fetch(title);",
        ),
        "tool.ts:59: fetch() is not declared: add \"http\" to \"uses\" of \"agent-host\" in package.json, and build again\n",
    );
}

/// Builds the template of a language, and expects that `inspect` shows imports and no HTTP among
/// them.
fn imports_no_http(language: &str) {
    let Some(installed) = compiler_from_pypi(language) else {
        return;
    };
    let env = TestEnv::new();
    let made = env.run(&["new", "weather", "--lang", language]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    symlink(&installed, env.work().join("weather/.venv")).unwrap();
    let built = env.run(&["build", "weather", "--json"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let component = built.json()["component"].as_str().unwrap().to_owned();
    let shown = env.run(&["inspect", &component, "--json"]).json();
    let wit = shown["wit"].as_str().unwrap();
    assert!(wit.contains("import agent:tool/state@0.1.0"), "{wit}");
    assert!(!wit.contains("wasi:http"), "{wit}");
}

/// Makes a project of the template, replaces a text in one of its files, and expects the build to
/// fail with this message.
fn refuses(
    language: &str,
    (installed, link): (&Path, &str),
    (file, text, by): (&str, &str, &str),
    message: &str,
) {
    let env = TestEnv::new();
    let made = env.run(&["new", "weather", "--lang", language]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let project = env.work().join("weather");
    symlink(installed, project.join(link)).unwrap();
    let path = project.join(file);
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains(text), "{before}");
    fs::write(&path, before.replace(text, by)).unwrap();
    let built = env.run(&["build", "weather"]);
    assert_eq!((built.code, built.stdout.as_str()), (Some(1), ""));
    assert!(built.stderr.contains(message), "{}", built.stderr);
}

//! Tests that a build refuses a tool that uses a host function which its project does not declare.
//! Unrefused, a call of it would trap. Rust, C and Go declare nothing: a component imports what its
//! tools call.

use crate::conformance;
use agent_host_test_support::{
    Ran, TestEnv,
    project::{Built, NewProject},
};
use pretty_assertions::assert_eq;
use std::fs;

/// The interface of `state`.
const STATE: &str = "agent:tool/state@0.1.0";

/// The interface that every component imports.
const TYPES: &str = "agent:tool/types@0.1.0";

#[test]
fn python_build_names_the_undeclared_function() {
    refuses(
        "python",
        ("pyproject.toml", "uses = [\"state\"]", "uses = []"),
        "tool.py:13: `state` is used and not declared: add \"state\" to `uses` in [tool.agent-host] of pyproject.toml, and build again",
    );
}

/// `tool.py` is checked before the component is made, the modules that it imports while it is.
#[test]
fn python_build_names_the_line_of_http() {
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, "python") else {
        return;
    };
    fs::write(
        project.dir.join("web.py"),
        "\nfrom agent_tool import http\n",
    )
    .unwrap();
    project.replace("tool.py", "import zlib\n", "import zlib\n\nimport web\n");
    is_refused(
        &project.build(&env),
        "web.py:2: `http` is used and not declared: add \"http\" to `uses` in [tool.agent-host] of pyproject.toml, and build again",
    );
}

/// The conformance project declares everything. `examples.rs` has a project that declares nothing.
#[test]
fn python_component_imports_what_is_declared() {
    if let Some(built) = conformance::built("python") {
        let declared = [
            "wasi:http/types@0.2.9",
            "wasi:http/outgoing-handler@0.2.9",
            "agent:tool/progress@0.1.0",
            "agent:tool/partial@0.1.0",
            "agent:tool/types@0.1.0",
            "agent:tool/state@0.1.0",
            "agent:tool/human@0.1.0",
            "agent:tool/context@0.1.0",
            "agent:tool/control@0.1.0",
            "agent:tool/artifacts@0.1.0",
        ];
        assert_eq!(built.optional_imports(), declared);
    }
}

#[test]
fn typescript_build_names_the_undeclared_function() {
    refuses(
        "ts",
        ("package.json", "\"state\"", ""),
        "the tools use state, which is not declared: add \"state\" to \"uses\" of \"agent-host\" in package.json, and build again\n",
    );
}

#[test]
fn javascript_build_names_the_undeclared_function() {
    refuses(
        "js",
        ("package.json", "\"state\"", ""),
        "the tools use state, which is not declared: add \"state\" to \"uses\" of \"agent-host\" in package.json, and build again\n",
    );
}

#[test]
fn typescript_build_names_the_line_of_fetch() {
    refuses(
        "ts",
        (
            "tool.ts",
            "state.merge({ notes: { [title]: text } });",
            "void fetch(title);",
        ),
        "tool.ts:59: fetch() is not declared: add \"http\" to \"uses\" of \"agent-host\" in package.json, and build again\n",
    );
}

#[test]
fn rust_component_imports_what_it_calls() {
    imports_what_it_calls("rust", ("src/lib.rs", "state::merge(", "let _ = ("));
}

#[test]
fn c_component_imports_what_it_calls() {
    imports_what_it_calls("c", ("tool.c", "at_state_merge(", "(void)("));
}

/// The conformance project calls everything: it stands for the project with the call.
#[test]
fn go_component_imports_what_it_calls() {
    let Some(built) = conformance::built("go") else {
        return;
    };
    assert!(built.optional_imports().contains(&STATE));
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, "go") else {
        return;
    };
    imports_only_types_without(
        &project,
        &env,
        (
            "tool.go",
            "agenttool.Textf(\"Kept the note on %s.\", in.Title), agenttool.Merge(delta)",
            "agenttool.Textf(\"%v\", delta), nil",
        ),
    );
}

/// Replaces a text in a file of a new project, and expects the build to fail with this message.
fn refuses(language: &str, (file, text, by): (&str, &str, &str), message: &str) {
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, language) else {
        return;
    };
    project.replace(file, text, by);
    is_refused(&project.build(&env), message);
}

/// Expects a build to have failed with this message.
fn is_refused(built: &Ran, message: &str) {
    assert_eq!((built.code, built.stdout.as_str()), (Some(1), ""));
    assert!(built.stderr.contains(message), "{}", built.stderr);
}

/// Expects the interface of the state to be imported until its call is replaced in a file, and no
/// other that is optional.
fn imports_what_it_calls(language: &str, replaced: (&str, &str, &str)) {
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, language) else {
        return;
    };
    let built = Built::of(&project.build(&env));
    assert!(built.optional_imports().contains(&STATE));
    imports_only_types_without(&project, &env, replaced);
}

/// Replaces the project's call of the state in a file, and expects no optional interface to be
/// imported.
fn imports_only_types_without(
    project: &NewProject,
    env: &TestEnv,
    (file, text, by): (&str, &str, &str),
) {
    project.replace(file, text, by);
    let built = Built::of(&project.build(env));
    assert_eq!(built.optional_imports(), [TYPES]);
}

//! Tests that the checkers of editors know the SDK in a new project of each language: they accept
//! the project as `agent-host new` made it, and name a use of the SDK that is wrong.

use agent_host_test_support::{
    TestEnv, installed::editor_checkers, project::NewProject, temporary_directory,
};
use pretty_assertions::assert_eq;
use std::{fs, path::Path, process::Command};

#[test]
fn pyright_knows_the_sdk() {
    let Some(packages) = editor_checkers() else {
        return;
    };
    let pyright = |project: &NewProject| {
        let mut command = Command::new("node");
        command
            .arg(packages.join("pyright/index.js"))
            .args(["--warnings", "--project"])
            .arg(&project.dir);
        command
    };
    checks(
        "python",
        (
            "tool.py",
            "image(png(parse(colour)))",
            "imago(png(parse(colour)))",
        ),
        ("image, state, tool", "imago, state, tool"),
        pyright,
    );
}

#[test]
fn typescript_knows_the_sdk() {
    let Some(packages) = editor_checkers() else {
        return;
    };
    checks(
        "ts",
        ("tool.ts", "state.merge(", "state.imago("),
        ("", ""),
        |project| tsc(&packages, project, "tsconfig.json"),
    );
}

#[test]
fn typescript_knows_the_sdk_in_javascript() {
    let Some(packages) = editor_checkers() else {
        return;
    };
    checks(
        "js",
        ("tool.js", "state.merge(", "state.imago("),
        ("", ""),
        |project| tsc(&packages, project, "jsconfig.json"),
    );
}

#[test]
fn go_vet_knows_the_sdk() {
    checks(
        "go",
        ("tool.go", "agenttool.Image(", "agenttool.imago("),
        ("", ""),
        |project| {
            let mut command = Command::new(project.dir.join(".venv/bin/go"));
            command.args(["vet", "./..."]);
            command
        },
    );
}

/// Clang with the flags that clangd reads, one a line.
#[test]
fn clang_knows_the_sdk() {
    checks(
        "c",
        ("tool.c", "at_textf(", "imago("),
        ("", ""),
        |project| {
            let flags = fs::read_to_string(project.dir.join("compile_flags.txt")).unwrap();
            let mut command = Command::new(project.dir.join(".venv/bin/python3"));
            command
                .args(["-m", "ziglang", "cc", "-c", "-Werror"])
                .args(flags.lines())
                .args(["tool.c", "png.c"]);
            command
        },
    );
}

#[test]
fn cargo_check_knows_the_sdk() {
    checks(
        "rust",
        ("src/lib.rs", "Output::image(", "Output::imago("),
        ("", ""),
        |_| {
            let mut command = Command::new("cargo");
            let target = temporary_directory().join("editors-rust");
            command
                .args(["check", "--all-targets"])
                .env("CARGO_TARGET_DIR", target);
            command
        },
    );
}

fn tsc(packages: &Path, project: &NewProject, config: &str) -> Command {
    let mut command = Command::new("node");
    command
        .arg(packages.join("typescript/bin/tsc"))
        .arg("--project")
        .arg(project.dir.join(config));
    command
}

/// Expects the checker to accept a new project, and to name `imago` once it is used in a file in
/// place of a text; `also` is another text to replace.
fn checks(
    language: &str,
    (file, text, by): (&str, &str, &str),
    also: (&str, &str),
    checker: impl Fn(&NewProject) -> Command,
) {
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, language) else {
        return;
    };
    let check = || {
        let mut command = checker(&project);
        // Those of the checker stay.
        let own: Vec<_> = command
            .get_envs()
            .map(|(name, value)| (name.to_owned(), value.unwrap_or_default().to_owned()))
            .collect();
        let ran = project
            .prepare(env.prepare(&mut command))
            .envs(own)
            .current_dir(&project.dir)
            .output()
            .unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        (ran.status.success(), String::from_utf8(said).unwrap())
    };
    let (accepted, said) = check();
    assert!(accepted, "{said}");
    project.replace(file, text, by);
    if !also.0.is_empty() {
        project.replace(file, also.0, also.1);
    }
    let (accepted, said) = check();
    assert_eq!((accepted, said.contains("imago")), (false, true), "{said}");
}

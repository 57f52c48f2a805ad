use super::{InstalledProgram, Invocation, Program, Version, VersionReq, invocation, run, run_for};
use crate::error::AuthorError;
use pretty_assertions::assert_eq;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Creates scripts that stand for programs, by name and content.
fn programs(scripts: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, script) in scripts {
        let path = dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

/// Starts a script through the shell: a freshly written file may still be open for writing in a
/// process that another test forks.
fn script(dir: &Path, name: &str) -> Invocation {
    invocation([&"sh", &dir.join(name)])
}

#[test]
fn version_is_the_first_dotted_number() {
    let cases = [
        (
            "rustc 1.95.0 (abc 2026-01-01)",
            Some((Version(1, 95), "1.95.0")),
        ),
        (
            "go version go1.27.3 linux/amd64",
            Some((Version(1, 27), "1.27.3")),
        ),
        ("v20.20.2", Some((Version(20, 20), "20.20.2"))),
        ("0.17", Some((Version(0, 17), "0.17"))),
        (
            "clang version 19.1.5-wasi-sdk (1 2)",
            Some((Version(19, 1), "19.1.5")),
        ),
        ("version 7", None),
        ("99999999999.1", None),
        ("", None),
    ];
    for (said, expected) in cases {
        assert_eq!(Version::first_in(said), expected, "{said}");
    }
}

#[test]
fn program_find_picks_the_first_supported() {
    let dir = programs(&[
        ("old", "echo tool 0.9.1"),
        ("good", "echo tool 1.4.2"),
        ("stderr", "echo tool 1.7 >&2"),
        ("other", "echo tool 2.0"),
        ("broken", "echo 1.5; exit 1"),
        ("mute", "true"),
    ]);
    let at = |name: &str| script(dir.path(), name);
    let program = |names: &[&str], needed| Program {
        name: "tool",
        invocations: names.iter().map(|name| at(name)).collect(),
        version_args: &["--version"],
        needed,
        install: "Type `get tool`".to_owned(),
    };
    let found = |name, version: &str| {
        Ok(InstalledProgram {
            name: "tool",
            version: version.to_owned(),
            invocation: at(name),
        })
    };
    let refused = |needed: &str, why: &str| {
        Err(AuthorError::Usage(format!(
            "this build needs tool {needed}, but {why}. Type `get tool`"
        )))
    };
    let least = VersionReq::AtLeast(Version(1, 4));
    let series = VersionReq::Series(Version(1, 4));
    let cases: [(&[&str], VersionReq, Result<InstalledProgram, AuthorError>); 9] = [
        (&["good"], least, found("good", "1.4.2")),
        (&["stderr"], least, found("stderr", "1.7")),
        (&["other"], least, found("other", "2.0")),
        (
            &["missing", "broken", "mute", "good"],
            least,
            found("good", "1.4.2"),
        ),
        (&["old", "good"], least, found("good", "1.4.2")),
        (&["other", "good"], series, found("good", "1.4.2")),
        (
            &["missing", "old", "broken"],
            least,
            refused("1.4 or newer", "`sh DIR/old` is 0.9.1"),
        ),
        (&["other"], series, refused("1.4", "`sh DIR/other` is 2.0")),
        (
            &["missing", "broken"],
            series,
            refused("1.4", "`sh DIR/missing` or `sh DIR/broken` was not found"),
        ),
    ];
    for (names, needed, expected) in cases {
        let found = program(names, needed).find(dir.path());
        let found = found.map_err(|error| {
            AuthorError::Usage(
                error
                    .to_string()
                    .replace(dir.path().to_str().unwrap(), "DIR"),
            )
        });
        assert_eq!(found, expected, "{names:?}");
    }
}

#[test]
fn failed_step_is_named() {
    let dir = programs(&[("good", "echo made"), ("bad", "exit 3")]);
    let start = |name: &str| {
        let mut command = Command::new("sh");
        command.arg(dir.path().join(name));
        command
    };
    assert_eq!(run("to compile", &mut start("good")), Ok(()));
    assert_eq!(
        run_for("to compile", start("good").stdout(Stdio::piped())),
        Ok(b"made\n".to_vec())
    );
    assert_eq!(
        run("to compile", &mut start("bad")),
        Err(AuthorError::Failed(
            "sh failed to compile (exit status: 3); see its output above".to_owned()
        ))
    );
    assert_eq!(
        run("to compile", &mut Command::new("/nonexistent/compiler")),
        Err(AuthorError::Failed(
            "cannot start /nonexistent/compiler to compile: No such file or directory (os error 2)"
                .to_owned()
        ))
    );
}

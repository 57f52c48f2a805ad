use super::{Language, Project};
use crate::error::AuthorError;
use pretty_assertions::assert_eq;
use std::{fs, path::Path};
use tempfile::TempDir;

/// Writes files into `weather` in a temporary directory.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    let project = dir.path().join("weather");
    fs::create_dir(&project).unwrap();
    for (name, text) in files {
        fs::write(project.join(name), text).unwrap();
    }
    dir
}

/// Finds the project in `weather`: language and name, or the error without the directory's path.
fn found(files: &[(&str, &str)]) -> Result<(Language, String), String> {
    let dir = directory(files);
    let project = dir.path().join("weather");
    match Project::find(&project) {
        Ok(found) => {
            let dir = fs::canonicalize(&project).unwrap();
            assert_eq!(found.dir, dir);
            assert_eq!(
                found.component(),
                dir.join(format!("dist/{}.wasm", found.name))
            );
            Ok((found.language, found.name))
        }
        Err(AuthorError::Usage(text)) => {
            let dir = fs::canonicalize(&project).unwrap();
            Err(text.replace(dir.to_str().unwrap(), "DIR"))
        }
        Err(error) => panic!("{error}"),
    }
}

/// File names and contents.
type Files = &'static [(&'static str, &'static str)];

#[test]
fn project_is_found_by_its_files() {
    let cases: [(Files, Language, &str); 9] = [
        (
            &[(
                "Cargo.toml",
                "[package]\nname = \"word-count\"\nversion = \"1.0.0\"",
            )],
            Language::Rust,
            "word-count",
        ),
        (
            &[(
                "pyproject.toml",
                "[project]\nname = \"chart\"\n[tool.other]\nx = 1",
            )],
            Language::Python,
            "chart",
        ),
        (
            &[
                ("tool.ts", ""),
                ("package.json", r#"{"name": "markdown", "private": true}"#),
            ],
            Language::TypeScript,
            "markdown",
        ),
        (
            &[
                ("tool.js", ""),
                ("package.json", r#"{"name": "@me/markdown"}"#),
            ],
            Language::JavaScript,
            "markdown",
        ),
        (&[("tool.c", "")], Language::C, "weather"),
        (
            &[("go.mod", "module diff\n\ngo 1.24\n")],
            Language::Go,
            "diff",
        ),
        (
            &[("go.mod", "// A tool.\nmodule example.com/me/diff // text\n")],
            Language::Go,
            "diff",
        ),
        (&[("go.mod", "module \"diff\"\n")], Language::Go, "diff"),
        // A package.json alone belongs to development tools.
        (
            &[
                ("pyproject.toml", "[project]\nname = \"chart\""),
                ("package.json", "{}"),
            ],
            Language::Python,
            "chart",
        ),
    ];
    for (files, language, name) in cases {
        assert_eq!(found(files), Ok((language, name.to_owned())), "{files:?}");
    }
}

#[test]
fn invalid_project_names_what_is_missing() {
    let cases: [(&[(&str, &str)], &str); 9] = [
        (
            &[("README.md", "")],
            "DIR is not a tool project: it has none of Cargo.toml (Rust), pyproject.toml (Python), tool.ts \
             (TypeScript), tool.js (JavaScript), tool.c (C), go.mod (Go). Create one with `agent-host new NAME \
             --lang LANGUAGE`",
        ),
        (
            &[("tool.c", ""), ("go.mod", "module m")],
            "DIR is both a C project (it has tool.c) and a Go project (it has go.mod); move one of the tools to its \
             own directory",
        ),
        (
            &[("tool.ts", "")],
            "DIR/package.json is missing, and it contains the project's name",
        ),
        (
            &[("tool.js", ""), ("package.json", "{")],
            "DIR/package.json is not the manifest of a tool project: EOF while parsing an object at line 1 column 1",
        ),
        (
            &[("tool.js", ""), ("package.json", "{}")],
            "DIR/package.json is not the manifest of a tool project: missing field `name` at line 1 column 2",
        ),
        (
            &[("pyproject.toml", "[project]\n")],
            "DIR/pyproject.toml is not the manifest of a tool project: TOML parse error at line 1, column 1\n  |\n1 | [project]\n  | ^^^^^^^^^\nmissing field `name`",
        ),
        (
            &[("Cargo.toml", "[workspace]\n")],
            "DIR/Cargo.toml is not the manifest of a tool project: TOML parse error at line 1, column 1\n  |\n1 | [workspace]\n  | ^\nmissing field `package`",
        ),
        (
            &[("go.mod", "go 1.24\n")],
            "DIR/go.mod is not the manifest of a tool project: it has no line `module NAME`",
        ),
        (
            &[("pyproject.toml", "[project]\nname = \"../up\"")],
            "the project in DIR is named `../up`, which is not a valid component name: a name is 1 to 64 letters, digits, `_` and `-`",
        ),
    ];
    for (files, text) in cases {
        assert_eq!(found(files), Err(text.to_owned()), "{files:?}");
    }
}

#[test]
fn missing_project_dir_is_named() {
    let missing = Path::new("/nonexistent/weather");
    assert_eq!(
        Project::find(missing),
        Err(AuthorError::Usage(
            "cannot open the project /nonexistent/weather: No such file or directory (os error 2)"
                .to_owned()
        ))
    );
}

#[test]
fn language_name_round_trips() {
    for language in Language::ALL {
        assert_eq!(language.as_str().parse(), Ok(language));
    }
    assert_eq!(
        "cobol".parse::<Language>(),
        Err(AuthorError::Usage(
            "unknown language `cobol`; the languages are rust, python, ts, js, c, go".to_owned()
        ))
    );
}

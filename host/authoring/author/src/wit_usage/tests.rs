use super::{HostImport, declared};
use crate::{
    error::AuthorError,
    project::{Language, Project},
};
use pretty_assertions::assert_eq;
use std::fs;
use tempfile::TempDir;

/// Returns the imports that a manifest declares; errors without the directory's path.
fn uses_of(language: Language, manifest: &str, text: &str) -> Result<Vec<HostImport>, AuthorError> {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join(manifest), text).unwrap();
    let project = Project {
        dir: dir.path().to_path_buf(),
        name: "weather".to_owned(),
        language,
    };
    declared(&project).map_err(|error| {
        AuthorError::Usage(
            error
                .to_string()
                .replace(dir.path().to_str().unwrap(), "DIR"),
        )
    })
}

#[test]
fn manifest_uses_are_read() {
    let python = |text| uses_of(Language::Python, "pyproject.toml", text);
    let node = |text| uses_of(Language::TypeScript, "package.json", text);
    assert_eq!(python("[project]\nname = \"weather\""), Ok(vec![]));
    assert_eq!(python("[tool.ruff]\nline-length = 100"), Ok(vec![]));
    assert_eq!(
        python("[tool.agent-host]\nuses = [\"ask\", \"progress\", \"ask\"]"),
        Ok(vec![HostImport::Progress, HostImport::Ask])
    );
    assert_eq!(
        python("[tool.agent-host]\nuses = [\"http\"]"),
        Ok(vec![HostImport::Http])
    );
    assert_eq!(node(r#"{"name": "weather"}"#), Ok(vec![]));
    assert_eq!(
        node(r#"{"agent-host": {"uses": ["http", "state"]}}"#),
        Ok(vec![HostImport::State, HostImport::Http])
    );
    assert_eq!(
        uses_of(Language::C, "tool.c", ""),
        Ok(vec![]),
        "a linker finds out"
    );
}

#[test]
fn unknown_uses_are_refused() {
    let cases = [
        (
            Language::Python,
            "pyproject.toml",
            "[tool.agent-host]\nuses = [\"sockets\"]",
            "DIR/pyproject.toml is not the manifest of a tool project: TOML parse error at line 2, column 9\n  |\n2 | uses = [\"sockets\"]\n  |         ^^^^^^^^^\nunknown variant `sockets`, expected one of `progress`, `partial`, `state`, `ask`, `context`, `control`, `artifacts`, `http`",
        ),
        (
            Language::JavaScript,
            "package.json",
            r#"{"agent-host": {"use": ["state"]}}"#,
            "DIR/package.json is not the manifest of a tool project: unknown field `use`, expected `uses` at line 1 column 21",
        ),
    ];
    for (language, manifest, text, why) in cases {
        assert_eq!(
            uses_of(language, manifest, text),
            Err(AuthorError::Usage(why.to_owned())),
            "{text}"
        );
    }
}

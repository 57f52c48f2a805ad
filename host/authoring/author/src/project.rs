//! A tool project: its directory, name and language. Only reads.

#[cfg(test)]
mod tests;

use crate::error::AuthorError;
use agent_host_types::tool::is_tool_name;
use serde::Deserialize;
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

/// A language of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Rust, built by cargo.
    Rust,
    /// Python, built by componentize-py.
    Python,
    /// TypeScript, bundled by esbuild and built by componentize-js.
    TypeScript,
    /// JavaScript, built as TypeScript is.
    JavaScript,
    /// C, built by clang or zig for WASI.
    C,
    /// Go, built by its own compiler for WASI.
    Go,
}

impl Language {
    /// All languages in display order.
    pub const ALL: [Self; 6] = [
        Self::Rust,
        Self::Python,
        Self::TypeScript,
        Self::JavaScript,
        Self::C,
        Self::Go,
    ];

    /// Returns the name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.facts().0
    }

    /// Returns the file that marks a project of this language.
    #[must_use]
    pub fn marker(self) -> &'static str {
        self.facts().2
    }

    /// Returns the name on the command line, the name in messages, and the marker.
    fn facts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Rust => ("rust", "Rust", "Cargo.toml"),
            Self::Python => ("python", "Python", "pyproject.toml"),
            Self::TypeScript => ("ts", "TypeScript", "tool.ts"),
            Self::JavaScript => ("js", "JavaScript", "tool.js"),
            Self::C => ("c", "C", "tool.c"),
            Self::Go => ("go", "Go", "go.mod"),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().1)
    }
}

impl FromStr for Language {
    type Err = AuthorError;

    fn from_str(name: &str) -> Result<Self, AuthorError> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == name);
        found.ok_or_else(|| {
            AuthorError::Usage(format!(
                "unknown language `{}`; the languages are {}",
                name.escape_debug(),
                Self::ALL.map(Self::as_str).join(", ")
            ))
        })
    }
}

/// A tool project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The absolute path of its directory.
    pub dir: PathBuf,
    /// The name in its manifest, or else of its directory. It satisfies [`is_tool_name`].
    pub name: String,
    /// The language.
    pub language: Language,
}

impl Project {
    /// Finds the project in a directory.
    ///
    /// # Errors
    /// The directory is missing, holds no project or several, or the manifest is unreadable or has
    /// no valid name.
    pub fn find(dir: &Path) -> Result<Self, AuthorError> {
        let dir = fs::canonicalize(dir).map_err(|error| {
            AuthorError::Usage(format!(
                "cannot open the project {}: {error}",
                dir.display()
            ))
        })?;
        let language = language_of(&dir)?;
        let name = name_of(&dir, language)?;
        if !is_tool_name(&name) {
            return Err(AuthorError::Usage(format!(
                "the project in {} is named `{}`, which is not a valid component name: a name is 1 to 64 letters, digits, `_` and `-`",
                dir.display(),
                name.escape_debug()
            )));
        }
        Ok(Self {
            dir,
            name,
            language,
        })
    }

    /// Returns the path of the built component.
    #[must_use]
    pub fn component(&self) -> PathBuf {
        self.dir.join("dist").join(format!("{}.wasm", self.name))
    }

    /// Returns the directory for unpacked files and intermediate results. It is never committed.
    #[must_use]
    pub fn own_dir(&self) -> PathBuf {
        self.dir.join(".agent-host")
    }
}

fn language_of(dir: &Path) -> Result<Language, AuthorError> {
    let mut found = Language::ALL
        .into_iter()
        .filter(|language| dir.join(language.marker()).is_file());
    match (found.next(), found.next()) {
        (Some(language), None) => Ok(language),
        (Some(first), Some(second)) => Err(AuthorError::Usage(format!(
            "{} is both a {first} project (it has {}) and a {second} project (it has {}); move one of the tools to \
             its own directory",
            dir.display(),
            first.marker(),
            second.marker()
        ))),
        (None, _) => {
            let markers =
                Language::ALL.map(|language| format!("{} ({language})", language.marker()));
            Err(AuthorError::Usage(format!(
                "{} is not a tool project: it has none of {}. Create one with `agent-host new NAME --lang LANGUAGE`",
                dir.display(),
                markers.join(", ")
            )))
        }
    }
}

/// Reads the project's name from its manifest.
fn name_of(dir: &Path, language: Language) -> Result<String, AuthorError> {
    match language {
        Language::Rust => {
            let manifest: CargoManifest = read_toml(&dir.join("Cargo.toml"))?;
            Ok(manifest.package.name)
        }
        Language::Python => {
            let manifest: PythonManifest = read_toml(&dir.join("pyproject.toml"))?;
            Ok(manifest.project.name)
        }
        Language::TypeScript | Language::JavaScript => {
            let manifest: Named = read_json(&dir.join("package.json"))?;
            Ok(last_segment(&manifest.name).to_owned())
        }
        Language::C => {
            let name = dir.file_name().unwrap_or_default();
            Ok(name.to_string_lossy().into_owned())
        }
        Language::Go => {
            let path = dir.join("go.mod");
            go_module(&read(&path)?)
                .map(|module| last_segment(module).to_owned())
                .ok_or_else(|| not_a_manifest(&path, "it has no line `module NAME`"))
        }
    }
}

/// Returns the name after an npm scope or a Go module path.
fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns the path in the `module` line of a `go.mod`, which may be quoted and followed by a
/// comment.
fn go_module(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(|line| line.split_whitespace());
    let name = lines.find_map(|mut words| match words.next() {
        Some("module") => words.next(),
        Some(_) | None => None,
    })?;
    Some(name.trim_matches(['"', '`']))
}

/// The used part of a `Cargo.toml`.
#[derive(Deserialize)]
struct CargoManifest {
    package: Named,
}

/// The used part of a `pyproject.toml`.
#[derive(Deserialize)]
struct PythonManifest {
    project: Named,
}

/// A table with a name, or a `package.json`.
#[derive(Deserialize)]
struct Named {
    name: String,
}

pub(crate) fn read_toml<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, AuthorError> {
    toml::from_str(&read(path)?).map_err(|error| not_a_manifest(path, &error.to_string()))
}

pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, AuthorError> {
    serde_json::from_str(&read(path)?).map_err(|error| not_a_manifest(path, &error.to_string()))
}

fn read(path: &Path) -> Result<String, AuthorError> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => AuthorError::Usage(format!(
            "{} is missing, and it contains the project's name",
            path.display()
        )),
        _ => AuthorError::disk("read", path, &error),
    })
}

fn not_a_manifest(path: &Path, why: &str) -> AuthorError {
    AuthorError::Usage(format!(
        "{} is not the manifest of a tool project: {}",
        path.display(),
        why.trim_end()
    ))
}

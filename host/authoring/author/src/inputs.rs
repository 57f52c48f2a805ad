//! The files that a build may have read: all of a project but build outputs, dependencies, tests
//! and prose. A build records their names, so that a file that came later and is no source does not
//! make it stale.

#[cfg(test)]
mod tests;

use crate::{
    embedded,
    error::AuthorError,
    project::{Language, Project},
};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The record of a build, in [`Project::own_dir`]: paths in the project, one a line.
const RECORD: &str = "build/inputs.txt";

/// Names that are no inputs: build outputs, dependencies and tests.
const NON_INPUTS: [&str; 6] = [
    "dist",
    "target",
    "node_modules",
    "__pycache__",
    "venv",
    CASES,
];

/// The directory of a project's cases.
pub(crate) const CASES: &str = "tests";

/// The directories of a skill; all their files are packed.
const SKILL_DIRS: [&str; 3] = ["assets", "references", "scripts"];

/// The maximum depth and number of files to look at. A tool has a handful.
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 10_000;

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InputFile {
    /// The path in the project.
    path: PathBuf,
    modified: SystemTime,
    /// The size in bytes, since a clock may be too coarse for two changes.
    size: u64,
}

/// The state of the files that a build and its cases may read, to see that they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFiles {
    sources: Vec<InputFile>,
    cases: Vec<InputFile>,
}

impl ProjectFiles {
    /// Reads the state of a project's files.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read(project: &Path) -> Result<Self, AuthorError> {
        let failed = |error| AuthorError::disk("look through", project, &error);
        let cases = match sorted(project, Path::new(CASES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            cases => cases,
        };
        Ok(Self {
            sources: inputs(project).map_err(failed)?,
            cases: cases.map_err(failed)?,
        })
    }

    /// Returns whether a build may read the same as in `other`: the cases alone may differ.
    #[must_use]
    pub fn has_sources_of(&self, other: &Self) -> bool {
        self.sources == other.sources
    }
}

/// Records the files of a project that was just built.
pub(crate) fn record(project: &Project) -> Result<(), AuthorError> {
    let inputs = inputs(&project.dir)
        .map_err(|error| AuthorError::disk("look through", &project.dir, &error))?;
    let names: Vec<_> = inputs.iter().map(|input| name(&input.path)).collect();
    let record = project.own_dir().join(RECORD);
    embedded::write(&record, names.join("\n").as_bytes())
}

/// Returns a file that has changed since the build at `built`, or came later and may be an input.
///
/// # Errors
/// The project cannot be read.
pub(crate) fn changed(project: &Project, built: SystemTime) -> io::Result<Option<PathBuf>> {
    let record = fs::read_to_string(project.own_dir().join(RECORD)).ok();
    let known: Option<BTreeSet<&str>> = record.as_deref().map(|text| text.lines().collect());
    let is_stale = |input: &InputFile| {
        input.modified > built
            && known
                .as_ref()
                .is_none_or(|known| may_be_input(project.language, &input.path, known))
    };
    let changed = inputs(&project.dir)?.into_iter().find(is_stale);
    Ok(changed.map(|input| project.dir.join(input.path)))
}

/// Returns whether a build may read a file: a recorded one, a source, one of a skill, or one beside
/// recorded files in a directory, which a source may embed as a whole.
fn may_be_input(language: Language, path: &Path, known: &BTreeSet<&str>) -> bool {
    let is_source = path.extension().is_some_and(|extension| {
        source_extensions(language)
            .iter()
            .any(|known| extension == *known)
    });
    let in_skill = SKILL_DIRS.iter().any(|dir| path.starts_with(dir));
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let beside = dir.is_some_and(|dir| {
        known
            .iter()
            .any(|known| Path::new(known).parent() == Some(dir))
    });
    known.contains(name(path).as_str()) || is_source || in_skill || beside
}

/// Returns the extensions of files that compilers find without being told of them.
fn source_extensions(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => &["rs", "toml", "lock"],
        Language::Python => &["py", "toml"],
        Language::TypeScript | Language::JavaScript => &["ts", "mts", "js", "mjs", "cjs", "json"],
        Language::C => &["c", "h"],
        Language::Go => &["go", "mod", "sum", "s"],
    }
}

/// Returns the name of a file in a record.
fn name(path: &Path) -> String {
    path.to_string_lossy().replace('\n', "\u{fffd}")
}

/// Returns the files of a project, at most [`MAX_FILES`], sorted by path.
fn inputs(project: &Path) -> io::Result<Vec<InputFile>> {
    sorted(project, Path::new(""))
}

/// Returns the files of a directory of a project.
fn sorted(project: &Path, dir: &Path) -> io::Result<Vec<InputFile>> {
    let mut found = Vec::new();
    collect(project, dir, MAX_DEPTH, &mut found)?;
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn collect(project: &Path, dir: &Path, depth: usize, found: &mut Vec<InputFile>) -> io::Result<()> {
    for entry in fs::read_dir(project.join(dir))? {
        if found.len() >= MAX_FILES {
            break;
        }
        let entry = entry?;
        let name = entry.file_name();
        let path = dir.join(&name);
        let name = name.to_string_lossy();
        let is_prose = path.extension().is_some_and(|end| end == "md");
        if name.starts_with('.') || NON_INPUTS.contains(&name.as_ref()) || is_prose {
            continue;
        }
        // Links are not followed: their targets are not part of the project. Editors make files
        // that are gone a moment later.
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_dir() && depth > 0 {
            collect(project, &path, depth - 1, found)?;
        } else if metadata.is_file() {
            found.push(InputFile {
                path,
                modified: metadata.modified()?,
                size: metadata.len(),
            });
        }
    }
    Ok(())
}

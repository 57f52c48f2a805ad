//! Finds the component and the cases of a project.

#[cfg(test)]
mod tests;

use super::file::stays_in;
use crate::{AuthorError, Project};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The directory of a project's cases.
pub(super) const CASES: &str = "tests";

/// Names that are not sources: build outputs, dependencies and tests.
const NON_SOURCES: [&str; 6] = [
    "dist",
    "target",
    "node_modules",
    "__pycache__",
    "venv",
    CASES,
];

/// The maximum depth and number of sources to check. A tool has a handful.
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 10_000;

/// Returns the component of a project's last build.
///
/// # Errors
/// The project is not built, or a source is newer than the component.
pub fn component(project: &Project) -> Result<PathBuf, AuthorError> {
    let component = project.component();
    let build = format!("run `agent-host build {}`", project.dir.display());
    let built = fs::metadata(&component).and_then(|found| found.modified());
    let built = built.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            AuthorError::Usage(format!("{} is not built yet; {build}", project.name))
        }
        _ => AuthorError::Usage(format!("cannot read {}: {error}", component.display())),
    })?;
    let mut left = MAX_FILES;
    match newer(&project.dir, built, MAX_DEPTH, &mut left) {
        Ok(None) => Ok(component),
        Ok(Some(source)) => Err(AuthorError::Usage(format!(
            "{} has changed since {} was built, so the old tool would be tested; {build}",
            source.display(),
            component.display()
        ))),
        Err(error) => Err(AuthorError::Usage(format!(
            "cannot look through {}: {error}",
            project.dir.display()
        ))),
    }
}

/// Returns the case files of a project, sorted by name.
///
/// # Errors
/// The directory cannot be read, or a file is a link out of the project.
pub fn cases(project: &Path) -> Result<Vec<PathBuf>, AuthorError> {
    let dir = project.join(CASES);
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let entries = entries
        .map_err(|error| AuthorError::Usage(format!("cannot read {}: {error}", dir.display())))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut cases: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    cases.sort();
    match cases.iter().find(|case| !stays_in(project, case)) {
        None => Ok(cases),
        Some(out) => Err(AuthorError::Usage(format!(
            "{} is a link out of the project, and is not used unless it is named with `--cases`",
            out.display()
        ))),
    }
}

/// Returns a source modified after `than`.
fn newer(
    dir: &Path,
    than: SystemTime,
    depth: usize,
    left: &mut usize,
) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_prose = Path::new(name.as_ref())
            .extension()
            .is_some_and(|end| end == "md");
        if name.starts_with('.') || NON_SOURCES.contains(&name.as_ref()) || is_prose {
            continue;
        }
        // Links are not followed: their targets are not part of the project.
        let found = entry.metadata()?;
        if found.is_dir() && depth > 0 {
            if let Some(source) = newer(&entry.path(), than, depth - 1, left)? {
                return Ok(Some(source));
            }
        } else if found.is_file() {
            *left = left.saturating_sub(1);
            if found.modified()? > than {
                return Ok(Some(entry.path()));
            }
        }
        if *left == 0 {
            break;
        }
    }
    Ok(None)
}

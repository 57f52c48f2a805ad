//! What is tested: the component and the cases of a project, unless others are named.

#[cfg(test)]
mod tests;

use super::file::stays_in;
use crate::{AuthorError, Project};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The folder of a project that has its cases.
pub(super) const CASES: &str = "tests";

/// What lies in a project and is not its source: what is built from it, what is fetched for it, and what tests it.
const NO_SOURCE: [&str; 6] = [
    "dist",
    "target",
    "node_modules",
    "__pycache__",
    "venv",
    CASES,
];

/// How deep sources may lie, and how many there may be. A tool has a handful; what has more is hardly looked through.
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 10_000;

/// The component of a project as it was built last.
///
/// # Errors
/// It was not built, or what it is built from has changed since.
pub fn component(project: &Project) -> Result<PathBuf, AuthorError> {
    let component = project.component();
    let build = format!("run `agent-host build {}`", project.dir.display());
    let built = fs::metadata(&component).and_then(|found| found.modified());
    let built = built.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            AuthorError::usage(format!("{} is not built yet; {build}", project.name))
        }
        _ => AuthorError::usage(format!("cannot read {}: {error}", component.display())),
    })?;
    let mut left = MAX_FILES;
    match newer(&project.dir, built, MAX_DEPTH, &mut left) {
        Ok(None) => Ok(component),
        Ok(Some(source)) => Err(AuthorError::usage(format!(
            "{} has changed since {} was built, so the old tool would be tested; {build}",
            source.display(),
            component.display()
        ))),
        Err(error) => Err(AuthorError::usage(format!(
            "cannot look through {}: {error}",
            project.dir.display()
        ))),
    }
}

/// The files with the cases of the project in this folder, in the order of their names.
///
/// # Errors
/// The folder of the cases cannot be read, or one of the files is a link out of the project.
pub fn cases(project: &Path) -> Result<Vec<PathBuf>, AuthorError> {
    let folder = project.join(CASES);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let entries = entries.map_err(|error| {
        AuthorError::usage(format!("cannot read {}: {error}", folder.display()))
    })?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut cases: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    cases.sort();
    match cases.iter().find(|case| !stays_in(project, case)) {
        None => Ok(cases),
        Some(out) => Err(AuthorError::usage(format!(
            "{} is a link out of the project, and is not used unless it is named with `--cases`",
            out.display()
        ))),
    }
}

/// A source that was changed after this time, if there is one.
fn newer(
    folder: &Path,
    than: SystemTime,
    depth: usize,
    left: &mut usize,
) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_prose = Path::new(name.as_ref())
            .extension()
            .is_some_and(|end| end == "md");
        if name.starts_with('.') || NO_SOURCE.contains(&name.as_ref()) || is_prose {
            continue;
        }
        // Not followed: what a link leads to is not the project's.
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

//! Finds the component and the cases of a project.

#[cfg(test)]
mod tests;

use super::file::stays_in;
use crate::{
    AuthorError, Project,
    inputs::{self, CASES},
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Returns the component of a project's last build.
///
/// # Errors
/// The project is not built, or a file that the build may read is newer than the component.
pub fn component(project: &Project) -> Result<PathBuf, AuthorError> {
    let component = project.component();
    let build = format!("run `agent-host build {}`", project.dir.display());
    let built = fs::metadata(&component).and_then(|found| found.modified());
    let built = built.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            AuthorError::Usage(format!("{} is not built yet; {build}", project.name))
        }
        _ => AuthorError::Usage(format!("cannot read {}: {error}", component.display())),
    })?;
    match inputs::changed(project, built) {
        Ok(None) => Ok(component),
        Ok(Some(source)) => Err(AuthorError::Usage(format!(
            "{} has changed since {} was built, so an outdated tool would be tested; {build}",
            source.display(),
            component.display()
        ))),
        Err(error) => Err(AuthorError::Usage(format!(
            "cannot search {}: {error}",
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
        // A file of this name has nothing to do with cases.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
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
            "{} is a link out of the project, and is only used if passed with `--cases`",
            out.display()
        ))),
    }
}

//! New projects: a language's template with the project's name put in.

#[cfg(test)]
mod tests;

use crate::{
    build,
    carried::{self, CarriedFile},
    error::AuthorError,
    project::{Language, Project},
};
use agent_host_types::tool::MAX_TOOL_NAME;
use std::{fs, io, path::Path};

/// The name of the templates' own tool, and the same where a language takes no `-`.
const NAME: &str = "my-tool";
const IDENTIFIER: &str = "my_tool";

/// Makes a new project in a folder of its own inside `parent`, with the SDK in it, so that an editor knows its types.
///
/// # Errors
/// When the name cannot be one in every place where it stands, the folder is there already, or the disk fails.
pub fn create(name: &str, language: Language, parent: &Path) -> Result<Project, AuthorError> {
    check_name(name)?;
    let dir = parent.join(name);
    fs::create_dir_all(parent).map_err(|error| AuthorError::disk("make", parent, &error))?;
    fs::create_dir(&dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => AuthorError::usage(format!(
            "{} is there already, and nothing is written over. Choose another name, or another folder with `--dir`",
            dir.display()
        )),
        _ => AuthorError::disk("make", &dir, &error),
    })?;
    for (path, content) in template(language) {
        let path = dir.join(named(path, name));
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
        }
        let content = match std::str::from_utf8(content) {
            Ok(text) => named(text, name).into_bytes(),
            Err(_) => content.to_vec(),
        };
        fs::write(&path, content).map_err(|error| AuthorError::disk("write", &path, &error))?;
    }
    let project = Project::find(&dir)?;
    build::unpack(&project)?;
    Ok(project)
}

/// The files of a language's template.
fn template(language: Language) -> Vec<CarriedFile> {
    carried::below(&format!("guest-tools/templates/{}", language.as_str()))
}

/// The text with the project's name where the template has its own.
fn named(text: &str, name: &str) -> String {
    text.replace(NAME, name)
        .replace(IDENTIFIER, &name.replace('-', "_"))
}

/// A name is a folder, a crate, a Python project, an npm package and a Go module.
fn check_name(name: &str) -> Result<(), AuthorError> {
    let fits = name.len() <= MAX_TOOL_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-'
        });
    if fits {
        Ok(())
    } else {
        Err(AuthorError::usage(format!(
            "a project cannot be called `{}`: a name is a small letter, followed by at most {} small letters, digits, `_` and `-`",
            name.escape_debug(),
            MAX_TOOL_NAME - 1
        )))
    }
}

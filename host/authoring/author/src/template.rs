//! New projects from a language's template.

#[cfg(test)]
mod tests;

use crate::{
    build,
    embedded::{self, EmbeddedFile},
    error::AuthorError,
    project::{Language, Project},
};
use agent_host_types::tool::MAX_TOOL_NAME;
use std::{fs, io, path::Path};

/// The name in templates, and its form as an identifier.
const NAME: &str = "my-tool";
const IDENTIFIER: &str = "my_tool";

/// Creates a project in a new directory inside `parent`, with the SDK unpacked, so that an editor
/// knows its types.
///
/// # Errors
/// The name is invalid, the directory exists, or the disk fails.
pub fn create(name: &str, language: Language, parent: &Path) -> Result<Project, AuthorError> {
    check_name(name)?;
    let dir = parent.join(name);
    fs::create_dir_all(parent).map_err(|error| AuthorError::disk("make", parent, &error))?;
    fs::create_dir(&dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => AuthorError::Usage(format!(
            "{} already exists, and is not overwritten. Choose another name, or another directory with `--dir`",
            dir.display()
        )),
        _ => AuthorError::disk("make", &dir, &error),
    })?;
    for (path, content) in template(language) {
        let path = dir.join(named(path, name));
        let content = match std::str::from_utf8(content) {
            Ok(text) => named(text, name).into_bytes(),
            Err(_) => content.to_vec(),
        };
        embedded::write(&path, &content)?;
    }
    let project = Project::find(&dir)?;
    build::unpack(&project)?;
    Ok(project)
}

fn template(language: Language) -> Vec<EmbeddedFile> {
    embedded::below(&format!("guest-tools/templates/{}", language.as_str()))
}

/// Replaces the template's name by the project's.
fn named(text: &str, name: &str) -> String {
    text.replace(NAME, name)
        .replace(IDENTIFIER, &name.replace('-', "_"))
}

/// Validates a name for a directory, crate, Python project, npm package and Go module.
fn check_name(name: &str) -> Result<(), AuthorError> {
    let fits = name.len() <= MAX_TOOL_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    if fits {
        return Ok(());
    }
    Err(AuthorError::Usage(format!(
        "invalid project name `{}`: a name is a lower-case letter, followed by at most {} lower-case letters, \
         digits, `_` and `-`",
        name.escape_debug(),
        MAX_TOOL_NAME - 1
    )))
}

//! `system` and `instructions`: the system prompt. The files are read once, with the configuration;
//! a session journals their text when it starts, and keeps it.

use super::{
    ConfigError,
    paths::{Scope, canonical},
    problem::{Problems, config_error},
    review::{Danger, Review, quoted},
};
use crate::trusted_file;
use std::path::{Path, PathBuf};

/// The maximum number of files.
const MAX_FILES: usize = 16;

/// The maximum size of all files together, in bytes: a fourth of the smallest window that hosted
/// models have now.
const MAX_BYTES: u64 = 128 * 1024;

/// Demands the files or directories outside of that of the file: the model is told what is in them.
pub(super) fn demand(files: &[String], _: &str, review: &mut Review<'_>) {
    for file in files {
        if review.reach(file).is_some() {
            let file = quoted(file);
            review.demand(
                Danger::Private,
                format!("shows the model the contents of {file}, outside of its directory"),
            );
        }
    }
}

/// The system prompt.
#[derive(Debug)]
pub(super) struct Instructions {
    /// The text of `system` and of the files, each under its name.
    pub(super) system: Option<String>,
    /// True if there is no `system`, so that the default prompt goes before the files.
    pub(super) is_default: bool,
    /// The files, which no guest may see or change.
    pub(super) files: Vec<PathBuf>,
}

/// Reads the files. Relative paths begin at the directory of the configuration and stay in it.
pub(super) fn resolve(
    system: Option<String>,
    names: &[String],
    scope: Scope<'_>,
) -> Result<Instructions, ConfigError> {
    let mut problems = Problems::default();
    let is_default = system.is_none();
    // An empty one is none.
    let mut sections: Vec<String> = system.into_iter().filter(|text| !text.is_empty()).collect();
    let mut files = Vec::new();
    let mut left = MAX_BYTES;
    for (index, name) in names.iter().enumerate() {
        let key = format!("instructions[{index}]");
        if index == MAX_FILES {
            let count = names.len();
            problems.take::<()>(Err(config_error!(
                &key,
                "there are {count} files in `instructions`, and the maximum is {MAX_FILES}",
                "combine some of them"
            )
            .with_value(name)));
            break;
        }
        let Some((path, text)) =
            problems.take(read(&key, name, left, scope).map_err(|error| error.with_value(name)))
        else {
            continue;
        };
        left = left.saturating_sub(text.len() as u64);
        files.push(path);
        let text = text.trim();
        if !text.is_empty() {
            sections.push(format!("# {name}\n\n{text}"));
        }
    }
    let system = (!sections.is_empty()).then(|| sections.join("\n\n"));
    problems.or(Instructions {
        system,
        is_default,
        files,
    })
}

/// Returns the path of a file without links, and its text of at most `left` bytes.
fn read(
    key: &str,
    name: &str,
    left: u64,
    scope: Scope<'_>,
) -> Result<(PathBuf, String), ConfigError> {
    let path = scope.resolve_path(key, name)?;
    let fault = |why: &str, fix: &str| {
        let name = name.escape_debug();
        config_error!(key, "cannot read the instructions `{name}`: {why}", "{fix}")
    };
    let real = canonical(&path);
    let is_relative = !Path::new(name).is_absolute() && !name.starts_with('~');
    if is_relative && !real.starts_with(canonical(scope.base)) {
        let real = real.display();
        let why = format!("the file is {real}, outside of the directory of agent.toml");
        return Err(fault(&why, "write the full path if that is intended"));
    }
    // Before it is opened, which would wait for the other end of a pipe.
    let fix = "correct `instructions`, or create the file";
    let found = std::fs::metadata(&real).map_err(|error| fault(&error.to_string(), fix))?;
    if !found.is_file() {
        return Err(fault("it is not a regular file", "name a text file"));
    }
    if found.len() > left {
        let why = format!(
            "together with it, the files of `instructions` have more than {MAX_BYTES} bytes"
        );
        return Err(fault(&why, "shorten them"));
    }
    let text = trusted_file::read(&real, left).map_err(|error| fault(&error.reason, &error.fix))?;
    Ok((real, text))
}

//! From the text of `agent.toml`, or of another TOML file, to its form, with line, column and a hint where the form is wrong.

use super::{ConfigError, RawConfig, paths::canonical};
use crate::trusted_file;
use serde::de::DeserializeOwned;
use std::{
    ops::Range,
    path::{Path, PathBuf},
};

/// The longest configuration that is read, in bytes.
pub const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// The name under which the configuration is looked for.
const FILE_NAME: &str = "agent.toml";

/// A configuration that was read.
pub(super) struct Found {
    pub(super) raw: RawConfig,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl ConfigError {
    /// The error with the place of what it is about, in bytes of the text; the first place that is given stays.
    #[must_use]
    pub fn at(mut self, span: &Range<usize>) -> Self {
        self.byte.get_or_insert(span.start);
        self
    }

    /// The error as one of this file, with line and column where its place is known.
    #[must_use]
    pub fn in_file(self, file: &Path, text: &str) -> Self {
        let place = self.byte.map_or_else(String::new, |byte| place(text, byte));
        Self::new(format!(
            "cannot use {}: {place}{}",
            file.display(),
            self.text
        ))
    }
}

impl RawConfig {
    /// Reads the named file, or `agent.toml` in this directory if there is one.
    pub(super) fn find(file: Option<&Path>, cwd: &Path) -> Result<Option<Found>, ConfigError> {
        let (path, read) = match file {
            Some(file) => {
                let path = cwd.join(file);
                // A pipe may be named, such as that of a shell's `<(...)`.
                let read = trusted_file::read(&path, MAX_CONFIG_BYTES);
                (path, read)
            }
            None => {
                let Some(path) = found_at(cwd)? else {
                    return Ok(None);
                };
                let read = trusted_file::read(&path, MAX_CONFIG_BYTES);
                (path, read)
            }
        };
        let text = read.map_err(|error| unreadable(&path, &error))?;
        Ok(Some(Found {
            raw: Self::parse(&path, &text)?,
            path,
            text,
        }))
    }

    /// Reads the text of a configuration; `file` is its name in messages.
    ///
    /// # Errors
    /// When the text is not TOML or does not have the form of a configuration.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        parse(file, text)
    }
}

/// Reads the text of a TOML file of any form; `file` is its name in messages.
///
/// # Errors
/// When the text is not TOML or does not have that form.
pub fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let fault = ConfigError::new(explain(error.message()));
        match error.span() {
            Some(span) => fault.at(&span).in_file(file, text),
            None => fault.in_file(file, text),
        }
    })
}

/// The configuration of this directory, without links; none where there is none.
fn found_at(cwd: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let path = cwd.join(FILE_NAME);
    // A link that leads nowhere is an error of reading, not an absent file.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let Ok(real) = path.canonicalize() else {
        return Ok(Some(path));
    };
    if real.starts_with(canonical(cwd)) {
        return Ok(Some(real));
    }
    Err(ConfigError::new(format!(
        "{} is a link to {}, outside of the directory, and is not used unless it is named: --config {FILE_NAME}",
        path.display(),
        real.display()
    )))
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::new(format!(
        "cannot read the configuration {}: {error}",
        path.display()
    ))
}

/// The place of a byte in the text, for people: both counted from 1, the column in characters.
fn place(text: &str, byte: usize) -> String {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    format!("line {line}, column {column}: ")
}

/// Turns the words of serde and the TOML reader into a sentence with the next step.
fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let found = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    if message.starts_with("unknown field") {
        return format!(
            "there is no key `{found}` here; {}",
            advice(found, &known, "the keys here are")
        );
    }
    if message.starts_with("unknown variant") {
        return format!(
            "`{found}` is not a value of this key; {}",
            advice(found, &known, "its values are")
        );
    }
    if message.starts_with("missing field") {
        return format!("the key `{found}` is missing here; add it");
    }
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    format!("{}; correct it", lines.join(", "))
}

fn advice(found: &str, known: &[&str], list: &str) -> String {
    match nearest(found, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("{list} {}", known.join(", "))
        }
    }
}

/// The known name that was probably meant, if one is near: a third of the letters may be wrong.
pub(super) fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let found = plain(found);
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&found, &plain(name)), *name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

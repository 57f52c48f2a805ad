//! Parses the text of `agent.toml`, or of another TOML file, with a hint where its form is wrong.

use super::{
    ConfigError, http_grants, paths::canonical, problem::config_error, raw::RawConfig,
    words::explain_value,
};
use crate::trusted_file;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// The longest configuration that is read, in bytes.
pub const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// The name of the configuration in the working directory.
const FILE_NAME: &str = "agent.toml";

/// A configuration file that was read.
pub(super) struct ConfigFile {
    pub(super) raw: RawConfig,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl ConfigFile {
    /// Reads the named file, or `agent.toml` in `cwd` if there is one.
    pub(super) fn find(file: Option<&Path>, cwd: &Path) -> Result<Option<Self>, ConfigError> {
        let path = match file {
            // It may be a pipe, such as that of a shell's `<(...)`.
            Some(file) => cwd.join(file),
            None => match path_in(cwd)? {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        Self::read(path).map(Some)
    }

    /// Reads a configuration file.
    pub(super) fn read(path: PathBuf) -> Result<Self, ConfigError> {
        let text = trusted_file::read(&path, MAX_CONFIG_BYTES).map_err(|error| {
            let reason = format!("{}{}", cannot_read(&path), error.reason);
            ConfigError::new("", reason, error.fix)
        })?;
        Ok(Self {
            raw: parse_configuration(&path, &text)?,
            path,
            text,
        })
    }

    /// Parses the text to a table, in which absent keys stay absent.
    pub(super) fn table(&self) -> Result<toml::Table, ConfigError> {
        parse(&self.path, &self.text)
    }
}

/// Parses the text of a TOML file of any form; `file` is its name in messages.
///
/// # Errors
/// The text is not TOML, or does not have that form.
pub fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::of_form(&error, file, text))
}

/// Parses the text of a configuration. The error of a value that its key does not take names those
/// that it does.
pub(super) fn parse_configuration(file: &Path, text: &str) -> Result<RawConfig, ConfigError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let explained = error.span().filter(|_| is_about_a_value(error.message()));
        let explained = explained.and_then(|bytes| explain_value(text, bytes.start));
        match explained {
            Some((reason, fix)) => ConfigError::of_value(&error, (reason, fix), file, text),
            None => ConfigError::of_form(&error, file, text),
        }
    })
}

/// True for a message of serde or the TOML parser about a value that does not fit, and not about a
/// key that is missing or unknown, or a text that is not TOML.
fn is_about_a_value(message: &str) -> bool {
    let begins = [
        "unknown variant",
        "invalid type",
        "invalid value",
        "data did not match",
        "wanted",
    ];
    begins.iter().any(|begin| message.starts_with(begin))
}

/// Returns the beginning of the message about a configuration that cannot be read.
pub(super) fn cannot_read(path: &Path) -> String {
    format!("cannot read the configuration {}: ", path.display())
}

/// Returns the path by which trust in the configuration in `cwd` is remembered, whether it can be
/// read or not.
pub(super) fn found_path(cwd: &Path) -> PathBuf {
    let found = path_in(cwd).ok().flatten();
    found.unwrap_or_else(|| canonical(cwd).join(FILE_NAME))
}

/// Returns the path of the configuration in `cwd`, without links; none where there is none.
fn path_in(cwd: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let path = cwd.join(FILE_NAME);
    // A dangling link is an error of reading, not an absent file.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let Ok(real) = path.canonicalize() else {
        return match path.read_link() {
            Err(_) => Ok(Some(path)),
            Ok(target) => {
                let (path, target) = (path.display(), target.display());
                Err(config_error!(
                    "",
                    "{path} is a link to {target}, which cannot be opened",
                    "replace it with a file, or remove it"
                ))
            }
        };
    };
    if real.starts_with(canonical(cwd)) {
        return Ok(Some(real));
    }
    let (path, real) = (path.display(), real.display());
    Err(config_error!(
        "",
        "{path} is a link to {real}, outside of the directory, and is only used if named explicitly",
        "pass `--config {FILE_NAME}`"
    ))
}

/// Returns the argument of `--grant` that is equivalent to these lines of `agent.toml`, where they
/// are one HTTP grant.
pub(crate) fn argument_of(lines: &str) -> Option<String> {
    let raw: RawConfig = parse(Path::new("agent.toml"), lines).ok()?;
    let [grant] = <[_; 1]>::try_from(raw.grants?.http?).ok()?;
    let grant = http_grants::from_raw(grant).ok()?;
    Some(format!("http:{}", http_grants::to_text(&grant)))
}

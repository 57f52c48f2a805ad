//! The ignore file of the user, found as git finds it: `core.excludesFile` of the configuration, or
//! `git/ignore` beside it. Both can be read only where the operator granted the variable and the
//! directory: a path outside of the granted directories is refused before a file is opened.

use std::env;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::ignore::{Ignores, MAX_FILE_BYTES};

/// Returns the rules of the user's ignore file, or an empty set if the user has none.
pub(super) fn global_ignores() -> Ignores {
    let mut ignores = Ignores::default();
    // The standard library does not know a home directory in WASI.
    let home = env::var_os("HOME").map(PathBuf::from);
    let config = env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(home.as_deref()?.join(".config")));
    // git reads both files, and what the second says goes before the first.
    let configured = [
        config.as_ref().map(|config| config.join("git/config")),
        home.as_ref().map(|home| home.join(".gitconfig")),
    ]
    .into_iter()
    .flatten()
    .filter_map(|path| excludes_file(&String::from_utf8_lossy(&read(&path)?), home.as_deref()))
    .next_back();
    if let Some(bytes) = configured
        .or_else(|| config.map(|config| config.join("git/ignore")))
        .and_then(|path| read(&path))
    {
        ignores.set_global(&bytes);
    }
    ignores
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_FILE_BYTES as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

/// Returns the path that `excludesFile` of the section `core` names, the last one of several.
fn excludes_file(config: &str, home: Option<&Path>) -> Option<PathBuf> {
    let mut is_core = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_core = line.eq_ignore_ascii_case("[core]");
        } else if let Some((key, value)) = line.split_once('=')
            && is_core
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"'));
        }
    }
    let path = found.filter(|path| !path.is_empty())?;
    match path.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests;

//! `system` and `instructions`: what the model is told before anything else. The files are read here, once; a session writes down
//! what they said when it began, and keeps to it.

use super::{
    ConfigError, Environment,
    paths::{canonical, place},
};
use crate::trusted_file;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The most files.
const MAX_FILES: usize = 16;

/// What all files together may have, in bytes: a fourth of the smallest window that hosted models have now.
const MAX_BYTES: u64 = 128 * 1024;

/// The standing instructions.
#[derive(Debug)]
pub(super) struct Instructions {
    /// The text of `system` and of the files, each under its name.
    pub(super) system: Option<String>,
    /// The files, which no guest may see or change.
    pub(super) files: Vec<PathBuf>,
}

/// Reads the files. Relative paths begin at `base` and stay in it.
pub(super) fn resolve(
    system: Option<String>,
    files: &[Spanned<String>],
    base: &Path,
    environment: &Environment,
) -> Result<Instructions, ConfigError> {
    let mut sections: Vec<String> = system.into_iter().collect();
    let mut paths = Vec::new();
    let mut room = MAX_BYTES;
    for (count, name) in files.iter().enumerate() {
        let read = match count < MAX_FILES {
            true => read(name.get_ref(), room, base, environment),
            false => Err(ConfigError::new(format!(
                "there are {} files in `instructions`, and {MAX_FILES} are allowed; put some of them together",
                files.len()
            ))),
        };
        let (path, text) = read.map_err(|error| error.at(&name.span()))?;
        room = room.saturating_sub(text.len() as u64);
        paths.push(path);
        let text = text.trim();
        if !text.is_empty() {
            sections.push(format!("# {}\n\n{text}", name.get_ref()));
        }
    }
    let system = (!sections.is_empty()).then(|| sections.join("\n\n"));
    Ok(Instructions {
        system,
        files: paths,
    })
}

/// One file: its path without links, and its text.
fn read(
    name: &str,
    room: u64,
    base: &Path,
    environment: &Environment,
) -> Result<(PathBuf, String), ConfigError> {
    let path = place(name, base, environment)?;
    let fault = |why: &str| {
        ConfigError::new(format!(
            "cannot read the instructions `{}`: {why}",
            name.escape_debug()
        ))
    };
    let real = canonical(&path);
    let is_relative = !Path::new(name).is_absolute() && !name.starts_with('~');
    if is_relative && !real.starts_with(canonical(base)) {
        return Err(fault(&format!(
            "they are in {}, outside of the folder of agent.toml; write the whole path if it is meant",
            real.display()
        )));
    }
    // Before it is opened, which would wait for the other end of a pipe.
    let found = std::fs::metadata(&real).map_err(|error| {
        fault(&format!(
            "{error}; correct `instructions`, or make the file"
        ))
    })?;
    if !found.is_file() {
        return Err(fault("it is no file; name a text file"));
    }
    if found.len() > room {
        return Err(fault(&format!(
            "with it the files of `instructions` have more than {MAX_BYTES} bytes; shorten them"
        )));
    }
    let text =
        trusted_file::read_regular(&real, room).map_err(|error| fault(&error.to_string()))?;
    Ok((real, text))
}

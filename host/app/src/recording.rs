//! The file of a recording: made for nobody but its owner, and read within bounds.

use crate::{
    config::{ModelConfig, ModelsConfig},
    error::OpenError,
};
use agent_host_models::Recorder;
use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
};

/// The longest recording that is played, in bytes: several answers of the longest kind.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Begins a recording in a new file.
///
/// # Errors
/// No model of the run has anything to record, or the file exists or cannot be made.
pub(crate) fn create(file: &Path, models: &ModelsConfig) -> Result<Arc<Recorder>, OpenError> {
    let is_served = |model: &ModelConfig| matches!(model, ModelConfig::Served { .. });
    if !models.all().any(is_served) {
        return Err(OpenError::usage(
            "there is nothing to record: the model of this run is not behind a server; name one that is by `--model`",
        ));
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    let made = made.map_err(|error| {
        let file = file.display();
        OpenError::usage(match error.kind() {
            ErrorKind::AlreadyExists => {
                format!("cannot record to {file}: it exists; name a file that does not")
            }
            _ => format!("cannot record to {file}: {error}"),
        })
    })?;
    Ok(Arc::new(Recorder::new(Box::new(made))))
}

/// Reads a recording.
///
/// # Errors
/// The file cannot be read, is no text, or is too long.
pub(crate) fn read(file: &Path) -> Result<String, OpenError> {
    let fault = |why: &dyn std::fmt::Display| {
        OpenError::usage(format!(
            "cannot read the recording {}: {why}",
            file.display()
        ))
    };
    let mut text = String::new();
    let mut bounded = File::open(file)
        .map_err(|error| fault(&error))?
        .take(MAX_BYTES + 1);
    bounded
        .read_to_string(&mut text)
        .map_err(|error| fault(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(fault(&format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

//! The file of a recording: created for its owner alone, and read within bounds.

use crate::config::{ModelConfig, ModelsConfig};
use agent_host_models::Recorder;
use agent_host_types::reason::Reason;
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
};

/// The maximum size of a recording, in bytes: several answers of the longest kind.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Starts a recording in a new file.
///
/// # Errors
/// No model of the run has anything to record, or the file exists or cannot be created.
pub(crate) fn create(file: &Path, models: &ModelsConfig) -> Result<Arc<Recorder>, Reason> {
    let is_served = |model: &ModelConfig| matches!(model, ModelConfig::Served { .. });
    if !models.all().any(is_served) {
        let why = "there is nothing to record: the model of this run does not use a server; choose one that does \
                   with `--model`";
        return Err(why.into());
    }
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    let created = created.map_err(|error| {
        let path = file.display();
        match error.kind() {
            ErrorKind::AlreadyExists => {
                format!("cannot record to {path}: it already exists; choose a new file")
            }
            _ => format!("cannot record to {path}: {error}"),
        }
    })?;
    Ok(Arc::new(Recorder::new(Box::new(created))))
}

/// Reads a recording.
///
/// # Errors
/// The file cannot be read, is not text, or is too long.
pub(crate) fn read(file: &Path) -> Result<String, Reason> {
    let fault = |error: io::Error| format!("cannot read the recording {}: {error}", file.display());
    let mut text = String::new();
    let mut bounded = File::open(file).map_err(fault)?.take(MAX_BYTES + 1);
    bounded.read_to_string(&mut text).map_err(fault)?;
    if text.len() as u64 > MAX_BYTES {
        let why = format!("it has more than {MAX_BYTES} bytes");
        return Err(fault(io::Error::other(why)).into());
    }
    Ok(text)
}

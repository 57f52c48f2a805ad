//! The file of a recording: created for its owner alone, and read within bounds.

use crate::config::{ModelConfig, ModelsConfig};
use agent_host_models::Recorder;
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The maximum size of a recording, in bytes: several answers of the longest kind.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Why a recording cannot be created or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingFileError {
    /// No model of the run is behind a server.
    #[error(
        "there is nothing to record: the model of this run does not use a server; choose one that does with `--model`"
    )]
    NoServer,
    /// The file of a new recording exists.
    #[error("cannot record to {}: it already exists; choose a new file", _0.display())]
    Exists(PathBuf),
    /// The file cannot be created or read.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, such as "record to".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Starts a recording in a new file.
///
/// # Errors
/// No model of the run has anything to record, or the file exists or cannot be created.
pub(crate) fn create(
    file: &Path,
    models: &ModelsConfig,
) -> Result<Arc<Recorder>, RecordingFileError> {
    let is_served = |model: &ModelConfig| matches!(model, ModelConfig::Served { .. });
    if !models.all().any(is_served) {
        return Err(RecordingFileError::NoServer);
    }
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    let path = file.to_owned();
    let created = created.map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => RecordingFileError::Exists(path),
        _ => fault("record to", &path, source),
    })?;
    Ok(Arc::new(Recorder::new(Box::new(created))))
}

/// Reads a recording.
///
/// # Errors
/// The file cannot be read, is not text, or is too long.
pub(crate) fn read(file: &Path) -> Result<String, RecordingFileError> {
    let fault = |source| fault("read the recording", file, source);
    let mut text = String::new();
    let mut bounded = File::open(file).map_err(fault)?.take(MAX_BYTES + 1);
    bounded.read_to_string(&mut text).map_err(fault)?;
    if text.len() as u64 > MAX_BYTES {
        let why = format!("it has more than {MAX_BYTES} bytes");
        return Err(fault(io::Error::other(why)));
    }
    Ok(text)
}

fn fault(action: &'static str, path: &Path, source: io::Error) -> RecordingFileError {
    let path = path.to_owned();
    RecordingFileError::Io {
        action,
        path,
        source,
    }
}

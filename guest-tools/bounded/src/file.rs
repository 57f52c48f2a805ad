//! Files as models name them.

use std::fs::File;
use std::io::{ErrorKind, Read};

use agent_tool::workspace::locate;

use crate::Failure;

/// Opens a file, which is no directory, and returns it with its size in bytes.
///
/// # Errors
/// The host refuses the path, or it names no file.
pub fn open(path: &str) -> Result<(File, u64), Failure> {
    let failed = |error: std::io::Error| Failure::io(&error, "read", path);
    let file = File::open(locate(path)?).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    Ok((file, metadata.len()))
}

/// Reads a whole file of at most `max_bytes`. `advice` says what to do with a larger one.
///
/// # Errors
/// Those of [`open`], and a larger file.
pub fn read(path: &str, max_bytes: u64, advice: &str) -> Result<Vec<u8>, Failure> {
    let (file, size) = open(path)?;
    // A file can grow after its size was read, so the read itself is bounded too.
    let mut bytes = Vec::new();
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io(&error, "read", path))?;
    let size = size.max(bytes.len() as u64);
    if size > max_bytes {
        return Err(Failure::new(format!(
            "`{path}` has {size} bytes; at most {max_bytes} can be read; {advice}"
        )));
    }
    Ok(bytes)
}

//! Files that the arguments of a run name, read within bounds.

use std::{io::Read as _, path::Path};

/// Reads a UTF-8 file of at most `max_bytes`.
pub(super) fn read_bounded(file: &Path, max_bytes: u64) -> std::io::Result<String> {
    let bytes = read_bytes(file, max_bytes)?;
    String::from_utf8(bytes)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a file of at most `max_bytes`.
pub(super) fn read_bytes(file: &Path, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Bounded while it is read: a pipe has no size, and a file may grow.
    let mut bounded = std::fs::File::open(file)?.take(max_bytes + 1);
    bounded.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let why = format!("it has more than {max_bytes} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

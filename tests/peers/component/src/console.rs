//! Standard output and the environment.

use crate::tools::MIB;
use wasip2::cli::{environment, stdout};

/// The most bytes of one blocking write to a stream (wasi:io).
const MAX_STREAM_WRITE: usize = 4096;

pub(crate) fn print(mib: u32) -> Result<String, String> {
    let stream = stdout::get_stdout();
    let chunk = format!("{}\n", "x".repeat(MAX_STREAM_WRITE - 1));
    let mut written = 0;
    while written < mib as usize * MIB {
        stream
            .blocking_write_and_flush(chunk.as_bytes())
            .map_err(|error| format!("{error:?} after {written} bytes"))?;
        written += chunk.len();
    }
    Ok(format!("{written} bytes"))
}

pub(crate) fn read_variable(name: &str) -> Result<String, String> {
    environment::get_environment()
        .into_iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
        .ok_or_else(|| "no such variable".to_owned())
}

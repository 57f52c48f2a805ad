//! Directories and files of a walk, by the descriptors of the host. A name is opened in its open
//! directory, so that a file costs one call to open and one to read it; by way of `std::fs`, each
//! path is resolved from the top, and each read needs a stream.

use std::io;

use crate::walk::Kind;

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasm;

#[cfg(not(target_family = "wasm"))]
pub(crate) use native::{Dir, OpenFile};
#[cfg(target_family = "wasm")]
pub(crate) use wasm::{Dir, OpenFile};

/// The most bytes that are read at once, which is what the host moves.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// The start of a small file, or `None` if it cannot be read.
pub(crate) fn read_small(dir: &Dir, path: &str, max_bytes: usize) -> Option<Vec<u8>> {
    let file = dir.file(path).ok()?;
    let mut bytes = Vec::new();
    loop {
        let (mut chunk, is_end) = file.read_at(bytes.len() as u64).ok()?;
        bytes.append(&mut chunk);
        if is_end || bytes.len() > max_bytes {
            bytes.truncate(max_bytes);
            return Some(bytes);
        }
    }
}

/// The entries of a directory as they come, without their order.
pub(crate) type EachEntry<'a> = &'a mut dyn FnMut(&str, Kind) -> io::Result<()>;

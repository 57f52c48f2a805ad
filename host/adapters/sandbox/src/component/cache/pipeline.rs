//! Copies on two threads: one reads and hashes, the other writes. For the machine code of a large
//! component both take about as long.

#[cfg(test)]
mod tests;

use std::{
    io::{self, Read, Write},
    mem,
    sync::mpsc,
    thread,
};

/// The bytes that are read, hashed and written at once: they fit into a processor's own cache, and
/// outweigh waking the other thread.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The chunks in flight: one is filled, one waits, one is written.
const CHUNKS: usize = 3;

/// Copies `from` to `to`, on two threads if it has more than one chunk and the system starts a
/// thread.
///
/// # Errors
/// Reading or writing fails.
pub(super) fn copy(from: &mut impl Read, to: &mut (impl Write + Send)) -> io::Result<()> {
    let mut first = Vec::with_capacity(CHUNK_BYTES);
    fill(from, &mut first)?;
    if first.len() < CHUNK_BYTES {
        return to.write_all(&first);
    }
    let (filled, waiting) = mpsc::sync_channel::<Vec<u8>>(CHUNKS);
    let (written, free) = mpsc::channel();
    for _ in 1..CHUNKS {
        let _ = written.send(Vec::with_capacity(CHUNK_BYTES));
    }
    let out = &mut *to;
    let is_copied = thread::scope(|scope| {
        let writer = thread::Builder::new()
            .name("cache".to_owned())
            .spawn_scoped(scope, move || {
                waiting.iter().try_for_each(|chunk| {
                    out.write_all(&chunk)?;
                    // The last chunks are not reused.
                    let _ = written.send(chunk);
                    Ok(())
                })
            });
        let Ok(writer) = writer else {
            return Ok(false);
        };
        let mut chunk = mem::take(&mut first);
        // A writer that has ended has an error, returned below.
        while !chunk.is_empty() && filled.send(chunk).is_ok() {
            chunk = free.recv().unwrap_or_default();
            chunk.clear();
            fill(from, &mut chunk)?;
        }
        drop(filled);
        writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))
            .map(|()| true)
    })?;
    if !is_copied {
        to.write_all(&first)?;
        io::copy(from, to)?;
    }
    Ok(())
}

/// Reads a chunk, which is shorter only at the end.
fn fill(from: &mut impl Read, chunk: &mut Vec<u8>) -> io::Result<()> {
    from.take(CHUNK_BYTES as u64).read_to_end(chunk).map(drop)
}

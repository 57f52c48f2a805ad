//! Copies while it computes: one thread reads and hashes, another writes. Either takes about as long for the machine code of a
//! large component.

#[cfg(test)]
mod tests;

use std::{
    io::{self, Read, Write},
    mem,
    sync::mpsc,
    thread,
};

/// How much is read, hashed and written at once, in bytes: it stays in a processor's own cache, and is long enough that waking
/// the other thread for it does not count.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The pieces that are on their way: one that is filled, one that waits, one that is written.
const CHUNKS: usize = 3;

/// Reads all of `from` and writes it to `to`, on two threads if it is more than one piece and the system has another one.
///
/// # Errors
/// Those of reading and writing. What was written then is of no use.
pub(super) fn copy(from: &mut impl Read, to: &mut (impl Write + Send)) -> io::Result<()> {
    let mut first = Vec::with_capacity(CHUNK_BYTES);
    fill(from, &mut first)?;
    if first.len() < CHUNK_BYTES {
        return to.write_all(&first);
    }
    let (filled, waiting) = mpsc::sync_channel::<Vec<u8>>(CHUNKS);
    let (written, free) = mpsc::channel();
    let out = &mut *to;
    let is_copied = thread::scope(|scope| {
        let writer = thread::Builder::new()
            .name("cache".to_owned())
            .spawn_scoped(scope, move || {
                waiting.iter().try_for_each(|chunk| {
                    out.write_all(&chunk)?;
                    // Nobody takes the last ones back.
                    let _ = written.send(chunk);
                    Ok(())
                })
            });
        let Ok(writer) = writer else {
            return Ok(false);
        };
        let mut spare = CHUNKS - 1;
        let mut chunk = mem::take(&mut first);
        // A writer that is gone has an error, which is told below.
        while !chunk.is_empty() && filled.send(chunk).is_ok() {
            chunk = match spare.checked_sub(1) {
                Some(fewer) => {
                    spare = fewer;
                    Vec::with_capacity(CHUNK_BYTES)
                }
                None => free.recv().unwrap_or_default(),
            };
            chunk.clear();
            fill(from, &mut chunk)?;
        }
        drop(filled);
        writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("writing it failed")))
            .map(|()| true)
    })?;
    if !is_copied {
        to.write_all(&first)?;
        io::copy(from, to)?;
    }
    Ok(())
}

/// Reads a piece. It is shorter at the end alone.
fn fill(from: &mut impl Read, chunk: &mut Vec<u8>) -> io::Result<()> {
    from.take(CHUNK_BYTES as u64).read_to_end(chunk).map(drop)
}

//! Attempts within the guest: its memory, its stack, its end.

use std::hint::black_box;

use serde_json::{Value, json};

use crate::run::Outcome;

/// The size of a page of linear memory.
const PAGE_BYTES: usize = 64 * 1024;

pub(crate) fn alloc(bytes: usize) -> Value {
    let block = vec![1_u8; bytes];
    json!(black_box(&block).len())
}

/// Recurses until the host stops it.
pub(crate) fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if black_box(false) {
        return depth;
    }
    recurse(depth + 1).wrapping_add(frame.iter().sum::<u64>())
}

pub(crate) fn spin() -> ! {
    loop {
        black_box(());
    }
}

#[expect(clippy::panic, reason = "this is what was ordered")]
pub(crate) fn panic(message: &str) -> ! {
    panic!("{message}")
}

/// The number of occurrences of the bytes in this guest's memory. They are given and kept inverted,
/// so that a search does not find itself.
pub(crate) fn scan(inverted: &str) -> Outcome {
    let inverted = bytes(inverted)?;
    let [first, rest @ ..] = inverted.as_slice() else {
        return Err("nothing to look for".to_owned());
    };
    let end = core::arch::wasm32::memory_size::<0>().saturating_mul(PAGE_BYTES);
    let hits = (1..end.saturating_sub(rest.len()))
        .filter(|&at| {
            !byte(at) == *first
                && rest
                    .iter()
                    .zip(at + 1..)
                    .all(|(wanted, at)| !byte(at) == *wanted)
        })
        .count();
    Ok(json!(hits))
}

/// The byte at an address of linear memory that is above zero and below its size.
#[expect(
    unsafe_code,
    reason = "a search of all of memory, beyond what Rust allocated, has no safe form"
)]
fn byte(address: usize) -> u8 {
    // SAFETY: the callers stay below the size of linear memory, all of which can be read. The read
    // is volatile because other code may own these bytes; nothing else runs meanwhile, since a
    // guest has one thread.
    unsafe { (address as *const u8).read_volatile() }
}

/// Bytes from hexadecimal.
pub(crate) fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err("not hexadecimal".to_owned());
    }
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|_| "not hexadecimal")?;
            u8::from_str_radix(pair, 16).map_err(|_| "not hexadecimal".to_owned())
        })
        .collect()
}

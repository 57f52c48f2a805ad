//! The tools that need nothing of a host, for each format of component.

use std::hint::black_box;

/// The version in each answer of `echo`. The suite replaces it in the bytes of the component, so
/// that it has a second version of the same tool.
const VERSION: &str = "peers-version-1";

pub(crate) const MIB: usize = 1024 * 1024;

pub(crate) fn echo(text: &str) -> String {
    format!("{}:{text}", black_box(VERSION))
}

pub(crate) fn spin() -> String {
    loop {
        black_box(());
    }
}

pub(crate) fn allocate(mib: u32) -> String {
    let block = vec![1_u8; mib as usize * MIB];
    format!("{} bytes", black_box(&block).len())
}

pub(crate) fn flood(mib: u32) -> String {
    "x".repeat(mib as usize * MIB)
}

pub(crate) fn recurse() -> String {
    depth(0).to_string()
}

pub(crate) fn crash() -> String {
    std::process::abort()
}

/// Recurses until the host stops it.
fn depth(at: u64) -> u64 {
    let frame = black_box([at; 64]);
    if black_box(false) {
        return at;
    }
    depth(at + 1).wrapping_add(frame.iter().sum::<u64>())
}

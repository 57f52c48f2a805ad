//! Tools without state between calls, and calls that end in a trap or a limit.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_tool::{Output, input, tool};
use serde_json::{Value, json};

/// The size of one allocation of `grow`, in bytes.
const STEP_BYTES: usize = 1024 * 1024;

/// The number of calls of this instance.
static CALLS: AtomicU64 = AtomicU64::new(0);

#[input]
pub(crate) struct Message {
    /// The error message.
    message: String,
}

/// Counts its calls in a global variable. It is always the first, since every call has an instance
/// of its own.
#[tool(effect = "read-only")]
pub(crate) fn count() -> Value {
    json!({ "count": CALLS.fetch_add(1, Ordering::Relaxed) + 1 })
}

/// Never ends.
#[tool(effect = "read-only")]
pub(crate) fn spin() -> Output {
    loop {
        std::hint::spin_loop();
    }
}

/// Panics with the message.
#[tool(effect = "read-only")]
#[expect(clippy::panic, reason = "what becomes of it is what the suite asks")]
pub(crate) fn crash(input: Message) -> Output {
    panic!("{}", input.message)
}

/// Allocates memory until none is left.
#[tool(effect = "read-only")]
pub(crate) fn grow() -> Output {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![1_u8; STEP_BYTES]));
    }
}

/// Recurses without end.
#[tool(effect = "read-only")]
pub(crate) fn recurse() -> Value {
    json!(deeper(0))
}

fn deeper(depth: u64) -> u64 {
    match depth {
        u64::MAX => depth,
        _ => black_box(deeper(black_box(depth + 1))) + 1,
    }
}

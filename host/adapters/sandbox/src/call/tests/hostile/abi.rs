//! Guests that break the canonical ABI, or run before their function, in their allocator, or after
//! their result.

use super::{Hostile, MIB, hostile, short};
use crate::guests::{BLOCK, Body, Guest, PROGRESS, TIMER};
use agent_host_types::limits::Limits;

/// A guest whose allocator runs this code.
fn allocating(code: &str) -> Guest<'static> {
    let core = format!(r#"(func (export "realloc") (param i32 i32 i32 i32) (result i32) {code})"#);
    Guest {
        core: core.leak(),
        ..Guest::default()
    }
}

/// A guest that runs this code in its post-return function.
fn returned(code: &str) -> Guest<'static> {
    let core = format!(r#"(func (export "post-return") (param i32) {code})"#);
    Guest {
        core: core.leak(),
        ..Guest::default()
    }
}

/// Returns a text at an address, of a length.
fn text_at(address: u32, length: u32) -> String {
    format!(
        "(i32.store (i32.const 16) (i32.const 0))
        (i32.store (i32.const 20) (i32.const {address}))
        (i32.store (i32.const 24) (i32.const {length}))
        (i32.const 16)"
    )
}

pub(super) fn allocators_and_pointers() -> Vec<Hostile<'static>> {
    let leak = |code: String| -> &'static str { code.leak() };
    let text = |address, length| Guest::running(leak(text_at(address, length)));
    let list = "(i32.store (i32.const 16) (i32.const 2))
        (i32.store (i32.const 20) (i32.const 0))
        (i32.store (i32.const 24) (i32.const 0x10000000))
        (i32.const 16)";
    let calls_out = Guest {
        imports: &[TIMER],
        ..allocating("(call $timer (i64.const 1))")
    };
    let says_too_much = Guest {
        pages: 1_000,
        imports: &[PROGRESS],
        ..Guest::running(
            "(call $report (i32.const 0) (i32.const 62914560) (i32.const 0) (f64.const 0)) unreachable",
        )
    };
    let deep = |text: String| -> &'static [u8] { text.into_bytes().leak() };
    vec![
        // All arguments at one address: the guest reads and returns the last one as JSON.
        hostile(
            "allocates everything at one place",
            allocating("(i32.const 0)"),
            "invalid-output",
            "invalid JSON",
        ),
        hostile(
            "allocates outside of its memory",
            allocating("(i32.const -8)"),
            "trap",
            "beyond end of memory",
        ),
        hostile(
            "allocates by crashing",
            allocating("unreachable"),
            "trap",
            "`unreachable`",
        ),
        hostile(
            "allocates by calling the host",
            calls_out,
            "trap",
            "cannot leave component instance",
        ),
        Hostile {
            limits: short(),
            ..hostile(
                "allocates without end",
                allocating("(loop $l (br $l)) unreachable"),
                "timeout",
                "100 ms",
            )
        },
        Hostile {
            limits: Limits {
                memory_bytes: MIB,
                ..Limits::default()
            },
            ..hostile(
                "allocates by growing without end",
                allocating(
                    "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 1))))) unreachable",
                ),
                "out-of-memory",
                "1048576 bytes",
            )
        },
        hostile(
            "text of 4 GiB",
            text(0, u32::MAX),
            "invalid-output",
            "pointer/length out of bounds",
        ),
        hostile(
            "text that wraps around",
            text(u32::MAX - 15, 32),
            "invalid-output",
            "pointer/length out of bounds",
        ),
        hostile(
            "text that ends a byte behind the memory",
            text(4 * 65_536 - 8, 9),
            "invalid-output",
            "pointer/length out of bounds",
        ),
        hostile(
            "list whose size overflows",
            Guest::running(list),
            "invalid-output",
            "out of bounds",
        ),
        hostile(
            "result that is not aligned",
            Guest::running("(i32.const 17)"),
            "invalid-output",
            "aligned",
        ),
        hostile(
            "JSON nested 100,000 deep",
            Guest {
                pages: 8,
                ..Guest::returning(Body::Text(1, deep("[".repeat(100_000))))
            },
            "invalid-output",
            "invalid JSON",
        ),
        hostile(
            "number that is none",
            Guest::returning(Body::Text(1, b"[NaN]")),
            "invalid-output",
            "invalid JSON",
        ),
        hostile(
            "number beyond all numbers",
            Guest::returning(Body::Text(4, b"1e999")),
            "invalid-output",
            "invalid JSON",
        ),
        hostile(
            "60 MiB to the host",
            says_too_much,
            "resource-limit",
            "`max-transfer-bytes`",
        ),
    ]
}

pub(super) fn moments() -> Vec<Hostile<'static>> {
    // `definitions` has a deadline of five seconds.
    let starting = Guest {
        imports: &[BLOCK, TIMER],
        core: "(func $start (call $block (call $timer (i64.const 400000000)))) (start $start)",
        ..Guest::default()
    };
    vec![
        Hostile {
            limits: short(),
            ..hostile("waits while it starts", starting, "timeout", "100 ms")
        },
        Hostile {
            limits: short(),
            ..hostile(
                "loops after its result",
                returned("(loop $l (br $l))"),
                "timeout",
                "100 ms",
            )
        },
        hostile(
            "crashes after its result",
            returned("unreachable"),
            "trap",
            "`unreachable`",
        ),
    ]
}

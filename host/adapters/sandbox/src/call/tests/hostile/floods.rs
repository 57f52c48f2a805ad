//! Guests that open one thing after the other and close none.

use super::{Hostile, hostile};
use crate::guests::{DIRECTORIES, FIELDS, Guest, Import, NEW_OWN, POLL, STDOUT, TIMER};

/// Does this without end.
fn flood(imports: &'static [Import], code: &str) -> Guest<'static> {
    let code = format!("(loop $l {code} (br $l)) unreachable");
    Guest {
        imports,
        ..Guest::running(code.leak())
    }
}

pub(super) fn of_handles() -> Vec<Hostile<'static>> {
    const HELD: &str = "1024 files, streams or requests open at once (limit `open-resources`)";
    vec![
        hostile(
            "a flood of streams",
            flood(&[STDOUT], "(drop (call $stdout))"),
            "resource-limit",
            HELD,
        ),
        hostile(
            "a flood of timers",
            flood(&[TIMER], "(drop (call $timer (i64.const 1)))"),
            "resource-limit",
            HELD,
        ),
        hostile(
            "a flood of header fields",
            flood(&[FIELDS], "(drop (call $fields))"),
            "resource-limit",
            HELD,
        ),
        hostile(
            "a flood of directories",
            flood(&[DIRECTORIES], "(call $directories (i32.const 0))"),
            "resource-limit",
            HELD,
        ),
        hostile(
            "a flood of its own resources",
            flood(&[NEW_OWN], "(drop (call $new-own (i32.const 0)))"),
            "resource-limit",
            "1024 handles at once (limit `open-resources`)",
        ),
        // One timer, lent 100,000 times for one call of the host.
        hostile(
            "a wait for 100,000 timers",
            Guest {
                pages: 16,
                imports: &[TIMER, POLL],
                ..Guest::running(
                    "(local $n i32) (local $timer i32)
                    (local.set $timer (call $timer (i64.const 600000000000)))
                    (loop $l
                        (i32.store (i32.add (i32.const 65536) (i32.mul (local.get $n) (i32.const 4))) (local.get $timer))
                        (local.set $n (i32.add (local.get $n) (i32.const 1)))
                        (br_if $l (i32.lt_u (local.get $n) (i32.const 100000))))
                    (call $poll (i32.const 65536) (i32.const 100000) (i32.const 0))
                    unreachable",
                )
            },
            "resource-limit",
            "handles at once",
        ),
    ]
}

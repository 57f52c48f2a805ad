//! Hostile guests, and the code with which each ends.

mod abi;
mod floods;

use super::{call_with, code, sandbox, workspace};
use crate::{
    Allocator, Pooling, Sandbox, SandboxConfig,
    guests::{BLOCK, Body, EXIT, Guest, STATE_GET, STATE_MERGE, TIMER},
};
use agent_host_types::limits::Limits;
use pretty_assertions::assert_eq;
use serde_json::json;

/// A guest that must fail.
struct Hostile<'a> {
    name: &'a str,
    guest: Guest<'a>,
    limits: Limits,
    code: &'a str,
    /// A part of the message, which names the limit or the fault.
    says: &'a str,
}

fn hostile<'a>(name: &'a str, guest: Guest<'a>, code: &'a str, says: &'a str) -> Hostile<'a> {
    Hostile {
        name,
        guest,
        limits: Limits::default(),
        code,
        says,
    }
}

const MIB: u64 = 1024 * 1024;

/// Limits with a short deadline.
fn short() -> Limits {
    Limits {
        deadline_ms: 100,
        ..Limits::default()
    }
}

fn compute_and_memory() -> Vec<Hostile<'static>> {
    let small = Limits {
        memory_bytes: 2 * MIB,
        ..Limits::default()
    };
    vec![
        hostile(
            "trap",
            Guest::running("unreachable"),
            "trap",
            "`unreachable`",
        ),
        hostile(
            "out of bounds",
            Guest::running("(drop (i32.load (i32.const -1))) unreachable"),
            "trap",
            "out of bounds",
        ),
        Hostile {
            limits: short(),
            ..hostile(
                "infinite loop",
                Guest::running("(loop $l (br $l)) unreachable"),
                "timeout",
                "100 ms",
            )
        },
        Hostile {
            limits: short(),
            ..hostile(
                "sleep in the host",
                Guest {
                    imports: &[BLOCK, TIMER],
                    ..Guest::running(
                        "(call $block (call $timer (i64.const 600000000000))) unreachable",
                    )
                },
                "timeout",
                "100 ms",
            )
        },
        Hostile {
            limits: short(),
            ..hostile(
                "flood of host calls",
                Guest {
                    imports: &[STATE_GET],
                    ..Guest::running("(loop $l (call $get (i32.const 0)) (br $l)) unreachable")
                },
                "timeout",
                "100 ms",
            )
        },
        hostile(
            "recursion",
            Guest {
                core: "(func $f (param i32) (result i32) (i32.add (i32.const 1) (call $f (local.get 0))))",
                ..Guest::running("(drop (call $f (i32.const 0))) unreachable")
            },
            "stack-overflow",
            "too deep",
        ),
        Hostile {
            limits: small.clone(),
            ..hostile(
                "grows without end",
                Guest::running(
                    "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 1))))) unreachable",
                ),
                "out-of-memory",
                "2097152 bytes",
            )
        },
        Hostile {
            limits: small.clone(),
            ..hostile(
                "starts beyond the limit",
                Guest {
                    pages: 33,
                    ..Guest::default()
                },
                "out-of-memory",
                "2097152 bytes",
            )
        },
        Hostile {
            limits: small,
            ..hostile(
                "many memories, each within the limit",
                Guest {
                    component: "(core module $m (memory 15)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))",
                    ..Guest::default()
                },
                "out-of-memory",
                "2097152 bytes",
            )
        },
    ]
}

/// Returns a text of two million bytes.
const LONG_TEXT: &str = "(i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 65536))
    (i32.store (i32.const 24) (i32.const 2000000))
    (i32.const 16)";

fn results_and_transfers() -> Vec<Hostile<'static>> {
    let long = || Guest {
        pages: 32,
        ..Guest::running(LONG_TEXT)
    };
    vec![
        Hostile {
            limits: Limits {
                output_bytes: MIB,
                ..Limits::default()
            },
            ..hostile("long result", long(), "output-too-large", "1048576 bytes")
        },
        Hostile {
            limits: Limits {
                max_transfer_bytes: MIB,
                ..Limits::default()
            },
            ..hostile(
                "result beyond the transfer",
                long(),
                "output-too-large",
                "1048576 bytes",
            )
        },
        Hostile {
            limits: Limits {
                max_transfer_bytes: MIB,
                ..Limits::default()
            },
            ..hostile(
                "host call with a long string",
                Guest {
                    pages: 32,
                    imports: &[STATE_GET, STATE_MERGE],
                    ..Guest::running("(call $merge (i32.const 0) (i32.const 2000000)) unreachable")
                },
                "resource-limit",
                "1048576 bytes",
            )
        },
        hostile(
            "too much state",
            Guest {
                pages: 32,
                imports: &[STATE_GET, STATE_MERGE],
                ..Guest::running("(call $merge (i32.const 0) (i32.const 2000000)) unreachable")
            },
            "resource-limit",
            "65536 bytes",
        ),
        hostile(
            "state that is no object",
            Guest {
                imports: &[STATE_GET, STATE_MERGE],
                ..Guest::running("(call $merge (i32.const 0) (i32.const 1)) unreachable")
            },
            "trap",
            "not a JSON object",
        ),
        hostile(
            "JSON that is none",
            Guest::returning(Body::Text(1, b"{")),
            "invalid-output",
            "invalid JSON",
        ),
        hostile(
            "text that is not UTF-8",
            Guest::returning(Body::Text(0, b"\xff\xfe")),
            "invalid-output",
            "utf-8",
        ),
        hostile(
            "a variant that there is not",
            Guest::returning(Body::Text(9, b"")),
            "invalid-output",
            "discriminant",
        ),
        hostile(
            "result outside of memory",
            Guest::running("(i32.const -16)"),
            "invalid-output",
            "pointer",
        ),
        hostile(
            "image that is none",
            Guest::returning(Body::Content("", "image/png", b"GIF89a......")),
            "invalid-output",
            "image/gif",
        ),
        hostile(
            "exit",
            Guest {
                imports: &[EXIT],
                ..Guest::running("(call $exit (i32.const 1)) unreachable")
            },
            "trap",
            "exit code 1",
        ),
    ]
}

async fn check_hostile(sandbox: &Sandbox, cases: Vec<Hostile<'_>>) {
    let dir = tempfile::tempdir().unwrap();
    for case in cases {
        let tool = sandbox.load(&case.guest.bytes()).await.unwrap();
        let report = call_with(
            &tool,
            "echo",
            json!({}),
            workspace(dir.path()),
            &case.limits,
        )
        .await;
        let (code, message) = code(&report);
        assert_eq!(code, case.code, "{}: {message}", case.name);
        assert!(message.contains(case.says), "{}: {message}", case.name);
        assert!(message.len() <= 2_048, "{}", case.name);
        let peak = report.accounting.peak_memory_bytes;
        assert!(peak <= case.limits.memory_bytes, "{}: {peak}", case.name);
    }
}

#[tokio::test]
async fn hostile_guests_end_with_their_code() {
    let sandbox = sandbox();
    assert_eq!(sandbox.allocator(), Allocator::Pooling);
    check_hostile(&sandbox, compute_and_memory()).await;
    check_hostile(&sandbox, abi::allocators_and_pointers()).await;
    check_hostile(&sandbox, abi::moments()).await;
    check_hostile(&sandbox, floods::of_handles()).await;
    check_hostile(&sandbox, results_and_transfers()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_guests_end_alike_without_a_pool() {
    let sandbox = Sandbox::new(SandboxConfig {
        pooling: Pooling::Off,
        ..SandboxConfig::default()
    })
    .unwrap();
    assert_eq!(
        sandbox.allocator(),
        Allocator::OnDemand {
            why: "pooling is off".to_owned()
        }
    );
    check_hostile(&sandbox, compute_and_memory()).await;
    check_hostile(&sandbox, abi::allocators_and_pointers()).await;
    check_hostile(&sandbox, abi::moments()).await;
    check_hostile(&sandbox, floods::of_handles()).await;
    check_hostile(&sandbox, results_and_transfers()).await;
}

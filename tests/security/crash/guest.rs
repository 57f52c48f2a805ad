//! The tool with counted calls: `look` (read-only), `put` (idempotent), `act` and `ask`
//! (effectful). Each sends one request with its idempotency key to the authority in its argument
//! `to`, merges its call's id into the shared state, and returns its own name. `ask` asks the user
//! first.

use agent_host_test_guests::{ASK, Definition, Guest, STATE_MERGE, http::CLIENT};

/// The name of the header field, in the scratch space of the guest's memory.
const FIELD: &str = r#"(data (i32.const 640) "idempotency-key")"#;

/// The code of `call`. The arguments are `{"to":"AUTHORITY",...}`, the path is `/NAME`, the
/// question is `Which?`, and the state change is `{"ID":1}`.
const CALL: &str = "(local $at i32) (local $to i32)
    (if (i32.eq (i32.load16_u (local.get $name)) (i32.const 0x7361)) (then
        (i64.store (i32.const 512) (i64.const 0x3f6863696857))
        (call $ask (i32.const 512) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 32))))
    (i32.store8 (i32.const 600) (i32.const 47))
    (memory.copy (i32.const 601) (local.get $name) (local.get $name-len))
    (local.set $at (call $fields))
    (call $append (local.get $at) (i32.const 640) (i32.const 15) (local.get $key) (local.get $key-len) (i32.const 64))
    (if (i32.load8_u (i32.const 64)) (then unreachable))
    (local.set $to (call $request (local.get $at)))
    (drop (call $scheme (local.get $to) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $at (i32.add (local.get $input) (i32.const 7)))
    (loop $scan
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $scan (i32.ne (i32.load8_u (local.get $at)) (i32.const 34))))
    (drop (call $authority (local.get $to) (i32.const 1) (i32.add (local.get $input) (i32.const 7))
        (i32.sub (i32.sub (local.get $at) (local.get $input)) (i32.const 7))))
    (drop (call $path (local.get $to) (i32.const 1) (i32.const 600) (i32.add (local.get $name-len) (i32.const 1))))
    (call $handle (local.get $to) (i32.const 0) (i32.const 0) (i32.const 64))
    (if (i32.load8_u (i32.const 64)) (then unreachable))
    (local.set $at (i32.load (i32.const 72)))
    (call $block (call $subscribe (local.get $at)))
    (call $get (local.get $at) (i32.const 64))
    (if (i32.load8_u (i32.const 80)) (then unreachable))
    (i32.store16 (i32.const 700) (i32.const 0x227b))
    (memory.copy (i32.const 702) (local.get $id) (local.get $id-len))
    (i32.store (i32.add (i32.const 702) (local.get $id-len)) (i32.const 0x7d313a22))
    (call $merge (i32.const 700) (i32.add (local.get $id-len) (i32.const 6)))
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $name))
    (i32.store (i32.const 24) (local.get $name-len))
    (i32.const 16)";

pub(crate) fn component() -> Vec<u8> {
    let tool = |name: &str, effect| Definition {
        name: name.to_owned(),
        description: "Is counted.".to_owned(),
        effect,
        ..Definition::default()
    };
    Guest {
        imports: &[&CLIENT[..], &[ASK, STATE_MERGE]].concat(),
        core: FIELD,
        definitions: vec![
            tool("look", 0),
            tool("put", 1),
            tool("act", 2),
            tool("ask", 2),
        ],
        ..Guest::running(CALL)
    }
    .bytes()
}

//! The probe: a hostile tool that takes orders. A call carries a script of attempts; the probe makes each of them through
//! WASI itself, with the very strings and flags of the script, and tells what each came to. So a case of the hostile suite
//! that needs no odd machine code is a row with a script and not a guest of its own.
//!
//! It uses the raw interfaces and not `std`, since a C library tidies paths before the host sees them, and an attacker would
//! not use one.

// Nothing of it can be tried outside a host, so elsewhere the crate is empty.
#![cfg(target_family = "wasm")]

mod files;
mod http;
mod memory;
mod place;
mod run;
mod script;
mod services;
mod sockets;

use agent_tool::{Output, input, tool};
use serde_json::Value;

/// What a call does.
#[input]
struct Script {
    /// The attempts, made in this order: objects with an `op`. A `return` ends the script.
    script: Vec<Value>,
}

/// Makes the attempts of a script, and returns what each came to: `{"ok": VALUE}` or `{"error": KIND}`.
#[tool(effect = "effectful")]
fn probe(input: Script) -> Output {
    run::run(input.script)
}

/// The same, by a tool that says it changes nothing.
#[tool(effect = "read-only")]
fn probe_read(input: Script) -> Output {
    run::run(input.script)
}

agent_tool::export!(probe, probe_read);

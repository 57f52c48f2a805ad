//! The probe: a hostile tool that runs scripts. A call carries a script of attempts; the probe
//! makes each of them through WASI itself, with the exact strings and flags of the script, and
//! returns the outcome of each. A case of the hostile suite that needs no special machine code is
//! therefore a row with a script and not a guest of its own.
//!
//! It uses the raw interfaces and not `std`, since a C library tidies paths before the host sees
//! them, and an attacker would not use one.

// The probe cannot run outside a host, so elsewhere the crate is empty.
#![cfg(target_family = "wasm")]

mod files;
mod http;
mod location;
mod memory;
mod run;
mod script;
mod services;
mod sockets;

use agent_tool::{Output, input, tool};
use serde_json::Value;

/// The input of a call.
#[input]
struct Script {
    /// The attempts, made in this order: objects with an `op`. A `return` ends the script.
    script: Vec<Value>,
}

/// Makes the attempts of a script, and returns the outcome of each: `{"ok": VALUE}` or
/// `{"error": KIND}`.
#[tool(effect = "effectful")]
fn probe(input: Script) -> Output {
    run::run(input.script)
}

/// Runs a script as `probe` does, in a tool that declares itself read-only.
#[tool(effect = "read-only")]
fn probe_read(input: Script) -> Output {
    run::run(input.script)
}

agent_tool::export!(probe, probe_read);

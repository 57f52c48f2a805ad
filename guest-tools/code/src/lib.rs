//! The built-in component `code`: runs JavaScript that a model writes, over the granted directories
//! and hosts.
//!
//! The two tools differ in effect: the host lets a read-only call read files and send GET and HEAD
//! only, and asks before it runs an effectful one. The engine is quickjs-ng, a fresh one for each
//! call; the host's limits on time, memory and output end a script as they end any tool.

mod files;
mod report;
mod run;
mod tools;
mod web;

use agent_tool::{Output, input, tool};
use serde_json::Value;

/// The code and what it gets.
#[input]
struct Script {
    /// The code. The value of its last expression is the result; `return` and `await` work at the
    /// top level.
    #[schemars(length(max = 262_144))]
    code: String,
    /// Data for the code, which sees it as `input`.
    #[serde(default)]
    input: Value,
}

/// Runs JavaScript (ES2023) and returns its value as JSON, what it printed with `console.log`, and
/// the images and files that it put out. It can read files and send GET requests, and changes
/// nothing.
///
/// There is no Node.js and no package. What there is: `fs` with the functions of Node.js such as
/// `fs.readFileSync("a.csv", "utf8")` over the granted directories, `fetch` to the granted hosts,
/// `output.image(bytes)` and `output.file(bytes, name)`. Integers above 2^53 in JSON are BigInt.
#[tool(effect = "read-only", title = "Run JavaScript")]
fn run_javascript(input: Script) -> Output {
    let Script { code, input } = input;
    run::run(&code, &input)
}

/// Runs JavaScript as run_javascript does, with effects: it can write files with
/// `fs.writeFileSync` and send any request. Files below `/session` are kept for the session, where
/// the operator allows it.
#[tool(effect = "effectful", title = "Run JavaScript with effects")]
fn run_javascript_with_effects(input: Script) -> Output {
    let Script { code, input } = input;
    run::run(&code, &input)
}

agent_tool::export!(run_javascript, run_javascript_with_effects);

#[cfg(test)]
mod tests;

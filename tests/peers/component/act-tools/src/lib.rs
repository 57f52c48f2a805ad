//! The tools of the directory above as a component of ACT, made with its SDK.

#![cfg(target_family = "wasm")]
#![expect(
    unsafe_code,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    reason = "the SDK's macro makes this code"
)]

#[path = "../../src/console.rs"]
mod console;
#[path = "../../src/files.rs"]
mod files;
#[path = "../../src/network.rs"]
mod network;
#[path = "../../src/tools.rs"]
mod tools;

use act_sdk::prelude::*;

#[act_component]
mod component {
    use super::*;

    // The suite writes another text of at most this length in the place of this description.
    #[act_tool(
        description = "Returns `peers-version-1`, a colon and the text, as it was given to this tool.",
        read_only
    )]
    fn echo(text: String) -> ActResult<String> {
        Ok(tools::echo(&text))
    }

    #[act_tool(description = "Computes without end", timeout_ms = 2000)]
    fn spin() -> ActResult<String> {
        Ok(tools::spin())
    }

    #[act_tool(description = "Takes this much memory, and writes to every page")]
    fn allocate(mib: u32) -> ActResult<String> {
        Ok(tools::allocate(mib))
    }

    #[act_tool(description = "Returns a text of this size")]
    fn flood(mib: u32) -> ActResult<String> {
        Ok(tools::flood(mib))
    }

    #[act_tool(description = "Writes lines of this size in all to standard output")]
    fn print(mib: u32) -> ActResult<String> {
        failing(console::print(mib))
    }

    #[act_tool(description = "Calls itself until it is stopped")]
    fn recurse() -> ActResult<String> {
        Ok(tools::recurse())
    }

    #[act_tool(description = "Ends its own process")]
    fn crash() -> ActResult<String> {
        Ok(tools::crash())
    }

    #[act_tool(description = "Reads a file below each granted directory")]
    fn read_file(path: String) -> ActResult<String> {
        failing(files::read(below_root(&path)))
    }

    #[act_tool(description = "Writes a file below each granted directory")]
    fn write_file(path: String, text: String) -> ActResult<String> {
        failing(files::write(below_root(&path), &text))
    }

    #[act_tool(description = "Connects to `IP:PORT` over TCP")]
    fn connect(address: String) -> ActResult<String> {
        failing(network::connect(&address))
    }

    #[act_tool(description = "Sends a GET request with this `authorization` field")]
    fn http_get(url: String, authorization: String) -> ActResult<String> {
        failing(network::get(&url, &authorization))
    }

    #[act_tool(description = "Returns the value of an environment variable")]
    fn read_variable(name: String) -> ActResult<String> {
        failing(console::read_variable(&name))
    }

    /// ACT opens the root of the machine for its tools, and WASI takes no absolute paths.
    fn below_root(path: &str) -> &str {
        path.strip_prefix('/').unwrap_or(path)
    }

    fn failing(answer: Result<String, String>) -> ActResult<String> {
        answer.map_err(|reason| ActError::new("std:internal", reason))
    }
}

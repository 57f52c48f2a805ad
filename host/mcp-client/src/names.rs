//! The names under which a model calls the tools of servers.

use agent_host_types::{
    id::Digest,
    tool::{MAX_TOOL_NAME, is_tool_name},
};

/// The longest name of a server, so that half of a tool's name is left for the tool.
pub const MAX_SERVER_NAME: usize = 32;

/// The hexadecimal digits of a digest that tell names apart which would else be alike.
const DIGITS: usize = 8;

/// The name of a server's tool for models: the server's name, `_` and the tool's own. One that no provider would take has `_`
/// for every wrong character, is cut, and ends with `_` and the beginning of the digest of the tool's own name.
#[must_use]
pub fn offered_name(server: &str, tool: &str) -> String {
    let plain = format!("{server}_{tool}");
    if is_tool_name(&plain) {
        return plain;
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let room = MAX_TOOL_NAME - DIGITS - 1;
    let letters = plain.chars().map(|c| if fits(c) { c } else { '_' });
    let digest = Digest::of(tool.as_bytes()).hex();
    let digits = digest.chars().take(DIGITS);
    letters.take(room).chain(['_']).chain(digits).collect()
}

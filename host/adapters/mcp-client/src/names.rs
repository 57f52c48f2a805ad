//! Names of MCP tools for models.

use agent_host_types::{
    id::Digest,
    tool::{MAX_TOOL_NAME, is_tool_name},
};

/// The maximum length of a server's name in bytes, which leaves half of a tool's name to the tool.
pub const MAX_SERVER_NAME: usize = 32;

/// The number of hexadecimal digest digits that keep sanitized names distinct.
const DIGITS: usize = 8;

/// Returns a tool's name for models: the server's name, `_` and the tool's own. A name that no
/// provider accepts has `_` for each invalid character, is truncated, and ends with `_` and the
/// first digits of the digest of the tool's own name.
#[must_use]
pub fn offered_name(server: &str, tool: &str) -> String {
    let plain = format!("{server}_{tool}");
    if is_tool_name(&plain) {
        return plain;
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let kept = MAX_TOOL_NAME - DIGITS - 1;
    let letters = plain.chars().map(|c| if fits(c) { c } else { '_' });
    let digest = Digest::of(tool.as_bytes()).hex();
    let digits = digest.chars().take(DIGITS);
    letters.take(kept).chain(['_']).chain(digits).collect()
}

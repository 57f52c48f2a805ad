//! The result of a call, piece by piece, as the pieces are ready: users see the text while the call
//! runs. When the tool returns text or content, the pieces come first in the result, and text
//! continues the text before it; an empty text adds nothing. Any other variant is the whole result.
//!
//! ```
//! use agent_tool::{partial, tool};
//!
//! /// Counts to three.
//! #[tool(effect = "read-only")]
//! fn count() -> &'static str {
//!     for number in 1..=3 {
//!         if !partial::text(&format!("{number}\n")) {
//!             break;
//!         }
//!     }
//!     ""
//! }
//! # fn main() {}
//! ```
//!
//! Each function returns false once the result is full: what is left out is not part of it, and a
//! note at its end says so.

#[cfg(target_family = "wasm")]
use crate::bindings::partial as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::partial as host;

/// Adds text.
pub fn text(text: &str) -> bool {
    host::text(text)
}

/// Begins a file; [`bytes`] adds its content. The media type must agree with it: the host sniffs it.
pub fn file(media_type: &str, filename: Option<&str>) -> bool {
    host::file(media_type, filename)
}

/// Adds bytes to the file that the call has just begun or continued. Anywhere else they are a file
/// of unknown type.
pub fn bytes(bytes: &[u8]) -> bool {
    host::bytes(bytes)
}

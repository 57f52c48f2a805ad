//! Every variant of a result.

use agent_tool::{Output, Part, input, tool};
use serde_json::Value;

/// An image of one pixel.
const DOT: &[u8] = include_bytes!("../dot.png");

#[input]
pub(crate) struct Text {
    /// The text.
    text: String,
}

#[input]
pub(crate) struct Any {
    /// Any JSON.
    value: Value,
}

#[input]
pub(crate) struct Message {
    /// The error.
    message: String,
}

#[input]
pub(crate) struct Size {
    /// The size of the file in bytes.
    #[schemars(range(max = 1_048_576))]
    size: u32,
}

#[input]
pub(crate) struct Reason {
    /// The reason for the refusal.
    reason: Option<String>,
}

#[input]
pub(crate) struct Repeated {
    /// The text to repeat.
    text: String,
    /// The number of repetitions.
    #[schemars(range(max = 1_000_000))]
    times: u32,
}

/// Returns the text, as text.
#[tool(effect = "read-only")]
pub(crate) fn give_text(input: Text) -> String {
    input.text
}

/// Returns the value, as JSON.
#[tool(effect = "read-only")]
pub(crate) fn give_json(input: Any) -> Value {
    input.value
}

/// Returns content with every kind of part.
#[tool(effect = "read-only")]
pub(crate) fn give_content() -> Vec<Part> {
    vec![
        Part::text("before"),
        Part::bytes("image/png", DOT.to_vec()).named("dot.png"),
        Part::text("between ☃"),
        Part::text_file("text/plain", "inline"),
        Part::url("text/html", "https://example.com/page"),
    ]
}

/// Returns an image of one pixel.
#[tool(effect = "read-only")]
pub(crate) fn give_image() -> Output {
    Output::image("image/png", DOT.to_vec())
}

/// Returns a file of `size` bytes that count from 0 to 255 repeatedly.
#[tool(effect = "read-only")]
pub(crate) fn give_file(input: Size) -> Output {
    let bytes = (0..=u8::MAX).cycle().take(input.size as usize).collect();
    Output::file("application/octet-stream", bytes, "data.bin")
}

/// Fails with the message, as text.
#[tool(effect = "read-only")]
pub(crate) fn give_error(input: Message) -> Result<String, String> {
    Err(input.message)
}

/// Fails with the value, as JSON.
#[tool(effect = "read-only")]
pub(crate) fn give_error_json(input: Any) -> Output {
    Output::error_json(&input.value)
}

/// Refuses the call, with a reason or without one.
#[tool(effect = "read-only")]
pub(crate) fn deny(input: Reason) -> Output {
    Output::Denied(input.reason)
}

/// Repeats a text.
#[tool(effect = "read-only")]
pub(crate) fn repeat(input: Repeated) -> String {
    input.text.repeat(input.times as usize)
}

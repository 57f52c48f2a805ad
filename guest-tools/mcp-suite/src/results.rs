//! One tool for each kind of content.

use agent_tool::{Part, tool};

/// An image of one pixel.
const DOT: &[u8] = include_bytes!("../dot.png");

/// A sound of no length: the header of a WAV file of one channel, 8000 samples a second and 8 bits
/// a sample.
const SILENCE: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0";

/// Returns a text.
#[tool(effect = "read-only", title = "Simple text")]
pub(crate) fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image of one pixel.
#[tool(effect = "read-only")]
pub(crate) fn test_image_content() -> Vec<Part> {
    vec![Part::bytes("image/png", DOT.to_vec())]
}

/// Returns a sound of no length.
#[tool(effect = "read-only")]
pub(crate) fn test_audio_content() -> Vec<Part> {
    vec![Part::bytes("audio/wav", SILENCE.to_vec())]
}

/// Returns a text file.
#[tool(effect = "read-only")]
pub(crate) fn test_embedded_resource() -> Vec<Part> {
    vec![Part::text_file(
        "text/plain",
        "This is an embedded resource content.",
    )]
}

/// Returns a text, an image and a file, in this order.
#[tool(effect = "read-only")]
pub(crate) fn test_multiple_content_types() -> Vec<Part> {
    vec![
        Part::text("Multiple content types test:"),
        Part::bytes("image/png", DOT.to_vec()),
        Part::text_file("application/json", r#"{"test":"data","value":123}"#).named("mixed.json"),
    ]
}

/// Fails.
#[tool(effect = "read-only")]
pub(crate) fn test_error_handling() -> Result<String, &'static str> {
    Err("This tool intentionally returns an error for testing")
}

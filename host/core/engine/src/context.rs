//! Keeps a conversation within the model's window: estimates sizes, turns old results into
//! references and old messages into a summary.
//!
//! Pure functions over messages. The turn records their results as events and a session replays
//! those, so that every reader of the events has the same conversation, byte for byte. The events
//! and blobs keep everything.

pub(crate) mod estimate;
pub(crate) mod reference;
pub(crate) mod summary;
#[cfg(test)]
mod tests;

pub(crate) use summary::text_of as summary_text;

/// The text, or its beginning and a note of how much is missing.
fn shortened(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes);
    let head = text.get(..end).unwrap_or_default();
    format!("{head} [{} more bytes]", text.len() - end)
}

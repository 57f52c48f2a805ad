//! What a model is shown of a conversation that comes near the end of its window: how large a request is, which old results
//! become references, and what one summary stands for.
//!
//! Pure functions over messages. The turn asks them and records what they say as events; a session follows those, so that
//! whoever reads the events again has the same conversation, byte for byte. Nothing is lost: the events and blobs keep it all.

pub(crate) mod estimate;
pub(crate) mod reference;
pub(crate) mod summary;
#[cfg(test)]
mod tests;

/// The text, or its beginning and a note of how much is missing.
fn shortened(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes);
    let head = text.get(..end).unwrap_or_default();
    format!("{head} [{} more bytes]", text.len() - end)
}

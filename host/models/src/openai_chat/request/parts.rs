//! Where a part of a message or of a result goes: into text, or as a file into a user message. What fits neither becomes a
//! note that says what is missing. Base64 never enters a text.

use super::Capabilities;
use agent_host_core::output::{ContentPart, FileData, FilePart, INLINE_TEXT_BYTES};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The images that OpenAI's vision models decode; compatible servers take at least PNG and JPEG.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Where a part goes.
pub(super) enum Placed {
    /// Into text.
    Text(String),
    /// Into a user message, as this `image_url` part.
    Image(Value),
    /// Into a user message, as this `file` part.
    Document(Value),
}

/// Finds the place of a part.
pub(super) fn place(part: &ContentPart, capabilities: Capabilities) -> Placed {
    let file = match part {
        ContentPart::Text { text } => return Placed::Text(text.clone()),
        ContentPart::File(file) => file,
    };
    if capabilities.vision
        && IMAGES.contains(&file.media_type.as_str())
        && let Some(url) = image_url(file)
    {
        return Placed::Image(json!({"type": "image_url", "image_url": {"url": url}}));
    }
    if capabilities.documents
        && file.media_type == "application/pdf"
        && let FileData::Bytes(bytes) = &file.data
    {
        let name = file.filename.as_deref().unwrap_or("document.pdf");
        let data = data_url(&file.media_type, bytes);
        return Placed::Document(
            json!({"type": "file", "file": {"filename": name, "file_data": data}}),
        );
    }
    Placed::Text(match inline_text(file) {
        Some(text) => format!("[{}]\n{text}", describe(part)),
        None => format!(
            "[{}; its content cannot be shown to this model]",
            describe(part)
        ),
    })
}

/// What a part is, for a marker: media type, size, name.
pub(super) fn describe(part: &ContentPart) -> String {
    let file = match part {
        ContentPart::Text { .. } => return "text".to_owned(),
        ContentPart::File(file) => file,
    };
    let mut words = file.media_type.clone();
    match &file.data {
        FileData::Bytes(bytes) => words += &format!(", {} bytes", bytes.len()),
        FileData::Text(text) => words += &format!(", {} bytes", text.len()),
        FileData::Blob(blob) => words += &format!(", {} bytes", blob.size),
        FileData::Url(url) => words += &format!(", at {url}"),
    }
    if let Some(name) = &file.filename {
        words += &format!(", `{name}`");
    }
    words
}

fn image_url(file: &FilePart) -> Option<String> {
    match &file.data {
        FileData::Bytes(bytes) => Some(data_url(&file.media_type, bytes)),
        FileData::Url(url) => {
            let fetchable = ["https://", "http://", "data:image/"];
            fetchable
                .iter()
                .any(|scheme| url.starts_with(scheme))
                .then(|| url.clone())
        }
        FileData::Text(_) | FileData::Blob(_) => None,
    }
}

/// The content of a file that is text, where it is short enough to be read along.
fn inline_text(file: &FilePart) -> Option<&str> {
    let text = match &file.data {
        FileData::Text(text) => text.as_str(),
        FileData::Bytes(bytes) if is_text(&file.media_type) => std::str::from_utf8(bytes).ok()?,
        FileData::Bytes(_) | FileData::Url(_) | FileData::Blob(_) => return None,
    };
    (text.len() <= INLINE_TEXT_BYTES).then_some(text)
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml")
        || matches!(media_type, "application/json" | "application/xml")
}

fn data_url(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

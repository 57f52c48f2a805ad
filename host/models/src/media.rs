//! Where a part of a message or of a result goes: into text, or on as an image or a document in the wire's form. What a model
//! cannot take becomes a note that says what is missing. Base64 never enters a text.

use crate::wire::Capabilities;
use agent_host_engine::spill::INLINE_TEXT_BYTES;
use agent_host_types::output::{ContentPart, FileData, FilePart};
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The images that every provider's vision models decode.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The one kind of documents that providers take.
pub(crate) const PDF: &str = "application/pdf";

/// Where a part goes.
pub(crate) enum Placed<'a> {
    /// Into text.
    Text(String),
    /// On as an image.
    Image(Source<'a>),
    /// On as a PDF document.
    Document(Source<'a>),
}

/// A file that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    /// Its media type.
    pub(crate) media_type: &'a str,
    /// Its name, if it has one.
    pub(crate) filename: Option<&'a str>,
    /// What is in it.
    pub(crate) content: Content<'a>,
}

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// An address that the provider fetches.
    Url(&'a str),
}

impl Source<'_> {
    /// An address: that of the file, or one that holds its bytes (a data URL, RFC 2397).
    pub(crate) fn url(&self) -> String {
        match self.content {
            Content::Bytes(bytes) => {
                format!("data:{};base64,{}", self.media_type, STANDARD.encode(bytes))
            }
            Content::Url(url) => url.to_owned(),
        }
    }
}

/// Finds the place of a part.
pub(crate) fn place(part: &ContentPart, capabilities: Capabilities) -> Placed<'_> {
    let file = match part {
        ContentPart::Text { text } => return Placed::Text(text.clone()),
        ContentPart::File(file) => file,
    };
    if capabilities.vision
        && IMAGES.contains(&file.media_type.as_str())
        && let Some(source) = source(file)
    {
        return Placed::Image(source);
    }
    if capabilities.documents
        && file.media_type == PDF
        && let Some(source) = source(file)
    {
        return Placed::Document(source);
    }
    Placed::Text(match inline_text(file) {
        Some(text) => format!("[{}]\n{text}", describe(part)),
        None => unseen(part),
    })
}

/// The note in the place of a part that a model or a wire cannot take.
pub(crate) fn unseen(part: &ContentPart) -> String {
    let what = describe(part);
    format!("[{what}; its content cannot be shown to this model]")
}

/// The text of a message in which the wire has no files: a file leaves what it is.
pub(crate) fn texts(content: &[ContentPart]) -> String {
    let lines: Vec<String> = content
        .iter()
        .map(|part| match part {
            ContentPart::Text { text } => text.clone(),
            ContentPart::File(_) => format!("[{}]", describe(part)),
        })
        .collect();
    lines.join("\n")
}

/// What a part is, for a marker: media type, size, name.
pub(crate) fn describe(part: &ContentPart) -> String {
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

/// What goes on of a file. A blob's bytes are not here, and what is no web address is not a provider's to fetch.
fn source(file: &FilePart) -> Option<Source<'_>> {
    let content = match &file.data {
        FileData::Bytes(bytes) => Content::Bytes(bytes),
        FileData::Url(url) if url.starts_with("https://") || url.starts_with("http://") => {
            Content::Url(url)
        }
        FileData::Url(_) | FileData::Text(_) | FileData::Blob(_) => return None,
    };
    Some(Source {
        media_type: &file.media_type,
        filename: file.filename.as_deref(),
        content,
    })
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

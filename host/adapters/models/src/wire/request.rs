//! The parts of encoding that all wires share. A content part becomes text, an image or a document;
//! what a model cannot take becomes a note that says what is missing, and base64 never enters a
//! text.

#[cfg(test)]
mod tests;

use super::Capabilities;
use crate::send::shortened;
use agent_host_engine::spill::INLINE_TEXT_BYTES;
use agent_host_types::{
    output::{ContentPart, FileData, FilePart},
    tool::{ToolCall, ToolDefinition},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, json};

/// The images that every provider's vision models decode.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The only documents that providers accept.
const PDF: &str = "application/pdf";

/// The recordings that every provider with such models takes, with the formats' names at OpenAI.
const RECORDINGS: [(&str, &str); 2] = [("audio/wav", "wav"), ("audio/mpeg", "mp3")];

/// A content part as a request carries it.
pub(super) enum RequestPart<'a> {
    /// Text, or the note in place of a file.
    Text(String),
    /// An image.
    Image(FileRef<'a>),
    /// A PDF document or a recording of sound.
    Document(FileRef<'a>),
}

/// A file in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileRef<'a> {
    pub(super) media_type: &'a str,
    /// Its name, if it has one.
    pub(super) filename: Option<&'a str>,
    pub(super) content: FileContent<'a>,
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileContent<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// A URL that the provider fetches.
    Url(&'a str),
}

impl FileRef<'_> {
    /// Returns the format of a recording of sound.
    pub(super) fn audio_format(&self) -> Option<&'static str> {
        let known = RECORDINGS
            .iter()
            .find(|(known, _)| *known == self.media_type);
        known.map(|(_, format)| *format)
    }

    /// Returns the file's URL, or a data URL with its bytes (RFC 2397).
    pub(super) fn url(&self) -> String {
        match self.content {
            FileContent::Bytes(bytes) => {
                format!("data:{};base64,{}", self.media_type, STANDARD.encode(bytes))
            }
            FileContent::Url(url) => url.to_owned(),
        }
    }

    fn from_file(file: &FilePart) -> Option<FileRef<'_>> {
        let content = match &file.data {
            FileData::Bytes(bytes) => FileContent::Bytes(bytes),
            FileData::Url(url) if url.starts_with("https://") || url.starts_with("http://") => {
                FileContent::Url(url)
            }
            // A blob's bytes are not here, and only web addresses are for the provider to fetch.
            FileData::Url(_) | FileData::Text(_) | FileData::Blob(_) => return None,
        };
        Some(FileRef {
            media_type: &file.media_type,
            filename: file.filename.as_deref(),
            content,
        })
    }
}

/// True if the provider would fetch the file without TLS.
pub(super) fn is_insecure_url(file: &FileRef<'_>) -> bool {
    matches!(file.content, FileContent::Url(url) if !url.starts_with("https://"))
}

impl<'a> RequestPart<'a> {
    /// Converts a part for a model with these capabilities.
    pub(super) fn from_content(part: &'a ContentPart, capabilities: Capabilities) -> Self {
        let file = match part {
            ContentPart::Text { text } => return Self::Text(text.clone()),
            ContentPart::File(file) => file,
        };
        let is_image = capabilities.vision && IMAGES.contains(&file.media_type.as_str());
        let is_document = capabilities.documents && file.media_type == PDF;
        match FileRef::from_file(file) {
            Some(file) if is_image => return Self::Image(file),
            Some(file) if is_document => return Self::Document(file),
            Some(file) if capabilities.audio && file.audio_format().is_some() => {
                return Self::Document(file);
            }
            Some(_) | None => {}
        }
        Self::Text(match inline_text(file) {
            Some(text) => format!("[{}]\n{text}", describe(part)),
            None => omitted(part),
        })
    }

    /// Converts a part for a wire that does not take the files for which `refuses` is true.
    pub(super) fn unless(
        part: &'a ContentPart,
        capabilities: Capabilities,
        refuses: impl Fn(&FileRef<'_>) -> bool,
    ) -> Self {
        match Self::from_content(part, capabilities) {
            Self::Image(file) | Self::Document(file) if refuses(&file) => Self::Text(omitted(part)),
            part => part,
        }
    }
}

/// Returns the note in place of a part that a model or a wire cannot take.
pub(crate) fn omitted(part: &ContentPart) -> String {
    let what = describe(part);
    format!("[{what}; its content cannot be shown to this model]")
}

/// Joins the text of a message in which the wire takes no files; each file leaves its description.
pub(super) fn texts(content: &[ContentPart]) -> String {
    let lines: Vec<String> = content
        .iter()
        .map(|part| match part {
            ContentPart::Text { text } => text.clone(),
            ContentPart::File(_) => format!("[{}]", describe(part)),
        })
        .collect();
    lines.join("\n")
}

/// Describes a part by media type, size or URL, and name.
pub(crate) fn describe(part: &ContentPart) -> String {
    let file = match part {
        ContentPart::Text { .. } => return "text".to_owned(),
        ContentPart::File(file) => file,
    };
    let mut description = file.media_type.clone();
    match &file.data {
        FileData::Bytes(bytes) => description += &format!(", {} bytes", bytes.len()),
        FileData::Text(text) => description += &format!(", {} bytes", text.len()),
        FileData::Blob(blob) => description += &format!(", {} bytes", blob.size),
        FileData::Url(url) => description += &format!(", at {url}"),
    }
    if let Some(name) = &file.filename {
        description += &format!(", `{name}`");
    }
    description
}

/// Encodes the content of a user message: a string if it is all text, which every server accepts,
/// else a list of parts.
pub(super) fn string_or_parts(
    parts: Vec<RequestPart<'_>>,
    encode: impl Fn(&RequestPart<'_>) -> Value,
) -> Value {
    let mut texts = Vec::new();
    let mut wire = Vec::new();
    for part in parts {
        wire.push(encode(&part));
        if let RequestPart::Text(text) = part {
            texts.push(text);
        }
    }
    if texts.len() == wire.len() {
        Value::String(texts.join("\n"))
    } else {
        Value::Array(wire)
    }
}

/// Encodes the arguments of a call as an object. What a model wrote instead of one goes in it as a
/// string, so that the model can see its mistake.
pub(super) fn arguments(call: &ToolCall) -> Value {
    match &call.input {
        Some(input) => json!(input),
        None => json!({"invalid_arguments": call.raw_arguments}),
    }
}

/// Encodes the arguments of a call as JSON text. Several servers fail on text that is not a JSON
/// object.
pub(super) fn arguments_text(call: &ToolCall) -> String {
    match &call.input {
        Some(_) if !call.raw_arguments.trim().is_empty() => call.raw_arguments.clone(),
        Some(_) => "{}".to_owned(),
        None => arguments(call).to_string(),
    }
}

/// The longest id or name that Anthropic's, Google's and OpenAI's services take.
const MAX_TOKEN_BYTES: usize = 64;

/// Encodes an id or a name in the alphabet that all services take, `[a-zA-Z0-9_-]`. Others allow
/// more, and models call tools that do not exist, such as `multi_tool_use.parallel`; each other
/// byte becomes `_` and its hex value, so that distinct ones stay distinct. The end of a long one
/// is its digest.
pub(super) fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => token.push(char::from(byte)),
            _ => token.push_str(&format!("_{byte:02x}")),
        }
    }
    if token.len() > MAX_TOKEN_BYTES {
        let digest = shortened(text);
        token.truncate(MAX_TOKEN_BYTES - digest.len() - 1);
        token = [token, digest].join("_");
    }
    token
}

/// Encodes a tool as OpenAI's Chat Completions and Ollama do.
pub(super) fn function(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        },
    })
}

/// Encodes the items of a list; none if it is empty.
pub(super) fn list<T>(items: &[T], encode: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(encode).collect())
}

/// Sets a member of a JSON object, if there is a value for it.
pub(super) fn set(object: &mut Value, key: &str, value: Option<impl Serialize>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(key.to_owned(), json!(value));
    }
}

/// Returns the content of a file that is text and short enough to be inlined.
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

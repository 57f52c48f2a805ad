//! What a call came to, in the protocol's form. Nothing is lost: what the protocol has no place for stands in `_meta`, so that a
//! client which knows these keys gets back the very value, and looks inside no text for it.

#[cfg(test)]
mod tests;

use agent_host_types::output::{
    BlobRef, ContentPart, DENIED_TEXT, FileData, FilePart, ToolResultOutput,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, MetaObject,
    ProtocolVersion, Resource, ResourceContents,
};
use serde_json::{Map, Value};

/// The key in the `_meta` of a result whose value is the union's tag, such as `error-json`.
pub const OUTPUT_KEY: &str = "agent-host/output";

/// The key in the `_meta` of a content block whose value is the file's name. The protocol has no place for it.
pub const FILENAME_KEY: &str = "agent-host/filename";

/// What a file name may have as it is in the path of a URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Which JSON values may be `structuredContent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// Objects only: versions before 2026-07-28. Other values are in the text alone.
    Objects,
    /// Any value.
    Any,
}

impl Structured {
    /// What a version of the protocol allows. One that is not known has the handshake of the older ones.
    #[must_use]
    pub fn of(version: Option<&ProtocolVersion>) -> Self {
        match version {
            Some(version) if !version.has_initialize() => Self::Any,
            Some(_) | None => Self::Objects,
        }
    }

    fn allows(self, value: &Value) -> bool {
        match self {
            Self::Objects => value.is_object(),
            Self::Any => true,
        }
    }
}

/// A call's output as the result of `tools/call`.
///
/// | output | result |
/// |---|---|
/// | `text` | one text block |
/// | `json` | `structuredContent`, and its JSON as a text block |
/// | `content` | a block for each part |
/// | `error-text`, `error-json` | the same with `isError` |
/// | `execution-denied` | `isError`, a text block that says so, and one with the reason where there is one |
#[must_use]
pub fn call_result(output: ToolResultOutput, structured: Structured) -> CallToolResult {
    let tag = output.tag();
    let mut result = match output {
        ToolResultOutput::Text(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        ToolResultOutput::Json(value) => json(value, structured, CallToolResult::success),
        ToolResultOutput::Content(parts) => {
            CallToolResult::success(parts.into_iter().enumerate().map(block).collect())
        }
        ToolResultOutput::ErrorText(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        ToolResultOutput::ErrorJson(value) => json(value, structured, CallToolResult::error),
        ToolResultOutput::ExecutionDenied(reason) => {
            let texts = std::iter::once(DENIED_TEXT.to_owned()).chain(reason);
            CallToolResult::error(texts.map(ContentBlock::text).collect())
        }
    };
    result.meta = Some(meta(OUTPUT_KEY, tag));
    result
}

fn json(
    value: Value,
    structured: Structured,
    result: fn(Vec<ContentBlock>) -> CallToolResult,
) -> CallToolResult {
    let mut result = result(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = structured.allows(&value).then_some(value);
    result
}

fn block((index, part): (usize, ContentPart)) -> ContentBlock {
    match part {
        ContentPart::Text { text } => ContentBlock::text(text),
        ContentPart::File(file) => file_block(index, file),
    }
}

/// A file: an image or a sound as such, other content as an embedded resource, and what lies elsewhere as a link.
fn file_block(index: usize, file: FilePart) -> ContentBlock {
    let FilePart {
        media_type,
        data,
        filename,
    } = file;
    let meta = filename.as_deref().map(|name| meta(FILENAME_KEY, name));
    match data {
        FileData::Bytes(bytes) if media_type.starts_with("image/") => {
            let mut image = ImageContent::new(STANDARD.encode(bytes), media_type);
            image.meta = meta;
            ContentBlock::Image(image)
        }
        FileData::Bytes(bytes) if media_type.starts_with("audio/") => {
            let mut audio = AudioContent::new(STANDARD.encode(bytes), media_type);
            audio.meta = meta;
            ContentBlock::Audio(audio)
        }
        FileData::Bytes(bytes) => {
            let uri = part_uri(index, filename.as_deref());
            let blob = ResourceContents::blob(STANDARD.encode(bytes), uri);
            embedded(blob.with_mime_type(media_type), meta)
        }
        FileData::Text(text) => {
            let uri = part_uri(index, filename.as_deref());
            let text = ResourceContents::text(text, uri);
            embedded(text.with_mime_type(media_type), meta)
        }
        FileData::Url(url) => link(url, media_type, filename, None, meta),
        // Only the journal's copy of a result has these, and what is served is the result itself.
        FileData::Blob(BlobRef { digest, size }) => {
            let uri = format!("agent-host:///blobs/{digest}");
            link(uri, media_type, filename, Some(size), meta)
        }
    }
}

fn embedded(resource: ResourceContents, meta: Option<MetaObject>) -> ContentBlock {
    let mut embedded = EmbeddedResource::new(resource);
    embedded.meta = meta;
    ContentBlock::Resource(embedded)
}

fn link(
    uri: String,
    media_type: String,
    filename: Option<String>,
    size: Option<u64>,
    meta: Option<MetaObject>,
) -> ContentBlock {
    // A link must have a name.
    let name = filename.unwrap_or_else(|| uri.clone());
    let mut link = Resource::new(uri, name).with_mime_type(media_type);
    link.size = size;
    link.meta = meta;
    ContentBlock::ResourceLink(link)
}

/// The URI that an embedded resource must have. It names the part in its result and can be read from nowhere.
fn part_uri(index: usize, filename: Option<&str>) -> String {
    let name = filename
        .map(|name| format!("/{}", utf8_percent_encode(name, PATH)))
        .unwrap_or_default();
    format!("agent-host:///parts/{index}{name}")
}

fn meta(key: &str, value: &str) -> MetaObject {
    MetaObject(Map::from_iter([(key.to_owned(), value.into())]))
}

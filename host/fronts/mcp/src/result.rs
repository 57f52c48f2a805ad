//! A call's output as a result of the protocol, without loss: `_meta` holds what the protocol has
//! no field for, so a client that knows the keys restores the exact value without parsing text.

#[cfg(test)]
mod tests;

use agent_host_types::{
    json::JsonText,
    output::{BlobRef, ContentPart, DENIED_TEXT, FileData, FilePart, ToolResultOutput},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, MetaObject,
    ProtocolVersion, Resource, ResourceContents,
};
use serde_json::{Map, Value, json};

/// The `_meta` key of a result for the union's tag, such as `error-json`.
pub const OUTPUT_KEY: &str = "agent-host/output";

/// The `_meta` key of a content block for the file name, which the protocol has no field for.
pub(crate) const FILENAME_KEY: &str = "agent-host/filename";

/// Characters of a file name that are escaped in a URI path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Which JSON values may be `structuredContent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structured {
    /// Objects only: versions before 2026-07-28. Other values are in the text alone.
    Objects,
    /// Any value.
    Any,
}

/// The content of `structuredContent` in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StructuredAs {
    /// The value, as a tree.
    Value,
    /// `null`, in whose place the transport writes [`structured_text`]: a tree takes up to 100
    /// times the memory of its text.
    Placeholder,
}

impl Structured {
    /// Returns what a version of the protocol allows. An unknown one counts as one with a
    /// handshake.
    pub(crate) fn for_version(version: Option<&ProtocolVersion>) -> Self {
        match version {
            Some(version) if !version.has_initialize() => Self::Any,
            Some(_) | None => Self::Objects,
        }
    }

    fn allows(self, json: &JsonText) -> bool {
        match self {
            Self::Objects => json.is_object(),
            Self::Any => true,
        }
    }
}

/// Returns a call's output as the result of `tools/call`.
///
/// | output | result |
/// |---|---|
/// | `text` | one text block |
/// | `json` | `structuredContent`, and its JSON as a text block |
/// | `content` | a block for each part |
/// | `error-text`, `error-json` | one text block, of an error's JSON, too, with `isError` |
/// | `execution-denied` | `isError`, and a text block: `DENIED_TEXT`, a space and the reason, where there is one |
///
/// An error has no `structuredContent`: it would not fit the output schema of its tool, and the
/// client of the TypeScript SDK 1.32.2 checks that of errors, too, and hides the whole result.
pub(crate) fn call_result(
    output: ToolResultOutput,
    structured: Structured,
    form: StructuredAs,
) -> CallToolResult {
    let tag = output.tag();
    let mut result = match output {
        ToolResultOutput::Text(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        ToolResultOutput::Json(text) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text.as_str())]);
            result.structured_content = structured.allows(&text).then(|| match form {
                StructuredAs::Value => text.to_value(),
                StructuredAs::Placeholder => Value::Null,
            });
            result
        }
        ToolResultOutput::Content(parts) => {
            CallToolResult::success(parts.into_iter().enumerate().map(block).collect())
        }
        ToolResultOutput::ErrorText(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        ToolResultOutput::ErrorJson(text) => {
            CallToolResult::error(vec![ContentBlock::text(text.as_str())])
        }
        ToolResultOutput::ExecutionDenied(reason) => {
            // One block, since many clients show or pass on only the first.
            let text = reason.map_or_else(
                || DENIED_TEXT.to_owned(),
                |reason| format!("{DENIED_TEXT} {reason}"),
            );
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    };
    result.meta = Some(meta(OUTPUT_KEY, tag));
    result
}

/// Returns the JSON text for the placeholder of a result. A value that is `null` is its own
/// placeholder.
pub(crate) fn structured_text(result: &CallToolResult) -> Option<&str> {
    if result.structured_content != Some(Value::Null) {
        return None;
    }
    Some(&result.content.first()?.as_text()?.text)
}

/// Returns parts as content blocks of the protocol in JSON, for protocols that have the same.
#[must_use]
pub fn content_blocks(parts: Vec<ContentPart>) -> Vec<Value> {
    let blocks = parts.into_iter().enumerate().map(block);
    blocks.map(|block| json!(block)).collect()
}

fn block((index, part): (usize, ContentPart)) -> ContentBlock {
    match part {
        ContentPart::Text { text } => ContentBlock::text(text),
        ContentPart::File(file) => file_block(index, file),
    }
}

/// Returns the block of a file: an image, audio, an embedded resource, or a link for a URL.
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
        // Only the journal's copy of a result has blobs; results of calls have bytes.
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
    // The protocol requires a name.
    let name = filename.unwrap_or_else(|| uri.clone());
    let mut link = Resource::new(uri, name).with_mime_type(media_type);
    link.size = size;
    link.meta = meta;
    ContentBlock::ResourceLink(link)
}

/// Returns the URI of an embedded resource, which the protocol requires. It cannot be read.
fn part_uri(index: usize, filename: Option<&str>) -> String {
    let name = filename
        .map(|name| format!("/{}", utf8_percent_encode(name, PATH)))
        .unwrap_or_default();
    format!("agent-host:///parts/{index}{name}")
}

fn meta(key: &str, value: &str) -> MetaObject {
    MetaObject(Map::from_iter([(key.to_owned(), value.into())]))
}

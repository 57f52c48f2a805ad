//! Converts the result of `tools/call` to `ToolResultOutput`. A result of agent-host names its
//! variant and round-trips exactly; for other servers the protocol's fields decide, never the
//! content of a text.

mod media;
#[cfg(test)]
mod tests;

use self::media::Media;
use agent_host_engine::{secrets::Secrets, text};
use agent_host_types::{
    failure::ToolFailure,
    json::JsonText,
    media as media_types,
    output::{ContentPart, DENIED_TEXT, FileData, FilePart, ToolResultOutput},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The key in a result's `_meta` for the variant's tag, set by agent-host's own server.
pub const OUTPUT_META: &str = "agent-host/output";

/// The key in a content block's `_meta` for the file name, set by agent-host's own server.
const FILENAME_META: &str = "agent-host/filename";

/// The text of a resource without content.
pub(crate) const EMPTY_RESOURCE: &str = "[the resource has no content]";

/// The text of an error without content.
const NO_REASON: &str = "The MCP server reported an error without a reason.";

/// The maximum of bytes shown of a link's name and address.
const LINK_SHOWN: usize = 2 * 1024;

/// The maximum of bytes shown of unknown content.
const UNKNOWN_SHOWN: usize = 2 * 1024;

/// Converts a result to the union.
///
/// | result | output |
/// |---|---|
/// | `structuredContent`, with nothing beside it or texts that repeat it | `json`, or `error-json` with `isError` |
/// | `isError` | `error-text`: the texts, and a line for each other part |
/// | one text | `text` |
/// | otherwise | `content`: a part for each block, and `structuredContent` as text, unless it repeats the blocks |
///
/// Media types are corrected. A link is described by a text. Base64 of media in `structuredContent`
/// and in texts becomes files.
///
/// # Errors
/// `invalid-output`: it is no result, or has too many parts.
pub fn output(result: Value) -> Result<ToolResultOutput, ToolFailure> {
    let Value::Object(mut result) = result else {
        return Err(invalid("it is not an object"));
    };
    let structured = result.remove("structuredContent");
    let blocks = match result.remove("content") {
        None if structured.is_none() => {
            return Err(invalid("it has neither `content` nor `structuredContent`"));
        }
        None => Vec::new(),
        Some(Value::Array(blocks)) => blocks,
        Some(_) => return Err(invalid("its `content` is not a list")),
    };
    let tag = string(result.get("_meta"), OUTPUT_META).map(str::to_owned);
    let known = tag.and_then(|tag| from_agent_host(&tag, &blocks, structured.as_ref()));
    let failed = result.get("isError") == Some(&Value::Bool(true));
    let output = match known {
        Some(output) => output?,
        None => from_other_server(&blocks, structured, failed)?,
    };
    output.validate()?;
    Ok(output)
}

/// Converts a result of agent-host; `None` if it does not have the declared form.
fn from_agent_host(
    tag: &str,
    blocks: &[Value],
    structured: Option<&Value>,
) -> Option<Result<ToolResultOutput, ToolFailure>> {
    let text_at = |index: usize| block_text(blocks.get(index)?).map(str::to_owned);
    let json = || match structured {
        Some(value) => Some(JsonText::try_from(value)),
        None => JsonText::parse(block_text(blocks.first()?)?).ok().map(Ok),
    };
    Some(Ok(match tag {
        "text" => ToolResultOutput::Text(text_at(0)?),
        "json" => return Some(json()?.map(ToolResultOutput::Json).map_err(Into::into)),
        "content" => {
            let parts = blocks.iter().map(|block| part(block, Author::AgentHost));
            return Some(
                parts
                    .collect::<Result<_, _>>()
                    .map(ToolResultOutput::Content),
            );
        }
        "error-text" => ToolResultOutput::ErrorText(text_at(0)?),
        "error-json" => return Some(json()?.map(ToolResultOutput::ErrorJson).map_err(Into::into)),
        "execution-denied" => {
            let text = text_at(0)?;
            let rest = text.strip_prefix(DENIED_TEXT)?;
            ToolResultOutput::ExecutionDenied(rest.strip_prefix(' ').map(str::to_owned))
        }
        _ => return None,
    }))
}

fn from_other_server(
    blocks: &[Value],
    structured: Option<Value>,
    failed: bool,
) -> Result<ToolResultOutput, ToolFailure> {
    let mut media = Media::of_blocks(blocks);
    let mut structured = structured.filter(|value| !is_blocks(value, blocks));
    // Servers repeat it as text for older clients, as the protocol requires.
    let repeated = structured
        .as_ref()
        .is_some_and(|value| repeats(blocks, value));
    let has_media = structured.as_mut().is_some_and(|value| media.take(value));
    if let Some(value) = structured.take_if(|_| repeated && !has_media) {
        let json = JsonText::try_from(&value)?;
        return Ok(match failed {
            true => ToolResultOutput::ErrorJson(json),
            false => ToolResultOutput::Json(json),
        });
    }
    let mut parts = Vec::new();
    for block in blocks.iter().filter(|_| !repeated) {
        parts.push(match part(block, Author::Other)? {
            ContentPart::Text { text } => media.part_of_text(text),
            part => part,
        });
    }
    parts.extend(structured.map(|value| ContentPart::Text {
        text: value.to_string(),
    }));
    parts.extend(media.files.into_iter().map(ContentPart::File));
    if failed {
        let lines: Vec<String> = parts.into_iter().map(line).collect();
        let text = lines.join("\n");
        return Ok(ToolResultOutput::ErrorText(match text.trim().is_empty() {
            true => NO_REASON.to_owned(),
            false => text,
        }));
    }
    Ok(match parts.pop() {
        Some(ContentPart::Text { text }) if parts.is_empty() => ToolResultOutput::Text(text),
        last => {
            parts.extend(last);
            ToolResultOutput::Content(parts)
        }
    })
}

/// Returns the texts of blocks that are texts alone.
fn texts(blocks: &[Value]) -> Option<Vec<&str>> {
    blocks.iter().map(block_text).collect()
}

/// Whether the structured content is nothing but the blocks once more, with a picture or without, as
/// the reference server of files has it.
fn is_blocks(structured: &Value, blocks: &[Value]) -> bool {
    let has_file = texts(blocks).is_none();
    has_file
        && unwrapped(structured)
            .unwrap_or(structured)
            .as_array()
            .map(Vec::as_slice)
            == Some(blocks)
}

/// Returns the value of an object with one field.
fn unwrapped(structured: &Value) -> Option<&Value> {
    let wrapped = structured.as_object().filter(|fields| fields.len() == 1);
    wrapped.and_then(|fields| fields.values().next())
}

/// Whether the blocks are texts that have nothing beyond the structured content. FastMCP wraps a
/// result that is no object as `{"result": ..}`, other servers with another key, and a list has a
/// text for each item.
fn repeats(blocks: &[Value], structured: &Value) -> bool {
    let Some(texts) = texts(blocks) else {
        return false;
    };
    let is = |text: &str, value: &Value| {
        value.as_str() == Some(text)
            || serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *value)
    };
    let wrapped = unwrapped(structured);
    let items = wrapped.unwrap_or(structured).as_array();
    match texts.as_slice() {
        texts if texts.iter().all(|text| text.trim().is_empty()) => true,
        [text] if is(text, structured) || wrapped.is_some_and(|value| is(text, value)) => true,
        texts => items.is_some_and(|items| {
            items.len() == texts.len() && texts.iter().zip(items).all(|(text, item)| is(text, item))
        }),
    }
}

/// The author of a block. Only agent-host keeps a file's name apart from its URL.
#[derive(Clone, Copy)]
enum Author {
    AgentHost,
    Other,
}

fn part(block: &Value, author: Author) -> Result<ContentPart, ToolFailure> {
    let kind = string(Some(block), "type").unwrap_or_default();
    let file = match kind {
        "text" => match block_text(block) {
            Some(text) => return Ok(ContentPart::Text { text: text.into() }),
            None => return Ok(unknown(kind, block)),
        },
        "image" | "audio" => media_file(block)?,
        "resource" => resource_file(block, author)?,
        "resource_link" => match author {
            Author::AgentHost => link_file(block),
            Author::Other => return Ok(link_text(block).unwrap_or_else(|| unknown(kind, block))),
        },
        _ => None,
    };
    let Some(mut file) = file else {
        return Ok(unknown(kind, block));
    };
    if let Some(name) = string(block.get("_meta"), FILENAME_META) {
        file.filename = Some(name.to_owned());
    }
    if let Author::Other = author {
        media_types::correct(&mut file);
    }
    Ok(ContentPart::File(file))
}

fn media_file(block: &Value) -> Result<Option<FilePart>, ToolFailure> {
    let (Some(data), Some(media_type)) =
        (string(Some(block), "data"), string(Some(block), "mimeType"))
    else {
        return Ok(None);
    };
    Ok(Some(FilePart {
        media_type: media_type.to_owned(),
        data: FileData::Bytes(bytes(data)?),
        filename: None,
    }))
}

/// Converts an embedded resource. Its URI becomes the file name, since nothing else identifies it.
fn resource_file(block: &Value, author: Author) -> Result<Option<FilePart>, ToolFailure> {
    let resource = block.get("resource");
    let declared = string(resource, "mimeType");
    let (data, seen) = match (string(resource, "text"), string(resource, "blob")) {
        (Some(text), _) => (FileData::Text(text.to_owned()), "text/plain"),
        (None, Some(blob)) => {
            let bytes = bytes(blob)?;
            let seen = media_types::sniff(&bytes).unwrap_or(media_types::OCTET_STREAM);
            (FileData::Bytes(bytes), seen)
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(FilePart {
        media_type: declared.unwrap_or(seen).to_owned(),
        data,
        filename: name_of(author, string(resource, "uri")),
    }))
}

fn link_file(block: &Value) -> Option<FilePart> {
    let uri = string(Some(block), "uri")?;
    let declared = string(Some(block), "mimeType");
    Some(FilePart {
        media_type: declared.map_or_else(|| media_types::of_url(uri), str::to_owned),
        data: FileData::Url(uri.to_owned()),
        filename: None,
    })
}

/// Describes a link. As a file it would be fetched by the model's provider, at each later request,
/// and a model server in the local network would reach addresses that the MCP server chose.
fn link_text(block: &Value) -> Option<ContentPart> {
    let uri = string(Some(block), "uri")?;
    let mut file = link_file(block)?;
    media_types::correct(&mut file);
    let name = string(Some(block), "name").filter(|name| !name.is_empty());
    Some(describe_link(
        uri,
        &file.media_type,
        name,
        block.get("size").and_then(Value::as_u64),
    ))
}

fn describe_link(
    uri: &str,
    media_type: &str,
    name: Option<&str>,
    size: Option<u64>,
) -> ContentPart {
    let quoted = |text: &str| format!("\"{}\"", text::sanitize(text, LINK_SHOWN).escape_debug());
    let name = name.map(|name| format!(" {}", quoted(name)));
    let size = size.map(|size| format!(", {size} bytes"));
    ContentPart::Text {
        text: format!(
            "[a link to{} ({media_type}{}) at {}; links of MCP servers are not fetched]",
            name.unwrap_or_else(|| " a file".to_owned()),
            size.unwrap_or_default(),
            quoted(uri)
        ),
    }
}

/// Replaces the files that a result names by URL by texts. A result may pass itself off as one of
/// agent-host, in which links are files.
pub(crate) fn replace_links(output: &mut ToolResultOutput) {
    let ToolResultOutput::Content(parts) = output else {
        return;
    };
    for part in parts {
        if let ContentPart::File(FilePart {
            media_type,
            data: FileData::Url(url),
            filename,
        }) = part
        {
            *part = describe_link(url, media_type, filename.as_deref(), None);
        }
    }
}

/// Returns the size of a result in bytes.
pub(crate) fn size(output: &ToolResultOutput) -> u64 {
    let bytes = match output {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => text.len(),
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => json.as_str().len(),
        ToolResultOutput::ExecutionDenied(reason) => reason.as_ref().map_or(0, String::len),
        ToolResultOutput::Content(parts) => parts.iter().map(part_size).sum(),
    };
    bytes as u64
}

fn part_size(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text { text } => text.len(),
        ContentPart::File(file) => match &file.data {
            FileData::Bytes(bytes) => bytes.len(),
            FileData::Url(text) | FileData::Text(text) => text.len(),
            FileData::Blob(_) => 0,
        },
    }
}

fn name_of(author: Author, name: Option<&str>) -> Option<String> {
    match author {
        Author::AgentHost => None,
        Author::Other => name.filter(|name| !name.is_empty()).map(str::to_owned),
    }
}

/// Describes content of an unknown kind: the kind and the beginning of its JSON.
fn unknown(kind: &str, block: &Value) -> ContentPart {
    ContentPart::Text {
        text: format!(
            "[content of the unknown kind `{}`: {}]",
            text::sanitize(kind, 80),
            text::sanitize(&block.to_string(), UNKNOWN_SHOWN)
        ),
    }
}

/// Renders a part of an error, for which the union has text only.
fn line(part: ContentPart) -> String {
    let file = match part {
        ContentPart::Text { text } => return text,
        ContentPart::File(file) => file,
    };
    let FilePart {
        media_type,
        data,
        filename,
    } = file;
    let what = match data {
        FileData::Text(text) => return text,
        FileData::Url(url) => url,
        FileData::Bytes(bytes) => format!("{} bytes, left out", bytes.len()),
        FileData::Blob(blob) => format!("{} bytes, left out", blob.size),
    };
    let name = filename
        .map(|name| format!(" `{name}`"))
        .unwrap_or_default();
    format!("[{media_type}{name}: {what}]")
}

fn bytes(base64: &str) -> Result<Vec<u8>, ToolFailure> {
    STANDARD
        .decode(base64)
        .map_err(|error| invalid(&format!("its base64 is invalid: {error}")))
}

fn block_text(block: &Value) -> Option<&str> {
    string(Some(block), "type").filter(|kind| *kind == "text")?;
    string(Some(block), "text")
}

fn string<'a>(of: Option<&'a Value>, key: &str) -> Option<&'a str> {
    of?.get(key)?.as_str()
}

fn invalid(why: &str) -> ToolFailure {
    ToolFailure::invalid_output(format!(
        "The MCP server answered, but its result is unusable: {why}."
    ))
}

/// Redacts the result of a call except for base64, whose content is redacted once decoded.
pub(crate) fn redact(result: &mut Value, secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    let encoded: Vec<Value> = base64(result).map(Value::take).collect();
    secrets.json(result);
    for (place, text) in base64(result).zip(encoded) {
        *place = text;
    }
}

/// Iterates over the base64 strings in a result.
fn base64(result: &mut Value) -> impl Iterator<Item = &mut Value> {
    let blocks = result.get_mut("content").and_then(Value::as_array_mut);
    blocks.into_iter().flatten().filter_map(|block| {
        let place = match block.get("type").and_then(Value::as_str)? {
            "image" | "audio" => "/data",
            "resource" => "/resource/blob",
            _ => return None,
        };
        block.pointer_mut(place)
    })
}

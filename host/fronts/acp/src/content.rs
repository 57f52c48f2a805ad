//! Prompts as messages, and files of messages and results as content of the protocol.

use crate::wire::{ContentBlock, ErrorCode, Resource, RpcError};
use agent_host_journal::JournalStore;
use agent_host_types::{
    message::{Message, Role},
    output::{ContentPart, FileData, FilePart},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The most parts of a prompt.
const MAX_PARTS: usize = 64;

/// The largest file that is sent to the client. A larger one is a link to the session's blob.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

pub(crate) fn message(prompt: Vec<ContentBlock>) -> Result<Message, RpcError> {
    if prompt.len() > MAX_PARTS {
        return Err(invalid(format!(
            "the prompt has {} parts; the maximum is {MAX_PARTS}",
            prompt.len()
        )));
    }
    let mut parts = Vec::with_capacity(prompt.len());
    for (index, block) in prompt.into_iter().enumerate() {
        let part =
            part(block).map_err(|why| invalid(format!("part {index} of the prompt {why}")))?;
        part.validate()
            .map_err(|error| invalid(format!("part {index} of the prompt {error}")))?;
        parts.push(part);
    }
    let is_blank = |part: &ContentPart| part.text().is_some_and(|text| text.trim().is_empty());
    if parts.iter().all(is_blank) {
        return Err(invalid("the prompt is empty; add text".to_owned()));
    }
    Ok(Message::parts(Role::User, parts))
}

fn part(block: ContentBlock) -> Result<ContentPart, &'static str> {
    Ok(match block {
        ContentBlock::Text { text } => ContentPart::Text { text },
        ContentBlock::Image { data, mime_type } => file(mime_type, bytes(&data)?, None),
        ContentBlock::Audio {} => {
            return Err("is audio, which `promptCapabilities` does not list");
        }
        // Only named: what is behind it is read by a tool, if the tool's grants allow that.
        ContentBlock::ResourceLink { uri, name } => ContentPart::Text {
            text: format!("[{name}]({uri})"),
        },
        ContentBlock::Resource { resource } => embedded(resource)?,
    })
}

fn embedded(resource: Resource) -> Result<ContentPart, &'static str> {
    let Resource {
        uri,
        mime_type,
        text,
        blob,
    } = resource;
    let name = uri.strip_prefix("file://").unwrap_or(&uri).to_owned();
    let or = |default: &str| mime_type.unwrap_or_else(|| default.to_owned());
    match (text, blob) {
        (Some(text), None) => Ok(file(or("text/plain"), FileData::Text(text), Some(name))),
        (None, Some(blob)) => {
            let media_type = or("application/octet-stream");
            Ok(file(media_type, bytes(&blob)?, Some(name)))
        }
        _ => Err("is a resource without exactly one of `text` and `blob`"),
    }
}

fn file(media_type: String, data: FileData, filename: Option<String>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type,
        data,
        filename,
    })
}

fn bytes(base64: &str) -> Result<FileData, &'static str> {
    let bytes = STANDARD.decode(base64);
    bytes
        .map(FileData::Bytes)
        .map_err(|_| "is not standard base64")
}

fn invalid(message: String) -> RpcError {
    RpcError::new(ErrorCode::InvalidParams, message)
}

/// Puts the bytes of files in the place of references to blobs. One that is too large, or cannot be
/// read, stays a reference.
pub(crate) async fn with_bytes(
    store: &dyn JournalStore,
    mut parts: Vec<ContentPart>,
) -> Vec<ContentPart> {
    for part in &mut parts {
        let ContentPart::File(FilePart { data, .. }) = part else {
            continue;
        };
        let FileData::Blob(blob) = data else {
            continue;
        };
        if blob.size > MAX_FILE_BYTES {
            continue;
        }
        match store.read_blob(blob.digest).await {
            Ok(bytes) => *data = FileData::Bytes(bytes),
            Err(error) => tracing::warn!("a file cannot be shown: {error}"),
        }
    }
    parts
}

//! The tool result union: the same value in WIT, in Rust, in JSON, on every provider's wire and over MCP.
//!
//! No code anywhere looks inside a string or a JSON value to find out what a result is: the variant alone decides.

pub mod old;
#[cfg(test)]
mod tests;

use crate::{failure::ToolFailure, id::Digest, json, media};
use serde::{Deserialize, Serialize, ser::SerializeStruct as _};
use serde_json::Value;

/// What the model reads when a call was denied and nobody gave a reason. The word "call" matters: an older text without
/// it made a model give up the tool for good.
pub const DENIED_TEXT: &str = "Tool call execution denied.";

/// How many parts one result may have. Together with the bound on inline text it bounds what a result adds to the history.
pub const MAX_PARTS: usize = 256;

/// The result of a tool call.
///
/// ```
/// use agent_host_types::output::ToolResultOutput;
/// use serde_json::json;
///
/// let output = ToolResultOutput::from_value(json!({"words": 3}));
/// assert!(output.is_success());
/// assert_eq!(json!(output), json!({"type": "json", "value": {"words": 3}}));
/// ```
///
/// JSON form: `{"type": TAG, "value": ...}`, and `{"type": "execution-denied", "reason"?: ...}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Wire")]
pub enum ToolResultOutput {
    /// Success, as text.
    Text(String),
    /// Success, as any JSON value.
    Json(Value),
    /// Success, as several parts.
    Content(Vec<ContentPart>),
    /// Failure, as text.
    ErrorText(String),
    /// Failure, as any JSON value.
    ErrorJson(Value),
    /// The call did not run; with the reason where there is one. It is neither a success nor a failure.
    ExecutionDenied(Option<String>),
}

/// One part of a multipart result or of a message. JSON form: `{"type": "text", "text": ...}` or
/// `{"type": "file", "media_type": ..., "data": ..., "filename"?: ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ContentPart {
    /// Text to read.
    Text {
        /// The text.
        text: String,
    },
    /// An image or another file.
    File(FilePart),
}

/// A file with its media type. In JSON a URL may do without one: then its path's extension says what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FileForm")]
pub struct FilePart {
    /// The media type, such as `image/png`; it agrees with the bytes.
    pub media_type: String,
    /// Where the content is.
    pub data: FileData,
    /// A name to show and to save under; never used as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// The JSON form of [`FilePart`], read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    media_type: Option<String>,
    data: FileData,
    filename: Option<String>,
}

impl TryFrom<FileForm> for FilePart {
    type Error = &'static str;

    fn try_from(form: FileForm) -> Result<Self, Self::Error> {
        let media_type = match (form.media_type, &form.data) {
            (Some(media_type), _) => media_type,
            (None, FileData::Url(url)) => media::of_url(url),
            (None, FileData::Bytes(_) | FileData::Text(_) | FileData::Blob(_)) => {
                return Err("missing field `media_type`: only a URL may do without one");
            }
        };
        Ok(Self {
            media_type,
            data: form.data,
            filename: form.filename,
        })
    }
}

/// The content of a file. JSON form: `{"type": TAG, "value": ...}`; bytes are standard base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    content = "value",
    rename_all = "kebab-case",
    deny_unknown_fields
)]
pub enum FileData {
    /// The content itself.
    #[serde(with = "base64_text")]
    Bytes(Vec<u8>),
    /// A URL of the content.
    Url(String),
    /// The content itself, as text.
    Text(String),
    /// The content is in the journal's blob table. Only the host makes this: a tool cannot return it, and the loop puts the
    /// bytes back before a provider sees the part.
    Blob(BlobRef),
}

/// A reference to bytes in the journal's blob table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobRef {
    /// The digest under which the bytes are stored.
    pub digest: Digest,
    /// How many bytes there are.
    pub size: u64,
}

/// Bytes that are about to be stored under their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The digest of `bytes`.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Digests the bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            digest: Digest::of(&bytes),
            bytes,
        }
    }

    /// The reference that stands for this blob.
    #[must_use]
    pub fn reference(&self) -> BlobRef {
        BlobRef {
            digest: self.digest,
            size: self.bytes.len() as u64,
        }
    }
}

impl ToolResultOutput {
    /// Whether the call failed. A denied call did not fail: it did not run.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self {
            Self::ErrorText(_) | Self::ErrorJson(_) => true,
            Self::Text(_) | Self::Json(_) | Self::Content(_) | Self::ExecutionDenied(_) => false,
        }
    }

    /// Whether the call succeeded: it ran and did not fail.
    #[must_use]
    pub fn is_success(&self) -> bool {
        match self {
            Self::Text(_) | Self::Json(_) | Self::Content(_) => true,
            Self::ErrorText(_) | Self::ErrorJson(_) | Self::ExecutionDenied(_) => false,
        }
    }

    /// The union's tag, as in WIT and JSON.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Json(_) => "json",
            Self::Content(_) => "content",
            Self::ErrorText(_) => "error-text",
            Self::ErrorJson(_) => "error-json",
            Self::ExecutionDenied(_) => "execution-denied",
        }
    }

    /// Coerces what a host-side tool (a closure, an external or an MCP tool) returned: a string is text, every other value
    /// is JSON. Nothing inside the value changes that, not even a `type` key.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => Self::Json(other),
        }
    }

    /// The result of a host-side tool that may fail: a value as in [`Self::from_value`]; an error is told as text, and so is
    /// that there is neither.
    #[must_use]
    pub fn from_run(run: Result<Option<Value>, String>) -> Self {
        match run {
            Ok(Some(value)) => Self::from_value(value),
            Ok(None) => Self::ErrorText("The tool returned no result.".to_owned()),
            Err(message) => Self::ErrorText(message),
        }
    }

    /// Checks what no type can say: that JSON does not nest too deep to be read again, that the parts are not too many, and
    /// that each file part can be shown (see [`ContentPart::validate`]).
    ///
    /// # Errors
    /// `invalid-output`, naming the part.
    pub fn validate(&self) -> Result<(), ToolFailure> {
        let parts = match self {
            Self::Text(_) | Self::ErrorText(_) | Self::ExecutionDenied(_) => return Ok(()),
            Self::Json(value) | Self::ErrorJson(value) => {
                if json::is_too_deep(value) {
                    return Err(ToolFailure::invalid_output(format!(
                        "the JSON of the result nests more than {} levels deep",
                        json::MAX_DEPTH
                    )));
                }
                return Ok(());
            }
            Self::Content(parts) => parts,
        };
        if parts.len() > MAX_PARTS {
            return Err(ToolFailure::invalid_output(format!(
                "the result has {} parts; {MAX_PARTS} are allowed",
                parts.len()
            )));
        }
        for (index, part) in parts.iter().enumerate() {
            part.validate().map_err(|why| {
                ToolFailure::invalid_output(format!("part {index} of the result {why}"))
            })?;
        }
        Ok(())
    }
}

impl ContentPart {
    /// Checks a part that comes from outside: a file's media type agrees with its bytes, and it names no blob, since only
    /// the host knows which blobs a session has.
    ///
    /// # Errors
    /// A fragment that follows "part 0 of the result".
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Text { .. } => Ok(()),
            Self::File(FilePart {
                data: FileData::Blob(_),
                ..
            }) => Err("refers to a stored blob, which only the host may do".to_owned()),
            Self::File(file) => media::check(file),
        }
    }
}

/// The JSON form, read. The derive of an internally tagged enum gives the errors that name an unknown tag.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
enum Wire {
    Text { value: String },
    Json { value: Value },
    Content { value: Vec<ContentPart> },
    ErrorText { value: String },
    ErrorJson { value: Value },
    ExecutionDenied { reason: Option<String> },
}

impl From<Wire> for ToolResultOutput {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Text { value } => Self::Text(value),
            Wire::Json { value } => Self::Json(value),
            Wire::Content { value } => Self::Content(value),
            Wire::ErrorText { value } => Self::ErrorText(value),
            Wire::ErrorJson { value } => Self::ErrorJson(value),
            Wire::ExecutionDenied { reason } => Self::ExecutionDenied(reason),
        }
    }
}

impl Serialize for ToolResultOutput {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolResultOutput", 2)?;
        out.serialize_field("type", self.tag())?;
        match self {
            Self::Text(text) | Self::ErrorText(text) => out.serialize_field("value", text)?,
            Self::Json(value) | Self::ErrorJson(value) => out.serialize_field("value", value)?,
            Self::Content(parts) => out.serialize_field("value", parts)?,
            Self::ExecutionDenied(Some(reason)) => out.serialize_field("reason", reason)?,
            Self::ExecutionDenied(None) => {}
        }
        out.end()
    }
}

/// Standard base64 with padding, as every provider's wire has it.
mod base64_text {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::Deserialize as _;

    pub(super) fn serialize<S: serde::Serializer>(
        bytes: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}

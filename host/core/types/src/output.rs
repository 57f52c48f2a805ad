//! The tool result union: the same value in WIT, in Rust, in JSON, on every provider's wire and
//! over MCP. The variant alone decides what a result is; no code looks inside a string or a JSON
//! value to find out.

pub mod old;
#[cfg(test)]
mod tests;

use crate::{
    failure::ToolFailure,
    id::Digest,
    json::{JsonText, TooDeep},
    media,
    reason::Reason,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, ser::SerializeStruct as _};
use serde_json::Value;

/// The text for the model when a call was denied without a reason. The word "call" matters: a text
/// without it made a model give up the tool for good.
pub const DENIED_TEXT: &str = "Tool call execution denied.";

/// The maximum number of parts of one result. With the bound on inline text it bounds what a result
/// adds to the history.
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
#[derive(Clone, Debug, PartialEq, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(from = "OutputForm")]
#[schemars(into = "OutputForm")]
#[strum(serialize_all = "kebab-case")]
pub enum ToolResultOutput {
    /// Success, as text.
    Text(String),
    /// Success, as any JSON value.
    Json(JsonText),
    /// Success, as several parts.
    Content(Vec<ContentPart>),
    /// Failure, as text.
    ErrorText(String),
    /// Failure, as any JSON value.
    ErrorJson(JsonText),
    /// The call did not run, for the optional reason. Neither a success nor a failure.
    ExecutionDenied(Option<String>),
}

/// One part of a multipart result or of a message. JSON form: `{"type": "text", "text": ...}` or
/// `{"type": "file", "media_type": ..., "data": ..., "filename"?: ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image or another file.
    File(FilePart),
}

/// A file with its media type. In JSON the media type of a URL is optional; it defaults to that of
/// the URL's extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "FileForm")]
pub struct FilePart {
    /// The media type, such as `image/png`; it agrees with the bytes.
    pub media_type: String,
    /// The content or a reference to it.
    pub data: FileData,
    /// A name for display and for saving; never used as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// The JSON form of [`FilePart`].
#[derive(Deserialize, JsonSchema)]
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
                return Err("missing field `media_type`: only a URL can omit it");
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    content = "value",
    rename_all = "kebab-case",
    deny_unknown_fields
)]
pub enum FileData {
    /// The content itself.
    #[serde(with = "base64_text")]
    #[schemars(with = "String")]
    Bytes(Vec<u8>),
    /// A URL of the content.
    Url(String),
    /// The content itself, as text.
    Text(String),
    /// A reference to the journal's blob table. Only the host creates it: a tool cannot return it,
    /// and the loop restores the bytes before a provider sees the part.
    Blob(BlobRef),
}

/// A reference to bytes in the journal's blob table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlobRef {
    /// The digest under which the bytes are stored.
    pub digest: Digest,
    /// The number of bytes.
    pub size: u64,
}

/// Bytes to store under their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The digest of `bytes`.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Computes the digest of the bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            digest: Digest::of(&bytes),
            bytes,
        }
    }

    /// Returns the reference to this blob.
    #[must_use]
    pub fn reference(&self) -> BlobRef {
        BlobRef {
            digest: self.digest,
            size: self.bytes.len() as u64,
        }
    }
}

impl ToolResultOutput {
    /// Whether the call ran and failed; false for a denied call.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self, Self::ErrorText(_) | Self::ErrorJson(_))
    }

    /// Whether the call ran and succeeded; false for a denied call.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Json(_) | Self::Content(_))
    }

    /// Returns the tag of the variant in WIT and JSON.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        self.into()
    }

    /// Converts the return value of a host-side tool (a closure, an external or an MCP tool): a
    /// string is text, every other value is JSON, whatever keys it has.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => Self::json(other),
        }
    }

    /// Converts a value to a success as JSON. One of more than
    /// [`JsonText::MAX_LEVELS`] levels becomes the failure `invalid-output`.
    #[must_use]
    pub fn json<V: Into<Value>>(value: V) -> Self {
        JsonText::try_from(&value.into())
            .map_or_else(|error| ToolFailure::from(error).into(), Self::Json)
    }

    /// Converts a value to a failure as JSON. One of more than
    /// [`JsonText::MAX_LEVELS`] levels becomes the failure `invalid-output`.
    #[must_use]
    pub fn error_json<V: Into<Value>>(value: V) -> Self {
        JsonText::try_from(&value.into())
            .map_or_else(|error| ToolFailure::from(error).into(), Self::ErrorJson)
    }

    /// Converts what a fallible host-side tool returned: a value as in [`Self::from_value`], an
    /// error or no value to error text.
    #[must_use]
    pub fn from_run(run: Result<Option<Value>, Box<dyn std::error::Error + Send + Sync>>) -> Self {
        match run {
            Ok(Some(value)) => Self::from_value(value),
            Ok(None) => Self::ErrorText("The tool returned no result.".to_owned()),
            Err(error) => Self::ErrorText(error.to_string()),
        }
    }

    /// Checks the bounds that the type does not express: the depth of JSON
    /// ([`MAX_DEPTH`](crate::json::MAX_DEPTH)), the number of parts ([`MAX_PARTS`]), and each part
    /// ([`ContentPart::validate`]).
    ///
    /// # Errors
    /// `invalid-output`, naming the part.
    pub fn validate(&self) -> Result<(), ToolFailure> {
        let parts = match self {
            Self::Json(json) | Self::ErrorJson(json) if json.is_too_deep() => {
                return Err(TooDeep.into());
            }
            Self::Content(parts) => parts,
            Self::Text(_)
            | Self::Json(_)
            | Self::ErrorText(_)
            | Self::ErrorJson(_)
            | Self::ExecutionDenied(_) => return Ok(()),
        };
        if parts.len() > MAX_PARTS {
            return Err(ToolFailure::invalid_output(format!(
                "the result has {} parts; the maximum is {MAX_PARTS}",
                parts.len()
            )));
        }
        for (index, part) in parts.iter().enumerate() {
            part.validate().map_err(|error| {
                ToolFailure::invalid_output(format!("part {index} of the result {error}"))
            })?;
        }
        Ok(())
    }
}

impl ContentPart {
    /// Returns the text of a text part.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::File(_) => None,
        }
    }

    /// Returns the file of a file part.
    #[must_use]
    pub fn file(&self) -> Option<&FilePart> {
        match self {
            Self::File(file) => Some(file),
            Self::Text { .. } => None,
        }
    }

    /// Checks a part from outside the host: a file's media type agrees with its bytes, and it
    /// refers to no blob.
    ///
    /// # Errors
    /// The first check that fails, as the end of a sentence about the part.
    pub fn validate(&self) -> Result<(), Reason> {
        match self {
            Self::Text { .. } => Ok(()),
            Self::File(FilePart {
                data: FileData::Blob(_),
                ..
            }) => Err("refers to a stored blob, which only the host may do".into()),
            Self::File(file) => media::check(file),
        }
    }
}

/// The JSON form of [`ToolResultOutput`]. The derive of an internally tagged enum names an unknown
/// tag in its error.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
enum OutputForm {
    Text {
        value: String,
    },
    Json {
        value: JsonText,
    },
    Content {
        value: Vec<ContentPart>,
    },
    ErrorText {
        value: String,
    },
    ErrorJson {
        value: JsonText,
    },
    ExecutionDenied {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl From<OutputForm> for ToolResultOutput {
    fn from(form: OutputForm) -> Self {
        match form {
            OutputForm::Text { value } => Self::Text(value),
            OutputForm::Json { value } => Self::Json(value),
            OutputForm::Content { value } => Self::Content(value),
            OutputForm::ErrorText { value } => Self::ErrorText(value),
            OutputForm::ErrorJson { value } => Self::ErrorJson(value),
            OutputForm::ExecutionDenied { reason } => Self::ExecutionDenied(reason),
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

/// Standard base64 with padding, as on every provider's wire.
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

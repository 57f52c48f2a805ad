//! Results as older systems stored them. Nothing else here reads their forms: the union's own form has no flag, and only the
//! parts that it names.

#[cfg(test)]
mod tests;

use super::{ContentPart, FileData, FilePart, ToolResultOutput};
use crate::media;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// A stored result in today's form.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The result.
    pub output: ToolResultOutput,
    /// One sentence for each part of a deprecated kind.
    pub warnings: Vec<String>,
}

/// Why a value is no stored result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no stored tool result: {0}; it has `result` and perhaps `is_error`, or `type` and `value`"
)]
pub struct NotAResult(String);

/// Reads a result that was stored as `{"result": .., "is_error"?: ..}`, whose flag stays what it says, or in the union's form
/// with parts of the deprecated kinds `file-data`, `file-url`, `file-id`, `image-data` and `image-url`, which become files.
///
/// # Errors
/// When the value has neither form, or something in it is not what its form says.
pub fn load(stored: Value) -> Result<Loaded, NotAResult> {
    let mut warnings = Vec::new();
    let has = |key: &str| stored.get(key).is_some();
    let output = if has("result") && !has("type") {
        flagged(read(stored)?)
    } else if stored.get("type").and_then(Value::as_str) == Some("content") {
        let Content { value, .. } = read(stored)?;
        let mut parts = Vec::new();
        for (index, part) in value.into_iter().enumerate() {
            if let Some(kind) = part.deprecated_kind() {
                warnings.push(format!(
                    "part {index} is of the deprecated kind `{kind}`; it was read as a file"
                ));
            }
            parts.extend(part.parts());
        }
        ToolResultOutput::Content(parts)
    } else {
        read(stored)?
    };
    Ok(Loaded { output, warnings })
}

fn read<T: DeserializeOwned>(stored: Value) -> Result<T, NotAResult> {
    serde_json::from_value(stored).map_err(|error| NotAResult(error.to_string()))
}

/// The form with a flag.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flagged {
    result: Value,
    #[serde(default)]
    is_error: bool,
}

fn flagged(Flagged { result, is_error }: Flagged) -> ToolResultOutput {
    match (result, is_error) {
        (result, false) => ToolResultOutput::from_value(result),
        (Value::String(text), true) => ToolResultOutput::ErrorText(text),
        (value, true) => ToolResultOutput::ErrorJson(value),
    }
}

/// The union's multipart variant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(rename = "type")]
    _type: String,
    value: Vec<Part>,
}

/// A part as it was ever stored. Some wrote the names of its fields in camel case.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
enum Part {
    Text {
        text: String,
    },
    File(FilePart),
    FileData(Data),
    ImageData(Data),
    FileUrl(Url),
    ImageUrl(Url),
    FileId {
        #[serde(alias = "fileId")]
        file_id: FileId,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(with = "super::base64_text")]
    data: Vec<u8>,
    #[serde(alias = "mediaType")]
    media_type: Option<String>,
    filename: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Url {
    url: String,
    #[serde(alias = "mediaType")]
    media_type: Option<String>,
    filename: Option<String>,
}

/// The name of a file that a provider keeps: one name, or one for each provider.
#[derive(Deserialize)]
#[serde(untagged)]
enum FileId {
    One(String),
    ByProvider(BTreeMap<String, String>),
}

impl Part {
    fn deprecated_kind(&self) -> Option<&'static str> {
        match self {
            Self::Text { .. } | Self::File(_) => None,
            Self::FileData(_) => Some("file-data"),
            Self::ImageData(_) => Some("image-data"),
            Self::FileUrl(_) => Some("file-url"),
            Self::ImageUrl(_) => Some("image-url"),
            Self::FileId { .. } => Some("file-id"),
        }
    }

    /// The part in today's form; a file that several providers keep is one part for each.
    fn parts(self) -> Vec<ContentPart> {
        let file = match self {
            Self::Text { text } => return vec![ContentPart::Text { text }],
            Self::File(file) => file,
            Self::FileData(Data {
                data,
                media_type,
                filename,
            })
            | Self::ImageData(Data {
                data,
                media_type,
                filename,
            }) => {
                let sniffed = || {
                    media::sniff(&data)
                        .unwrap_or(media::OCTET_STREAM)
                        .to_owned()
                };
                FilePart {
                    media_type: media_type.unwrap_or_else(sniffed),
                    data: FileData::Bytes(data),
                    filename,
                }
            }
            Self::FileUrl(Url {
                url,
                media_type,
                filename,
            })
            | Self::ImageUrl(Url {
                url,
                media_type,
                filename,
            }) => FilePart {
                media_type: media_type.unwrap_or_else(|| media::of_url(&url)),
                data: FileData::Url(url),
                filename,
            },
            Self::FileId { file_id } => return file_id.parts(),
        };
        vec![ContentPart::File(file)]
    }
}

impl FileId {
    /// A reference that no model can be shown, so that each is told in a note what it does not see.
    fn parts(self) -> Vec<ContentPart> {
        let names: Vec<String> = match self {
            Self::One(name) => vec![name],
            Self::ByProvider(names) => names
                .into_iter()
                .map(|(provider, name)| format!("{provider}/{name}"))
                .collect(),
        };
        let part = |name| {
            ContentPart::File(FilePart {
                media_type: media::OCTET_STREAM.to_owned(),
                data: FileData::Url(format!("file-id:{name}")),
                filename: None,
            })
        };
        names.into_iter().map(part).collect()
    }
}

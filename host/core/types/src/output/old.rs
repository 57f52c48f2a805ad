//! Loads results that older systems stored. The union's own form has no error flag and no
//! deprecated parts; only this module reads them.

#[cfg(test)]
mod tests;

use super::{ContentPart, FileData, FilePart, ToolResultOutput};
use crate::{media, reason::Reason};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// A stored result in the current form.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedResult {
    /// The result.
    pub output: ToolResultOutput,
    /// A message for each part of a deprecated kind.
    pub warnings: Vec<String>,
}

/// Loads a result of the form `{"result": .., "is_error"?: ..}`, keeping its flag, or of the
/// union's form with parts of the deprecated kinds `file-data`, `file-url`, `file-id`,
/// `image-data`, `image-url`, `image-file-id` and `media`, which become files.
///
/// # Errors
/// If the value has neither form.
pub fn load(stored: Value) -> Result<LoadedResult, Reason> {
    let mut warnings = Vec::new();
    let has = |key: &str| stored.get(key).is_some();
    let output = if has("result") && !has("type") {
        read::<FlaggedResult>(stored)?.output()
    } else if stored.get("type").and_then(Value::as_str) == Some("content") {
        let kinds = deprecated_kinds(&stored);
        warnings.extend(kinds.map(|(index, kind)| {
            format!("part {index} is of the deprecated kind `{kind}`; it was read as a file")
        }));
        let StoredContent { value, .. } = read(stored)?;
        let parts = value.into_iter().flat_map(StoredPart::parts).collect();
        ToolResultOutput::Content(parts)
    } else {
        read(stored)?
    };
    Ok(LoadedResult { output, warnings })
}

/// Returns the parts of a deprecated kind, by their position.
fn deprecated_kinds(stored: &Value) -> impl Iterator<Item = (usize, &str)> {
    let parts = stored.get("value").and_then(Value::as_array);
    let parts = parts.into_iter().flatten().enumerate();
    let kinds = parts.filter_map(|(index, part)| Some((index, part.get("type")?.as_str()?)));
    kinds.filter(|(_, kind)| !matches!(*kind, "text" | "file"))
}

fn read<T: DeserializeOwned>(stored: Value) -> Result<T, Reason> {
    serde_json::from_value(stored).map_err(|error| {
        Reason::from(format!(
            "this is not a stored tool result: {error}; it needs `result` and optionally `is_error`, or `type` and \
             `value`"
        ))
    })
}

/// The form with an error flag.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlaggedResult {
    result: Value,
    #[serde(default)]
    is_error: bool,
}

impl FlaggedResult {
    fn output(self) -> ToolResultOutput {
        match (self.result, self.is_error) {
            (result, false) => ToolResultOutput::from_value(result),
            (Value::String(text), true) => ToolResultOutput::ErrorText(text),
            (value, true) => ToolResultOutput::error_json(value),
        }
    }
}

/// The union's multipart variant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredContent {
    #[serde(rename = "type")]
    _type: String,
    value: Vec<StoredPart>,
}

/// A part of any stored kind. Some systems wrote field names in camel case.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
enum StoredPart {
    Text {
        text: String,
    },
    File(FilePart),
    #[serde(alias = "image-data", alias = "media")]
    FileData(StoredBytes),
    #[serde(alias = "image-url")]
    FileUrl(StoredUrl),
    #[serde(alias = "image-file-id")]
    FileId {
        #[serde(alias = "fileId")]
        file_id: FileId,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredBytes {
    #[serde(with = "super::base64_text")]
    data: Vec<u8>,
    #[serde(alias = "mediaType")]
    media_type: Option<String>,
    filename: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredUrl {
    url: String,
    #[serde(alias = "mediaType")]
    media_type: Option<String>,
    filename: Option<String>,
}

/// The id of a file at a provider: one id, or one for each provider.
#[derive(Deserialize)]
#[serde(untagged)]
enum FileId {
    One(String),
    ByProvider(BTreeMap<String, String>),
}

impl StoredPart {
    /// Returns the part in the current form; a file id of several providers becomes one part for
    /// each.
    fn parts(self) -> Vec<ContentPart> {
        let file = match self {
            Self::Text { text } => return vec![ContentPart::Text { text }],
            Self::File(file) => file,
            Self::FileData(StoredBytes {
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
            Self::FileUrl(StoredUrl {
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
    /// Returns a `file-id:` URL for each id. No provider loads it, so the model gets a note in its
    /// place.
    fn parts(self) -> Vec<ContentPart> {
        let part = |id: String| {
            ContentPart::File(FilePart {
                media_type: media::OCTET_STREAM.to_owned(),
                data: FileData::Url(format!("file-id:{id}")),
                filename: None,
            })
        };
        match self {
            Self::One(id) => vec![part(id)],
            Self::ByProvider(ids) => ids
                .into_iter()
                .map(|(provider, id)| part(format!("{provider}/{id}")))
                .collect(),
        }
    }
}

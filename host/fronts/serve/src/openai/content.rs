//! The parts of messages, in the forms of both endpoints.

use super::{
    error::ApiError,
    fields::{field, text},
};
use agent_host_types::{media, output::ContentPart};
use serde::Deserialize;
use serde_json::{Value, json};

/// Text, or a list of parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Value>),
}

/// A part. Fields that are not here are annotations.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    #[serde(alias = "input_text", alias = "output_text", alias = "summary_text")]
    Text {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    InputImage {
        image_url: Option<String>,
    },
    ImageUrl {
        image_url: Link,
    },
    InputAudio {
        input_audio: Audio,
    },
    InputFile(File),
    File {
        file: File,
    },
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

#[derive(Deserialize)]
struct Audio {
    data: String,
    format: String,
}

#[derive(Deserialize)]
struct File {
    file_data: Option<String>,
    filename: Option<String>,
}

impl Content {
    /// Reads text and files. A file is in the request itself: nothing is fetched.
    pub(super) fn parts(self) -> Result<Vec<ContentPart>, ApiError> {
        let parts = match self {
            Self::Text(text) => return Ok(vec![ContentPart::Text { text }]),
            Self::Parts(parts) => parts.into_iter(),
        };
        parts.map(part).collect()
    }

    /// Reads content that is text alone.
    pub(super) fn text(self) -> Result<String, ApiError> {
        let parts = self.parts()?;
        let texts: Option<Vec<&str>> = parts.iter().map(ContentPart::text).collect();
        let texts = texts.ok_or_else(|| {
            ApiError::invalid("only a user message or a call's result can have files")
        })?;
        Ok(texts.concat())
    }
}

fn part(part: Value) -> Result<ContentPart, ApiError> {
    let kind = text(&part, "type").escape_debug().to_string();
    let part = serde_json::from_value(part).map_err(|error| {
        ApiError::invalid(format!("a part of type `{kind}` cannot be read: {error}"))
    })?;
    match part {
        Part::Text { text } | Part::Refusal { refusal: text } => Ok(ContentPart::Text { text }),
        Part::InputImage {
            image_url: Some(url),
        }
        | Part::ImageUrl {
            image_url: Link { url },
        } => image(&url),
        Part::InputImage { image_url: None } => Err(stored_elsewhere("image")),
        Part::InputAudio {
            input_audio: Audio { data, format },
        } => file(&format!("audio/{format}"), &data, None),
        Part::InputFile(File {
            file_data: Some(data),
            filename,
        })
        | Part::File {
            file:
                File {
                    file_data: Some(data),
                    filename,
                },
        } => match data_url(&data)? {
            Some((media_type, data)) => file(media_type, data, filename.as_deref()),
            None => file(
                &media::of_url(filename.as_deref().unwrap_or_default()),
                &data,
                filename.as_deref(),
            ),
        },
        Part::InputFile(_) | Part::File { .. } => Err(stored_elsewhere("file")),
    }
}

fn image(url: &str) -> Result<ContentPart, ApiError> {
    let (media_type, data) = data_url(url)?.ok_or_else(|| stored_elsewhere("image"))?;
    let part = file(media_type, data, None)?;
    match &part {
        ContentPart::File(file) if file.media_type.starts_with("image/") => Ok(part),
        _ => Err(ApiError::invalid(
            "an image of the message is not an image file",
        )),
    }
}

/// Splits a data URL of base64 into its media type and its data.
fn data_url(url: &str) -> Result<Option<(&str, &str)>, ApiError> {
    let Some(rest) = url.strip_prefix("data:") else {
        return Ok(None);
    };
    let parts = rest.split_once(',');
    let parts = parts.and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data)));
    let unreadable =
        || ApiError::invalid("a data URL has the form `data:TYPE/SUBTYPE;base64,DATA`");
    parts.map(Some).ok_or_else(unreadable)
}

/// Makes a part of base64. Its media type is corrected where the bytes contradict it.
fn file(media_type: &str, base64: &str, filename: Option<&str>) -> Result<ContentPart, ApiError> {
    let data = json!({"type": "bytes", "value": base64});
    let part =
        json!({"type": "file", "media_type": media_type, "data": data, "filename": filename});
    let mut part: ContentPart = serde_json::from_value(part)
        .map_err(|error| ApiError::invalid(format!("a file of the message: {error}")))?;
    if let ContentPart::File(file) = &mut part {
        media::correct(file);
    }
    part.validate()
        .map_err(|error| ApiError::invalid(format!("a file of the message {error}")))?;
    Ok(part)
}

/// The error of a file that is not in the request: what a client names may be in a network that the
/// server alone reaches.
fn stored_elsewhere(what: &str) -> ApiError {
    ApiError::invalid(format!(
        "this server does not fetch {what} for clients; send its bytes as a data URL: `data:TYPE/SUBTYPE;base64,DATA`"
    ))
}

/// Returns the JSON of a part, in the form in which a transcript is read.
pub(super) fn to_json(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text } => json!({"type": "text", "text": text}),
        ContentPart::File(file) => json!({
            "type": "file",
            "data": field(&json!(file.data), "value"),
            "media_type": file.media_type,
            "filename": file.filename,
        }),
    }
}

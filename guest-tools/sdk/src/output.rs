//! Tool results: the union of the contract as plain types, and the conversions to its variants. The
//! variant is chosen by type, never by inspecting a value.

use std::fmt;

use serde::Serialize;

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Success, as text.
    Text(String),
    /// Success, as JSON.
    Json(serde_json::Value),
    /// Success, as several parts, images among them.
    Content(Vec<Part>),
    /// Failure, as text that tells the model what went wrong and what to do next.
    ErrorText(String),
    /// Failure, as JSON.
    ErrorJson(serde_json::Value),
    /// The call did not run, because a user or a rule did not allow it; with the reason where there
    /// is one.
    Denied(Option<String>),
}

impl Output {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// JSON. A value that has no JSON form, such as a map whose keys are not strings, becomes an
    /// error that says so.
    pub fn json(value: &impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => Self::Json(value),
            Err(error) => Self::ErrorText(format!(
                "the tool made a result that has no JSON form: {error}"
            )),
        }
    }

    /// Several parts.
    pub fn content(parts: impl Into<Vec<Part>>) -> Self {
        Self::Content(parts.into())
    }

    /// One image. The media type must agree with the bytes: the host sniffs them.
    pub fn image(media_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self::Content(vec![Part::bytes(media_type, bytes)])
    }

    /// One file.
    pub fn file(
        media_type: impl Into<String>,
        bytes: Vec<u8>,
        filename: impl Into<String>,
    ) -> Self {
        Self::Content(vec![Part::bytes(media_type, bytes).named(filename)])
    }

    /// A failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self::ErrorText(text.into())
    }

    /// A failure, as JSON. A value without a JSON form becomes an error that says so.
    pub fn error_json(value: &impl Serialize) -> Self {
        match Self::json(value) {
            Self::Json(value) => Self::ErrorJson(value),
            other => other,
        }
    }

    /// A refusal with its reason.
    pub fn denied(reason: impl Into<String>) -> Self {
        Self::Denied(Some(reason.into()))
    }
}

/// One part of a result with several.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text for the model to read.
    Text(String),
    /// An image or another file.
    File {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The content.
        data: Data,
        /// A name to show and to save under.
        filename: Option<String>,
    },
}

/// The content of a file, or its URL.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// The content itself.
    Bytes(Vec<u8>),
    /// An absolute URL, whose content the host fetches if the call may reach it.
    Url(String),
    /// The content itself, as text.
    Text(String),
}

impl Part {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A file, such as an image, by its content.
    pub fn bytes(media_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self::File {
            media_type: media_type.into(),
            data: Data::Bytes(bytes),
            filename: None,
        }
    }

    /// A file of text, such as CSV or source code, by its content.
    pub fn text_file(media_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self::File {
            media_type: media_type.into(),
            data: Data::Text(text.into()),
            filename: None,
        }
    }

    /// A file by its address.
    pub fn url(media_type: impl Into<String>, url: impl Into<String>) -> Self {
        Self::File {
            media_type: media_type.into(),
            data: Data::Url(url.into()),
            filename: None,
        }
    }

    /// Sets the name of a file. A text part has none and stays unchanged.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        match self {
            Self::Text(text) => Self::Text(text),
            Self::File {
                media_type,
                data,
                filename: _,
            } => Self::File {
                media_type,
                data,
                filename: Some(name.into()),
            },
        }
    }
}

/// A value that the model gets as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T>(pub T);

/// A value that a tool may return. Implemented by [`Output`] and by the types that become one of
/// its variants.
pub trait IntoOutput {
    /// The variant.
    fn into_output(self) -> Output;
}

impl IntoOutput for Output {
    fn into_output(self) -> Output {
        self
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Output {
        Output::Text(self)
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> Output {
        Output::json(&self.0)
    }
}

impl IntoOutput for serde_json::Value {
    fn into_output(self) -> Output {
        Output::Json(self)
    }
}

impl IntoOutput for Part {
    fn into_output(self) -> Output {
        Output::Content(vec![self])
    }
}

impl IntoOutput for Vec<Part> {
    fn into_output(self) -> Output {
        Output::Content(self)
    }
}

/// The alternate form is used because error types with a chain of causes print the whole chain in
/// it.
impl<T: IntoOutput, E: fmt::Display> IntoOutput for Result<T, E> {
    fn into_output(self) -> Output {
        match self {
            Ok(value) => value.into_output(),
            Err(error) => Output::ErrorText(format!("{error:#}")),
        }
    }
}

#[cfg(test)]
mod tests;

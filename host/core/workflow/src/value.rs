//! The values of references: text, JSON, or null where there is nothing. JSON stays text, of which
//! only the selected part is parsed.

mod select;
#[cfg(test)]
mod tests;

pub(crate) use select::select;

use crate::reference::Field;
use agent_host_types::{
    json::JsonText,
    output::ToolResultOutput,
    workflow::{Artifact, NodeOutput},
};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The value of a reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resolved<'a> {
    /// Nothing: the path is unknown, or the node was skipped.
    Null,
    /// A text.
    Text(Cow<'a, str>),
    /// JSON that is neither null nor a string.
    Json(JsonText),
}

impl<'a> Resolved<'a> {
    /// Wraps JSON of any kind.
    pub(crate) fn of_json(json: JsonText) -> Self {
        if json.as_str() == "null" {
            return Self::Null;
        }
        match serde_json::from_str::<String>(json.as_str()) {
            Ok(text) => Self::Text(Cow::Owned(text)),
            Err(_) => Self::Json(json),
        }
    }

    /// Wraps a value that always has a JSON form.
    pub(crate) fn from_value<T: Serialize>(value: &T) -> Self {
        let json = serde_json::to_string(value)
            .and_then(|text| JsonText::parse(&text))
            .ok();
        json.map_or(Self::Null, Self::of_json)
    }

    /// Selects a part of JSON.
    pub(crate) fn part(json: &JsonText, path: &[String]) -> Self {
        if path.is_empty() {
            return Self::of_json(json.clone());
        }
        select(json.as_str(), path).map_or(Self::Null, Self::of_json)
    }

    /// Selects a part of an output.
    pub(crate) fn field(output: &'a NodeOutput, field: Field, path: &[String]) -> Self {
        let text = Self::Text(Cow::Borrowed(&output.text));
        match field {
            Field::Text => text,
            Field::Output => match &output.output {
                Some(ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json)) => {
                    Self::part(json, path)
                }
                Some(
                    ToolResultOutput::Text(_)
                    | ToolResultOutput::Content(_)
                    | ToolResultOutput::ErrorText(_)
                    | ToolResultOutput::ExecutionDenied(_),
                )
                | None
                    if path.is_empty() =>
                {
                    text
                }
                _ => Self::Null,
            },
            Field::Artifacts => {
                let Some((key, rest)) = path.split_first() else {
                    return Self::Null;
                };
                match output.artifacts.get(key) {
                    Some(Artifact::Value(json)) => Self::part(json, rest),
                    Some(Artifact::Reference(reference)) => {
                        Self::from_value(reference).into_part(rest)
                    }
                    None => Self::Null,
                }
            }
            Field::Items => match output.artifacts.get("items") {
                Some(Artifact::Value(json)) => Self::part(json, path),
                Some(Artifact::Reference(_)) | None => Self::Null,
            },
            Field::Error => match &output.error {
                Some(error) => Self::from_value(error).into_part(path),
                None => Self::Null,
            },
        }
    }

    /// Selects a part.
    pub(crate) fn into_part(self, path: &[String]) -> Self {
        match self {
            Self::Json(json) => Self::part(&json, path),
            Self::Text(_) | Self::Null if path.is_empty() => self,
            Self::Text(_) | Self::Null => Self::Null,
        }
    }

    /// Returns the value without its own text.
    pub(crate) fn borrowed(&self) -> Resolved<'_> {
        match self {
            Self::Null => Resolved::Null,
            Self::Text(text) => Resolved::Text(Cow::Borrowed(text)),
            Self::Json(json) => Resolved::Json(json.clone()),
        }
    }

    /// Returns the value with its own text.
    pub(crate) fn into_owned(self) -> Resolved<'static> {
        match self {
            Self::Null => Resolved::Null,
            Self::Text(text) => Resolved::Text(Cow::Owned(text.into_owned())),
            Self::Json(json) => Resolved::Json(json),
        }
    }

    /// Returns the text for a message: JSON in its compact form.
    pub(crate) fn as_text(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Text(text) => text,
            Self::Json(json) => json.as_str(),
        }
    }

    /// Builds the value for the input of a tool.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::String(text.into_owned()),
            Self::Json(json) => json.to_value(),
        }
    }
}

//! JSON as text: the form in which results of tools are held, sent and stored. A tree of many small
//! values takes up to 100 times the memory of its text.

#[cfg(test)]
mod tests;
mod transcode;
mod writer;

use super::MAX_DEPTH;
use crate::failure::ToolFailure;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use std::{borrow::Cow, fmt, sync::Arc};
use writer::JsonWriter;

/// Valid JSON of at most [`JsonText::MAX_LEVELS`] levels, as compact text with sorted keys and
/// without duplicates: the text that [`Value`] would print. Equal values have equal texts. Cheap to
/// clone.
///
/// ```
/// use agent_host_types::json::JsonText;
///
/// let text = JsonText::parse(r#"{ "b": 1e3, "a": "\u0041", "b": null }"#)?;
/// assert_eq!(text.as_str(), r#"{"a":"A","b":null}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// In JSON it is the value itself, which is read and written without a tree.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Arc<str>);

/// JSON of too many levels of arrays and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it nests too deeply")]
pub struct TooDeep;

impl From<TooDeep> for ToolFailure {
    fn from(_: TooDeep) -> Self {
        Self::invalid_output(format!(
            "the JSON of the result nests more than {MAX_DEPTH} levels deep"
        ))
    }
}

impl JsonText {
    /// The most levels of arrays and objects: as many as `serde_json` parses. A result may have
    /// [`MAX_DEPTH`], which [`crate::output::ToolResultOutput::validate`] checks.
    pub const MAX_LEVELS: usize = 127;

    /// Validates and normalizes a text.
    ///
    /// # Errors
    /// If it is not one JSON value, or nests too deep.
    pub fn parse(json: &str) -> serde_json::Result<Self> {
        let mut writer = JsonWriter::with_capacity(json.len());
        let mut source = serde_json::Deserializer::from_str(json);
        writer.read(&mut source)?;
        source.end()?;
        Ok(Self(writer.into_text()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the value has more than [`MAX_DEPTH`] levels.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        // An array or an object takes two bytes.
        if self.0.len() <= 2 * MAX_DEPTH {
            return false;
        }
        let (mut levels, mut is_string, mut is_escaped) = (0_usize, false, false);
        for byte in self.0.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_string = !is_string,
                _ if is_string => {}
                b'[' | b'{' if levels == MAX_DEPTH => return true,
                b'[' | b'{' => levels += 1,
                b']' | b'}' => levels -= 1,
                _ => {}
            }
        }
        false
    }

    /// Builds the tree of the value, which takes up to 100 times the memory of the text.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // The text is valid and not too deep for the parser, so there is no error.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Returns whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }

    /// Replaces each string, keys included, for which `map` returns another; of two keys that
    /// become equal the last one stays. Returns `None` if nothing changed.
    #[must_use]
    pub fn map_strings(&self, map: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let mut writer = JsonWriter::with_capacity(self.0.len()).with_map(&map);
        let mut source = serde_json::Deserializer::from_str(&self.0);
        // The text is valid, so there is no error; a value that cannot be mapped is not shown.
        if writer.read(&mut source).is_err() {
            return Some(Self(Arc::from("null")));
        }
        writer.has_mapped().then(|| Self(writer.into_text()))
    }
}

impl TryFrom<&Value> for JsonText {
    type Error = TooDeep;

    fn try_from(value: &Value) -> Result<Self, TooDeep> {
        let mut writer = JsonWriter::with_capacity(0);
        writer.read(value).map_err(|_| TooDeep)?;
        Ok(Self(writer.into_text()))
    }
}

impl fmt::Display for JsonText {
    /// Writes the text; in lines and indented with the flag `#`, as [`Value`] does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let lines = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
            return f.write_str(&lines);
        }
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        transcode::copy(&mut serde_json::Deserializer::from_str(&self.0), serializer)
    }
}

impl JsonSchema for JsonText {
    fn schema_name() -> Cow<'static, str> {
        "JsonText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut writer = JsonWriter::with_capacity(0);
        writer.read(deserializer).map_err(D::Error::custom)?;
        Ok(Self(writer.into_text()))
    }
}

//! The schema of a run's final answer, which the model writes as text.

use super::{Schema, SchemaError};
use agent_host_types::reason::Reason;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

/// The compiled schema of an answer. It comes from the operator and has the same bounds as the
/// schemas of tools.
#[derive(Debug)]
pub struct AnswerSchema {
    schema: Value,
    compiled: Schema,
}

impl PartialEq for AnswerSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema() == other.schema()
    }
}

impl Eq for AnswerSchema {}

impl Serialize for AnswerSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.schema.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AnswerSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::compile(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl AnswerSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If the schema is invalid or exceeds a bound.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Ok(Self {
            compiled: Schema::compile(schema)?,
            schema: schema.clone(),
        })
    }

    /// Returns the schema as JSON.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Parses an answer: one JSON value, optionally in a Markdown code block.
    ///
    /// # Errors
    /// If the text is not one JSON value or the value does not fit the schema.
    pub fn parse(&self, text: &str) -> Result<Value, Reason> {
        let value = serde_json::from_str(unfenced(text))
            .map_err(|error| format!("it is not one JSON value ({error})"))?;
        let checked = self.compiled.check(&value, "the answer");
        checked.map_err(|error| error.to_string())?;
        Ok(value)
    }
}

/// Returns the content of a Markdown code block if the text is nothing else, and the trimmed text
/// otherwise.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, inner)) if !language.contains(['{', '[']) => inner.trim(),
        Some(_) | None => text,
    }
}

//! The schema of a run's final answer, which models write as text.

use super::Schema;
use serde_json::Value;

/// The compiled schema of an answer. It is the operator's own, and held to the same bounds as a stranger's.
#[derive(Debug)]
pub struct AnswerSchema(Schema);

impl PartialEq for AnswerSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema() == other.schema()
    }
}

impl Eq for AnswerSchema {}

impl AnswerSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// What is wrong with the schema, as a fragment.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        Schema::compile(schema).map(Self)
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.source
    }

    /// Reads an answer: one JSON value, which many models put between the marks of a code block.
    ///
    /// # Errors
    /// Why it does not fit, as a fragment.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value: Value = serde_json::from_str(unfenced(text))
            .map_err(|error| format!("it is not one JSON value ({error})"))?;
        self.0.check(&value, "the answer")?;
        Ok(value)
    }
}

/// The text between the marks of a Markdown code block, where that is all there is.
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

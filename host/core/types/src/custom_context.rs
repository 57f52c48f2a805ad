//! The custom context of a session: what the operator's program says of the request that it serves.

use crate::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::str::FromStr;

/// The largest context, in bytes of JSON.
pub const MAX_CONTEXT_BYTES: usize = 16 * 1024;

/// The custom context of a session, such as a user, a tenant or a request id: a JSON object of at
/// most 16 KiB. Tools can read it (`agent:tool/context`); the model neither sees nor sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Map<String, Value>")]
pub struct CustomContext(Map<String, Value>);

/// A value that cannot be the context of a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CustomContextError {
    /// No JSON object; with the parser's message.
    #[error("it is not a JSON object ({0}); write it like {{\"user\": \"ada\"}}")]
    NotAnObject(String),
    /// Larger than [`MAX_CONTEXT_BYTES`].
    #[error(
        "it has {0} bytes, and the maximum is {MAX_CONTEXT_BYTES}; pass ids instead of the data itself"
    )]
    TooLarge(usize),
    /// Nested more than [`json::MAX_DEPTH`] levels deep.
    #[error("it nests more than {} levels deep; use fewer levels", json::MAX_DEPTH)]
    TooDeep,
}

impl CustomContext {
    /// Returns the fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns whether it has no fieldss, as where none was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Map<String, Value>> for CustomContext {
    type Error = CustomContextError;

    fn try_from(fields: Map<String, Value>) -> Result<Self, CustomContextError> {
        if json::is_object_too_deep(&fields) {
            return Err(CustomContextError::TooDeep);
        }
        let text = serde_json::to_string(&fields)
            .map_err(|error| CustomContextError::NotAnObject(error.to_string()))?;
        match text.len() {
            0..=MAX_CONTEXT_BYTES => Ok(Self(fields)),
            bytes => Err(CustomContextError::TooLarge(bytes)),
        }
    }
}

impl FromStr for CustomContext {
    type Err = CustomContextError;

    fn from_str(text: &str) -> Result<Self, CustomContextError> {
        let fields: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| CustomContextError::NotAnObject(error.to_string()))?;
        Self::try_from(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::{CustomContext, CustomContextError, MAX_CONTEXT_BYTES};
    use crate::json;
    use pretty_assertions::assert_eq;

    #[test]
    fn custom_context_is_a_bounded_object() {
        let nested = |levels: usize| {
            let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
            format!("{open}1{close}")
        };
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let no_object = |why: &str| Err(CustomContextError::NotAnObject(why.to_owned()));
        for (text, expected) in [
            (
                r#"{"user":"ada"}"#.to_owned(),
                Ok(r#"{"user":"ada"}"#.to_owned()),
            ),
            ("{}".to_owned(), Ok("{}".to_owned())),
            (
                "[1]".to_owned(),
                no_object("invalid type: sequence, expected a map at line 1 column 0"),
            ),
            (
                "{".to_owned(),
                no_object("EOF while parsing an object at line 1 column 1"),
            ),
            (sized(MAX_CONTEXT_BYTES), Ok(sized(MAX_CONTEXT_BYTES))),
            (
                sized(MAX_CONTEXT_BYTES + 1),
                Err(CustomContextError::TooLarge(MAX_CONTEXT_BYTES + 1)),
            ),
            (nested(json::MAX_DEPTH), Ok(nested(json::MAX_DEPTH))),
            (
                nested(json::MAX_DEPTH + 1),
                Err(CustomContextError::TooDeep),
            ),
        ] {
            let read = text.parse::<CustomContext>();
            assert_eq!(
                read.map(|context| serde_json::to_string(&context).unwrap()),
                expected
            );
        }
    }
}

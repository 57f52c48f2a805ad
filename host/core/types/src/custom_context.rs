//! The custom context of a session: what the operator's program says of the request that it serves.

use crate::{json, reason::Reason};
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

impl CustomContext {
    /// Returns whether it has no fieldss, as where none was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Map<String, Value>> for CustomContext {
    type Error = Reason;

    fn try_from(fields: Map<String, Value>) -> Result<Self, Reason> {
        if json::is_object_too_deep(&fields) {
            let most = json::MAX_DEPTH;
            let why = format!("it nests more than {most} levels deep; use fewer levels");
            return Err(why.into());
        }
        let text =
            serde_json::to_string(&fields).map_err(|error| not_an_object(&error.to_string()))?;
        match text.len() {
            0..=MAX_CONTEXT_BYTES => Ok(Self(fields)),
            bytes => Err(format!(
                "it has {bytes} bytes, and the maximum is {MAX_CONTEXT_BYTES}; pass ids instead of the data itself"
            )
            .into()),
        }
    }
}

impl FromStr for CustomContext {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        let fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| not_an_object(&error.to_string()))?;
        Self::try_from(fields)
    }
}

fn not_an_object(why: &str) -> Reason {
    format!("it is not a JSON object ({why}); write it like {{\"user\": \"ada\"}}").into()
}

#[cfg(test)]
mod tests {
    use super::{CustomContext, MAX_CONTEXT_BYTES, not_an_object};
    use crate::json;
    use pretty_assertions::assert_eq;

    #[test]
    fn custom_context_is_a_bounded_object() {
        let nested = |levels: usize| {
            let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
            format!("{open}1{close}")
        };
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let no_object = |why: &str| Err(not_an_object(why));
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
                Err("it has 16385 bytes, and the maximum is 16384; pass ids instead of the data itself".into()),
            ),
            (nested(json::MAX_DEPTH), Ok(nested(json::MAX_DEPTH))),
            (
                nested(json::MAX_DEPTH + 1),
                Err("it nests more than 100 levels deep; use fewer levels".into()),
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

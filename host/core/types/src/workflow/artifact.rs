//! Values of nodes by name. In JSON an artifact is the value itself or `{"artifact", "digest",
//! "media_type"}`. A value that has the form of a reference, or of the escape, is written as
//! `{"$value": ...}`, so that no tool can make a reference.

use crate::{
    id::Digest,
    json::{JsonText, TooDeep},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// The key of the escape.
const ESCAPE: &str = "$value";

/// A value of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Artifact {
    /// A JSON value.
    Value(JsonText),
    /// A stored artifact of the session.
    Reference(ArtifactRef),
}

/// A reference to a stored artifact. Only the host creates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    /// The name in the session.
    pub artifact: String,
    /// The digest of the bytes.
    pub digest: Digest,
    /// The media type.
    pub media_type: String,
}

impl Artifact {
    /// Creates a value.
    ///
    /// # Errors If it nests too deeply.
    pub fn value(value: &Value) -> Result<Self, TooDeep> {
        JsonText::try_from(value).map(Self::Value)
    }
}

/// Whether a value would be read as something else if it were written as it is.
fn needs_escape(json: &JsonText) -> bool {
    let text = json.as_str();
    // Keys are sorted and the text is compact.
    (text.starts_with(r#"{"$value":"#) || text.starts_with(r#"{"artifact":"#))
        && !matches!(read(json.clone()), Artifact::Value(same) if same == *json)
}

/// Reads the JSON form.
fn read(json: JsonText) -> Artifact {
    let text = json.as_str();
    if text.starts_with(r#"{"artifact":"#)
        && let Ok(reference) = serde_json::from_str(text)
    {
        return Artifact::Reference(reference);
    }
    if text.starts_with(r#"{"$value":"#)
        && let Ok(mut object) = serde_json::from_str::<BTreeMap<String, JsonText>>(text)
        && object.len() == 1
        && let Some(value) = object.remove(ESCAPE)
    {
        return Artifact::Value(value);
    }
    Artifact::Value(json)
}

impl Serialize for Artifact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Reference(reference) => reference.serialize(serializer),
            Self::Value(json) if needs_escape(json) => {
                BTreeMap::from([(ESCAPE, json)]).serialize(serializer)
            }
            Self::Value(json) => json.serialize(serializer),
        }
    }
}

impl JsonSchema for Artifact {
    fn schema_name() -> Cow<'static, str> {
        "Artifact".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let reference = generator.subschema_for::<ArtifactRef>();
        json_schema!({
            "description": "A value of a node, or a reference to a stored artifact. A value that looks like a \
                reference is written as `{\"$value\": ...}`.",
            "anyOf": [reference, true],
        })
    }
}

impl<'de> Deserialize<'de> for Artifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonText::deserialize(deserializer)
            .map(read)
            .map_err(D::Error::custom)
    }
}

//! Converts the definitions of tools.

use super::cbor;
use crate::bindings::act::act::{
    core::types::{LocalizedString, Metadata},
    tools::types::ToolDefinition,
};
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::tool::Effect;
use serde_json::{Map, Value};

/// The keyword of an input schema with the milliseconds after which a tool asks to be stopped.
pub(crate) const TIMEOUT_KEYWORD: &str = "x-timeout-ms";

/// The language of texts, if a component has them in several.
const LANGUAGE: &str = "en";

/// Converts a definition. What its metadata says of effects is a declaration like any tool's: the
/// gate enforces `read-only`.
pub(super) fn convert(tool: ToolDefinition) -> RawDefinition {
    let metadata = read(&tool.metadata);
    let is = |key: &str| metadata.get(key) == Some(&Value::Bool(true));
    let hint = |heading: &str, key: &str| {
        let text = localized(metadata.get(key)?)?;
        Some(format!("\n\n{heading}: {text}"))
    };
    let mut description = text(&tool.description);
    description.extend(hint("When to use it", "std:usage-hints"));
    description.extend(hint("When not to use it", "std:anti-usage-hints"));
    RawDefinition {
        name: tool.name,
        title: None,
        description,
        input_schema: with_timeout(tool.parameters_schema, metadata.get("std:timeout-ms")),
        output_schema: None,
        effect: if is("std:read-only") {
            Effect::ReadOnly
        } else if is("std:idempotent") {
            Effect::Idempotent
        } else {
            Effect::Effectful
        },
    }
}

/// Reads metadata; values that are no CBOR are left out.
fn read(metadata: &Metadata) -> Map<String, Value> {
    let read = |(key, value): &(String, Vec<u8>)| Some((key.clone(), cbor::decode(value).ok()?));
    metadata.iter().filter_map(read).collect()
}

/// Adds the timeout to a schema. One that cannot be read is refused later.
fn with_timeout(schema: String, timeout: Option<&Value>) -> String {
    let Some(timeout) = timeout.filter(|timeout| timeout.is_u64()) else {
        return schema;
    };
    match serde_json::from_str(&schema) {
        Ok(Value::Object(mut object)) => {
            object.insert(TIMEOUT_KEYWORD.to_owned(), timeout.clone());
            Value::Object(object).to_string()
        }
        Ok(_) | Err(_) => schema,
    }
}

/// Returns the English text, or the first.
pub(super) fn text(text: &LocalizedString) -> String {
    match text {
        LocalizedString::Plain(text) => text.clone(),
        LocalizedString::Localized(texts) => {
            let english = texts.iter().find(|(tag, _)| tag.starts_with(LANGUAGE));
            english
                .or(texts.first())
                .map_or_else(String::new, |(_, text)| text.clone())
        }
    }
}

/// Returns the English text, or the first, of its form in metadata.
pub(super) fn localized(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(texts) => {
            let english = texts.iter().find(|(tag, _)| tag.starts_with(LANGUAGE));
            let (_, text) = english.or_else(|| texts.iter().next())?;
            text.as_str()
        }
        _ => None,
    }
}

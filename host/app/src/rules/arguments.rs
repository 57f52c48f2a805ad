//! Compares what the conditions of rules name with the schemas of their tools: a misspelled argument
//! would match no call.

#[cfg(test)]
mod tests;

use agent_host_workflow::condition::{ArgumentPath, ComparedArgument};
use serde_json::Value;

/// Why a comparison never holds for the calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The tool has no such argument.
    Unknown {
        /// The names that it has instead.
        known: Vec<String>,
    },
    /// It has another type than the literal.
    Type {
        /// The type, as the schema has it.
        is: String,
    },
}

/// Returns why a comparison never holds; `None` if it may, or the schema does not say.
pub(super) fn misfit(schema: &Value, compared: &ComparedArgument<'_>) -> Option<Misfit> {
    let part = match at(schema, compared.path) {
        Ok(part) => part?,
        Err(known) => return Some(Misfit::Unknown { known }),
    };
    let types: Vec<&str> = match part.get("type")? {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    const NUMBERS: &[&str] = &["number", "integer"];
    let wanted: &[&str] = match compared.literal {
        None if compared.is_added => NUMBERS,
        None => return None,
        Some(literal) => match literal {
            Value::Null => return None,
            Value::Bool(_) => &["boolean"],
            Value::Number(_) => NUMBERS,
            Value::String(_) => &["string"],
            Value::Array(_) => &["array"],
            Value::Object(_) => &["object"],
        },
    };
    let fits = types.iter().any(|one| wanted.contains(one));
    (!fits && !types.is_empty()).then(|| Misfit::Type {
        is: types.join(" or "),
    })
}

/// Returns the schema of a part of the arguments, or the known names where one is unknown; `None`
/// where the schema allows others.
fn at<'s>(schema: &'s Value, path: &ArgumentPath) -> Result<Option<&'s Value>, Vec<String>> {
    let mut part = schema;
    for step in path.steps() {
        // Their parts are not looked at.
        let is_open = ["$ref", "anyOf", "oneOf", "allOf", "patternProperties"];
        if is_open.iter().any(|key| part.get(key).is_some()) {
            return Ok(None);
        }
        let is_scalar = |one: &str| ["string", "number", "integer", "boolean"].contains(&one);
        if part
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(is_scalar)
        {
            return Err(Vec::new());
        }
        let names = part.get("properties").and_then(Value::as_object);
        let next = match names {
            Some(names) => names.get(step),
            None => part.get("items").filter(|_| step.parse::<usize>().is_ok()),
        };
        match (next, names) {
            (Some(next), _) => part = next,
            (None, Some(names)) if !allows_more(part) => {
                return Err(names.keys().cloned().collect());
            }
            (None, _) => return Ok(None),
        }
    }
    Ok(Some(part))
}

/// Whether a schema says that it allows other properties, as opposed to not saying that it does not.
fn allows_more(schema: &Value) -> bool {
    match schema.get("additionalProperties") {
        None | Some(Value::Bool(false)) => false,
        Some(_) => true,
    }
}

//! Parses the expressions of a definition; a malformed one is a fault.

use super::{Fault, Place};
use crate::{reference::Expression, syntax::SyntaxError, workflow::Template};
use serde_json::{Map, Value};
use std::str::FromStr;

/// Parses a text.
pub(super) fn parse<T: FromStr<Err = SyntaxError>>(
    node: &str,
    place: &Place,
    text: &str,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let parsed = text.parse();
    parsed
        .map_err(|error| {
            let text: String = text.chars().take(200).collect();
            let hint = match place {
                Place::Message | Place::Inputs(_) | Place::Input(_) => {
                    "; put a literal text in quotes"
                }
                Place::Foreach | Place::When(_) => "",
            };
            let text = text.escape_debug();
            let message = format!(": {place} is malformed: {error} of `{text}`{hint}");
            faults.push(Fault::of_node(node, &message));
        })
        .ok()
}

/// Parses the strings of the input of a tool, which is not too deep.
pub(super) fn template(
    node: &str,
    input: &Map<String, Value>,
    faults: &mut Vec<Fault>,
) -> Template {
    object(node, "", input, faults)
}

fn object(node: &str, path: &str, map: &Map<String, Value>, faults: &mut Vec<Fault>) -> Template {
    let entries = map.iter().map(|(key, value)| {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        (key.clone(), part(node, &path, value, faults))
    });
    Template::Object(entries.collect())
}

fn part(node: &str, path: &str, value: &Value, faults: &mut Vec<Fault>) -> Template {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Template::Literal(value.clone()),
        Value::String(text) => match parse(node, &Place::Input(path.to_owned()), text, faults) {
            Some(Expression::Reference(reference)) => Template::Reference(reference),
            Some(Expression::Literal(text)) => Template::Literal(Value::String(text)),
            None => Template::Literal(Value::Null),
        },
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items =
                items.map(|(index, item)| part(node, &format!("{path}.{index}"), item, faults));
            Template::List(items.collect())
        }
        Value::Object(map) => object(node, path, map, faults),
    }
}

//! TypeScript declarations of tools, for the model that writes a program.

#[cfg(test)]
mod tests;

use agent_host_types::tool::ToolDefinition;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The most bytes of declarations that a model is shown at once: about 6,000 tokens.
pub const MAX_DECLARATIONS_BYTES: usize = 24 * 1024;

/// The depth to which a schema is written out. What is deeper is `unknown`.
const MAX_DEPTH: usize = 8;

/// The most bytes of one description.
const MAX_DOC_BYTES: usize = 600;

/// The most members of a union or an object that are written out.
const MAX_MEMBERS: usize = 64;

/// Declares `tools`, an object with a function for each tool. Those beyond `max_bytes` are named
/// alone.
///
/// Everything in a definition may come from an untrusted component or server: names are quoted
/// where they are no identifiers, and descriptions cannot end the comment that they are in.
#[must_use]
pub fn declarations(tools: &[&ToolDefinition], max_bytes: usize) -> String {
    let mut text = "declare const tools: {\n".to_owned();
    let mut named = Vec::new();
    for tool in tools {
        let declared = declaration(tool);
        if text.len() + declared.len() > max_bytes {
            named.push(property(&tool.name));
        } else {
            text.push_str(&declared);
        }
    }
    text.push_str("};\n");
    if !named.is_empty() {
        let _ = writeln!(
            text,
            "Not declared here because there are too many: {}. Their functions take and return objects; \
             `describe_tools` declares them.",
            named.join(", ")
        );
    }
    text
}

/// Declares the function of one tool.
fn declaration(tool: &ToolDefinition) -> String {
    let doc = doc(&tool.description, "  ");
    let input = type_of(&tool.input_schema, &tool.input_schema, 0);
    let result = match &tool.output_schema {
        Some(schema) => type_of(schema, schema, 0),
        None => "any".to_owned(),
    };
    let name = property(&tool.name);
    format!("{doc}  {name}(input: {input}): Promise<{result}>;\n")
}

/// Returns a comment with a description; nothing for an empty one.
fn doc(description: &str, indent: &str) -> String {
    let text = crate::text::sanitize(description, MAX_DOC_BYTES);
    let text = text.trim().replace("*/", "* /");
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace('\n', &format!("\n{indent} * "));
    format!("{indent}/** {text} */\n")
}

/// Returns the name of a property, in quotes if it is no identifier.
fn property(name: &str) -> String {
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let continues = characters.all(|next| next.is_ascii_alphanumeric() || next == '_');
    match begins && continues {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

/// Returns the type of the values that fit a schema; `unknown` where it cannot be told. References
/// within `root` are followed.
fn type_of(schema: &Value, root: &Value, depth: usize) -> String {
    let Some(fields) = schema.as_object() else {
        return "unknown".to_owned();
    };
    if depth > MAX_DEPTH {
        return "unknown".to_owned();
    }
    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
        let target = target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(
            || "unknown".to_owned(),
            |target| type_of(target, root, depth + 1),
        );
    }
    if let Some(value) = fields.get("const") {
        return literal(value);
    }
    if let Some(values) = fields.get("enum").and_then(Value::as_array) {
        return union(values.iter().map(literal));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(cases) = fields.get(key).and_then(Value::as_array) {
            return union(cases.iter().map(|case| type_of(case, root, depth + 1)));
        }
    }
    match fields.get("type") {
        Some(Value::Array(types)) => {
            let types = types.iter().filter_map(Value::as_str);
            union(types.map(|name| of_type(name, fields, root, depth)))
        }
        Some(Value::String(name)) => of_type(name, fields, root, depth),
        _ if fields.contains_key("properties") => object(fields, root, depth),
        _ => "unknown".to_owned(),
    }
}

fn of_type(name: &str, fields: &Map<String, Value>, root: &Value, depth: usize) -> String {
    match name {
        "string" => "string".to_owned(),
        "number" | "integer" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => {
            let items = fields.get("items");
            let items = items.map_or_else(
                || "unknown".to_owned(),
                |items| type_of(items, root, depth + 1),
            );
            match items.contains(" | ") {
                true => format!("({items})[]"),
                false => format!("{items}[]"),
            }
        }
        "object" => object(fields, root, depth),
        _ => "unknown".to_owned(),
    }
}

fn object(fields: &Map<String, Value>, root: &Value, depth: usize) -> String {
    let properties = fields.get("properties").and_then(Value::as_object);
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
    };
    let members = properties.into_iter().flatten().take(MAX_MEMBERS);
    let members: Vec<String> = members
        .map(|(name, schema)| {
            let mark = if is_required(name) { "" } else { "?" };
            let about = schema.get("description").and_then(Value::as_str);
            let about = about.unwrap_or_default().replace('\n', " ");
            let about = doc(&about, "").replace('\n', " ");
            let ty = type_of(schema, root, depth + 1);
            format!("{about}{}{mark}: {ty}", property(name))
        })
        .collect();
    if !members.is_empty() {
        return format!("{{ {} }}", members.join("; "));
    }
    let values = match fields.get("additionalProperties") {
        Some(Value::Bool(false)) => "never".to_owned(),
        Some(schema @ Value::Object(_)) => type_of(schema, root, depth + 1),
        _ => "unknown".to_owned(),
    };
    format!("Record<string, {values}>")
}

/// Joins the distinct cases of a union.
fn union(cases: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for case in cases.take(MAX_MEMBERS) {
        if !distinct.contains(&case) {
            distinct.push(case);
        }
    }
    match distinct.is_empty() {
        true => "unknown".to_owned(),
        false => distinct.join(" | "),
    }
}

/// Returns the type of one value, whose JSON is a literal of TypeScript, too.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => "unknown".to_owned(),
        simple => crate::text::sanitize(&simple.to_string(), MAX_DOC_BYTES),
    }
}

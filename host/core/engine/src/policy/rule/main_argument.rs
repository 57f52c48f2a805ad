//! The argument that a call is mostly about, for rules that name none.

use agent_host_types::tool::ToolDefinition;
use serde_json::Value;

/// The name of the main argument of most tools of files.
pub(crate) const PATH: &str = "path";

/// Returns the name of a tool's main argument: `path`, or else the first required argument, that is
/// a text or a list of texts; `None` if there is none.
#[must_use]
pub fn main_argument(definition: &ToolDefinition) -> Option<&str> {
    let schema = &definition.input_schema;
    let properties = schema.get("properties")?.as_object()?;
    let is_text = |name: &str| properties.get(name).is_some_and(is_text_schema);
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    std::iter::once(PATH)
        .chain(required)
        .find(|name| is_text(name))
}

/// Whether values of a schema are texts or lists of texts.
fn is_text_schema(schema: &Value) -> bool {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => true,
        Some("array") => schema
            .get("items")
            .and_then(|items| items.get("type"))
            .is_some_and(|kind| kind == "string"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::main_argument;
    use agent_host_types::tool::{Effect, ToolDefinition};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn main_argument_is_the_path_or_the_first_required_text() {
        let text = json!({"type": "string"});
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let number = json!({"type": "integer"});
        let table = [
            (
                json!({"content": text, "path": text}),
                json!(["content", "path"]),
                Some("path"),
            ),
            (
                json!({"path": number, "url": text}),
                json!(["path", "url"]),
                Some("url"),
            ),
            (
                json!({"n": number, "to": texts}),
                json!(["n", "to"]),
                Some("to"),
            ),
            (json!({"path": text}), json!([]), Some("path")),
            (json!({"note": text}), json!([]), None),
            (json!({}), json!(["gone"]), None),
        ];
        for (properties, required, expected) in table {
            let definition = ToolDefinition {
                name: "t".to_owned(),
                title: None,
                description: String::new(),
                input_schema: json!({
                    "type": "object", "properties": properties, "required": required,
                }),
                output_schema: None,
                effect: Effect::ReadOnly,
            };
            assert_eq!(main_argument(&definition), expected, "{properties}");
        }
    }
}

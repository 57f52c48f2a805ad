use pretty_assertions::assert_eq;
use schemars::JsonSchema;
use serde_json::json;

use super::{input_schema, output_schema};

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the shape is used")]
struct Search {
    /// The text to find,
    /// in any case.
    title: String,
    #[schemars(default)]
    limit: Option<u32>,
    #[schemars(range(min = 1, max = 9))]
    depth: u8,
    order: Order,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only the shape is used")]
enum Order {
    NewestFirst,
    ByName,
}

#[test]
fn inputs_are_plain_objects() {
    assert_eq!(
        input_schema::<Search>(),
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "The text to find, in any case."},
                "limit": {"type": ["integer", "null"], "minimum": 0},
                "depth": {"type": "integer", "minimum": 1, "maximum": 9},
                "order": {"type": "string", "enum": ["newest-first", "by-name"]},
            },
            "required": ["title", "depth", "order"],
            "additionalProperties": false,
        })
    );
}

#[derive(JsonSchema)]
#[schemars(tag = "by")]
#[expect(dead_code, reason = "only the shape is used")]
enum Choice {
    Id { id: u64 },
}

#[test]
fn enum_of_objects_is_an_object() {
    let schema = input_schema::<Choice>();
    assert_eq!(schema.get("type"), Some(&json!("object")));
}

#[test]
fn outputs_may_be_anything() {
    assert_eq!(
        output_schema::<Vec<f64>>(),
        json!({"type": "array", "items": {"type": "number"}})
    );
}

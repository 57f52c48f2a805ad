//! Inputs whose schemas have what generators seldom write. The schemas have to reach the client as they are.

use std::borrow::Cow;

use agent_tool::{input, tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// How somebody can be reached. Its schema is the suite's, word by word.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Contact {
    name: Option<String>,
    contact_method: Option<String>,
}

impl JsonSchema for Contact {
    fn schema_name() -> Cow<'static, str> {
        "Contact".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {
                        "street": { "type": "string" },
                        "city": { "type": "string" },
                    },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": {
                "properties": { "contactMethod": { "const": "phone" } },
                "required": ["contactMethod"],
            },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        })
    }
}

#[input]
pub(crate) struct Place {
    /// The region, which stands in a header field of the request, too.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// Tells how somebody can be reached.
#[tool(effect = "read-only")]
pub(crate) fn json_schema_2020_12_tool(input: Contact) -> String {
    let name = input.name.as_deref().unwrap_or("somebody");
    match input.contact_method {
        Some(method) => format!("{name} by {method}"),
        None => name.to_owned(),
    }
}

/// Tells the region that it was given.
#[tool(effect = "read-only")]
pub(crate) fn test_custom_header(input: Place) -> String {
    input.region
}

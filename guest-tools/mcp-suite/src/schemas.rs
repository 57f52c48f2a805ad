//! Inputs with schema keywords that generators seldom write. The schemas must reach the client
//! unchanged.

use std::borrow::Cow;

use agent_tool::{input, tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Contact details. The schema is the suite's, word for word.
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
    /// The region, which is also in a header field of the request.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// Describes a contact.
#[tool(effect = "read-only")]
pub(crate) fn json_schema_2020_12_tool(input: Contact) -> String {
    let name = input.name.as_deref().unwrap_or("unknown");
    match input.contact_method {
        Some(method) => format!("{name} by {method}"),
        None => name.to_owned(),
    }
}

/// Returns the region that it was given.
#[tool(effect = "read-only")]
pub(crate) fn test_custom_header(input: Place) -> String {
    input.region
}

//! The JSON of hyper-mcp's plugins, which is that of MCP.

use agent_tool::{Effect, Output, Part, filter::Definition};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Reads a list of tools; fails with a sentence.
pub(crate) fn definitions(list: &[u8]) -> Result<Vec<Definition>, String> {
    let list = serde_json::from_slice::<Value>(list);
    let list = list.map_err(|error| format!("it returned malformed JSON: {error}"))?;
    let tools = list.get("tools").and_then(Value::as_array);
    let tools = tools.ok_or("it returned no list of `tools`")?;
    tools.iter().map(definition).collect()
}

fn definition(tool: &Value) -> Result<Definition, String> {
    let hint = |key: &str| tool["annotations"][key] == true;
    let schema = |key: &str| tool.get(key).filter(|schema| !schema.is_null()).cloned();
    Ok(Definition {
        name: text(tool, "name").ok_or("it listed a tool without a `name`")?,
        title: text(tool, "title"),
        description: text(tool, "description").unwrap_or_default(),
        input_schema: schema("inputSchema").unwrap_or_else(|| json!({"type": "object"})),
        output_schema: schema("outputSchema"),
        effect: match (hint("readOnlyHint"), hint("idempotentHint")) {
            (true, _) => Effect::ReadOnly,
            (false, true) => Effect::Idempotent,
            (false, false) => Effect::Effectful,
        },
    })
}

/// Converts a result.
pub(crate) fn output(result: &[u8]) -> Output {
    let result = serde_json::from_slice::<Value>(result).unwrap_or_default();
    let structured = result.get("structuredContent").filter(|it| !it.is_null());
    let blocks = match result["content"].as_array() {
        Some(blocks) => blocks.as_slice(),
        None if structured.is_some() => &[],
        None => return Output::error("The plugin's result is not one of MCP."),
    };
    let failed = result["isError"] == true;
    // Servers repeat the value as a text, for older clients.
    let repeats = |value: &Value, block: &Value| {
        let text = block["text"].as_str().unwrap_or_default();
        serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value)
    };
    if let Some(value) = structured.filter(|it| blocks.iter().all(|block| repeats(it, block))) {
        return match failed {
            true => Output::ErrorJson(value.clone()),
            false => Output::Json(value.clone()),
        };
    }
    let parts = blocks.iter().map(part);
    let parts = parts.chain(structured.map(|value| Part::text(value.to_string())));
    let mut parts: Vec<Part> = parts.collect();
    match parts.as_mut_slice() {
        _ if failed => Output::ErrorText(parts.iter().map(line).collect::<Vec<_>>().join("\n")),
        [Part::Text(text)] => Output::Text(std::mem::take(text)),
        _ => Output::Content(parts),
    }
}

/// Converts a block; a link, or something new, is its JSON.
fn part(block: &Value) -> Part {
    let content = block.get("resource").unwrap_or(block);
    let data = text(content, "data").or_else(|| text(content, "blob"));
    let data = data.and_then(|data| STANDARD.decode(data).ok());
    let media_type = text(content, "mimeType");
    match (text(content, "text"), data) {
        (Some(text), _) if block["type"] == "text" => Part::Text(text),
        (Some(text), _) => Part::text_file(media_type.unwrap_or("text/plain".to_owned()), text),
        (None, Some(bytes)) => Part::bytes(media_type.unwrap_or_default(), bytes),
        (None, None) => Part::text(block.to_string()),
    }
}

fn line(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::File { media_type, .. } => format!("[a file of type {media_type}]"),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

//! The values that templates see: the prompt, the names of the tools, and the results since the
//! prompt.

use agent_host_types::{
    id::CallId,
    message::Message,
    output::{ContentPart, DENIED_TEXT, FileData, ToolResultOutput},
    tool::{ToolCall, ToolDefinition},
};
use minijinja::value::Serde;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// The names of the built-in values.
pub(super) const RESERVED: [&str; 4] = ["prompt", "tools", "results", "by_tool"];

/// Values by name.
pub(super) struct Context(BTreeMap<String, minijinja::Value>);

impl Context {
    /// Creates the context after the messages of one run.
    pub(super) fn new(prompt: &str, run: &[Message], tools: &[ToolDefinition]) -> Self {
        let calls: HashMap<&CallId, &ToolCall> = run
            .iter()
            .flat_map(|message| &message.tool_calls)
            .map(|call| (&call.id, call))
            .collect();
        let results: Vec<(&str, Value)> = run
            .iter()
            .flat_map(|message| &message.tool_results)
            .map(|result| {
                let input = calls
                    .get(&result.call_id)
                    .and_then(|call| call.input.as_deref());
                let view = view(&result.name, input, &result.output);
                (result.name.as_str(), view)
            })
            .collect();
        // A later result of a tool replaces an earlier one.
        let by_tool: BTreeMap<&str, &Value> = results
            .iter()
            .map(|(tool, result)| (*tool, result))
            .collect();
        let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let all: Vec<&Value> = results.iter().map(|(_, result)| result).collect();
        let values = [
            ("prompt", minijinja::Value::from(prompt)),
            ("tools", minijinja::Value::from(Serde(&tools))),
            ("by_tool", minijinja::Value::from(Serde(&by_tool))),
            ("results", minijinja::Value::from(Serde(&all))),
        ];
        Self(
            values
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// Adds a name of the script.
    pub(super) fn bind(&mut self, name: &str, value: minijinja::Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Returns the context as a template takes it. Values are shared, not copied.
    pub(super) fn value(&self) -> minijinja::Value {
        minijinja::Value::from(self.0.clone())
    }
}

/// Returns a result as `tool`, `input`, `type`, `ok`, `why` (the text of an error or a denial, else
/// empty), and `value`, or `reason` for a denied call.
fn view(tool: &str, input: Option<&Map<String, Value>>, output: &ToolResultOutput) -> Value {
    let no_why = String::new();
    let (why, key, value) = match output {
        ToolResultOutput::Text(text) => (no_why, "value", json!(text)),
        ToolResultOutput::Json(json) => (no_why, "value", json.to_value()),
        ToolResultOutput::Content(parts) => (no_why, "value", parts.iter().map(part).collect()),
        ToolResultOutput::ErrorText(text) => (text.clone(), "value", json!(text)),
        ToolResultOutput::ErrorJson(json) => {
            let value = json.to_value();
            let message = value.get("message").and_then(Value::as_str);
            let why = message.map_or_else(|| json.to_string(), str::to_owned);
            (why, "value", value)
        }
        ToolResultOutput::ExecutionDenied(reason) => {
            let reason = reason.as_deref().unwrap_or(DENIED_TEXT);
            (reason.to_owned(), "reason", json!(reason))
        }
    };
    json!({
        "tool": tool,
        "input": input,
        "type": output.tag(),
        "ok": output.is_success(),
        "why": why,
        key: value,
    })
}

/// Returns a part of a multipart result. Of a file it has the description, not the content.
fn part(part: &ContentPart) -> Value {
    let file = match part {
        ContentPart::Text { text } => return json!({"type": "text", "text": text}),
        ContentPart::File(file) => file,
    };
    let size = match &file.data {
        FileData::Bytes(bytes) => Some(bytes.len() as u64),
        FileData::Text(text) => Some(text.len() as u64),
        FileData::Blob(blob) => Some(blob.size),
        FileData::Url(_) => None,
    };
    json!({
        "type": "file",
        "media_type": file.media_type,
        "size": size,
        "filename": file.filename,
    })
}

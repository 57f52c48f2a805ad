//! Reads the cases of `tests/wild/conversations`: the odd ways that conversations take, for the
//! rules of the vendors.

use crate::wild::cases;
use agent_host_types::{
    id::CallId,
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{ContentPart, FileData, FilePart},
    tool::{Effect, ToolCall, ToolDefinition},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// A case file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation {
    name: String,
    /// The model, service or program that leads to it, and the year.
    source: String,
    messages: Vec<Said>,
}

/// A message: of the user, of the assistant, or with results.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    user: Option<String>,
    /// True if an image follows the text of the user.
    #[serde(default)]
    image: bool,
    #[serde(default)]
    assistant: String,
    #[serde(default)]
    calls: Vec<Call>,
    #[serde(default)]
    results: Vec<CallResult>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    id: String,
    name: String,
    /// As the model wrote them.
    arguments: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallResult {
    id: String,
    name: String,
    /// In its JSON form.
    output: Value,
}

impl Said {
    fn message(self) -> Message {
        let image = ContentPart::File(FilePart {
            media_type: "image/png".to_owned(),
            data: FileData::Bytes(vec![1]),
            filename: None,
        });
        let role = match self.user {
            Some(_) => Role::User,
            None if self.results.is_empty() => Role::Assistant,
            None => Role::ToolResult,
        };
        let text = self.user.unwrap_or(self.assistant);
        let text = (!text.is_empty()).then_some(ContentPart::Text { text });
        let parts = text.into_iter().chain(self.image.then_some(image));
        let calls = self.calls.into_iter();
        let results = self.results.into_iter();
        Message {
            tool_calls: calls
                .map(|call| ToolCall::parse(CallId(call.id), call.name, call.arguments))
                .collect(),
            tool_results: results
                .map(|result| ToolResult {
                    call_id: CallId(result.id),
                    name: result.name,
                    output: serde_json::from_str(&result.output.to_string()).unwrap(),
                    whole: None,
                })
                .collect(),
            ..Message::parts(role, parts.collect())
        }
    }
}

/// Returns the requests of all conversations, by the names of their files.
pub(super) fn requests() -> Vec<(String, ModelRequest)> {
    let tools = ["read", "write"].map(|name| ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: "A tool.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        output_schema: None,
        effect: Effect::ReadOnly,
    });
    let request = |messages: Vec<Said>| ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages: messages.into_iter().map(Said::message).collect(),
        tools: tools.to_vec(),
        answer_schema: None,
    };
    let all = cases::<Conversation>("conversations").into_iter();
    all.map(|(file, case)| {
        assert!(!case.name.is_empty() && !case.source.is_empty(), "{file}");
        let file = file.trim_end_matches(".toml").to_owned();
        (file, request(case.messages))
    })
    .collect()
}

//! The input of a client: a message behind the conversation so far, or results of its functions.

use super::{
    content::{Content, to_json},
    error::ApiError,
    fields::text,
    ids::parse_call,
};
use agent_host_types::{
    id::SessionId,
    output::{ContentPart, ToolResultOutput},
    turn::SubmittedResult,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The beginning of a text that a client sends as its system prompt. The agent has one of its own,
/// so that the model takes this as a wish of the user.
const INSTRUCTIONS: &str = "Instructions of the client:\n";

/// One message or item of a client.
pub(super) enum ClientEntry {
    User(Vec<ContentPart>),
    Instructions(String),
    Assistant(String),
    Call {
        call_id: String,
        name: String,
        arguments: String,
    },
    Output {
        call_id: String,
        parts: Vec<ContentPart>,
    },
}

/// The input of a request.
pub(super) enum RequestInput {
    /// A message of the user.
    Message {
        /// The messages before it, as a transcript is read; empty if there are none.
        history: Vec<Value>,
        /// Its parts.
        parts: Vec<ContentPart>,
    },
    /// Results of calls that wait in a session.
    Results(SessionId, Vec<SubmittedResult>),
}

/// An item of `input`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message(Message),
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: Content,
    },
    /// It is for the model that wrote it.
    Reasoning {},
}

#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message {
    #[serde(alias = "developer")]
    System {
        content: Content,
    },
    User {
        content: Content,
    },
    Assistant {
        content: Option<Content>,
        refusal: Option<String>,
        tool_calls: Option<Vec<ToolCall>>,
    },
    Tool {
        content: Content,
        tool_call_id: String,
    },
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// Reads the `input` of a response: text, or a list of items.
pub(super) fn items(
    input: Value,
    instructions: Option<String>,
) -> Result<Vec<ClientEntry>, ApiError> {
    let mut entries: Vec<ClientEntry> = instructions
        .map(ClientEntry::Instructions)
        .into_iter()
        .collect();
    let items = match input {
        Value::String(text) => {
            entries.push(ClientEntry::User(vec![ContentPart::Text { text }]));
            return Ok(entries);
        }
        Value::Array(items) => items,
        _ => {
            return Err(
                ApiError::invalid("`input` must be a string or a list of items").at("input"),
            );
        }
    };
    for (index, mut item) in items.into_iter().enumerate() {
        let place = format!("input[{index}]");
        // A message may leave out its type.
        if let Some(fields) = item
            .as_object_mut()
            .filter(|item| item.contains_key("role"))
        {
            fields.entry("type").or_insert_with(|| json!("message"));
        }
        match serde_json::from_value(item).map_err(|error| unreadable(&place, &error))? {
            Item::Message(message) => {
                add(message, &mut entries).map_err(|error| error.at(&place))?;
            }
            Item::FunctionCall {
                call_id,
                name,
                arguments,
            } => entries.push(ClientEntry::Call {
                call_id,
                name,
                arguments,
            }),
            Item::FunctionCallOutput { call_id, output } => {
                let parts = output.parts().map_err(|error| error.at(&place))?;
                entries.push(ClientEntry::Output { call_id, parts });
            }
            Item::Reasoning {} => {}
        }
    }
    Ok(entries)
}

/// Reads the messages of a chat.
pub(super) fn messages(messages: Vec<Value>) -> Result<Vec<ClientEntry>, ApiError> {
    let mut entries = Vec::new();
    for (index, message) in messages.into_iter().enumerate() {
        let place = format!("messages[{index}]");
        let message =
            serde_json::from_value(message).map_err(|error| unreadable(&place, &error))?;
        add(message, &mut entries).map_err(|error| error.at(place))?;
    }
    Ok(entries)
}

fn unreadable(place: &str, error: &serde_json::Error) -> ApiError {
    ApiError::invalid(format!("{place} cannot be read: {error}")).at(place)
}

fn add(message: Message, entries: &mut Vec<ClientEntry>) -> Result<(), ApiError> {
    match message {
        Message::System { content } => entries.push(ClientEntry::Instructions(content.text()?)),
        Message::User { content } => entries.push(ClientEntry::User(content.parts()?)),
        Message::Assistant {
            content,
            refusal,
            tool_calls,
        } => {
            let text = content.map(Content::text).transpose()?;
            let texts = text.into_iter().chain(refusal);
            entries.extend(
                texts
                    .filter(|text| !text.is_empty())
                    .map(ClientEntry::Assistant),
            );
            let calls = tool_calls.into_iter().flatten();
            entries.extend(calls.map(|call| ClientEntry::Call {
                call_id: call.id,
                name: call.function.name,
                arguments: call.function.arguments,
            }));
        }
        Message::Tool {
            content,
            tool_call_id,
        } => {
            let (call_id, parts) = (tool_call_id, content.parts()?);
            entries.push(ClientEntry::Output { call_id, parts });
        }
    }
    Ok(())
}

impl RequestInput {
    /// Divides what a client sent into its last message and those before, or takes the results at
    /// its end. What stands before results came from here, and is in their session.
    pub(super) fn from_entries(mut entries: Vec<ClientEntry>) -> Result<Self, ApiError> {
        let is_output = |entry: &ClientEntry| matches!(entry, ClientEntry::Output { .. });
        let outputs = entries
            .iter()
            .rev()
            .take_while(|entry| is_output(entry))
            .count();
        if outputs > 0 {
            return results(entries.split_off(entries.len() - outputs));
        }
        let is_input = |entry: &&ClientEntry| {
            matches!(entry, ClientEntry::User(_) | ClientEntry::Instructions(_))
        };
        let last = entries.iter().rev().take_while(is_input).count();
        let parts: Vec<ContentPart> = merged(entries.split_off(entries.len() - last));
        if parts.is_empty() {
            let message = "the input must end with a user message that is not empty, or with the results of the agent's calls";
            return Err(ApiError::invalid(message));
        }
        let history = history(entries);
        Ok(Self::Message { history, parts })
    }
}

/// Merges messages of the user into one, with the instructions behind them.
fn merged(entries: Vec<ClientEntry>) -> Vec<ContentPart> {
    let mut parts = Vec::new();
    let mut instructions = Vec::new();
    for entry in entries {
        match entry {
            ClientEntry::User(more) => parts.extend(more),
            ClientEntry::Instructions(text) => instructions.push(ContentPart::Text {
                text: format!("{INSTRUCTIONS}{text}"),
            }),
            ClientEntry::Assistant(_) | ClientEntry::Call { .. } | ClientEntry::Output { .. } => {}
        }
    }
    parts.extend(instructions);
    let is_empty = |part: &ContentPart| part.text().is_some_and(|text| text.trim().is_empty());
    parts.retain(|part| !is_empty(part));
    parts
}

/// Returns messages as a transcript is read.
fn history(entries: Vec<ClientEntry>) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let mut input = Vec::new();
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        let message = match entry {
            ClientEntry::User(_) | ClientEntry::Instructions(_) => {
                input.push(entry);
                let more = entries.peek();
                if let Some(ClientEntry::User(_) | ClientEntry::Instructions(_)) = more {
                    continue;
                }
                let parts = merged(std::mem::take(&mut input));
                json!({"role": "user", "content": parts.iter().map(to_json).collect::<Vec<_>>()})
            }
            ClientEntry::Assistant(text) => json!({"role": "assistant", "content": text}),
            ClientEntry::Call {
                call_id,
                name,
                arguments,
            } => {
                let function = json!({"name": name, "arguments": arguments});
                let call = json!({"id": call_id, "type": "function", "function": function});
                let last = messages
                    .last_mut()
                    .filter(|last| text(last, "role") == "assistant");
                match last.and_then(|last| last.as_object_mut()) {
                    Some(last) => {
                        let calls = last.entry("tool_calls").or_insert_with(|| json!([]));
                        if let Some(calls) = calls.as_array_mut() {
                            calls.push(call);
                        }
                        continue;
                    }
                    None => json!({"role": "assistant", "content": "", "tool_calls": [call]}),
                }
            }
            ClientEntry::Output { call_id, parts } => {
                let parts: Vec<Value> = parts.iter().map(to_json).collect();
                json!({"role": "tool", "tool_call_id": call_id, "content": parts})
            }
        };
        messages.push(message);
    }
    messages
}

/// Takes results of calls, which are of one session.
fn results(entries: Vec<ClientEntry>) -> Result<RequestInput, ApiError> {
    let mut found = None;
    let mut results = Vec::new();
    for entry in entries {
        let ClientEntry::Output { call_id, mut parts } = entry else {
            continue;
        };
        let known = parse_call(&call_id);
        let known = known.filter(|(session, _)| found.is_none_or(|found| found == *session));
        let (session, call_id) = known.ok_or_else(|| {
            ApiError::not_found(
                "call_not_found",
                format!(
                    "no call `{}` is waiting for a result; send the `call_id` of the response unchanged",
                    call_id.escape_debug()
                ),
            )
        })?;
        found = Some(session);
        let output = match parts.as_mut_slice() {
            [ContentPart::Text { text }] => ToolResultOutput::Text(std::mem::take(text)),
            _ => ToolResultOutput::Content(parts),
        };
        results.push(SubmittedResult { call_id, output });
    }
    match found {
        Some(session) => Ok(RequestInput::Results(session, results)),
        None => Err(ApiError::invalid("there are no results")),
    }
}

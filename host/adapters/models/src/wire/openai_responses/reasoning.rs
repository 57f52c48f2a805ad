//! The items of a reply that are sent back unchanged: encrypted reasoning, which only its own model
//! can read, and messages whose phase the model wants to see again. They are stored in the reply's
//! metadata, as `{"model", "items"}`.

use super::{SEPARATOR, WIRE};
use crate::wire::{
    metadata as metadata_of,
    request::{texts, token},
    stored,
};
use agent_host_types::message::Message;
use serde_json::{Map, Value, json};

/// Returns the metadata of a reply with these items; empty if its text and calls say as much.
pub(super) fn metadata(model: &str, items: &[Value]) -> Map<String, Value> {
    let needed =
        |item: &Value| kind(item) == "reasoning" || item.get("phase").is_some_and(Value::is_string);
    if !items.iter().any(needed) {
        return Map::new();
    }
    metadata_of(WIRE.name, json!({"model": model, "items": items}))
}

/// Returns the stored items of a message; none if they are another model's or no longer equal the
/// message. Each call gets its id in the message, which may have been assigned by this side.
pub(super) fn items_of(message: &Message, model: &str) -> Option<Vec<Value>> {
    let stored = stored(message, WIRE.name, model)?;
    let mut items = stored.get("items")?.as_array()?.clone();
    let mut calls = message.tool_calls.iter();
    let mut stored_texts = Vec::new();
    for item in &mut items {
        match kind(item) {
            "message" => stored_texts.push(text_of(item)),
            "function_call" => {
                let call = calls.next()?;
                let text = |key: &str| item.get(key).and_then(Value::as_str);
                // Arguments that were converted for the tool and back are other text.
                let parsed = || serde_json::from_str::<Map<String, Value>>(text("arguments")?).ok();
                let is_same = text("arguments") == Some(&call.raw_arguments)
                    || (call.input.is_some() && parsed().as_ref() == call.input.as_deref());
                if text("name") != Some(&call.name) || !is_same {
                    return None;
                }
                item.as_object_mut()?
                    .insert("call_id".to_owned(), json!(token(&call.id.0)));
            }
            _ => {}
        }
    }
    stored_texts.retain(|text| !text.is_empty());
    let same = calls.next().is_none() && stored_texts.join(SEPARATOR) == texts(&message.content);
    same.then_some(items)
}

/// Returns the type of an item or of a part of one.
pub(super) fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("")
}

/// Returns the text of a message item, refusals included.
pub(super) fn text_of(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .filter_map(|part| match kind(part) {
            "output_text" => part.get("text")?.as_str(),
            "refusal" => part.get("refusal")?.as_str(),
            _ => None,
        })
        .collect()
}

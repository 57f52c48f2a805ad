//! The items of a reply that has to go back as it came: reasoning only its own model can read, and messages whose phase the model
//! wants to see again. They are kept in the reply's metadata, as `{"model", "items"}`.

use super::BETWEEN;
use crate::{media::texts, provider::Provider};
use agent_host_types::message::Message;
use serde_json::{Map, Value, json};

/// The metadata of a reply with these items; empty where the reply says as much without them.
pub(super) fn keep(model: &str, items: &[Value]) -> Map<String, Value> {
    let needed =
        |item: &Value| kind(item) == "reasoning" || item.get("phase").is_some_and(Value::is_string);
    if !items.iter().any(needed) {
        return Map::new();
    }
    let kept = json!({"model": model, "items": items});
    Map::from_iter([(Provider::OpenAi.name().to_owned(), kept)])
}

/// The items that stand for a message; none where they are another model's, or no longer say what the message says. Each call has
/// the id that the message gives it, which may be one that this side made.
pub(super) fn items_of(message: &Message, model: &str) -> Option<Vec<Value>> {
    let kept = message.metadata.get(Provider::OpenAi.name())?;
    if kept.get("model")?.as_str()? != model {
        return None;
    }
    let mut items = kept.get("items")?.as_array()?.clone();
    let mut calls = message.tool_calls.iter();
    let mut said = Vec::new();
    for item in &mut items {
        match kind(item) {
            "message" => said.push(text_of(item)),
            "function_call" => {
                let call = calls.next()?;
                let text = |key: &str| item.get(key).and_then(Value::as_str);
                if (text("name"), text("arguments"))
                    != (Some(&call.name), Some(&call.raw_arguments))
                {
                    return None;
                }
                item.as_object_mut()?
                    .insert("call_id".to_owned(), json!(call.id));
            }
            _ => {}
        }
    }
    said.retain(|text| !text.is_empty());
    let same = calls.next().is_none() && said.join(BETWEEN) == texts(&message.content);
    same.then_some(items)
}

/// The type of an item, or of a part of one.
pub(super) fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("")
}

/// What a message item says, refusals included.
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

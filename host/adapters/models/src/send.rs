//! The fields and rules of requests in which servers of one wire format differ: fields that some
//! refuse, ids of calls, and the order of messages.

#[cfg(test)]
mod tests;

use agent_host_types::{
    id::{CallId, Digest},
    message::Message,
    model::ModelRequest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// The fields and rules of requests in which servers of one wire format differ. An absent one is
/// that of the service, or of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SendSettings {
    /// False to leave out `stream_options`; the server must then count tokens by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<bool>,
    /// False to leave out `parallel_tool_calls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// False to leave out `tool_choice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<bool>,
    /// False to leave out `strict` of tools and answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// True to send `max_completion_tokens` in place of `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<bool>,
    /// True to send system messages with the role `developer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer: Option<bool>,
    /// True to send ids of calls as nine letters and digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nine_character_ids: Option<bool>,
    /// False to send a message of the model between results of tools and a user message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_after_tool: Option<bool>,
}

/// The message of the model between results and a user message.
const BRIDGE: &str = "I have the results.";

/// The length of ids that some servers demand.
const ID_CHARACTERS: usize = 9;

impl SendSettings {
    /// No setting.
    pub const NONE: Self = Self {
        stream_options: None,
        parallel_tool_calls: None,
        tool_choice: None,
        strict: None,
        max_completion_tokens: None,
        developer: None,
        nine_character_ids: None,
        user_after_tool: None,
    };

    /// Returns these settings, with those of `base` for absent ones.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        Self {
            stream_options: self.stream_options.or(base.stream_options),
            parallel_tool_calls: self.parallel_tool_calls.or(base.parallel_tool_calls),
            tool_choice: self.tool_choice.or(base.tool_choice),
            strict: self.strict.or(base.strict),
            max_completion_tokens: self.max_completion_tokens.or(base.max_completion_tokens),
            developer: self.developer.or(base.developer),
            nine_character_ids: self.nine_character_ids.or(base.nine_character_ids),
            user_after_tool: self.user_after_tool.or(base.user_after_tool),
        }
    }

    /// True if no setting is set.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns a request with the ids that the server takes. They depend on the conversation alone,
    /// so that a resumed session sends the same.
    pub(crate) fn with_ids<'a>(self, request: &'a ModelRequest) -> Cow<'a, ModelRequest> {
        if self.nine_character_ids != Some(true) {
            return Cow::Borrowed(request);
        }
        let ids = short_ids(&request.messages);
        if ids.is_empty() {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for message in &mut request.messages {
            let calls = message.tool_calls.iter_mut().map(|call| &mut call.id);
            let results = message.tool_results.iter_mut();
            for id in calls.chain(results.map(|result| &mut result.call_id)) {
                if let Some(short) = ids.get(id) {
                    id.clone_from(short);
                }
            }
        }
        Cow::Owned(request)
    }

    /// Changes the fields of an encoded request. The fields are those of OpenAI's two wires; others
    /// have none of them.
    pub(crate) fn apply(self, body: &mut Value) {
        let Some(fields) = body.as_object_mut() else {
            return;
        };
        for (sends, name) in [
            (self.stream_options, "stream_options"),
            (self.parallel_tool_calls, "parallel_tool_calls"),
            (self.tool_choice, "tool_choice"),
        ] {
            if sends == Some(false) {
                fields.remove(name);
            }
        }
        if self.max_completion_tokens == Some(true)
            && let Some(limit) = fields.remove("max_tokens")
        {
            fields.insert("max_completion_tokens".to_owned(), limit);
        }
        if self.strict == Some(false) {
            remove_strict(fields);
        }
        for list in ["messages", "input"] {
            if let Some(messages) = fields.get_mut(list).and_then(Value::as_array_mut) {
                self.apply_to_messages(messages);
            }
        }
    }

    fn apply_to_messages(self, messages: &mut Vec<Value>) {
        let role = |message: &Value| {
            message
                .get("role")
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        if self.developer == Some(true) {
            for message in messages.iter_mut() {
                if role(message).as_deref() == Some("system")
                    && let Some(fields) = message.as_object_mut()
                {
                    fields.insert("role".to_owned(), "developer".into());
                }
            }
        }
        if self.user_after_tool != Some(false) {
            return;
        }
        let mut is_after_tool = false;
        let bridged = messages.drain(..).flat_map(|message| {
            let role = role(&message).unwrap_or_default();
            let is_input = matches!(role.as_str(), "user" | "system" | "developer");
            let bridge = (is_after_tool && is_input)
                .then(|| serde_json::json!({"role": "assistant", "content": BRIDGE}));
            is_after_tool = role == "tool";
            bridge.into_iter().chain([message])
        });
        *messages = bridged.collect();
    }
}

/// Removes `strict` from tools and from the form of the answer.
fn remove_strict(fields: &mut Map<String, Value>) {
    let tools = fields.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten() {
        for place in ["", "/function"] {
            remove_at(tool, place, "strict");
        }
    }
    for (name, place) in [("text", "/format"), ("response_format", "/json_schema")] {
        if let Some(value) = fields.get_mut(name) {
            remove_at(value, place, "strict");
        }
    }
}

fn remove_at(value: &mut Value, place: &str, key: &str) {
    let fields = value.pointer_mut(place).and_then(Value::as_object_mut);
    if let Some(fields) = fields {
        fields.remove(key);
    }
}

/// Returns a short id for each id of a conversation that is not one.
fn short_ids(messages: &[Message]) -> HashMap<CallId, CallId> {
    let calls = || messages.iter().flat_map(|message| &message.tool_calls);
    let is_short =
        |id: &str| id.len() == ID_CHARACTERS && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let ids = || calls().map(|call| &call.id);
    let mut used: HashSet<String> = ids()
        .filter(|id| is_short(&id.0))
        .map(|id| id.0.clone())
        .collect();
    let mut short = HashMap::new();
    for id in ids().filter(|id| !is_short(&id.0)) {
        if short.contains_key(id) {
            continue;
        }
        let mut candidate = shortened(&id.0);
        while !used.insert(candidate.clone()) {
            candidate = shortened(&candidate);
        }
        short.insert(id.clone(), CallId(candidate));
    }
    short
}

/// Returns nine digits of the digest of an id, which differ in practice where the ids do.
pub(crate) fn shortened(id: &str) -> String {
    let digest = Digest::of(id.as_bytes()).into_bytes();
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.chars().take(ID_CHARACTERS).collect()
}

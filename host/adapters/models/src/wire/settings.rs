//! Sets the fields of a request that model settings ask for, by a table of each wire. A setting
//! that a wire does not have is reported, never dropped silently.

#[cfg(test)]
mod tests;

use super::{Capabilities, Wire, answer::AnswerForm};
use crate::settings::{
    CacheLifetime, Effort, HOST_FIELDS, ModelSettings, ServiceTier, SettingsReport, Thinking,
    ToolChoice,
};
use agent_host_types::{
    message::{Message, Role},
    model::ModelRequest,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The treatment of a setting.
#[derive(Debug)]
pub(crate) enum Field {
    /// It is this field, a path such as `generationConfig.topP`.
    Sent(&'static str),
    /// It is left out, for this reason.
    Lost(&'static str),
}

/// The treatment of settings, by their names in the configuration.
pub(crate) type SettingFields = &'static [(&'static str, Field)];

/// A request body that gets the fields of settings, and the settings that it has no fields for.
pub(crate) struct Mapping<'a> {
    pub(super) body: &'a mut Value,
    report: SettingsReport,
}

impl Mapping<'_> {
    /// Sets a field by its path, such as `generationConfig.topP`, if there is a value for it.
    pub(super) fn put(&mut self, path: &str, value: Option<impl Serialize>) {
        let Some(value) = value else { return };
        let mut fields = json!(value);
        for key in path.rsplit('.') {
            fields = json!({key: fields});
        }
        if let Value::Object(fields) = &fields {
            merge(self.body, fields);
        }
    }

    /// Reports a setting, if it is set, that is left out of the request.
    pub(super) fn lost<T>(&mut self, setting: &'static str, value: &Option<T>, why: &str) {
        if value.is_some() {
            self.report.lost.push((setting, why.to_owned()));
        }
    }

    /// Reports a setting that this model refuses or would take for something else.
    pub(super) fn refused(&mut self, setting: &'static str, why: &str) {
        self.report.refused.push((setting, why.to_owned()));
    }
}

/// Sets the fields of settings, and of the answer's schema, in the body of a request.
pub(crate) fn apply(
    wire: &Wire,
    model: &str,
    settings: &ModelSettings,
    request: &ModelRequest,
    body: &mut Value,
) {
    let tool_choice = choice_now(settings.tool_choice.as_ref(), request).cloned();
    let settings = ModelSettings {
        tool_choice,
        ..settings.clone()
    };
    let schema = request.answer_schema.as_ref();
    let form = schema.and_then(|schema| AnswerForm::from_schema(schema, wire.schema_dialect));
    let has_tools = !request.tools.is_empty();
    let answer = form.and_then(|form| (wire.answer)(model, &form, has_tools));
    if let Some(Value::Object(fields)) = answer {
        merge(body, &fields);
    }
    map(wire, model, &settings, body);
}

/// Returns what a model does not take of these settings.
pub(crate) fn check(
    wire: &Wire,
    model: &str,
    settings: &ModelSettings,
    capabilities: Capabilities,
) -> SettingsReport {
    let request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    let mut body = (wire.encode)(model, &request, capabilities).body;
    map(wire, model, settings, &mut body)
}

fn map(wire: &Wire, model: &str, settings: &ModelSettings, body: &mut Value) -> SettingsReport {
    let mut mapping = Mapping {
        body,
        report: SettingsReport::default(),
    };
    let why = "the server sends reasoning separately from the text";
    let tags = settings.reasoning_tags;
    mapping.lost(
        "reasoning-tags",
        &tags.filter(|_| !wire.has_tagged_reasoning),
        why,
    );
    let values = json!(settings);
    for (setting, field) in wire.fields {
        match field {
            Field::Sent(path) => mapping.put(path, values.get(setting)),
            Field::Lost(why) => mapping.lost(setting, &values.get(setting), why),
        }
    }
    (wire.settings)(model, settings, &mut mapping);
    let report = mapping.report;
    let mut extra = settings.extra_body.clone();
    extra.retain(|key, _| !HOST_FIELDS.contains(&key.as_str()));
    merge(body, &extra);
    report
}

/// Returns the choice of this request. A call is forced once for each user message: forced in every
/// request, the model could never answer.
fn choice_now<'a>(
    choice: Option<&'a ToolChoice>,
    request: &ModelRequest,
) -> Option<&'a ToolChoice> {
    let since = |message: &&Message| message.role != Role::User;
    let mut newest = request.messages.iter().rev().take_while(since);
    let has_called = newest.any(|message| !message.tool_calls.is_empty());
    choice.filter(|choice| match choice {
        _ if request.tools.is_empty() => false,
        ToolChoice::Required | ToolChoice::Tool(_) => !has_called,
        ToolChoice::Auto | ToolChoice::None => true,
    })
}

/// Returns the effort of a wire on which it is the only setting of reasoning: thinking that is off
/// is no effort.
pub(super) fn single_effort(settings: &ModelSettings) -> Option<Effort> {
    match settings.thinking {
        Some(Thinking::Off) => Some(Effort::None),
        Some(Thinking::Adaptive | Thinking::Budget(_)) | None => settings.effort,
    }
}

/// The budget of thinking, if there is one.
pub(super) fn budget(settings: &ModelSettings) -> Option<u32> {
    match settings.thinking {
        Some(Thinking::Budget(tokens)) => Some(tokens),
        Some(Thinking::Adaptive | Thinking::Off) | None => None,
    }
}

/// Merges fields over an object, object by object; other values are replaced.
pub(crate) fn merge(target: &mut Value, fields: &Map<String, Value>) {
    let Some(target) = target.as_object_mut() else {
        return;
    };
    for (key, value) in fields {
        match (target.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(fields)) => merge(inner, fields),
            _ => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Sets the fields that both of OpenAI's wires have (`types/responses/response_create_params.py` in
/// its SDK for Python, 3.54.0). `function` is the choice of a tool.
pub(super) fn openai(
    settings: &ModelSettings,
    function: impl Fn(&str) -> Value,
    request: &mut Mapping<'_>,
) {
    let choice = settings.tool_choice.as_ref().map(|choice| match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::None => json!("none"),
        ToolChoice::Tool(name) => function(name),
    });
    request.put("tool_choice", choice);
    let tier = settings.service_tier.map(|tier| match tier {
        ServiceTier::Standard => "default",
        ServiceTier::Auto | ServiceTier::Flex | ServiceTier::Priority => tier.name(),
    });
    request.put("service_tier", tier);
    match settings.cache_lifetime {
        Some(CacheLifetime::Day1) => request.put("prompt_cache_retention", Some("24h")),
        other => request.lost("cache-lifetime", &other, "OpenAI accepts `24h`"),
    }
}

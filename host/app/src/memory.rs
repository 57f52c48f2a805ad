//! The tools with which agents remember beyond a session. An item keeps the untrusted sources of
//! its text, and only the user raises it.

use crate::config::MemoryConfig;
use agent_host_engine::{
    BoxFuture,
    flow::FlowPolicy,
    journal::JournalError,
    session::now_ms,
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::ToolEntry,
};
use agent_host_journal::{
    JournalStore, MAX_ITEM_BYTES, MemoryChange, MemoryItem, MemoryQuery, MemoryScope, Ownership,
    Remembered,
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    output::ToolResultOutput,
    tool::{Approval, Effect, ToolDefinition},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name of the tool that stores a text.
pub(crate) const REMEMBER: &str = "remember";

/// The name of the tool that finds texts.
pub(crate) const RECALL: &str = "recall";

/// The name of the tool that removes a text.
pub(crate) const FORGET: &str = "forget";

/// The most items of one result.
const PAGE: u32 = 20;

/// The most items that a result counts without their texts.
const COUNTED: u32 = 100;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The source of a text that was remembered while nothing recorded sources.
const UNRECORDED: &str = "unknown";

struct Memory {
    store: Arc<dyn JournalStore>,
    config: MemoryConfig,
    flow: Arc<FlowPolicy>,
}

/// Returns the tools that remember, recall and forget.
pub(crate) fn memory_tools(
    store: Arc<dyn JournalStore>,
    config: MemoryConfig,
    flow: Arc<FlowPolicy>,
) -> Vec<ToolEntry> {
    let memory: Arc<dyn ToolHandler> = Arc::new(Memory {
        store,
        config,
        flow,
    });
    let entry = |definition| ToolEntry::own(definition, Arc::clone(&memory)).ok();
    // It stores a text with its sources, reaches nothing else, and may run again.
    let remember = entry(remember()).map(|mut tool| {
        tool.tool.destination = Some(DESTINATION.to_owned());
        tool.with_summary("Remember {text}")
    });
    let recall = entry(recall()).map(|tool| tool.with_summary("Recall[ {words}]"));
    let forget = entry(forget()).map(|mut tool| {
        tool.tool.effect = Effect::Idempotent;
        tool.tool.approval = Approval::ByEffect;
        tool.with_summary("Forget {id}")
    });
    [remember, recall, forget].into_iter().flatten().collect()
}

/// Where items go, and are from, for the audience of text.
const DESTINATION: &str = "memory";

impl ToolHandler for Memory {
    fn check(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match text(input, "text").len() {
            0..=MAX_ITEM_BYTES => Ok(()),
            bytes => Err(ToolFailure::new(
                ToolErrorCode::InvalidInput,
                format!(
                    "`text` has {bytes} bytes, and an item has at most {MAX_ITEM_BYTES}: shorten it."
                ),
            )),
        }
    }

    fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let ended = match self.owner(&call).await {
                Ok(Some(own)) => match call.tool.as_str() {
                    REMEMBER => self.remember(&call, own).await,
                    FORGET => self.forget(&call, own).await,
                    _ => self.recall(&call, own).await,
                },
                Ok(None) => Ok(error("This session is not stored yet. Try again.")),
                Err(error) => Err(error),
            };
            ended
                .unwrap_or_else(|failed| error(&failed.to_string()))
                .into()
        })
    }
}

impl Memory {
    /// Returns whose the session of a call is; `None` if the store does not have it.
    async fn owner(&self, call: &Invocation) -> Result<Option<Ownership>, JournalError> {
        let infos = self.store.infos(vec![call.session]).await?;
        Ok(infos.into_iter().next().and_then(|info| info.ownership))
    }

    async fn remember(
        &self,
        call: &Invocation,
        own: Ownership,
    ) -> Result<CallReport, JournalError> {
        let at_ms = now_ms();
        let days = call.input.get("days").and_then(Value::as_u64);
        let days = days.map_or(self.config.days.into(), |days| {
            days.min(self.config.days.into())
        });
        let for_all = call.input.get("all_projects") == Some(&Value::Bool(true));
        let item = MemoryItem {
            id: MemoryItem::id_of(call.session, &call.call_id),
            // PostgreSQL stores no such character.
            text: text(&call.input, "text").replace('\0', "\u{fffd}"),
            session: call.session,
            call: call.call_id.clone(),
            project: (!for_all).then_some(own.project),
            owner: own.owner,
            sources: match self.flow.is_off() {
                true => vec![UNRECORDED.to_owned()],
                false => call.sources.clone(),
            },
            at_ms,
            expires_ms: at_ms.saturating_add(days.saturating_mul(DAY_MS)),
        };
        let (id, max) = (item.id.clone(), self.config.max_items);
        Ok(match self.store.remember(item, max).await? {
            Remembered::Stored | Remembered::Known => {
                CallReport::of(ToolResultOutput::Text(format!("Remembered as `{id}`.")))
            }
            Remembered::Full => error(&format!(
                "Nothing was remembered: there are {max} items already. Forget some that are not needed any more."
            )),
        })
    }

    /// Finds items. Where sources count, those from untrusted ones come only if they are asked for,
    /// so that they do not take the others along into quarantine.
    async fn recall(&self, call: &Invocation, own: Ownership) -> Result<CallReport, JournalError> {
        let splits = self.flow.mode.decides();
        let untrusted = call.input.get("untrusted") == Some(&Value::Bool(true));
        let offset = call.input.get("offset").and_then(Value::as_u64);
        let query = MemoryQuery {
            words: text(&call.input, "words").to_owned(),
            trusted: splits.then_some(!untrusted),
            offset: offset.map_or(0, |offset| offset.try_into().unwrap_or(u32::MAX)),
            limit: PAGE,
            ..MemoryQuery::all(MemoryScope::Own(own), now_ms())
        };
        let items = self.store.memory_items(query.clone()).await?;
        let listed: Vec<Value> = items.iter().map(recalled).collect();
        let is_full = listed.len() == PAGE as usize;
        let mut found = Map::from_iter([("items".to_owned(), Value::from(listed))]);
        if is_full {
            found.insert(
                "next_offset".to_owned(),
                query.offset.saturating_add(PAGE).into(),
            );
        }
        if splits && !untrusted {
            let others = self.store.memory_items(MemoryQuery {
                trusted: Some(false),
                offset: 0,
                limit: COUNTED,
                ..query
            });
            match others.await?.len() {
                0 => {}
                count => drop(found.insert("untrusted_left_out".to_owned(), count.into())),
            }
        }
        let sources = items.into_iter().flat_map(|item| item.sources);
        let mut sources: Vec<String> = sources.chain([DESTINATION.to_owned()]).collect();
        sources.sort_unstable();
        sources.dedup();
        Ok(CallReport {
            sources,
            ..CallReport::of(ToolResultOutput::json(Value::Object(found)))
        })
    }

    async fn forget(&self, call: &Invocation, own: Ownership) -> Result<CallReport, JournalError> {
        let (scope, id) = (MemoryScope::Own(own), text(&call.input, "id"));
        let forgets = self
            .store
            .change_item(scope, id, MemoryChange::Forget, now_ms());
        Ok(match forgets.await? {
            true => CallReport::of(ToolResultOutput::Text("Forgotten.".to_owned())),
            false => error(&format!(
                "Unknown item. `{RECALL}` lists them with their ids."
            )),
        })
    }
}

/// Returns an item as the model sees it.
fn recalled(item: &MemoryItem) -> Value {
    let at = i64::try_from(item.at_ms).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    let day = at.strftime("%Y-%m-%d").to_string();
    json!({"id": item.id, "text": item.text, "remembered": day})
}

fn text<'a>(input: &'a Map<String, Value>, key: &str) -> &'a str {
    input.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn error(message: &str) -> CallReport {
    CallReport::of(ToolResultOutput::ErrorText(message.to_owned()))
}

fn remember() -> ToolDefinition {
    let properties = json!({
        "text": {
            "type": "string",
            "minLength": 1,
            "description": "One fact in a sentence or two, which can be understood without this conversation; at most 4 KiB.",
        },
        "all_projects": {
            "type": "boolean",
            "description": "Whether it is about the user, not about this project alone.",
        },
        "days": {
            "type": "integer",
            "minimum": 1,
            "description": "The number of days after which it may be removed.",
        },
    });
    definition(
        REMEMBER,
        "Remember",
        "Stores a fact for later sessions: a preference of the user, a decision, or what cost time to find out. Never \
         store secrets.",
        Effect::Idempotent,
        &properties,
        &["text"],
    )
}

fn recall() -> ToolDefinition {
    let properties = json!({
        "words": {
            "type": "string",
            "description": "Words to look for, or beginnings of them. Without them, the newest items are returned.",
        },
        "untrusted": {
            "type": "boolean",
            "description": "Whether to return what came from untrusted sources instead.",
        },
        "offset": { "type": "integer", "minimum": 0, "description": "How many items to skip." },
    });
    definition(
        RECALL,
        "Recall",
        &format!(
            "Finds facts that `{REMEMBER}` stored in earlier sessions, at most {PAGE} at once. Recall before you ask \
             the user, or look for, what you may know already."
        ),
        Effect::ReadOnly,
        &properties,
        &[],
    )
}

fn forget() -> ToolDefinition {
    let properties = json!({
        "id": { "type": "string", "minLength": 1, "description": "The id of the item." },
    });
    definition(
        FORGET,
        "Forget",
        &format!(
            "Removes a fact that `{REMEMBER}` stored, because it is wrong or the user wants it removed."
        ),
        Effect::Idempotent,
        &properties,
        &["id"],
    )
}

fn definition(
    name: &str,
    title: &str,
    description: &str,
    effect: Effect,
    properties: &Value,
    required: &[&str],
) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: Some(title.to_owned()),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        output_schema: None,
        effect,
    }
}

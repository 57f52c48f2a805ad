//! A session as updates of the protocol: a reading of its events, and between them of what happens
//! while it runs. The same code shows a session as it runs and one that is loaded.

#[cfg(test)]
mod tests;

use crate::{content::with_bytes, tools};
use agent_host_app::{Config, Host, Registry, runs::Followed};
use agent_host_engine::stream::{LiveLine, StreamContent};
use agent_host_journal::JournalStore;
use agent_host_mcp::{OUTPUT_KEY, content_blocks};
use agent_host_types::{
    budget::Budget,
    event::Event,
    id::CallId,
    message::Message,
    model::{ModelReply, Usage},
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
    turn::{TurnEnd, TurnReport},
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The note in the place of a line that cannot be read.
const UNREADABLE: &str = "(A part of this session cannot be shown, because this version cannot read it. The log has \
    the reason.)";

/// A call that the client was told of and that has not ended.
#[derive(Debug)]
struct OpenCall {
    input: Option<Map<String, Value>>,
    /// The change of a file that its approval showed.
    diff: Option<Value>,
    is_running: bool,
}

/// The state of a session as its client knows it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// Whether messages of the user are shown, too: they are if the session is loaded.
    is_replay: bool,
    /// The number of messages so far.
    messages: u64,
    /// The text of the reply that is being written, as far as it was sent.
    text: String,
    reasoning: String,
    /// Whether a part of that reply was missed.
    has_gap: bool,
    calls: HashMap<String, OpenCall>,
    /// The tokens of the last request and reply.
    used: u64,
}

impl Transcript {
    /// Creates the transcript of a session that is loaded.
    pub(crate) fn replay() -> Self {
        Self {
            is_replay: true,
            ..Self::default()
        }
    }

    /// Ends the replay: messages that the user sends from now on are known to the client.
    pub(crate) fn live(&mut self) {
        self.is_replay = false;
    }

    /// Returns the updates of a line.
    pub(crate) async fn follow(&mut self, host: &Host, followed: Followed) -> Vec<Value> {
        let registry = host.agents().registry();
        match followed {
            Followed::Lagged => {
                self.has_gap = true;
                Vec::new()
            }
            // It may have been text; the log has the reason.
            Followed::Unknown(_) => {
                self.has_gap = true;
                vec![self.chunk("agent_thought_chunk", UNREADABLE)]
            }
            Followed::Line(line) => match &line.content {
                StreamContent::Record(record) if line.path.is_empty() => {
                    self.event(host, &record.event).await
                }
                StreamContent::Record(record) => {
                    self.agent_event(host, &line.path, &record.event).await
                }
                StreamContent::Live(live) => self.progress(registry, &line.path, live),
            },
        }
    }

    /// Returns the updates of progress.
    fn progress(&mut self, registry: &Registry, path: &[CallId], live: &LiveLine) -> Vec<Value> {
        let is_own = path.is_empty();
        match live {
            LiveLine::Text { text } if is_own && !self.has_gap => {
                self.text.push_str(text);
                vec![self.chunk("agent_message_chunk", text)]
            }
            LiveLine::Reasoning { text } if is_own && !self.has_gap => {
                self.reasoning.push_str(text);
                vec![self.chunk("agent_thought_chunk", text)]
            }
            // Nothing that was sent can be taken back, so what follows is another message.
            LiveLine::Restarted if is_own => {
                let note = self.chunk(
                    "agent_thought_chunk",
                    "The reply was interrupted; retrying.",
                );
                self.next_message();
                vec![note]
            }
            LiveLine::Note { text } if is_own => vec![self.chunk("agent_thought_chunk", text)],
            LiveLine::Waiting { error, .. } if is_own => {
                let note = format!("Retrying after a wait: {error}");
                vec![self.chunk("agent_thought_chunk", &note)]
            }
            LiveLine::CallStarted {
                call_id,
                tool,
                input,
            } => self.started(registry, &id_of(path, call_id), tool, input),
            LiveLine::CallProgress {
                call_id,
                message: text,
                ..
            }
            | LiveLine::CallOutput { call_id, text } => {
                let id = id_of(path, call_id);
                let update = json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": id,
                    "content": [content(&json!({"type": "text", "text": text}))],
                });
                Vec::from_iter(self.calls.contains_key(&id).then_some(update))
            }
            LiveLine::Text { .. }
            | LiveLine::Reasoning { .. }
            | LiveLine::Restarted
            | LiveLine::Note { .. }
            | LiveLine::Waiting { .. }
            | LiveLine::Session { .. }
            | LiveLine::Step { .. }
            | LiveLine::ModelAsked
            | LiveLine::ResultsReferenced { .. }
            | LiveLine::HistorySummarised { .. }
            | LiveLine::AgentStarted { .. }
            | LiveLine::CallEnded { .. } => Vec::new(),
        }
    }

    /// Returns the updates of an event of the session.
    pub(crate) async fn event(&mut self, host: &Host, event: &Event) -> Vec<Value> {
        let registry = host.agents().registry();
        match event {
            Event::InputReceived { message, .. } => {
                let shown = self.input(host.sessions().store().as_ref(), message).await;
                self.next_message();
                shown
            }
            Event::ModelReplied { reply, .. } => self.reply(registry, reply),
            Event::TurnEnded { outcome, .. } => self.turn_ended(host.config(), outcome),
            event => self.agent_event(host, &[], event).await,
        }
    }

    /// Returns the updates of an event of the session or of one of its agents. Of an agent, its
    /// calls are shown; what it writes is the result of the call that started it.
    async fn agent_event(&mut self, host: &Host, path: &[CallId], event: &Event) -> Vec<Value> {
        let registry = host.agents().registry();
        match event {
            Event::CallIntended {
                call_id,
                tool,
                input,
                ..
            } => self.started(registry, &id_of(path, call_id), tool, input),
            Event::CallSettled {
                call_id,
                tool,
                output,
                whole,
                audit,
                ..
            } => {
                let parts = match output.clone() {
                    ToolResultOutput::Content(parts) => {
                        with_bytes(host.sessions().store().as_ref(), parts).await
                    }
                    ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => {
                        vec![ContentPart::Text { text }]
                    }
                    ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => {
                        let text = json.as_str().to_owned();
                        vec![ContentPart::Text { text }]
                    }
                    ToolResultOutput::ExecutionDenied(reason) => vec![ContentPart::Text {
                        text: reason.unwrap_or_else(|| DENIED_TEXT.to_owned()),
                    }],
                };
                let id = id_of(path, call_id);
                let mut updates = self.announced(registry, &id, tool, None);
                let open = self.calls.remove(&id);
                let input = open.as_ref().and_then(|call| call.input.as_ref());
                let title =
                    tools::settled_title(registry, tool, input, output, whole.as_ref(), audit);
                let mut settled = settled(&id, output, parts, open, registry, tool);
                if let Some(settled) = settled.as_object_mut() {
                    settled.insert("title".to_owned(), title.into());
                    if let Some(kind) = tools::kind_of_run(audit) {
                        settled.insert("kind".to_owned(), kind.into());
                    }
                    let places = tools::locations_of_run(registry, tool, audit);
                    if !places.is_empty() {
                        settled.insert("locations".to_owned(), places.into());
                    }
                }
                updates.push(settled);
                updates
            }
            _ => Vec::new(),
        }
    }

    /// Returns a message of the user, if the session is loaded.
    async fn input(&mut self, store: &dyn JournalStore, message: &Message) -> Vec<Value> {
        if !self.is_replay {
            return Vec::new();
        }
        let parts = with_bytes(store, message.content.clone()).await;
        let blocks = content_blocks(parts).into_iter();
        blocks
            .map(|block| self.block("user_message_chunk", &block))
            .collect()
    }

    /// Returns what was not sent of a reply, and its calls.
    fn reply(&mut self, registry: &Registry, reply: &ModelReply) -> Vec<Value> {
        let mut updates = Vec::new();
        // Reasoning that the journal does not keep was shown as it came.
        if let Some(rest) = reply.reasoning.strip_prefix(&self.reasoning)
            && !rest.is_empty()
        {
            updates.push(self.chunk("agent_thought_chunk", rest));
        }
        let rest = reply.text.strip_prefix(&self.text).unwrap_or_else(|| {
            // Another text, such as that of a hook, is another message.
            self.messages += 1;
            &reply.text
        });
        if !rest.is_empty() {
            updates.push(self.chunk("agent_message_chunk", rest));
        }
        self.next_message();
        let Usage {
            input_tokens,
            output_tokens,
            ..
        } = reply.usage;
        self.used = input_tokens.saturating_add(output_tokens);
        for call in &reply.tool_calls {
            updates.extend(self.announced(registry, &call.id.0, &call.name, call.input.as_deref()));
        }
        updates
    }

    fn turn_ended(&mut self, config: &Config, outcome: &TurnReport) -> Vec<Value> {
        let said = match &outcome.end {
            TurnEnd::Halted { message } => Some(message.clone()),
            TurnEnd::BudgetExceeded { budget } => Some(budget_text(budget)),
            _ => None,
        };
        let said: Vec<Value> = said
            .map(|text| self.chunk("agent_message_chunk", &text))
            .into_iter()
            .collect();
        if !said.is_empty() {
            self.next_message();
        }
        // The window of an unknown model is only assumed.
        let known = config.context.filter(|context| context.is_known);
        let usage = known.filter(|_| self.used > 0).map(|context| {
            let total = &outcome.summary.total_usage;
            usage_update(self.used, context.window_tokens, total)
        });
        said.into_iter().chain(usage).collect()
    }

    /// Returns the updates of a call that runs.
    fn started(
        &mut self,
        registry: &Registry,
        id: &str,
        tool: &str,
        input: &Map<String, Value>,
    ) -> Vec<Value> {
        let mut updates = self.announced(registry, id, tool, Some(input));
        let Some(call) = self.calls.get_mut(id) else {
            return updates;
        };
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
        let is_new = !std::mem::replace(&mut call.is_running, true);
        let is_edited = call.input.as_ref() != Some(input);
        if let Some(update) = update.as_object_mut() {
            if is_new {
                update.insert("status".to_owned(), "in_progress".into());
            }
            if is_edited {
                update.insert("rawInput".to_owned(), input.clone().into());
            }
        }
        if is_edited {
            call.input = Some(input.clone());
            call.diff = None;
        }
        if is_new || is_edited {
            updates.push(update);
        }
        updates
    }

    /// Returns the update that announces a call, unless it was announced before.
    pub(crate) fn announced(
        &mut self,
        registry: &Registry,
        id: &str,
        tool: &str,
        input: Option<&Map<String, Value>>,
    ) -> Vec<Value> {
        if self.calls.contains_key(id) {
            return Vec::new();
        }
        let call = OpenCall {
            input: input.cloned(),
            diff: None,
            is_running: false,
        };
        self.calls.insert(id.to_owned(), call);
        let mut update = call_fields(registry, id, tool, input);
        update.insert("sessionUpdate".to_owned(), "tool_call".into());
        update.insert("status".to_owned(), "pending".into());
        vec![update.into()]
    }

    /// Keeps the change of a file that the approval of a call shows, for its result.
    pub(crate) fn keep_diff(&mut self, id: &str, diff: Value) {
        if let Some(call) = self.calls.get_mut(id) {
            call.diff = Some(diff);
        }
    }

    fn chunk(&self, kind: &str, text: &str) -> Value {
        self.block(kind, &json!({"type": "text", "text": text}))
    }

    fn block(&self, kind: &str, block: &Value) -> Value {
        // A change of the id begins another message.
        let id = self.messages.to_string();
        json!({"sessionUpdate": kind, "messageId": id, "content": block})
    }

    fn next_message(&mut self) {
        self.messages += 1;
        self.text.clear();
        self.reasoning.clear();
        self.has_gap = false;
    }
}

/// Returns the id of a call for the client: that of an agent's call begins with those of the calls
/// that started the agent, since an id is unique in its session alone.
pub(crate) fn id_of(path: &[CallId], call_id: &CallId) -> String {
    let ids = path.iter().chain([call_id]);
    let ids: Vec<&str> = ids.map(|id| id.0.as_str()).collect();
    ids.join("/")
}

/// Returns what is known of a call before it runs.
pub(crate) fn call_fields(
    registry: &Registry,
    id: &str,
    tool: &str,
    input: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let fields = [
        ("toolCallId", json!(id)),
        ("title", tools::title(registry, tool, input).into()),
        ("kind", tools::kind(registry, tool).into()),
        ("rawInput", json!(input)),
        ("locations", tools::locations(registry, tool, input).into()),
    ];
    let fields = fields.into_iter().filter(|(_, value)| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns the update of a call that ended.
fn settled(
    id: &str,
    output: &ToolResultOutput,
    parts: Vec<ContentPart>,
    open: Option<OpenCall>,
    registry: &Registry,
    tool: &str,
) -> Value {
    let status = match output.is_success() {
        true => "completed",
        false => "failed",
    };
    let diff = open.and_then(|call| {
        let input = call.input?;
        call.diff
            .or_else(|| tools::diff(registry, tool, &input, None))
    });
    let diff = diff.filter(|_| output.is_success());
    let blocks = content_blocks(parts);
    let content: Vec<Value> = diff.into_iter().chain(blocks.iter().map(content)).collect();
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": id,
        "status": status,
        "content": content,
        "rawOutput": output,
        "_meta": {OUTPUT_KEY: output.tag()},
    })
}

/// Returns a block as content of a call.
pub(crate) fn content(block: &Value) -> Value {
    json!({"type": "content", "content": block})
}

fn usage_update(used: u64, size: u64, total: &Usage) -> Value {
    let mut update = json!({"sessionUpdate": "usage_update", "used": used, "size": size});
    if let (Some(micros), Some(update)) = (total.cost_micros, update.as_object_mut()) {
        let cost = json!({"amount": micros as f64 / 1e6, "currency": "USD"});
        update.insert("cost".to_owned(), cost);
    }
    update
}

fn budget_text(budget: &Budget) -> String {
    let used_up = match budget {
        Budget::Turns { limit } => format!("{limit} model calls (max-turns)"),
        Budget::Tokens { limit, .. } => format!("{limit} tokens (tokens)"),
        Budget::Usd { limit_micros, .. } => {
            format!("{} USD (usd)", *limit_micros as f64 / 1e6)
        }
        Budget::WallClock { limit_ms, .. } => format!("{limit_ms} ms (wall-clock)"),
        Budget::ToolCalls { limit } => format!("{limit} tool calls (tool-calls)"),
        Budget::Repeats { limit, .. } => format!("{limit} identical calls (repeats)"),
    };
    format!("Stopped: the budget of this prompt is used up, {used_up}. Raise it in agent.toml.")
}

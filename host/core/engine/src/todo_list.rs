//! A list of tasks that the model keeps in the session: a tool that replaces the list, and the text
//! about it in the system prompt.

#[cfg(test)]
mod tests;

use crate::{
    BoxFuture,
    hook::Hook,
    middleware::Middleware,
    session::{Session, SessionState},
    tool::{CallReport, Invocation, ProgressSink, RunEnd, SessionChange, ToolHandler},
    tool_set::ToolEntry,
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    id::SessionId,
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    fmt::Write as _,
    future::ready,
    sync::{Arc, LazyLock},
};

/// The name of the tool.
pub const WRITE_TODOS: &str = "write_todos";

/// The key of the lists in the shared state: an object with the list of each session by its id, so
/// that an agent and the one that started it keep theirs apart.
pub const STATE_KEY: &str = "todos";

/// The maximum number of tasks of a list, and the maximum length of one in characters.
const MAX_TASKS: usize = 50;
const MAX_TASK_CHARS: usize = 300;

/// The text in the system prompt.
const PROMPT: &str = "For work of three steps or more, keep a list of tasks with `write_todos`: write it before you \
    begin, have one task in progress at a time, and mark each as completed as soon as it is.";

/// A task of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The text.
    pub content: String,
    /// How far it is.
    pub status: TaskStatus,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It has not begun.
    Pending,
    /// The model works on it.
    InProgress,
    /// It is done.
    Completed,
}

/// The middleware of the list ([`crate::turn::Agent::with_middleware`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct TodoList;

impl Middleware for TodoList {
    fn tools(self: Arc<Self>) -> Vec<ToolEntry> {
        static TOOL: LazyLock<Option<ToolEntry>> = LazyLock::new(|| {
            let tool = ToolEntry::own(definition(), Arc::new(TodoList)).ok()?;
            Some(tool.with_summary("Wrote the list of tasks"))
        });
        TOOL.clone().into_iter().collect()
    }
}

impl Hook for TodoList {
    /// The text in the prompt does not change while the conversation has the list, since providers
    /// cache the beginning of a request. After a summary, the text has the list.
    fn prompt(&self, session: &Session) -> Option<String> {
        let tasks = tasks_of(session.state().shared(), session.id());
        let is_kept = !session.state().flow.has_seen_shared();
        if tasks.is_empty() || is_kept || is_in_conversation(session.state()) {
            return Some(PROMPT.to_owned());
        }
        Some(format!("{PROMPT} The list is now:\n{}", as_text(&tasks)))
    }
}

impl ToolHandler for TodoList {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(ready(write(&invocation)))
    }
}

/// Returns the list of a session from the shared state; empty without one.
#[must_use]
pub fn tasks_of(shared: &Map<String, Value>, session: SessionId) -> Vec<Task> {
    let lists = shared.get(STATE_KEY);
    let list = lists.and_then(|lists| lists.get(session.to_string()));
    // Any tool of the session may write into its state, so it may have another form.
    list.and_then(|list| Vec::deserialize(list).ok())
        .unwrap_or_default()
}

/// Returns the list as lines: how much is done, and each task with its mark.
#[must_use]
pub fn as_text(tasks: &[Task]) -> String {
    let done = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Completed);
    let mut text = format!("{} of {} done", done.count(), tasks.len());
    for task in tasks {
        let mark = match task.status {
            TaskStatus::Pending => ' ',
            TaskStatus::InProgress => '>',
            TaskStatus::Completed => 'x',
        };
        let _ = write!(text, "\n[{mark}] {}", task.content);
    }
    text
}

/// The arguments, which fit the schema.
#[derive(Deserialize)]
struct Arguments {
    todos: Vec<Task>,
}

fn write(invocation: &Invocation) -> RunEnd {
    let arguments = Value::Object(invocation.input.clone().into_object());
    let Ok(Arguments { todos }) = serde_json::from_value(arguments) else {
        let message = "The tasks are invalid; send them as the schema requires.";
        let failure = ToolFailure::new(ToolErrorCode::InvalidInput, message);
        return ToolResultOutput::from(failure).into();
    };
    let lists = Map::from_iter([(invocation.session.to_string(), json!(todos))]);
    let delta = Map::from_iter([(STATE_KEY.to_owned(), Value::Object(lists))]);
    CallReport {
        changes: vec![SessionChange::Merge(delta)],
        ..CallReport::of(ToolResultOutput::Text(as_text(&todos)))
    }
    .into()
}

fn is_in_conversation(session: &SessionState) -> bool {
    let calls = session
        .messages()
        .iter()
        .flat_map(|message| &message.tool_calls);
    calls.into_iter().any(|call| call.name == WRITE_TODOS)
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: WRITE_TODOS.to_owned(),
        title: Some("Keep the list of tasks".to_owned()),
        description: "Replaces the list of tasks, which the user sees. Send the whole list each time; an empty one clears it."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "maxItems": MAX_TASKS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": MAX_TASK_CHARS,
                                "pattern": "^[^\\n\\r]*$",
                                "description": "The task, in one line.",
                            },
                            "status": { "enum": ["pending", "in_progress", "completed"] },
                        },
                        "required": ["content", "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["todos"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

//! Undoes what the calls of an answer have changed in files, and names what cannot be undone.

use crate::{error::HostError, registry::Registry};
use agent_host_engine::{
    journal::JournalError, observer::Observer, session::Session, tool::Invocation,
};
use agent_host_journal::JournalStore;
use agent_host_types::{
    event::{CallEnd, CallStart, Event},
    id::{CallId, SessionId},
    output::ContentPart,
    tool::Effect,
};
use agent_host_undo::{
    Left, Restored, Restoring, Undo, UndoLog, UndoPath, UndoWriter, Undone, changed_paths, undo,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashSet},
    io,
    path::PathBuf,
    sync::Arc,
};

/// The name of the log in the directory of a session's files.
const LOG: &str = "undo";

/// The undo logs of the sessions of a store.
#[derive(Clone, Debug)]
pub(crate) struct UndoLogs {
    store: Arc<dyn JournalStore>,
    max_bytes: u64,
}

impl UndoLogs {
    /// Returns none if nothing is to be kept.
    pub(crate) fn new(store: &Arc<dyn JournalStore>, max_bytes: u64) -> Option<Self> {
        (max_bytes > 0).then(|| Self {
            store: Arc::clone(store),
            max_bytes,
        })
    }

    /// Returns the writer for a run of a call; none for one that can change nothing.
    pub(crate) fn writer(&self, run: &Invocation, effect: Effect) -> Option<Arc<UndoWriter>> {
        if effect == Effect::ReadOnly {
            return None;
        }
        let dir = self.store.files_dir(run.session)?.join(LOG);
        let log = UndoLog::new(dir, self.max_bytes);
        Some(Arc::new(log.writer(&run.call_id)))
    }
}

/// Writes down how a run of a call left the files.
pub(crate) async fn end_entry(undo: Arc<UndoWriter>) {
    let ended = tokio::task::spawn_blocking(move || undo.end()).await;
    if let Err(error) = ended.unwrap_or_else(|error| Err(io::Error::other(error))) {
        tracing::error!("the undo log does not record how a call left the files: {error}");
    }
}

/// The undoing of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoneAnswer {
    /// The user's message that it answers; absent in the session of a client with its own loop,
    /// where one call is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The files and directories that are as they were before it.
    pub restored: Vec<RestoredPath>,
    /// Those that are not.
    pub left: Vec<LeftPath>,
    /// The calls whose effects outside of files cannot be undone.
    pub outside: Vec<OutsideCall>,
}

/// A path that is as it was before an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoredPath {
    /// The path on this machine.
    pub path: PathBuf,
    /// How.
    pub done: Done,
}

/// How a path was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Done {
    /// It had been changed.
    WrittenBack,
    /// It had been removed.
    Recreated,
    /// It had been created.
    Removed,
}

/// A path that is not as it was before an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftPath {
    /// The path on this machine.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// A call whose effects outside of files cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutsideCall {
    /// The tool.
    pub tool: String,
    /// The hosts that it reached; none for a tool of an MCP server, which may have done anything.
    pub hosts: Vec<String>,
}

/// A request to undo an answer.
#[derive(Clone, Debug, Default)]
pub struct UndoRequest {
    /// Whether files that were changed since are restored, too.
    pub force: bool,
    /// The one who asks, as the front end names them.
    pub by: Option<String>,
    /// The tools with the grants beyond which nothing is written; absent for the user of the
    /// machine, whose files they are.
    pub within: Option<Arc<Registry>>,
}

/// Undoes the newest answer of a session that has changed files and was not undone, with the calls
/// of its agents, and records that in the session. `None` if there is no such answer.
///
/// # Errors
/// The journal or the undo log cannot be read or written, or a file is outside of the grants; then
/// nothing was changed.
pub async fn undo_answer(
    store: &dyn JournalStore,
    session: &mut Session,
    request: UndoRequest,
    observer: &dyn Observer,
) -> Result<Option<UndoneAnswer>, HostError> {
    let UndoRequest { force, by, within } = request;
    let mut answers = Answers::default();
    let read = store.for_each_record(session.id(), |record| answers.add(record.event));
    read.await?;
    while let Some(answer) = answers.answers.pop() {
        let mut calls = vec![(session.id(), answer.calls)];
        let mut agents = answer.agents;
        while let Some(agent) = agents.pop() {
            let mut own = Answers::default();
            let read = store.for_each_record(agent, |record| own.add(record.event));
            match read.await {
                // An agent that was about to start.
                Err(JournalError::NotFound(_)) => {}
                read => read?,
            }
            for part in own.answers {
                calls.push((agent, part.calls));
                agents.extend(part.agents);
            }
        }
        let outside = outside(&calls);
        let changes: Vec<Undo> = calls
            .into_iter()
            .filter_map(|(session, calls)| {
                let log = UndoLog::new(store.files_dir(session)?.join(LOG), 0);
                let calls = calls.into_keys().collect();
                Some(Undo { log, calls })
            })
            .collect();
        let within = within.clone();
        let undoing = move || undo_changes(&changes, force, within.as_deref());
        let undone = tokio::task::spawn_blocking(undoing).await;
        let undone =
            undone.unwrap_or_else(|error| Err(HostError::Undo(io::Error::other(error))))?;
        let Some(undone) = undone else {
            continue;
        };
        let paths = undone
            .restored
            .iter()
            .map(|restored| restored.path.in_guest());
        session
            .record_restored(paths.collect(), by, observer)
            .await?;
        return Ok(Some(UndoneAnswer {
            message: answer.message,
            restored: undone
                .restored
                .into_iter()
                .map(RestoredPath::from)
                .collect(),
            left: undone.left.into_iter().map(LeftPath::from).collect(),
            outside,
        }));
    }
    Ok(None)
}

/// Undoes the changes of calls; `None` if they have made none. All paths are checked before the
/// first is changed.
fn undo_changes(
    changes: &[Undo],
    force: bool,
    within: Option<&Registry>,
) -> Result<Option<Undone>, HostError> {
    for Undo { log, calls } in changes {
        if log.calls().map_err(HostError::Undo)?.is_disjoint(calls) {
            continue;
        }
        if let Some(registry) = within {
            let paths = changed_paths(changes).map_err(HostError::Undo)?;
            let mut paths = paths.iter().map(UndoPath::resolved);
            if let Some(path) = paths.find(|path| !registry.may_write(path)) {
                return Err(HostError::UndoOutside { path });
            }
        }
        return undo(changes, force).map(Some).map_err(HostError::Undo);
    }
    Ok(None)
}

fn outside(calls: &[(SessionId, BTreeMap<CallId, MadeCall>)]) -> Vec<OutsideCall> {
    let calls = calls.iter().flat_map(|(_, calls)| calls.values());
    let outside = calls.filter(|call| call.effect != Effect::ReadOnly && call.is_outside);
    let outside = outside.map(|call| OutsideCall {
        tool: call.tool.clone(),
        hosts: call.hosts.clone(),
    });
    outside.collect()
}

/// The answers of a session, in order.
#[derive(Debug, Default)]
struct Answers {
    answers: Vec<AnswerCalls>,
    /// The tools of components. A call has its limits in the journal, unless they are those of the
    /// tool's call before.
    sandboxed: HashSet<String>,
}

#[derive(Debug, Default)]
struct AnswerCalls {
    message: Option<String>,
    calls: BTreeMap<CallId, MadeCall>,
    agents: Vec<SessionId>,
}

/// A call that ran, or was interrupted.
#[derive(Debug)]
struct MadeCall {
    tool: String,
    effect: Effect,
    hosts: Vec<String>,
    /// It may have done something outside of files.
    is_outside: bool,
}

impl Answers {
    fn add(&mut self, event: Event) {
        if let Some(start) = event.call_start() {
            return self.begin(&start);
        }
        if let Some(end) = event.call_end() {
            return self.settle(&end);
        }
        match event {
            // The files were changed in the session that it was copied from.
            Event::SessionForked { .. } => self.answers.clear(),
            Event::InputReceived { message, .. } => self.answers.push(AnswerCalls {
                message: Some(
                    message
                        .content
                        .iter()
                        .filter_map(ContentPart::text)
                        .collect(),
                ),
                ..AnswerCalls::default()
            }),
            Event::AgentSpawned {
                call_id, session, ..
            } => {
                if let Some(answer) = self.answers.last_mut() {
                    // What it did is in its session.
                    answer.calls.remove(&call_id);
                    answer.agents.push(session);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, start: &CallStart<'_>) {
        // A client's loop sends no messages.
        let last = self.answers.last();
        if last.is_none_or(|answer| answer.message.is_none()) {
            self.answers.push(AnswerCalls::default());
        }
        let call = MadeCall {
            tool: start.tool.to_owned(),
            effect: start.effect,
            hosts: Vec::new(),
            is_outside: true,
        };
        if let Some(answer) = self.answers.last_mut() {
            answer.calls.insert(start.call_id.clone(), call);
        }
    }

    fn settle(&mut self, end: &CallEnd<'_>) {
        let answers = self.answers.iter_mut().rev();
        let call = answers
            .filter_map(|answer| answer.calls.get_mut(end.call_id))
            .next();
        if let Some(call) = call {
            // Only the sandbox limits a call, and it knows all that one has reached.
            if end.accounting.limits.is_some() {
                self.sandboxed.insert(call.tool.clone());
            }
            let is_sandboxed = self.sandboxed.contains(&call.tool);
            call.hosts.extend_from_slice(&end.accounting.hosts);
            call.is_outside = !call.hosts.is_empty() || !(is_sandboxed || end.is_denied());
        }
    }
}

impl From<Restored> for RestoredPath {
    fn from(restored: Restored) -> Self {
        Self {
            path: restored.path.on_host(),
            done: match restored.done {
                Restoring::WrittenBack => Done::WrittenBack,
                Restoring::Recreated => Done::Recreated,
                Restoring::Removed => Done::Removed,
            },
        }
    }
}

impl From<Left> for LeftPath {
    fn from(left: Left) -> Self {
        Self {
            path: left.path.on_host(),
            reason: left.reason.to_string(),
        }
    }
}

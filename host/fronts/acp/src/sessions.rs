//! The sessions of a client: new ones, and those of the journal that it opens, lists and deletes.
//! It sees those of the directory in which the program was started, and no others.

use crate::{
    agent::AcpAgent,
    updates::Transcript,
    wire::{ErrorCode, ListSessions, OfSession, OfferedServer, OpenSession, RpcError},
};
use agent_host_app::{
    HostError,
    runs::{Followed, Refused, Slot},
};
use agent_host_engine::{journal::JournalError, session::Session, turn::Prompts};
use agent_host_journal::{ListPage, SessionInfo};
use agent_host_types::{id::SessionId, run::RunArguments};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The most sessions that are open on a connection.
const MAX_OPEN: usize = 256;

/// The sessions of a page of a list.
const PAGE: usize = 100;

/// The part of an open session that a prompt takes, and gives back at its end.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// A session without a turn, which is not in the journal yet.
    pub(crate) fresh: Option<Box<Session>>,
    /// The number of its next event.
    pub(crate) position: u64,
    /// The updates that the client knows.
    pub(crate) transcript: Transcript,
}

/// The most prompts of a session that wait for a cancelled one.
const MAX_NEXT: usize = 16;

/// A prompt that has not ended.
#[derive(Debug)]
struct RunningPrompt {
    request: Value,
    cancel: CancellationToken,
    /// Those that came after it was cancelled: each of them is cancelled, too, but the last one.
    next: VecDeque<NextPrompt>,
}

/// A prompt that waits for the end of a cancelled one. Editors send one when the user stops the
/// agent and writes on.
#[derive(Debug)]
struct NextPrompt {
    request: Value,
    cancel: CancellationToken,
    begin: oneshot::Sender<Opened>,
}

/// The begin of a prompt.
pub(crate) enum Begin {
    /// At once.
    Now(Opened),
    /// When the one before has ended. The sender is dropped if the session is closed.
    After(oneshot::Receiver<Opened>),
}

/// An open session: idle, or with its prompt.
#[derive(Debug)]
enum PromptState {
    Idle(Opened),
    Prompted(RunningPrompt),
}

impl PromptState {
    fn is_prompt(&self, request: &Value) -> bool {
        matches!(self, Self::Prompted(prompt) if prompt.request == *request)
    }

    /// Returns the token of a prompt: of the one that runs, or waits for it.
    fn of_request(&self, request: &Value) -> Option<&CancellationToken> {
        let Self::Prompted(prompt) = self else {
            return None;
        };
        if prompt.request == *request {
            return Some(&prompt.cancel);
        }
        let mut next = prompt.next.iter();
        next.find(|next| next.request == *request)
            .map(|next| &next.cancel)
    }
}

impl RunningPrompt {
    /// Returns the token of the prompt that is to run last.
    fn last(&self) -> &CancellationToken {
        let last = self.next.back();
        last.map_or(&self.cancel, |next| &next.cancel)
    }

    /// Hands the session to the next prompt that still waits for it.
    fn hand_on(&mut self, mut opened: Opened) -> Option<Opened> {
        while let Some(next) = self.next.pop_front() {
            match next.begin.send(opened) {
                Ok(()) => {
                    self.request = next.request;
                    self.cancel = next.cancel;
                    return None;
                }
                Err(back) => opened = back,
            }
        }
        Some(opened)
    }
}

/// The sessions that are open on a connection.
#[derive(Debug, Default)]
pub(crate) struct OpenSessions(Mutex<HashMap<SessionId, PromptState>>);

impl OpenSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, PromptState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session; one that was open begins anew.
    fn open(&self, session: SessionId, opened: Opened) {
        self.lock().insert(session, PromptState::Idle(opened));
    }

    /// Checks that a session can be opened.
    fn check_room(&self, session: Option<SessionId>) -> Result<(), RpcError> {
        let sessions = self.lock();
        match session.and_then(|session| sessions.get(&session)) {
            Some(PromptState::Prompted(_)) => Err(running()),
            Some(PromptState::Idle(_)) => Ok(()),
            None if sessions.len() < MAX_OPEN => Ok(()),
            None => Err(RpcError::new(
                ErrorCode::Busy,
                format!("the maximum of {MAX_OPEN} sessions are open; close one of them"),
            )),
        }
    }

    /// Takes a session for a prompt, and returns it with the token that cancels the prompt. One that
    /// comes after a cancelled prompt waits for its end.
    pub(crate) fn begin_prompt(
        &self,
        session: SessionId,
        request: Value,
    ) -> Result<(Begin, CancellationToken), RpcError> {
        let mut sessions = self.lock();
        let cancel = CancellationToken::new();
        let state = sessions.get_mut(&session).ok_or_else(|| {
            RpcError::new(
                ErrorCode::NotFound,
                "the session is not open on this connection; send `session/load` or `session/new` first",
            )
        })?;
        match state {
            PromptState::Prompted(prompt) => {
                if !prompt.last().is_cancelled() || prompt.next.len() == MAX_NEXT {
                    return Err(running());
                }
                let (begin, begun) = oneshot::channel();
                let next = NextPrompt {
                    request,
                    cancel: cancel.clone(),
                    begin,
                };
                prompt.next.push_back(next);
                Ok((Begin::After(begun), cancel))
            }
            PromptState::Idle(opened) => {
                let opened = std::mem::take(opened);
                *state = PromptState::Prompted(RunningPrompt {
                    request,
                    cancel: cancel.clone(),
                    next: VecDeque::new(),
                });
                Ok((Begin::Now(opened), cancel))
            }
        }
    }

    /// Gives back the session of a prompt, unless it was closed meanwhile.
    pub(crate) fn end_prompt(&self, session: SessionId, request: &Value, opened: Opened) {
        let mut sessions = self.lock();
        let state = sessions.get_mut(&session);
        let Some(state) = state.filter(|state| state.is_prompt(request)) else {
            return;
        };
        if let PromptState::Prompted(prompt) = state
            && let Some(opened) = prompt.hand_on(opened)
        {
            *state = PromptState::Idle(opened);
        }
    }

    /// Cancels the prompts of a session, and returns whether there is one.
    pub(crate) fn cancel(&self, session: SessionId) -> bool {
        match self.lock().get(&session) {
            Some(PromptState::Prompted(prompt)) => {
                prompt.cancel.cancel();
                prompt.next.iter().for_each(|next| next.cancel.cancel());
                true
            }
            Some(PromptState::Idle(_)) | None => false,
        }
    }

    /// Cancels a prompt, and returns its session if it runs.
    pub(crate) fn cancel_request(&self, request: &Value) -> Option<SessionId> {
        let sessions = self.lock();
        sessions.iter().find_map(|(session, state)| {
            state.of_request(request)?.cancel();
            state.is_prompt(request).then_some(*session)
        })
    }
}

impl AcpAgent {
    pub(crate) async fn new_session(&self, request: OpenSession) -> Result<Value, RpcError> {
        self.check_scope(&request)?;
        self.sessions.check_room(None)?;
        let agents = self.host.agents();
        let (_, system) = agents.named_agent(self.name.as_deref(), Prompts::Ask)?;
        let mut session = self.host.sessions().start(system).await?;
        let arguments = RunArguments {
            directory: Some(self.directory()),
            agent: self.name.clone(),
            ..RunArguments::default()
        };
        // A later message, from wherever it comes, is for the same agent.
        let configured = session.configure_run(arguments);
        configured.map_err(|error| RpcError::new(ErrorCode::Internal, error.to_string()))?;
        let id = session.id();
        let opened = Opened {
            fresh: Some(Box::new(session)),
            ..Opened::default()
        };
        self.sessions.open(id, opened);
        Ok(json!({ "sessionId": id }))
    }

    /// Opens a session, and sends its conversation.
    pub(crate) async fn load_session(&self, request: OpenSession) -> Result<Value, RpcError> {
        let row = self.check_open(&request).await?;
        let mut transcript = Transcript::replay();
        let mut position = 0;
        loop {
            let page = self.host.sessions().store().read(row.id, position).await?;
            if page.is_empty() {
                break;
            }
            for record in page {
                position = record.seq.saturating_add(1);
                for update in transcript.event(&self.host, &record.event).await {
                    self.update(row.id, &update).await;
                }
            }
        }
        transcript.live();
        let opened = Opened {
            position,
            transcript,
            ..Opened::default()
        };
        self.sessions.open(row.id, opened);
        Ok(json!({}))
    }

    /// Opens a session without sending its conversation.
    pub(crate) async fn resume_session(&self, request: OpenSession) -> Result<Value, RpcError> {
        let row = self.check_open(&request).await?;
        let opened = Opened {
            position: row.events,
            ..Opened::default()
        };
        self.sessions.open(row.id, opened);
        Ok(json!({}))
    }

    pub(crate) async fn list_sessions(&self, request: ListSessions) -> Result<Value, RpcError> {
        let offset: usize = match request.cursor.as_deref() {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| {
                let message = "`cursor` was not returned by a list";
                RpcError::new(ErrorCode::InvalidParams, message)
            })?,
        };
        let is_here = request.cwd.is_none_or(|cwd| self.is_directory(&cwd));
        let page = ListPage {
            offset,
            // One more tells whether there are more.
            limit: if is_here { PAGE + 1 } else { 0 },
            directory: Some(self.directory()),
            ..ListPage::default()
        };
        let rows = self.host.sessions().store().list_page(page).await?;
        let page: Vec<Value> = rows.iter().take(PAGE).map(|row| self.row(row)).collect();
        let mut list = json!({ "sessions": page });
        if let (true, Some(list)) = (rows.len() > PAGE, list.as_object_mut()) {
            let next = offset.saturating_add(PAGE).to_string();
            list.insert("nextCursor".to_owned(), next.into());
        }
        Ok(list)
    }

    pub(crate) async fn delete_session(&self, request: OfSession) -> Result<Value, RpcError> {
        let row = self.find(&request.session_id).await?;
        self.sessions.check_room(Some(row.id))?;
        // Held until it is gone, so that it does not start to run meanwhile.
        let _slot = self.reserve(row.id).await?;
        self.host.sessions().store().delete(row.id).await?;
        self.sessions.lock().remove(&row.id);
        Ok(json!({}))
    }

    /// Closes a session; its prompt is cancelled.
    pub(crate) fn close_session(&self, request: &OfSession) -> Result<Value, RpcError> {
        let session = request.session_id.parse().map_err(|_| no_session())?;
        self.cancel(session);
        match self.sessions.lock().remove(&session) {
            Some(_) => Ok(json!({})),
            None => Err(no_session()),
        }
    }

    pub(crate) async fn reserve(&self, session: SessionId) -> Result<Slot, RpcError> {
        let reserved = self.runs.reserve(session, None).await;
        reserved.map_err(|refused| match refused {
            Refused::Running => running(),
            Refused::ShuttingDown | Refused::Full => RpcError::new(
                ErrorCode::ShuttingDown,
                "the program is stopping; the session can be loaded again",
            ),
        })
    }

    /// Sends the updates of a line.
    pub(crate) async fn show(
        &self,
        session: SessionId,
        transcript: &mut Transcript,
        followed: Followed,
    ) {
        for update in transcript.follow(&self.host, followed).await {
            self.update(session, &update).await;
        }
    }

    pub(crate) async fn update(&self, session: SessionId, update: &Value) {
        let params = json!({"sessionId": session, "update": update});
        self.connection.notify("session/update", params).await;
    }

    /// Checks what a client asks for beside a session: nothing of it may widen a grant.
    fn check_scope(&self, request: &OpenSession) -> Result<(), RpcError> {
        if !self.is_directory(&request.cwd) {
            let here = self.directory();
            return Err(RpcError::new(
                ErrorCode::DirectoryNotGranted,
                format!(
                    "`cwd` is {}, but this agent-host works in {here}; start `agent-host acp` in the project's \
                     directory",
                    request.cwd.escape_debug()
                ),
            ));
        }
        if !request.additional_directories.is_empty() {
            return Err(RpcError::new(
                ErrorCode::DirectoryNotGranted,
                "a client cannot grant `additionalDirectories`; grant them in agent.toml or with --grant",
            ));
        }
        self.check_servers(&request.mcp_servers)
    }

    /// Checks that the servers of a client are configured: it may name a server that runs in any
    /// case, and starts none.
    fn check_servers(&self, offered: &[OfferedServer]) -> Result<(), RpcError> {
        let servers = self.host.agents().registry().servers();
        let is_configured = |offered: &OfferedServer| {
            let identity = offered.identity();
            let is_it = |identity: String| {
                let mut servers = servers.iter();
                servers.any(|entry| entry.server.config().reach.identity() == identity)
            };
            identity.is_some_and(is_it)
        };
        match offered.iter().find(|offered| !is_configured(offered)) {
            None => Ok(()),
            Some(refused) => Err(RpcError::new(
                ErrorCode::McpServersRefused,
                format!(
                    "the MCP server `{}` in `mcpServers` is not configured, and would run with the client's \
                     authority; configure its exact command or `url` under [[mcp]] in agent.toml, or remove it from \
                     the client's configuration",
                    refused.name.escape_debug()
                ),
            )),
        }
    }

    async fn check_open(&self, request: &OpenSession) -> Result<SessionInfo, RpcError> {
        self.check_scope(request)?;
        let row = self.find(&request.session_id).await?;
        self.sessions.check_room(Some(row.id))?;
        Ok(row)
    }

    /// Returns the row of a session of this directory.
    async fn find(&self, session: &str) -> Result<SessionInfo, RpcError> {
        let session: SessionId = session.parse().map_err(|_| no_session())?;
        let found = self.host.sessions().store().infos(vec![session]).await?;
        let mut found = found.into_iter().filter(|row| self.is_here(row));
        found.next().ok_or_else(no_session)
    }

    /// Whether a session is one of this directory, and no agent's.
    fn is_here(&self, row: &SessionInfo) -> bool {
        row.parent.is_none() && row.directory.as_ref() == Some(&self.directory())
    }

    fn row(&self, row: &SessionInfo) -> Value {
        let updated = i64::try_from(row.last_ms).unwrap_or_default();
        let updated = jiff::Timestamp::from_millisecond(updated).unwrap_or_default();
        json!({
            "sessionId": row.id,
            "cwd": self.directory(),
            "title": row.name.as_ref().or(row.title.as_ref()),
            "updatedAt": updated.to_string(),
        })
    }

    fn directory(&self) -> String {
        self.host.config().working_dir.display().to_string()
    }

    /// Whether a path is the working directory, perhaps by a link.
    fn is_directory(&self, cwd: &str) -> bool {
        let cwd = Path::new(cwd);
        let is_same = |cwd: std::path::PathBuf| cwd == self.host.config().working_dir;
        cwd.is_absolute() && cwd.canonicalize().is_ok_and(is_same)
    }
}

pub(crate) fn running() -> RpcError {
    RpcError::new(
        ErrorCode::SessionRunning,
        "a prompt of the session is still running; wait for it to end, or send `session/cancel`",
    )
}

fn no_session() -> RpcError {
    RpcError::new(
        ErrorCode::NotFound,
        "this directory has no such session; `session/list` lists its sessions",
    )
}

impl From<JournalError> for RpcError {
    fn from(error: JournalError) -> Self {
        let code = match &error {
            JournalError::NotFound(_) => ErrorCode::NotFound,
            JournalError::Locked { .. } | JournalError::Exists(_) => ErrorCode::SessionLocked,
            JournalError::Storage(_) | JournalError::Corrupt(_) => ErrorCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<HostError> for RpcError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Journal(error) => error.into(),
            error => Self::new(ErrorCode::Internal, error.to_string()),
        }
    }
}

//! The agent's side of the protocol: what each message of the client does.

use crate::{
    connection::ClientPeer,
    sessions::OpenSessions,
    wire::{
        CancelRequest, ClientCapabilities, ErrorCode, Incoming, Initialize, OfSession, RpcError,
        parse, read,
    },
};
use agent_host_app::{Host, runs::Runs};
use agent_host_types::id::SessionId;
use serde_json::{Value, json};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// The version of the protocol that is served.
const PROTOCOL_VERSION: u16 = 1;

/// A host as an agent of the protocol, for one client.
#[derive(Debug)]
pub(crate) struct AcpAgent {
    pub(crate) host: Arc<Host>,
    /// The configured agent that new sessions talk to; absent for the one of the file's top level.
    pub(crate) name: Option<String>,
    pub(crate) connection: ClientPeer,
    pub(crate) runs: Arc<Runs>,
    pub(crate) sessions: OpenSessions,
    /// The prompts that have not ended.
    pub(crate) prompts: TaskTracker,
    client: OnceLock<ClientCapabilities>,
}

impl AcpAgent {
    pub(crate) fn new(host: Arc<Host>, name: Option<String>, connection: ClientPeer) -> Self {
        Self {
            host,
            name,
            connection,
            runs: Arc::default(),
            sessions: OpenSessions::default(),
            prompts: TaskTracker::new(),
            client: OnceLock::new(),
        }
    }

    pub(crate) fn connection(&self) -> &ClientPeer {
        &self.connection
    }

    /// Returns what the client can do; nothing before the handshake.
    pub(crate) fn client(&self) -> ClientCapabilities {
        self.client.get().copied().unwrap_or_default()
    }

    /// Handles a line of the client.
    pub(crate) async fn handle(self: &Arc<Self>, line: &[u8]) {
        match parse(line) {
            Ok(Incoming::Request { id, method, params }) if method == "session/prompt" => {
                if let Err(error) = self.prompt(id.clone(), params) {
                    self.connection.respond(&id, Err(error)).await;
                }
            }
            Ok(Incoming::Request { id, method, params }) => {
                let result = self.request(&method, params).await;
                self.connection.respond(&id, result).await;
            }
            Ok(Incoming::Notification { method, params }) => self.notification(&method, params),
            Ok(Incoming::Response { id, result }) => self.connection.answer(id, result),
            Err(no_message) => {
                let error = Err(no_message.error);
                self.connection.respond(&no_message.id, error).await;
            }
        }
    }

    /// Checks that the handshake was made.
    pub(crate) fn check_initialized(&self) -> Result<(), RpcError> {
        match self.client.get() {
            Some(_) => Ok(()),
            None => Err(RpcError::new(
                ErrorCode::NotInitialized,
                "the first request of a connection must be `initialize`",
            )),
        }
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        if method == "initialize" {
            return self.initialize(params);
        }
        self.check_initialized()?;
        match method {
            "session/new" => self.new_session(read(method, params)?).await,
            "session/load" => self.load_session(read(method, params)?).await,
            "session/resume" => self.resume_session(read(method, params)?).await,
            "session/list" => self.list_sessions(read(method, params)?).await,
            "session/delete" => self.delete_session(read(method, params)?).await,
            "session/close" => self.close_session(&read(method, params)?),
            _ => Err(RpcError::new(
                ErrorCode::MethodNotFound,
                format!("unknown method {}", method.escape_debug()),
            )),
        }
    }

    /// Handles a notification. One that cannot be read is ignored, as the protocol has no answer.
    fn notification(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                let session = read::<OfSession>(method, params).ok();
                let session = session.and_then(|of| of.session_id.parse().ok());
                if let Some(session) = session {
                    self.cancel(session);
                }
            }
            "$/cancel_request" => {
                let request = read::<CancelRequest>(method, params).ok();
                let session =
                    request.and_then(|request| self.sessions.cancel_request(&request.request_id));
                if let Some(session) = session {
                    self.runs.cancel(session, None);
                }
            }
            _ => {}
        }
    }

    /// Cancels the prompt of a session: what runs is stopped, and what waits for the user waits on.
    pub(crate) fn cancel(&self, session: SessionId) {
        if self.sessions.cancel(session) {
            self.runs.cancel(session, None);
        }
    }

    fn initialize(&self, params: Value) -> Result<Value, RpcError> {
        let request: Initialize = read("initialize", params)?;
        if let Some(client) = &request.client_info {
            tracing::info!(
                "the client is {} {}",
                client.name.escape_debug(),
                client.version.escape_debug()
            );
        }
        // A repeated handshake changes nothing.
        let _ = self.client.set(request.client_capabilities);
        Ok(json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}},
            },
            "authMethods": [],
            "agentInfo": {
                "name": "agent-host",
                "title": "agent-host",
                "version": env!("CARGO_PKG_VERSION"),
            },
        }))
    }

    /// Ends all prompts: drains them, and cancels those that have not ended after `drain`.
    pub(crate) async fn end(&self, drain: Duration, cancel: Duration) {
        self.connection.ended.cancel();
        self.runs.drain();
        self.prompts.close();
        if timeout(drain, self.prompts.wait()).await.is_err() {
            self.runs.end_all();
            let _ = timeout(cancel, self.prompts.wait()).await;
        }
    }
}

//! The MCP servers of a running host, connected all at once.

use crate::{
    components::check_confirmations, config::McpConfig, error::HostError, sandboxed_server::Serving,
};
use agent_host_mcp_client::McpServer;
use agent_host_types::{
    id::{Digest, json_digest},
    lock::LockedServer,
};
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;

/// An MCP server in the registry.
#[derive(Debug)]
pub struct ServerEntry {
    /// Its configuration.
    pub config: McpConfig,
    /// The server.
    pub server: McpServer,
}

impl ServerEntry {
    /// Names the server for the user: its address or command line, or its component with the digest.
    #[must_use]
    pub fn identity(&self) -> String {
        let identity = self.server.config().reach.identity();
        match self.config.component() {
            Some(component) => format!("{} ({identity})", component.source),
            None => identity,
        }
    }

    /// Returns the set-up that a remembered approval of its tools is for.
    pub(crate) fn set_up(&self) -> Digest {
        json_digest(&match self.config.component() {
            Some(component) => json!([self.locked(), component.grants.to_json()]),
            None => json!(self.locked()),
        })
    }

    /// Returns its pin for `agent.lock`.
    #[must_use]
    pub fn locked(&self) -> LockedServer {
        self.server.locked()
    }
}

/// The connected servers, and the names of the absent ones that are not required.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connected {
    pub(crate) entries: Vec<Arc<ServerEntry>>,
    pub(crate) absent: Vec<String>,
}

/// Connects to these servers of a configuration.
///
/// # Errors
/// The first one that is required and cannot be used, or whose token cannot be read.
pub(crate) async fn connect(
    serving: Serving<'_>,
    servers: &[McpConfig],
) -> Result<Connected, HostError> {
    let config = serving.config;
    let supervisor = config.supervisor.as_ref();
    let elicitor = config.elicitor.as_ref();
    let each = servers.iter().map(async |server| {
        let component = match server.component() {
            Some(component) => Some(serving.load(&server.name, component).await?),
            None => None,
        };
        let opened = server.open(component, supervisor, elicitor, &config.state_dir);
        let opened = opened.await?;
        serving.check_lock(&server.name, opened.reach.identity())?;
        Ok::<_, HostError>(McpServer::connect(opened).await)
    });
    let mut connected = Connected::default();
    for (config, result) in servers.iter().zip(join_all(each).await) {
        match result? {
            Ok(server) => {
                for note in server.notes() {
                    tracing::warn!("the MCP server `{}`: {note}", config.name);
                }
                let known: Vec<&str> = server.own_names().collect();
                let (section, kind) = ("[mcp.approvals]", "the server");
                let confirmations = &config.confirmations;
                check_confirmations(confirmations, &known, section, kind, &config.name)?;
                connected.entries.push(Arc::new(ServerEntry {
                    config: config.clone(),
                    server,
                }));
            }
            Err(error) if config.required => return Err(error.into()),
            Err(error) => {
                tracing::warn!("{error}. It is not required, so its tools are left out");
                connected.absent.push(config.name.clone());
            }
        }
    }
    Ok(connected)
}

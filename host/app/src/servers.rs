//! The MCP servers of a running host, connected all at once.

use crate::{
    config::{Config, McpConfig},
    error::OpenError,
};
use agent_host_mcp_client::{ConnectError, McpServer};
use agent_host_types::lock::LockedServer;
use futures_util::future::join_all;
use std::sync::Arc;

/// An MCP server in the registry.
#[derive(Debug)]
pub struct ServerEntry {
    /// How its tools are used.
    pub config: McpConfig,
    /// The server.
    pub server: McpServer,
}

impl ServerEntry {
    /// What `agent.lock` pins of it.
    #[must_use]
    pub fn locked(&self) -> LockedServer {
        self.server.locked()
    }
}

/// The servers that are there, and the names of those that are not and need not be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connected {
    pub(crate) entries: Vec<Arc<ServerEntry>>,
    pub(crate) absent: Vec<String>,
}

/// Connects to these servers of a configuration.
///
/// # Errors
/// The first that is required and cannot be used, or whose token cannot be read.
pub(crate) async fn connect(
    config: &Config,
    servers: &[McpConfig],
) -> Result<Connected, OpenError> {
    let supervisor = config.supervisor.as_ref();
    let each = servers.iter().map(async |server| {
        let opened = server.open(supervisor).await;
        let opened = opened.map_err(|error| OpenError::usage(error.to_string()))?;
        Ok::<_, OpenError>(McpServer::connect(opened).await)
    });
    let mut connected = Connected::default();
    for (config, result) in servers.iter().zip(join_all(each).await) {
        match result? {
            Ok(server) => {
                check_confirmations(config, &server)?;
                connected.entries.push(Arc::new(ServerEntry {
                    config: config.clone(),
                    server,
                }));
            }
            Err(error) if config.required => return Err(refusal(&error)),
            Err(error) => {
                tracing::warn!("{error}. It is not required, so its tools are left out");
                connected.absent.push(config.name.clone());
            }
        }
    }
    Ok(connected)
}

fn refusal(error: &ConnectError) -> OpenError {
    match error {
        ConnectError::Silent { .. } | ConnectError::Unusable { .. } => {
            OpenError::Failed(error.to_string())
        }
        ConnectError::Start { .. } | ConnectError::Tools { .. } => {
            OpenError::usage(error.to_string())
        }
    }
}

/// A rule for a tool that is not there would be a rule for nothing, most likely for another name than it has.
fn check_confirmations(config: &McpConfig, server: &McpServer) -> Result<(), OpenError> {
    let tools = server.definitions().iter();
    let names: Vec<&str> = tools
        .filter_map(|tool| server.own_name(&tool.name))
        .collect();
    let mut configured = config.own_confirmations.keys();
    match configured.find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(OpenError::usage(format!(
            "[mcp.approvals] of `{}` names `{}`, and no tool of the server that is used has this name; they are {}. Correct the name in agent.toml",
            config.name,
            name.escape_debug(),
            names.join(", ")
        ))),
    }
}

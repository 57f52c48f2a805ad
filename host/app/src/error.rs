//! Errors of a host: why it, a session or a component cannot be opened, or its state not be
//! written.

use crate::{
    config::{ComponentSource, ConfigError, advice},
    signed_file::SignedFileError,
};
use agent_host_engine::journal::JournalError;
use agent_host_mcp_client::ConnectError;
use agent_host_sandbox::{LoadError, LoadFault, SandboxError};
use agent_host_types::{id::SessionId, model::ModelError, reason::Reason};
use std::{io, path::PathBuf};

/// Why a host, a session or a component cannot be used. The text says what, why and what to do.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The undo log of a session cannot be read or changed.
    #[error("cannot use the session's undo log: {0}; nothing more was restored")]
    Undo(#[source] io::Error),
    /// Undoing would write to a file that the grants do not reach.
    #[error(
        "nothing was undone: the answer changed {}, which this configuration's grants do not let a tool write; run \
         `agent-host undo` in the directory of its project, or add the grant",
        path.display().to_string().escape_debug()
    )]
    UndoOutside {
        /// The file.
        path: PathBuf,
    },
    /// A model cannot be created: a script, a recording or an endpoint is not usable.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The configuration, a component, a file or a name cannot be used as it is.
    #[error(transparent)]
    Usage(#[from] Reason),
    /// A registry or the disk fails, or a file changed meanwhile, which may pass.
    #[error(transparent)]
    Passing(Reason),
    /// The sandbox does not start.
    #[error("cannot start the sandbox: {0}")]
    Sandbox(#[from] SandboxError),
    /// A component cannot be loaded.
    #[error("cannot load the component {component}: {source}")]
    Load {
        /// Where the component is.
        component: ComponentSource,
        /// Why it cannot be loaded.
        source: LoadError,
    },
    /// The bytes of a loaded component cannot be read again, or changed.
    #[error(transparent)]
    Reread(LoadError),
    /// An MCP server that is required cannot be used.
    #[error(transparent)]
    Server(#[from] ConnectError),
    /// The session of an agent is driven by the one that started it.
    #[error(
        "session {session} belongs to an agent; resume the one that started it: agent-host run --resume {parent}"
    )]
    SessionOfAgent {
        /// The session.
        session: SessionId,
        /// The session that started it.
        parent: SessionId,
    },
    /// A session may not choose this model.
    #[error(
        "the model `{}` is not offered for this agent; {}",
        name.escape_debug(),
        offered_models(name, offered)
    )]
    ModelNotOffered {
        /// The name.
        name: String,
        /// The names of the models that are offered.
        offered: Vec<String>,
    },
    /// The trusted files cannot be read or written.
    #[error(transparent)]
    Trust(#[from] SignedFileError),
    /// The connection to a client failed.
    #[error(transparent)]
    Connection(io::Error),
}

impl HostError {
    /// True if the request cannot be served as it is (the configuration, a component, a name), so
    /// that a repetition changes nothing; false for failures that may pass (the disk, another
    /// process).
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Journal(error) => matches!(error, JournalError::NotFound(_)),
            Self::Load { source, .. } => source.fault() != LoadFault::HostFailed,
            Self::Server(error) => match error {
                ConnectError::Start { .. }
                | ConnectError::HttpSse { .. }
                | ConnectError::Login { .. }
                | ConnectError::Tools { .. } => true,
                ConnectError::Silent { .. } | ConnectError::Unusable { .. } => false,
            },
            Self::Trust(error) => {
                !matches!(error, SignedFileError::Io { .. } | SignedFileError::Key(_))
            }
            Self::Sandbox(_)
            | Self::Reread(_)
            | Self::Connection(_)
            | Self::Undo(_)
            | Self::Passing(_) => false,
            Self::Config(_)
            | Self::Model(_)
            | Self::Usage(_)
            | Self::ModelNotOffered { .. }
            | Self::SessionOfAgent { .. }
            | Self::UndoOutside { .. } => true,
        }
    }
}

fn offered_models(name: &str, offered: &[String]) -> String {
    let known: Vec<&str> = offered.iter().map(String::as_str).collect();
    advice(name, &known, "the models are")
}

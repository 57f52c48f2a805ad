//! Errors of a host: why it, a session or a component cannot be opened, or its state not be
//! written.

use crate::{
    config::{ComponentSource, ConfigError, advice},
    lock_file::LockError,
    packages::PackageError,
    signed_file::SignedFileError,
    skill::SkillError,
};
use agent_host_engine::{
    journal::JournalError,
    text::{escape_line, sanitize},
};
use agent_host_mcp_client::ConnectError;
use agent_host_sandbox::{LoadError, LoadFault, SandboxError};
use agent_host_types::{id::SessionId, model::ModelError, reason::Reason};
use agent_host_workflow::check::Fault;
use std::{io, path::PathBuf};

/// The maximum length of a workflow's fault in a message, in bytes: a name in it may have any
/// length.
const MAX_FAULT_BYTES: usize = 1_000;

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
    /// The file of a script cannot be read.
    #[error("cannot read the script {}: {source}", path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// The failed operation.
        source: io::Error,
    },
    /// A recording, or an index of components, cannot be read or written.
    #[error(transparent)]
    File(#[from] Reason),
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
    /// There is no built-in component of this name.
    #[error("unknown component `builtin:{name}`; the built-in ones are {}", known.join(", "))]
    UnknownBuiltin {
        /// The name.
        name: String,
        /// The built-in components.
        known: Vec<String>,
    },
    /// A `[[hook]]` whose component has no hooks.
    #[error(
        "the component {component} of the hook `{name}` does not export `agent:tool/hook`, so it cannot be a hook. \
         List hook components under [[hook]], and tools under [[tool]]"
    )]
    NotAHook {
        /// The name of the hook.
        name: String,
        /// The component.
        component: ComponentSource,
    },
    /// A `[[tool]]` whose component has hooks alone.
    #[error(
        "the component `{name}` has hooks but no tools. Move it from [[tool]] to [[hook]] in agent.toml, and add its \
         `points`"
    )]
    HookAsTool {
        /// The name of the component.
        name: String,
    },
    /// An MCP server that is required cannot be used.
    #[error(transparent)]
    Server(#[from] ConnectError),
    /// `approvals` names a tool that its component or server does not have.
    #[error(
        "{section} of `{owner}` names `{}`, but {owner_kind} has no such tool in use; its tools are: {}. Correct the \
         name in agent.toml",
        tool.escape_debug(), known.join(", ")
    )]
    UnknownApproval {
        /// The table of the rule, such as `[tool.approvals]`.
        section: &'static str,
        /// The component or server.
        owner: String,
        /// The kind of the owner, with its article.
        owner_kind: &'static str,
        /// The name in the rule.
        tool: String,
        /// The tools of the owner.
        known: Vec<String>,
    },
    /// A tool to offer is not one of its component, most likely a misspelled one.
    #[error(
        "`exports` of [[tool]] `{owner}` names the tool `{}`, which the component does not have; its tools are: {}",
        tool.escape_debug(), known.join(", ")
    )]
    UnknownExport {
        /// The component.
        owner: String,
        /// The name in the list.
        tool: String,
        /// The tools of the component.
        known: Vec<String>,
    },
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
    /// There is no agent of this name.
    #[error("unknown agent `{}`; the agents are {known}", name.escape_debug())]
    NoAgent {
        /// The name.
        name: String,
        /// The names of all agents.
        known: String,
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
    /// There is no workflow of this name.
    #[error("unknown workflow `{}`; {}", name.escape_debug(), workflow_names(known))]
    NoWorkflow {
        /// The name.
        name: String,
        /// The names of all workflows.
        known: Vec<String>,
    },
    /// The definition of a workflow has faults.
    #[error(
        "cannot use the workflow `{name}`; correct it in agent.toml:{}",
        fault_lines(faults)
    )]
    FaultyWorkflow {
        /// The name.
        name: String,
        /// All faults, in the order of the definition; at least one.
        faults: Vec<Fault>,
    },
    /// Two components or servers have a tool of the same name.
    #[error(
        "{first} and {second} both have a tool named `{tool}`, and the model could not tell them apart. Remove one \
         of them from agent.toml"
    )]
    DuplicateTool {
        /// The tool.
        tool: String,
        /// The source that was registered first, such as "the component `files`".
        first: String,
        /// The other source.
        second: String,
    },
    /// A tool has the name of a tool of the program.
    #[error(
        "{owner} has a tool named `{tool}`, which is the name of a built-in tool of agent-host and would replace it. \
         {fix}"
    )]
    ReservedTool {
        /// The tool.
        tool: String,
        /// The source, such as "the component `files`".
        owner: String,
        /// How it gets another name.
        fix: &'static str,
    },
    /// An external tool has the name of another tool.
    #[error(
        "{first} and an [[external-tool]] both have the name `{tool}`, and the model could not tell them apart. \
         Remove one of them from agent.toml, or rename the external one"
    )]
    DuplicateExternalTool {
        /// The tool.
        tool: String,
        /// The source of the other tool.
        first: String,
    },
    /// A skill of the configuration cannot be read again.
    #[error("cannot use the skill `{name}`: {source}")]
    Skill {
        /// Its name.
        name: String,
        /// Why.
        source: SkillError,
    },
    /// A component of a registry is not used.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// `agent.lock` cannot be used, or does not accept a component.
    #[error(transparent)]
    Lock(#[from] LockError),
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
            Self::Sandbox(_) | Self::Reread(_) | Self::Connection(_) | Self::Undo(_) => false,
            Self::Config(_)
            | Self::Model(_)
            | Self::Script { .. }
            | Self::File(_)
            | Self::UnknownBuiltin { .. }
            | Self::NotAHook { .. }
            | Self::HookAsTool { .. }
            | Self::UnknownApproval { .. }
            | Self::UnknownExport { .. }
            | Self::NoAgent { .. }
            | Self::ModelNotOffered { .. }
            | Self::NoWorkflow { .. }
            | Self::FaultyWorkflow { .. }
            | Self::SessionOfAgent { .. }
            | Self::UndoOutside { .. }
            | Self::DuplicateTool { .. }
            | Self::ReservedTool { .. }
            | Self::DuplicateExternalTool { .. }
            | Self::Skill { .. }
            | Self::Lock(_) => true,
            Self::Package(error) => error.is_usage(),
        }
    }
}

fn offered_models(name: &str, offered: &[String]) -> String {
    let known: Vec<&str> = offered.iter().map(String::as_str).collect();
    advice(name, &known, "the models are")
}

fn workflow_names(known: &[String]) -> String {
    match known {
        [] => "define one as `[[workflow]]` in agent.toml".to_owned(),
        known => format!("the workflows are {}", known.join(", ")),
    }
}

/// Returns a line for each fault, below the line before.
fn fault_lines(faults: &[Fault]) -> String {
    let lines = faults
        .iter()
        .map(|fault| sanitize(&escape_line(&fault.to_string()), MAX_FAULT_BYTES));
    lines.map(|line| format!("\n  {line}")).collect()
}

//! The one table of the commands that need trust in the configuration of the working directory.

use super::{
    ApprovalsCommand, CacheCommand, Command, ConfigArgs, ConfigCommand, McpCommand, MemoryCommand,
    ServeCommand, SessionsCommand, StoreCommand, TokenCommand, WorkflowCommand,
};
use ConfigUse::{Acts, Looks};
use agent_host_app::OnUntrusted;

/// The use that a command makes of the configuration of the working directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConfigUse {
    /// It acts on it: runs, starts, asks or writes what the file names. A file that is not trusted
    /// is an error.
    #[default]
    Acts,
    /// It looks at it, or acts on what is the user's own: sessions, approvals, caches. A file that
    /// is not trusted is left out, so that the user can look, undo and take back before they decide
    /// about it.
    Looks,
}

impl ConfigUse {
    /// Returns the treatment of a file that is not trusted.
    pub(crate) fn on_untrusted(self) -> OnUntrusted {
        match self {
            Self::Acts => OnUntrusted::Refuse,
            Self::Looks => OnUntrusted::LeaveOut,
        }
    }
}

impl Command {
    /// Sets the use that this command makes of its configuration.
    pub(crate) fn set_config_use(&mut self) {
        if let Some((config, config_use)) = self.config_use() {
            config.config_use = config_use;
        }
    }

    /// Returns the options of the configuration, and the use that the command makes of it; none for
    /// one that loads no configuration, or has no options for it and acts.
    fn config_use(&mut self) -> Option<(&mut ConfigArgs, ConfigUse)> {
        Some(match self {
            Self::Run(args) => (&mut args.config, Acts),
            Self::Call(args) => (&mut args.config, Acts),
            Self::Mcp(args) => (&mut args.config, mcp_use(args.command.as_ref())),
            Self::Serve(args) => (&mut args.config, serve_use(args.command.as_ref())),
            #[cfg(feature = "acp")]
            Self::Acp(args) => (&mut args.config, Acts),
            Self::Dev(args) => (&mut args.config, Acts),
            Self::Inspect(args) => (&mut args.config, Looks),
            Self::Sessions(args) => match &mut args.command {
                SessionsCommand::Resume(run) => (&mut run.config, Acts),
                other => (&mut args.config, sessions_use(other)),
            },
            // It exports what the user can look at; verifying loads none.
            Self::Receipts(args) => (&mut args.config, Looks),
            Self::Store(args) => (&mut args.config, store_use(&args.command)),
            Self::Stats(args) => (&mut args.config, Looks),
            Self::Explain(args) => (&mut args.config, Looks),
            #[cfg(feature = "eval")]
            Self::Eval(args) => (&mut args.config, Acts),
            Self::Undo(args) => (&mut args.config, Looks),
            Self::Workflow(args) => (&mut args.config, workflow_use(&args.command)),
            Self::Config(args) => (&mut args.config, config_command_use(&args.command)),
            Self::Models(args) => (&mut args.config, Looks),
            Self::Approvals(args) => (&mut args.config, approvals_use(&args.command)),
            Self::Memory(args) => (&mut args.config, memory_use(&args.command)),
            Self::Lock(args) => match args.accept {
                Some(_) => (&mut args.config, Acts),
                None => (&mut args.config, Looks),
            },
            Self::Search(args) => (&mut args.config, Looks),
            Self::Add(args) => (&mut args.config, Acts),
            Self::Remove(args) => (&mut args.config, Acts),
            Self::Outdated(args) => (&mut args.config, Looks),
            Self::Update(args) => (&mut args.config, Acts),
            // The file's publishers decide whose signature counts.
            Self::Pull(args) => (&mut args.config, Acts),
            Self::Push(args) => (&mut args.config, Acts),
            Self::Login(args) => (&mut args.config, Looks),
            Self::Cache(args) => (&mut args.config, cache_use(&args.command)),
            Self::Doctor(args) => (&mut args.config, Looks),
            // They have no options for it, and act.
            Self::Build(_) | Self::Test(_) => return None,
            Self::Init(_)
            | Self::New(_)
            | Self::Compose(_)
            | Self::Wit(_)
            | Self::Trust(_)
            | Self::Schema { .. }
            | Self::Completions { .. }
            | Self::Reference
            | Self::Man { .. } => return None,
        })
    }
}

fn mcp_use(command: Option<&McpCommand>) -> ConfigUse {
    match command {
        // An entry names the file, which is to trust it.
        None | Some(McpCommand::Config { .. }) => Acts,
        // The server is one of the file.
        Some(McpCommand::Login { .. } | McpCommand::Logout { .. }) => Acts,
    }
}

fn serve_use(command: Option<&ServeCommand>) -> ConfigUse {
    match command {
        None => Acts,
        Some(ServeCommand::Token { command }) => match command {
            TokenCommand::Create { .. } => Acts,
            TokenCommand::List { .. } | TokenCommand::Revoke { .. } => Looks,
        },
        // It loads none.
        Some(ServeCommand::Probe { .. }) => Looks,
    }
}

fn sessions_use(command: &SessionsCommand) -> ConfigUse {
    match command {
        SessionsCommand::Resume(_) => Acts,
        SessionsCommand::List { .. }
        | SessionsCommand::Name { .. }
        | SessionsCommand::Show { .. }
        | SessionsCommand::Replay { .. }
        | SessionsCommand::Fork { .. }
        | SessionsCommand::Export { .. }
        | SessionsCommand::Import { .. }
        | SessionsCommand::Delete { .. }
        | SessionsCommand::Prune { .. }
        | SessionsCommand::Recover { .. }
        | SessionsCommand::Artifacts { .. }
        | SessionsCommand::Blob { .. } => Looks,
    }
}

fn store_use(command: &StoreCommand) -> ConfigUse {
    match command {
        StoreCommand::Check { .. } => Looks,
        StoreCommand::Move { .. } => Acts,
        #[cfg(feature = "postgres")]
        StoreCommand::Grants { .. } => Looks,
        // They change the database that the file names.
        #[cfg(feature = "postgres")]
        StoreCommand::Migrate | StoreCommand::Rekey { .. } => Acts,
    }
}

fn workflow_use(command: &WorkflowCommand) -> ConfigUse {
    match command {
        WorkflowCommand::List { .. }
        | WorkflowCommand::Check { .. }
        | WorkflowCommand::Graph { .. } => Looks,
    }
}

fn config_command_use(command: &ConfigCommand) -> ConfigUse {
    match command {
        ConfigCommand::Show { .. }
        | ConfigCommand::Init
        | ConfigCommand::Schema
        | ConfigCommand::Path { .. } => Looks,
    }
}

fn approvals_use(command: &ApprovalsCommand) -> ConfigUse {
    match command {
        ApprovalsCommand::List { .. } | ApprovalsCommand::Revoke { .. } => Looks,
    }
}

fn memory_use(command: &MemoryCommand) -> ConfigUse {
    match command {
        MemoryCommand::List { .. }
        | MemoryCommand::Show { .. }
        | MemoryCommand::Trust { .. }
        | MemoryCommand::Forget { .. }
        | MemoryCommand::Export => Looks,
    }
}

fn cache_use(command: &CacheCommand) -> ConfigUse {
    match command {
        CacheCommand::List { .. } | CacheCommand::Prune { .. } => Looks,
    }
}

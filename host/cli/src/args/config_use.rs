//! The one table of the commands that need trust in the configuration of the working directory.

use super::{
    ApprovalsCommand, CacheCommand, Command, ConfigArgs, ConfigCommand, McpCommand, ServeCommand,
    SessionsCommand, StoreCommand, TokenCommand, WorkflowCommand,
};
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
        use ConfigUse::{Acts, Looks};
        Some(match self {
            Self::Run(args) => (&mut args.config, Acts),
            Self::Call(args) => (&mut args.config, Acts),
            Self::Acp(args) => (&mut args.config, Acts),
            Self::Dev(args) => (&mut args.config, Acts),
            Self::Eval(args) => (&mut args.config, Acts),
            Self::Add(args) => (&mut args.config, Acts),
            Self::Remove(args) => (&mut args.config, Acts),
            Self::Update(args) => (&mut args.config, Acts),
            // Its publishers decide whose signature counts.
            Self::Pull(args) => (&mut args.config, Acts),
            Self::Push(args) => (&mut args.config, Acts),
            Self::Mcp(args) => {
                let config_use = match &args.command {
                    // An entry names the file, which is to trust it.
                    Some(McpCommand::Config { .. }) | None => Acts,
                    // The server is one of the file.
                    Some(McpCommand::Login { .. } | McpCommand::Logout { .. }) => Acts,
                };
                (&mut args.config, config_use)
            }
            Self::Serve(args) => {
                let config_use = match &args.command {
                    Some(ServeCommand::Token { command }) => match command {
                        TokenCommand::Create { .. } => Acts,
                        TokenCommand::List { .. } | TokenCommand::Revoke { .. } => Looks,
                    },
                    // It loads none.
                    Some(ServeCommand::Probe { .. }) => Looks,
                    None => Acts,
                };
                (&mut args.config, config_use)
            }
            Self::Sessions(args) => match &mut args.command {
                SessionsCommand::Resume(run) => (&mut run.config, Acts),
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
                | SessionsCommand::Blob { .. } => (&mut args.config, Looks),
            },
            Self::Store(args) => {
                let config_use = match &args.command {
                    StoreCommand::Check { .. } | StoreCommand::Grants { .. } => Looks,
                    // They change the database that the file names.
                    StoreCommand::Migrate
                    | StoreCommand::Move { .. }
                    | StoreCommand::Rekey { .. } => Acts,
                };
                (&mut args.config, config_use)
            }
            Self::Approvals(args) => match &args.command {
                ApprovalsCommand::List { .. } | ApprovalsCommand::Revoke { .. } => {
                    (&mut args.config, Looks)
                }
            },
            Self::Cache(args) => match &args.command {
                CacheCommand::List { .. } | CacheCommand::Prune { .. } => (&mut args.config, Looks),
            },
            Self::Workflow(args) => match &args.command {
                WorkflowCommand::List { .. }
                | WorkflowCommand::Check { .. }
                | WorkflowCommand::Graph { .. } => (&mut args.config, Looks),
            },
            Self::Config(args) => match &args.command {
                ConfigCommand::Show { .. }
                | ConfigCommand::Init
                | ConfigCommand::Schema
                | ConfigCommand::Path { .. } => (&mut args.config, Looks),
            },
            Self::Lock(args) => {
                let config_use = match args.accept {
                    Some(_) => Acts,
                    None => Looks,
                };
                (&mut args.config, config_use)
            }
            Self::Inspect(args) => (&mut args.config, Looks),
            Self::Stats(args) => (&mut args.config, Looks),
            Self::Explain(args) => (&mut args.config, Looks),
            Self::Undo(args) => (&mut args.config, Looks),
            Self::Models(args) => (&mut args.config, Looks),
            Self::Search(args) => (&mut args.config, Looks),
            Self::Outdated(args) => (&mut args.config, Looks),
            Self::Login(args) => (&mut args.config, Looks),
            Self::Doctor(args) => (&mut args.config, Looks),
            // `build` and `test` have no options for it, and act.
            Self::Build(_) | Self::Test(_) => return None,
            Self::Init(_)
            | Self::New(_)
            | Self::Wit(_)
            | Self::Trust(_)
            | Self::Schema { .. }
            | Self::Completions { .. }
            | Self::Reference
            | Self::Man { .. } => return None,
        })
    }
}

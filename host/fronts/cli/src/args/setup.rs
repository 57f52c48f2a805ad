//! Arguments of `init`, `config` and `models`.

use super::ConfigArgs;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// `init`.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct InitArgs {
    /// The provider, such as `anthropic`, `openai`, `gemini`, `ollama` or `openrouter` [default:
    /// asked on the terminal].
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The address of the server, if it is not the provider's own.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Where the key is: `env:NAME`, `file:PATH`, `cmd:COMMAND` such as `cmd:pass show openai`; `-`
    /// reads the key from standard input and keeps it in a file that only you can read. Never the
    /// key itself.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) key: Option<String>,
    /// The model's name at the provider.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Write the configuration without testing the model.
    #[arg(long)]
    pub(crate) no_test: bool,
}

/// `config`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigCommandArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `config ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the effective configuration as TOML, each value with its origin. Values that may be
    /// secrets are hidden.
    Show {
        /// Print JSON, one value per line.
        #[arg(long)]
        json: bool,
    },
    /// Write a commented agent.toml to this directory. An existing file is not overwritten.
    Init,
    /// Print the JSON Schema of agent.toml, for editors.
    Schema,
    /// Print the paths of the configuration files, the highest layer first.
    Path {
        /// Print only the path of this layer.
        layer: Option<ConfigLayer>,
    },
}

/// A layer of the configuration in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigLayer {
    /// The file of `--config`, or agent.toml in this directory.
    Project,
    /// The user's configuration.
    User,
    /// The machine's configuration.
    Machine,
}

/// `models`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ModelsArgs {
    /// The providers to ask [default: every one with a key or a section in the configuration].
    pub(crate) providers: Vec<String>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON, one model per line.
    #[arg(long)]
    pub(crate) json: bool,
}

//! Arguments of the commands about components from registries.

use super::ConfigArgs;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `add`.
#[derive(Debug, ClapArgs)]
pub(crate) struct AddArgs {
    /// The component: `oci://HOST/NAME:TAG`, optionally with `@sha256:HEX`, or
    /// `https://HOST/PATH#sha256=HEX`.
    #[arg(required_unless_present = "mcp", conflicts_with = "mcp")]
    pub(crate) reference: Option<String>,
    /// Add the MCP servers from another client's file, such as `.mcp.json`, as `[[mcp]]`. Secrets
    /// are not copied; the variables to set are listed.
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    pub(crate) mcp: Option<PathBuf>,
    /// The tool's name in agent.toml [default: the last part of NAME].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Accept it without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `remove`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RemoveArgs {
    /// The name of the tool in agent.toml.
    pub(crate) name: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `pull`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PullArgs {
    /// The component: `oci://HOST/NAME:TAG`, optionally with `@sha256:HEX`, or
    /// `https://HOST/PATH#sha256=HEX`.
    pub(crate) reference: String,
    /// A file with the public key (P-256 or Ed25519, PEM) that must have signed it [default: the
    /// keys of `[[publisher]]`, if any].
    #[arg(long, value_name = "KEY")]
    pub(crate) verify: Option<PathBuf>,
    /// Write the component to this file, which must not exist.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `push`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PushArgs {
    /// The file of the component.
    pub(crate) component: PathBuf,
    /// The name to give it: `oci://HOST/NAME:TAG`.
    pub(crate) reference: String,
    /// Sign it with the private key in this file (P-256 or Ed25519, PKCS#8 in PEM, such as from
    /// `openssl genpkey -algorithm ed25519`).
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    /// Add it to this component index, replacing other versions of it: a directory, or
    /// `oci://HOST/NAME:TAG`. The index is created if it does not exist.
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<String>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `update`.
#[derive(Debug, ClapArgs)]
pub(crate) struct UpdateArgs {
    /// The name in agent.toml [default: all components from registries].
    pub(crate) name: Option<String>,
    /// Use this tag from now on, such as a newer version.
    #[arg(long, value_name = "TAG", requires = "name")]
    pub(crate) to: Option<String>,
    /// Accept changes without asking.
    #[arg(long)]
    pub(crate) accept: bool,
    /// Also accept an older version.
    #[arg(long)]
    pub(crate) allow_downgrade: bool,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `outdated`.
#[derive(Debug, ClapArgs)]
pub(crate) struct OutdatedArgs {
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `search`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SearchArgs {
    /// The words to find, ignoring case [default: all components].
    pub(crate) term: Vec<String>,
    /// The index to search: a directory with an `index.json`, or `oci://HOST/NAME:TAG`; several are
    /// searched in order.
    #[arg(long, value_name = "INDEX", required = true)]
    pub(crate) index: Vec<String>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `login`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LoginArgs {
    /// The registry, such as `ghcr.io`.
    pub(crate) host: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

//! Arguments of `add`, `remove`, `pull` and `push`.

use super::ConfigArgs;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `add`.
#[derive(Debug, ClapArgs)]
pub(crate) struct AddArgs {
    /// The component: `oci://HOST/NAME:TAG`, possibly with `@sha256:HEX`.
    pub(crate) reference: String,
    /// The tool's name in agent.toml [default: the last part of NAME].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Accept it without a question.
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
    /// The component: `oci://HOST/NAME:TAG`, possibly with `@sha256:HEX`.
    pub(crate) reference: String,
    /// A file with the public key (P-256 or Ed25519, PEM) that has to have signed it [default: the
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
    /// Sign it with the private key in this file (P-256 or Ed25519, PKCS#8 in PEM, such as of
    /// `openssl genpkey -algorithm ed25519`).
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

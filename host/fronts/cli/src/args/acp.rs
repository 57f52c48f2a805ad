//! Arguments of `acp`.

use super::ConfigArgs;
use clap::Args as ClapArgs;

/// `acp`.
#[derive(Debug, ClapArgs)]
pub(crate) struct AcpArgs {
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The model, as for `run`.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The configured agent that new sessions talk to [default: the default agent].
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Print only errors on stderr.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

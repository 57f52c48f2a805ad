//! Arguments of `store`.

use super::ConfigArgs;
use clap::{Args as ClapArgs, Subcommand};

/// `store`.
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `store ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Create the tables in the database of `[store]`, or update them to this version. Run it as
    /// their owner (hosts can use another role), while no host of an older version is running.
    #[cfg(feature = "postgres")]
    Migrate,
    /// Print the statements that grant a database role exactly what a host needs: to read and write
    /// rows, but not to create tables.
    #[cfg(feature = "postgres")]
    Grants {
        /// The role.
        role: String,
    },
    /// Check every event of every session, and every blob; exits with 1 if something is missing,
    /// changed or orphaned.
    Check {
        /// Remove the rows without a valid signature: approvals, firings, links, owners of
        /// sessions and runs of hosts, which are ignored anyway. Sessions are kept.
        #[arg(long)]
        remove_unsigned: bool,
        /// Print JSON: one session per line, then the problems that belong to no session.
        #[arg(long)]
        json: bool,
    },
    /// Move all sessions to another store, with their names, agents, approvals and pending
    /// requests. Sessions in use are not moved. If it is interrupted, run it again; until then, no
    /// host can continue the session that was being moved.
    Move {
        /// The other store: `state-dir`, or a database as `url` in `[store]`: `env:NAME`,
        /// `file:PATH`, `cmd:COMMAND`, or an address without a password. `ca` and `key` of
        /// `[store]` also apply to it.
        #[arg(long, value_name = "STORE")]
        to: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Seal the secrets in the database of `[store]` with its `key`; running hosts continue, but
    /// can only restart with that key.
    #[cfg(feature = "postgres")]
    Rekey {
        /// The key that they are sealed with now: `env:NAME`, `file:PATH` or `cmd:COMMAND`
        /// [default: none, if they are not sealed yet].
        #[arg(long, value_name = "KEY")]
        from: Option<String>,
    },
}

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
    /// Make the tables in the database of `[store]`, or update them to this version. Run it as
    /// their owner, which hosts need not be; no host of an older version may run.
    Migrate,
    /// Print the statements that give a role of the database what a host needs, and no more: it
    /// reads and writes rows, and makes no tables.
    Grants {
        /// The role.
        role: String,
    },
    /// Check every event of every session, and every blob; exit with 1 if something is missing,
    /// changed, or belongs to nothing.
    Check {
        /// Remove the rows without a valid signature that are found: approvals, firings, owners of
        /// sessions and runs of hosts, which nothing believes. Sessions stay.
        #[arg(long)]
        remove_unsigned: bool,
        /// Print JSON: one session a line, then what belongs to none.
        #[arg(long)]
        json: bool,
    },
    /// Move all sessions to another store, with their names, agents, approvals and all that they
    /// wait for. Sessions in use stay. If it does not end, run it again; until then, no host may
    /// continue the session that it was at.
    Move {
        /// The other store: `state-dir`, or a database as `url` in `[store]`: `env:NAME`,
        /// `file:PATH`,
        /// `cmd:COMMAND`, or an address without a password. `ca` and `key` of `[store]` hold for
        /// it, too.
        #[arg(long, value_name = "STORE")]
        to: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Seal the secrets in the database of `[store]` with its `key`; hosts that run go on, and
    /// start anew only with that key.
    Rekey {
        /// The key that they are sealed with: `env:NAME`, `file:PATH` or `cmd:COMMAND` [default:
        /// none; they are not sealed yet].
        #[arg(long, value_name = "KEY")]
        from: Option<String>,
    },
}

//! Arguments of `memory`.

use super::ConfigArgs;
use clap::{Args as ClapArgs, Subcommand};

/// `memory`.
#[derive(Debug, ClapArgs)]
pub(crate) struct MemoryArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: MemoryCommand,
    /// Include the items of all projects.
    #[arg(long, global = true)]
    pub(crate) all: bool,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `memory ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what agents remember for this project, and for all projects.
    List {
        /// List only items with some of these words, or with words that begin with them.
        words: Vec<String>,
        /// Print JSON, one item per line.
        #[arg(long)]
        json: bool,
    },
    /// Show an item: its text, where it is from, and until when it is kept.
    Show {
        /// The item's id, as `memory list` prints it, or the beginning of it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Trust an item, whatever its text is from: agents then read it as if you had written it.
    Trust {
        /// The item's id, as `memory list` prints it, or the beginning of it.
        id: String,
    },
    /// Remove items from memory. Sessions in which they were remembered or recalled keep their
    /// records.
    Forget {
        /// The ids of the items, as `memory list` prints them, or the beginnings of them.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Print all items as JSON, one item per line.
    Export,
}

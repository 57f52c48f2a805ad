//! Arguments of `receipts`.

use super::ConfigArgs;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// `receipts`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReceiptsArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: ReceiptsCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `receipts ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptsCommand {
    /// Write a signed receipt of each settled call and each decision of a session, one per line.
    Export {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// The private Ed25519 key that signs them, in PEM: `openssl genpkey -algorithm ed25519`.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Leave out arguments, results, requests, decisions and what was shown for them. The
        /// receipts keep commitments to them.
        #[arg(long)]
        redact: bool,
        /// The file, which must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Verify a file of receipts with the public key alone, and name the first line that was
    /// changed, dropped, reordered or inserted: exits with 1 then.
    Verify {
        /// The file.
        file: PathBuf,
        /// The public key, in PEM: `openssl pkey -in KEY -pubout`.
        #[arg(long, value_name = "PUBLIC")]
        key: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

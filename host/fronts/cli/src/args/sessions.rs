//! Arguments of `sessions`.

use super::{ConfigArgs, RunArgs};
use agent_host_app::config::{parse_bytes, parse_days};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// `sessions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SessionsArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `sessions ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, newest first.
    List {
        /// Only sessions that wait for an approval, an answer or results, oldest first, with their
        /// pending requests.
        #[arg(long)]
        waiting: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Name a session. Names are unique among the sessions of a directory.
    Name {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// The name.
        name: String,
    },
    /// Show what happened in a session: who said what, each call, what was denied and what changed.
    Show {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// Show every event instead, with its number, time, figures and requests.
        #[arg(long, conflicts_with = "json")]
        events: bool,
        /// Print its events as JSON, one per line.
        #[arg(long)]
        json: bool,
        /// Print the steps of its turns as JSON, one per line: what each returned, and which step
        /// followed.
        #[arg(long, conflicts_with_all = ["json", "events"])]
        steps: bool,
    },
    /// Run the loop again with the recorded replies and results, and compare each event: exits with
    /// 1 and prints the first difference if this version behaves differently. No tool runs, no
    /// model is called, and nothing is written.
    Replay {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// Instead, decide the recorded calls again under the rules and `[flow]` of this
        /// configuration: exits with 1 if a decision differs. The tools, their approvals and the
        /// sources of results are the recorded ones.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Resume a session, like `run --resume SESSION`.
    #[command(
        mut_arg("resume", |session| session.long(None).index(1).required(true)),
        mut_arg("prompt", |prompt| prompt.index(2))
    )]
    Resume(Box<RunArgs>),
    /// Copy a session into a new one, and print the new one's id. Pending requests and approvals of
    /// the original do not carry over to the copy.
    Fork {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// Copy the events up to this one, which must end a turn [default: all]. `sessions show`
        /// numbers them.
        #[arg(long, value_name = "EVENT")]
        at: Option<u64>,
    },
    /// Write a session to one self-contained file.
    Export {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// The file, which must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Seal it with the key in this file (64 hexadecimal digits): a host with the same key can
        /// import it with its pending requests and approvals. Do not resume the session here
        /// afterwards.
        #[arg(long, value_name = "KEY_FILE")]
        seal: Option<PathBuf>,
    },
    /// Import a session from a file that `export` wrote, and print its id. Its pending calls will
    /// not run, and its approvals are not valid here. A JSON file with messages in the format of
    /// the AI SDK, OpenAI's Chat Completions or Anthropic becomes a new session.
    Import {
        /// The file.
        file: PathBuf,
        /// Give it a new id.
        #[arg(long)]
        as_new: bool,
        /// The session was sealed with the key in this file (`export --seal`): pending requests can
        /// be answered here, and its approvals stay valid.
        #[arg(long, value_name = "KEY_FILE", conflicts_with = "as_new")]
        sealed: Option<PathBuf>,
    },
    /// Remove sessions permanently, and print their ids.
    Delete {
        /// The sessions: their ids, the beginnings or ends of their ids, their names, or `latest`.
        #[arg(required = true, value_name = "SESSION")]
        sessions: Vec<String>,
    },
    /// Remove the oldest sessions permanently, print their ids, and free their disk space. Without
    /// an option, remove those beyond the limits of `keep` in agent.toml. Sessions that are in use
    /// or wait for a decision are kept.
    Prune {
        /// Remove the sessions that have not been used for this time: a number of days, or with a
        /// unit, such as `30d`.
        #[arg(long, value_name = "DURATION", value_parser = parse_days)]
        older_than: Option<u32>,
        /// Remove the oldest sessions until the database has at most this size: a number of bytes,
        /// or with a unit, such as `512MiB`.
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        max_bytes: Option<u64>,
    },
    /// Accept a session as it is in the journal, although stored events are missing because the
    /// file was damaged or replaced by an older one.
    Recover {
        /// The session's id.
        session: String,
    },
    /// List the files that a session's calls stored, or write one to standard output.
    Artifacts {
        /// The session: its id, the beginning or end of its id, its name, or `latest`.
        session: String,
        /// The file.
        name: Option<String>,
        /// Write it to this file, which must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE", requires = "name")]
        output: Option<PathBuf>,
        /// Print the list as JSON, one file per line.
        #[arg(long, conflicts_with = "name")]
        json: bool,
    },
    /// Write a blob (an image, a long result) to standard output.
    Blob {
        /// The blob's digest, as `sessions show` prints it.
        digest: String,
        /// The file, which must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

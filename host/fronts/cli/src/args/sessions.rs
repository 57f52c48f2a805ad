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
        /// Only those that wait for an approval, an answer or results, oldest first, with what they
        /// wait for.
        #[arg(long)]
        waiting: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Name a session. Of the sessions of one directory, only one has a name.
    Name {
        /// Its id, the beginning or the end of its id, its name, or `latest`.
        session: String,
        /// The name.
        name: String,
    },
    /// Show every step of a session, with timings and limits.
    Show {
        /// Its id, the beginning or the end of its id, its name, or `latest`.
        session: String,
        /// Print its events as JSON, one a line.
        #[arg(long)]
        json: bool,
        /// Print the steps of its turns as JSON, one a line: what each returned, and which
        /// followed.
        #[arg(long, conflicts_with = "json")]
        steps: bool,
    },
    /// Run the loop again over the recorded replies and results, and compare each event: exit code
    /// 1 and the first difference if this version does something else. No tool runs, no model is
    /// asked, and nothing is written.
    Replay {
        /// Its id, the beginning or the end of its id, its name, or `latest`.
        session: String,
        /// Decide about the recorded calls again instead, under the rules of this configuration:
        /// exit code 1 if one is decided otherwise. The tools and their approvals are the recorded
        /// ones.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Go on with a session: what `run --resume SESSION` does.
    #[command(
        mut_arg("resume", |session| session.long(None).index(1).required(true)),
        mut_arg("prompt", |prompt| prompt.index(2))
    )]
    Resume(Box<RunArgs>),
    /// Copy a session into a new one, and print the new one's id. What waits or is allowed in the
    /// original does not wait and is not allowed in the copy.
    Fork {
        /// Its id, the beginning or the end of its id, its name, or `latest`.
        session: String,
        /// Take over the events up to this one, at which a turn ended [default: all]. `sessions
        /// show` numbers them.
        #[arg(long, value_name = "EVENT")]
        at: Option<u64>,
    },
    /// Write a session as one file that needs nothing else.
    Export {
        /// Its id, the beginning or the end of its id, its name, or `latest`.
        session: String,
        /// The file; it must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Seal it with the key of this file, 64 hexadecimal digits: a host with the same key takes
        /// it over with its pending requests and its approvals. Do not resume the session here.
        #[arg(long, value_name = "KEY_FILE")]
        seal: Option<PathBuf>,
    },
    /// Take over a session from a file that `export` wrote, and print its id. Calls that wait in it
    /// will not run, and nothing that was allowed in it is allowed here. A JSON file with messages
    /// of the AI SDK, OpenAI's Chat Completions or Anthropic becomes a new session.
    Import {
        /// The file.
        file: PathBuf,
        /// Give it a new id.
        #[arg(long)]
        as_new: bool,
        /// The file was sealed with the key of this file (`export --seal`): pending requests can be
        /// answered here, and what was allowed in it stays so.
        #[arg(long, value_name = "KEY_FILE", conflicts_with = "as_new")]
        sealed: Option<PathBuf>,
    },
    /// Remove sessions for good, and print their ids.
    Delete {
        /// Their ids, the beginnings or ends of their ids, their names, or `latest`.
        #[arg(required = true, value_name = "SESSION")]
        sessions: Vec<String>,
    },
    /// Remove the oldest sessions for good, print their ids, and return their space to the disk.
    /// Without an option: what `keep` in agent.toml does not keep. A session that is in use or
    /// waits for a decision stays.
    Prune {
        /// Remove the sessions that were not written to for this time: a number of days, or with a
        /// unit, such as `30d`.
        #[arg(long, value_name = "DURATION", value_parser = parse_days)]
        older_than: Option<u32>,
        /// Remove the oldest until the database has at most this size: a number of bytes, or with a
        /// unit, such as `512MiB`.
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        max_bytes: Option<u64>,
    },
    /// Take a session as it is in the journal, although events that were stored are missing there,
    /// because the file was damaged or replaced by an older one.
    Recover {
        /// Its id.
        session: String,
    },
    /// List the files that a session's calls left, or write one to standard output.
    Artifacts {
        /// Its id, the beginning or the end of its id, its name, or `latest`.
        session: String,
        /// The file.
        name: Option<String>,
        /// Write it to this file, which must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE", requires = "name")]
        output: Option<PathBuf>,
        /// Print the list as JSON, one file a line.
        #[arg(long, conflicts_with = "name")]
        json: bool,
    },
    /// Write a blob (an image, a long result) to standard output.
    Blob {
        /// Its digest, as `sessions show` prints it.
        digest: String,
        /// The file; it must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

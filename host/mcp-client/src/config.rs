//! How a server is reached and used. It reads no file and no environment.

use agent_host_engine::secrets::Secrets;
use secrecy::SecretString;
use std::{
    collections::BTreeSet, ffi::OsString, num::NonZeroUsize, path::PathBuf, sync::Arc,
    time::Duration,
};

/// An MCP server and how it is used.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Its name in the configuration, with which the names of its tools begin.
    pub name: String,
    /// Where it is.
    pub reach: Reach,
    /// How long it may take until its tools are known.
    pub connect_timeout: Duration,
    /// How long a call may take, the wait for its turn included.
    pub deadline: Duration,
    /// The calls that run at once; others wait.
    pub concurrent_calls: NonZeroUsize,
    /// The longest result, all parts together, in bytes.
    pub output_bytes: u64,
    /// The only tools that are used, by the server's own names; absent for all.
    pub tools: Option<BTreeSet<String>>,
    /// The tools that change nothing, by the server's own names: the operator's word, since a server's own is only a hint.
    pub read_only: BTreeSet<String>,
    /// The secrets that the server was given. They are redacted in whatever it sends.
    pub secrets: Arc<Secrets>,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A child process, which speaks on its standard streams.
    Command(ServerCommand),
    /// A web server, which speaks streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// What it wants to see as `Authorization: Bearer ...`.
        token: Option<SecretString>,
    },
}

/// A server that is started as a child process.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program; one without a slash is looked for in the child's `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Its working folder.
    pub folder: PathBuf,
    /// What starts it, and ends it when this process is gone. Without one, a server whose host was killed only sees that its
    /// input is closed.
    pub supervisor: Option<Supervisor>,
}

/// The program that supervises a server: one that calls [`crate::supervise`] with the arguments that follow its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supervisor {
    /// The program.
    pub exe: PathBuf,
    /// Its own arguments.
    pub args: Vec<OsString>,
}

impl Reach {
    /// What `agent.lock` pins of it: the address, or the command line as a JSON array.
    #[must_use]
    pub fn identity(&self) -> String {
        match self {
            Self::Command(command) => {
                let words = std::iter::once(&command.program).chain(&command.args);
                serde_json::Value::from_iter(words.map(String::as_str)).to_string()
            }
            Self::Http { url, .. } => url.clone(),
        }
    }
}

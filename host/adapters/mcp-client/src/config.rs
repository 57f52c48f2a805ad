//! Configuration of an MCP server. Reads no file and no environment.

use crate::{elicitation::Elicitor, oauth::OAuth, sandboxed::ServerComponent};
use agent_host_engine::secrets::Secrets;
use agent_host_http_client::ProxySetting;
use secrecy::SecretString;
use std::{
    collections::BTreeSet, ffi::OsString, num::NonZeroUsize, path::PathBuf, sync::Arc,
    time::Duration,
};

/// Configuration of an MCP server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The configured name, with which the names of its tools begin.
    pub name: String,
    /// The transport.
    pub reach: Reach,
    /// The time until its tools are known.
    pub connect_timeout: Duration,
    /// The time of one call, including the wait for a permit.
    pub deadline: Duration,
    /// The maximum of concurrent calls; others wait.
    pub concurrent_calls: NonZeroUsize,
    /// The maximum size of a result, all parts together, in bytes.
    pub output_bytes: u64,
    /// The only tools to offer, by the server's own names; all if absent.
    pub tools: Option<BTreeSet<String>>,
    /// The tools that are read-only, by the server's own names. The operator decides, since a
    /// server's own annotation is only a hint.
    pub read_only: BTreeSet<String>,
    /// The secrets given to the server, redacted in everything it sends.
    pub secrets: Arc<Secrets>,
    /// The directories that the server is told to work in; absolute paths.
    pub roots: Vec<PathBuf>,
    /// Asks the user the server's questions; without it they are refused.
    pub elicitor: Option<Arc<dyn Elicitor>>,
}

impl ServerConfig {
    /// Returns what is redacted now: the secrets given to the server, and the tokens of its login or the
    /// secrets that it may use in the sandbox.
    pub(crate) fn redacted(&self) -> impl Iterator<Item = Arc<Secrets>> {
        let others = match &self.reach {
            Reach::Http(Endpoint { oauth, .. }) => {
                oauth.as_ref().map(|login| login.tokens.secrets())
            }
            Reach::Component(component) => Some(Arc::clone(&component.secrets)),
            Reach::Command(_) => None,
        };
        [Some(Arc::clone(&self.secrets)), others]
            .into_iter()
            .flatten()
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.redacted().fold(text.to_owned(), |text, secrets| {
            secrets.text(&text).into_owned()
        })
    }
}

/// The transport to a server.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A child process that speaks on its standard streams.
    Command(ServerCommand),
    /// A web server that speaks streamable HTTP.
    Http(Endpoint),
    /// A component in the sandbox of this process.
    Component(ServerComponent),
}

/// A web server that speaks streamable HTTP, and what it is sent besides messages.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its address.
    pub url: String,
    /// The bearer token for `Authorization`.
    pub token: Option<SecretString>,
    /// More headers of each request, by name. Any value may be a secret.
    pub headers: Vec<(String, SecretString)>,
    /// How to log in; absent if there is a token.
    pub oauth: Option<Arc<OAuth>>,
    /// The proxy of its requests.
    pub proxy: ProxySetting,
}

/// The command line of a server that is a child process.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program; without a slash it is looked up in the child's `PATH`.
    pub program: String,
    /// The arguments.
    pub args: Vec<String>,
    /// The complete environment. Any value may be a secret.
    pub env: Vec<(String, SecretString)>,
    /// The working directory.
    pub directory: PathBuf,
    /// The supervisor that starts the server and ends it when this process is gone. Without one, a
    /// server whose host was killed only sees the end of its input.
    pub supervisor: Option<Supervisor>,
}

/// A program that supervises a server by calling [`crate::supervise`] with the arguments that
/// follow its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supervisor {
    /// The executable.
    pub exe: PathBuf,
    /// The arguments before those of [`crate::supervise`].
    pub args: Vec<OsString>,
}

impl Reach {
    /// Returns the identity that `agent.lock` pins: the URL, the command line as a JSON array, or the
    /// digest of the component.
    #[must_use]
    pub fn identity(&self) -> String {
        match self {
            Self::Command(command) => {
                let line = std::iter::once(&command.program).chain(&command.args);
                serde_json::Value::from_iter(line.map(String::as_str)).to_string()
            }
            Self::Http(endpoint) => endpoint.url.clone(),
            Self::Component(component) => component.digest.to_string(),
        }
    }
}

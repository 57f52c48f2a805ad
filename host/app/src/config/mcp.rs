//! MCP servers: `[[mcp]]`. No server is started or contacted here.

mod command;
mod component;
mod home;
mod http;
mod misplaced;
mod raw;

pub(super) use command::RawCommand;
pub use component::ComponentServer;
pub(super) use raw::{RawMcp, demand};

use super::{
    ConfigError, Confirmations,
    headers::{self, Headers},
    network::NetworkConfig,
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    secrets::SecretConfig,
    source::{Purpose, ValueSource, names_secret, password},
};
use agent_host_engine::{
    policy::Grants,
    secrets::{MIN_SECRET_BYTES, Secrets},
};
use agent_host_mcp_client::{
    Elicitor, Endpoint, MAX_SERVER_NAME, Reach, ServerCommand, ServerComponent, ServerConfig,
    Supervisor,
};
use agent_host_models::is_on_this_machine;
use agent_host_types::{limits::Limits, tool::is_tool_name};
use command::command_address;
use http::{OAuthSettings, resolve_headers, resolve_oauth};
use misplaced::misplaced_key;
use raw::RawOAuth;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    num::{NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The default maximum of concurrent calls of one server.
const CONCURRENT_CALLS: NonZeroUsize = NonZeroUsize::new(8).expect("it is not zero");

/// The default time limit of a call, in milliseconds: servers ask others in turn.
const DEADLINE_MS: u64 = 60_000;

/// The default time limit until the tools of a server are known, in seconds: some are downloaded
/// first, and one that started slowly may be started a second time.
const CONNECT_TIMEOUT_SECONDS: u64 = 60;

/// An MCP server and the use of its tools.
#[derive(Clone, Debug)]
pub struct McpConfig {
    /// The name of the server in `agent.lock` and in messages, and the prefix of its tools.
    pub name: String,
    /// When calls need approval, and which decisions are offered; by the server's names of tools.
    pub confirmations: Confirmations,
    /// True if nothing runs without it.
    pub required: bool,
    address: Address,
    network: NetworkConfig,
    roots: Vec<PathBuf>,
    tools: Option<BTreeSet<String>>,
    read_only: BTreeSet<String>,
    concurrent_calls: NonZeroUsize,
    deadline: Duration,
    connect_timeout: Duration,
    output_bytes: u64,
}

/// How a server is reached.
#[derive(Clone, Debug)]
enum Address {
    /// Its supervisor is set when it is started.
    Command(ServerCommand),
    Http {
        url: String,
        token: Option<ValueSource>,
        headers: Headers,
        /// Absent if `Authorization` is configured.
        oauth: Option<OAuthSettings>,
    },
    Component(Box<ComponentServer>),
}

impl McpConfig {
    /// Returns the settings of a connection; `component` is that of [`Self::component`]. This reads
    /// the token, which may open a file or run a command, and creates the home directory of a server
    /// that is a program.
    ///
    /// # Errors
    /// The token is not where it should be, the home directory cannot be created, or the component
    /// is missing.
    pub async fn open(
        &self,
        component: Option<ServerComponent>,
        supervisor: Option<&Supervisor>,
        elicitor: Option<&Arc<dyn Elicitor>>,
        state_dir: &Path,
    ) -> Result<ServerConfig, ConfigError> {
        let reach = match &self.address {
            Address::Command(command) => {
                let mut command = command.clone();
                if self.home(state_dir).is_some() {
                    let home = home::create(state_dir, &self.name)?;
                    command.env.push((home::VARIABLE.to_owned(), home.into()));
                }
                command.supervisor = supervisor.cloned();
                Reach::Command(command)
            }
            Address::Http {
                url,
                token,
                headers,
                oauth,
            } => Reach::Http(Endpoint {
                url: url.clone(),
                token: match token {
                    Some(source) => Some(source.read().await?),
                    None => None,
                },
                headers: headers::read(headers).await?,
                oauth: match oauth {
                    Some(oauth) => Some(Arc::new(oauth.open(url, state_dir).await?)),
                    None => None,
                },
                proxy: self.network.open().await?,
            }),
            Address::Component(_) => match component {
                Some(component) => Reach::Component(component),
                None => {
                    let name = &self.name;
                    return Err(config_error!(
                        "component",
                        "the component of the MCP server `{name}` is not loaded",
                        "report this as a fault of agent-host"
                    ));
                }
            },
        };
        Ok(ServerConfig {
            name: self.name.clone(),
            secrets: Arc::new(self.given_secrets(&reach)),
            reach,
            roots: self.roots.clone(),
            elicitor: elicitor.cloned(),
            connect_timeout: self.connect_timeout,
            deadline: self.deadline,
            concurrent_calls: self.concurrent_calls,
            output_bytes: self.output_bytes,
            tools: self.tools.clone(),
            read_only: self.read_only.clone(),
        })
    }

    /// Returns the component, if the server is one.
    #[must_use]
    pub fn component(&self) -> Option<&ComponentServer> {
        match &self.address {
            Address::Component(component) => Some(component),
            Address::Command(_) | Address::Http { .. } => None,
        }
    }

    /// Returns the home directory that a server which is a program gets; none where its `env` sets
    /// one, and for other servers.
    #[must_use]
    pub fn home(&self, state_dir: &Path) -> Option<PathBuf> {
        let Address::Command(command) = &self.address else {
            return None;
        };
        let is_set = command.env.iter().any(|(name, _)| name == home::VARIABLE);
        (!is_set).then(|| home::path(state_dir, &self.name))
    }

    /// True if the value of this header is written in the configuration.
    fn has_literal(&self, header: &str) -> bool {
        let Address::Http { headers, .. } = &self.address else {
            return false;
        };
        let mut headers = headers.iter();
        headers.any(|(name, text)| name == header && text.source().is_none())
    }

    /// Returns the files that no guest may reach: the program, where it is named by a path, the
    /// token and the headers.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match &self.address {
            Address::Command(command) => {
                let is_path = command.program.contains('/');
                let program = is_path.then(|| command.directory.join(&command.program));
                program.into_iter().collect()
            }
            Address::Http {
                token,
                headers,
                oauth,
                ..
            } => {
                let headers = headers.iter().filter_map(|(_, text)| text.source());
                let client = oauth.iter().flat_map(|oauth| &oauth.client_secret);
                let sources = token.iter().chain(headers).chain(client);
                sources
                    .filter_map(|source| source.file().map(Path::to_owned))
                    .collect()
            }
            Address::Component(component) => {
                let file = component.source.file();
                file.map(Path::to_owned).into_iter().collect()
            }
        }
    }

    /// Returns the secrets that a server is given: its token, its headers from a source, and the
    /// values of its environment that are secrets by their names, or are passwords in addresses.
    /// Other variables, such as paths and regions, are what results are about.
    fn given_secrets(&self, reach: &Reach) -> Secrets {
        let given: Vec<(&str, SecretString)> = match (reach, &self.address) {
            (Reach::Http(endpoint), _) => {
                let token = endpoint.token.iter().map(|token| ("token", token.clone()));
                let headers = endpoint.headers.iter();
                let headers = headers.filter(|(name, _)| !self.has_literal(name));
                let headers = headers.map(|(name, value)| (name.as_str(), value.clone()));
                token.chain(headers).collect()
            }
            (Reach::Command(command), _) => {
                let env = command.env.iter();
                let env = env.map(|(name, value)| (name.as_str(), value.expose_secret()));
                env.filter_map(secret_variable).collect()
            }
            (Reach::Component(_), Address::Component(component)) => {
                let env = component.grants.env.iter();
                let env = env.map(|env| (env.name.as_str(), env.value.as_str()));
                env.filter_map(secret_variable).collect()
            }
            (Reach::Component(_), _) => Vec::new(),
        };
        redacted(&self.name, given)
    }
}

/// Returns the variable if its value is a secret, or the password in it.
fn secret_variable<'a>((name, value): (&'a str, &str)) -> Option<(&'a str, SecretString)> {
    let secret = if names_secret(name) {
        value
    } else {
        password(value)?
    };
    Some((name, secret.into()))
}

/// Returns the secrets that a server is given by their names, without those that are too short.
fn redacted(server: &str, given: Vec<(&str, SecretString)>) -> Secrets {
    let mut values = BTreeMap::new();
    for (name, value) in given {
        let name = format!("{server}.{name}");
        match Secrets::check(&value) {
            Ok(()) => drop(values.insert(name, value)),
            // A short value, such as `1`, is not a secret.
            Err(_) if value.expose_secret().len() < MIN_SECRET_BYTES => {}
            Err(error) => {
                tracing::warn!(
                    "`{name}` is not redacted in the data that its server sends: {error}"
                )
            }
        }
    }
    Secrets::new(values).unwrap_or_else(|error| {
        tracing::warn!("nothing that the MCP server `{server}` sends is redacted: {error}");
        Secrets::default()
    })
}

/// The parts of a configuration that its servers share.
pub(super) struct General<'a> {
    pub(super) grants: &'a Arc<Grants>,
    pub(super) limits: &'a Limits,
    pub(super) secrets: &'a [SecretConfig],
}

/// Resolves the servers. Their names differ.
pub(super) fn resolve(
    raw: Vec<RawMcp>,
    general: &General<'_>,
    scope: Scope<'_>,
) -> Result<Vec<McpConfig>, ConfigError> {
    let mut names = HashSet::new();
    resolve_all("mcp", raw, |raw| {
        if !names.insert(raw.name.clone()) {
            return Err(name_is_taken(&raw.name));
        }
        resolve_one(raw, general, scope)
    })
}

pub(super) fn name_is_taken(name: &str) -> ConfigError {
    let shown = name.escape_debug();
    config_error!(
        "name",
        "the name `{shown}` is used twice in [[mcp]] and [[tool]], and `agent.lock` could not tell them apart",
        "rename one of them"
    )
    .with_value(name)
}

fn resolve_one(
    mut raw: RawMcp,
    general: &General<'_>,
    scope: Scope<'_>,
) -> Result<McpConfig, ConfigError> {
    let name = raw.name.clone();
    if !is_tool_name(&name) || name.len() > MAX_SERVER_NAME {
        let shown = name.escape_debug();
        return Err(config_error!(
            "name",
            "invalid MCP server name `{shown}`: names have 1 to {MAX_SERVER_NAME} letters (A to Z), digits, `_` and \
             `-`",
            "change `name` under [[mcp]]"
        )
        .with_value(name));
    }
    if let Some((key, why, fix)) = misplaced_key(&raw) {
        return Err(config_error!(key, "the MCP server `{name}` {why}", "{fix}"));
    }
    let deadline = raw.deadline_ms.map_or(DEADLINE_MS, NonZeroU64::get);
    let component = component::take(&mut raw);
    let address = match (component, raw.command, raw.url) {
        (Some(raw), ..) => raw
            .resolve(&name, deadline, general, scope)
            .map(|component| Address::Component(Box::new(component))),
        (None, Some(command), _) => {
            let words = command.words(&raw.args);
            command_address(&name, words, raw.dir.as_deref(), raw.env, scope)
        }
        (None, None, url) => {
            let sent = (raw.token.as_deref(), raw.headers, raw.oauth);
            http_address(&name, url.unwrap_or_default(), sent, scope)
        }
    };
    resolve_steps! {
        address = address;
        confirmations = Confirmations::resolve(raw.approval, raw.approvals, &name);
        roots = resolve_all("roots", raw.roots, |root| scope.resolve_path("", &root));
    }
    let (roots, output_bytes) = match &address {
        Address::Component(component) => (component.roots(), component.limits.output_bytes),
        Address::Command(_) | Address::Http { .. } => (roots, general.limits.output_bytes),
    };
    let timeout = raw.connect_timeout_seconds;
    let timeout = timeout.map_or(CONNECT_TIMEOUT_SECONDS, NonZeroU64::get);
    Ok(McpConfig {
        name,
        confirmations,
        required: raw.required.unwrap_or(true),
        address,
        network: scope.network.clone(),
        roots,
        tools: raw.tools,
        read_only: raw.read_only,
        concurrent_calls: raw.concurrent_calls.unwrap_or(CONCURRENT_CALLS),
        deadline: Duration::from_millis(deadline),
        connect_timeout: Duration::from_secs(timeout),
        output_bytes,
    })
}

/// Resolves a server with an address.
fn http_address(
    name: &str,
    url: String,
    (token, headers, oauth): (Option<&str>, BTreeMap<String, String>, RawOAuth),
    scope: Scope<'_>,
) -> Result<Address, ConfigError> {
    let refuse = |why: &str, fix: &str| {
        Err(config_error!(
            "url",
            "invalid `url` of the MCP server `{name}`: {why}",
            "{fix}"
        ))
    };
    let Some(("http" | "https", rest)) = url.split_once("://") else {
        let why = "it does not start with `https://` or `http://`";
        return refuse(why, "write the full address");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return refuse("it has no host", "write the full address");
    }
    if authority.contains('@') {
        let why = "it contains a user name or a password";
        return refuse(why, "set `token` to the source of the token");
    }
    let is_bare = url.starts_with("http://") && !is_on_this_machine(&url);
    if is_bare && token.is_some() {
        return refuse("the token would be sent unencrypted", "write `https://`");
    }
    let headers = resolve_headers(name, &headers, token.is_some(), scope)?;
    if is_bare && headers.iter().any(|(_, text)| text.source().is_some()) {
        return refuse(
            "a secret header would be sent unencrypted",
            "write `https://`",
        );
    }
    let of = format!("of the MCP server `{name}`");
    let purpose = Purpose::new(format!("the token {of}"), "token", of);
    let token = token
        .map(|text| ValueSource::parse(text, "token", purpose, scope))
        .transpose()?;
    let has_authorization = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let oauth = if token.is_none() && !has_authorization {
        Some(resolve_oauth(name, oauth, scope)?)
    } else if oauth == RawOAuth::default() {
        None
    } else {
        return Err(config_error!(
            "oauth",
            "the MCP server `{name}` has both `oauth` and a token, and only the token would be used",
            "remove one of them"
        ));
    };
    Ok(Address::Http {
        url,
        token,
        headers,
        oauth,
    })
}

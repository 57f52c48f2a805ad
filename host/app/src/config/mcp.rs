//! MCP servers: `[[mcp]]`. No server is started or contacted here.

mod command;
mod home;
mod http;
mod raw;

pub(super) use command::RawCommand;
pub(super) use raw::{RawMcp, demand};

use super::{
    ConfigError, Confirmations,
    headers::{self, Headers},
    network::NetworkConfig,
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    source::{Purpose, ValueSource, names_secret, password},
};
use agent_host_engine::secrets::{MIN_SECRET_BYTES, Secrets};
use agent_host_mcp_client::{
    Elicitor, Endpoint, MAX_SERVER_NAME, Reach, ServerCommand, ServerConfig, Supervisor,
};
use agent_host_models::is_on_this_machine;
use agent_host_types::{limits::Limits, tool::is_tool_name};
use command::command_address;
use http::{OAuthSettings, resolve_headers, resolve_oauth};
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
    pub(super) network: NetworkConfig,
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
}

impl McpConfig {
    /// Returns the settings of a connection. This reads the token, which may open a file or run a
    /// command, and creates the home directory of a server that is started.
    ///
    /// # Errors
    /// The token is not where it should be, or the home directory cannot be created.
    pub async fn open(
        &self,
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
        };
        Ok(ServerConfig {
            name: self.name.clone(),
            secrets: Arc::new(given_secrets(&self.name, &reach, |header| {
                self.has_literal(header)
            })),
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

    /// Returns the home directory that a server which is started gets; none where its `env` sets
    /// one, and for a server with an address.
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
        }
    }
}

/// Returns the secrets that a server is given: its token, its headers from a source, and the values
/// of its environment that are secrets by their names, or are passwords in addresses. Other
/// variables, such as paths and regions, are what results are about.
fn given_secrets(server: &str, reach: &Reach, is_literal: impl Fn(&str) -> bool) -> Secrets {
    let given: Vec<(&str, SecretString)> = match reach {
        Reach::Http(endpoint) => {
            let token = endpoint.token.iter().map(|token| ("token", token.clone()));
            let headers = endpoint.headers.iter();
            let headers = headers.filter(|(name, _)| !is_literal(name));
            let headers = headers.map(|(name, value)| (name.as_str(), value.clone()));
            token.chain(headers).collect()
        }
        Reach::Command(command) => {
            let env = command.env.iter();
            env.filter_map(|(name, value)| {
                let value = value.expose_secret();
                let secret = if names_secret(name) {
                    value
                } else {
                    password(value)?
                };
                Some((name.as_str(), SecretString::from(secret)))
            })
            .collect()
        }
    };
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

/// Resolves the servers. Their names differ.
pub(super) fn resolve(
    raw: Vec<RawMcp>,
    limits: &Limits,
    scope: Scope<'_>,
) -> Result<Vec<McpConfig>, ConfigError> {
    let mut names = HashSet::new();
    resolve_all("mcp", raw, |raw| {
        if !names.insert(raw.name.clone()) {
            return Err(name_is_taken(&raw.name));
        }
        resolve_one(raw, limits, scope)
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

/// Returns a key that the kind of a server does not take, with why and the next step.
fn misplaced_key(raw: &RawMcp) -> Option<(&'static str, &'static str, &'static str)> {
    let is_program = match (&raw.command, &raw.url) {
        (Some(_), None) => true,
        (None, Some(_)) => false,
        _ => {
            let why = "needs either `command`, to start it, or `url`, to connect to it";
            return Some(("", why, "set one of them"));
        }
    };
    let keys = [
        (
            is_program && raw.token.is_some(),
            "token",
            "has a `token`, which is only for servers with a `url`",
            "pass it with [[mcp.env]]",
        ),
        (
            is_program && raw.oauth != RawOAuth::default(),
            "oauth",
            "has `oauth`, which is only for servers with a `url`",
            "remove it",
        ),
        (
            is_program && !raw.headers.is_empty(),
            "headers",
            "has `headers`, which are only for servers with a `url`",
            "pass them with [[mcp.env]]",
        ),
        (
            !is_program && !raw.env.is_empty(),
            "env",
            "has [[mcp.env]], but a server with a `url` is not started here",
            "remove it",
        ),
        (
            !is_program && !raw.args.is_empty(),
            "args",
            "has `args`, which are only for servers with a `command`",
            "remove it",
        ),
    ];
    let found = keys.into_iter().find(|(is_misplaced, ..)| *is_misplaced);
    found.map(|(_, key, why, fix)| (key, why, fix))
}

fn resolve_one(raw: RawMcp, limits: &Limits, scope: Scope<'_>) -> Result<McpConfig, ConfigError> {
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
    let address = match (raw.command, raw.url) {
        (Some(command), _) => {
            let words = command.words(&raw.args);
            command_address(&name, words, raw.dir.as_deref(), raw.env, scope)
        }
        (None, url) => {
            let sent = (raw.token.as_deref(), raw.headers, raw.oauth);
            http_address(&name, url.unwrap_or_default(), sent, scope)
        }
    };
    resolve_steps! {
        address = address;
        confirmations = Confirmations::resolve(raw.approval, raw.approvals, &name);
        roots = resolve_all("roots", raw.roots, |root| scope.resolve_path("", &root));
    }
    let deadline = raw.deadline_ms.map_or(DEADLINE_MS, NonZeroU64::get);
    let timeout = raw.connect_timeout_seconds;
    let timeout = timeout.map_or(CONNECT_TIMEOUT_SECONDS, NonZeroU64::get);
    Ok(McpConfig {
        name,
        confirmations,
        required: raw.required.unwrap_or(true),
        address,
        network: NetworkConfig::default(),
        roots,
        tools: raw.tools,
        read_only: raw.read_only,
        concurrent_calls: raw.concurrent_calls.unwrap_or(CONCURRENT_CALLS),
        deadline: Duration::from_millis(deadline),
        connect_timeout: Duration::from_secs(timeout),
        output_bytes: limits.output_bytes,
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

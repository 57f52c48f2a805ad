//! MCP servers: `[[mcp]]`. Nothing is started or asked here.

use super::{
    Config, ConfigError, Confirmation, Environment, RawMcp, env_grants,
    resolve::each,
    source::{Purpose, Source},
};
use agent_host_engine::secrets::{MIN_SECRET_BYTES, Secrets};
use agent_host_mcp_client::{MAX_SERVER_NAME, Reach, ServerCommand, ServerConfig, Supervisor};
use agent_host_models::is_on_this_machine;
use agent_host_types::tool::is_tool_name;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use toml::Spanned;

/// The calls of one server that run at once, unless it is configured.
const CONCURRENT_CALLS: NonZeroUsize = NonZeroUsize::new(8).expect("it is not zero");

/// How long a call may take, unless it is configured, in milliseconds: servers ask others in turn.
const DEADLINE_MS: u64 = 60_000;

/// How long a server may take until its tools are known, unless it is configured: some are downloaded first.
const CONNECT_TIMEOUT_SECONDS: u64 = 30;

/// An MCP server and how its tools are used.
#[derive(Clone, Debug)]
pub struct McpConfig {
    /// The name by which `agent.lock` and messages know it, and with which the names of its tools begin.
    pub name: String,
    /// When a person is asked before a call, and what they may decide.
    pub confirmation: Confirmation,
    /// The same for single tools, by the server's names.
    pub own_confirmations: BTreeMap<String, Confirmation>,
    /// Whether nothing runs without it.
    pub required: bool,
    place: Place,
    tools: Option<BTreeSet<String>>,
    read_only: BTreeSet<String>,
    concurrent_calls: NonZeroUsize,
    deadline: Duration,
    connect_timeout: Duration,
    output_bytes: u64,
}

/// Where a server is.
#[derive(Clone, Debug)]
enum Place {
    Command {
        program: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        folder: PathBuf,
    },
    Http {
        url: String,
        token: Option<Source>,
    },
}

impl McpConfig {
    /// When a person is asked before a call of this tool, by the server's name for it, and what they may decide.
    #[must_use]
    pub fn confirmation_of(&self, tool: &str) -> &Confirmation {
        self.own_confirmations
            .get(tool)
            .unwrap_or(&self.confirmation)
    }

    /// How it is connected. This reads its token, which may open a file or run a command.
    ///
    /// # Errors
    /// The token is not where it should be.
    pub async fn open(&self, supervisor: Option<&Supervisor>) -> Result<ServerConfig, ConfigError> {
        let reach = match &self.place {
            Place::Command {
                program,
                args,
                env,
                folder,
            } => Reach::Command(ServerCommand {
                program: program.clone(),
                args: args.clone(),
                env: env.clone(),
                folder: folder.clone(),
                supervisor: supervisor.cloned(),
            }),
            Place::Http { url, token } => Reach::Http {
                url: url.clone(),
                token: match token {
                    Some(source) => Some(source.read().await?),
                    None => None,
                },
            },
        };
        Ok(ServerConfig {
            name: self.name.clone(),
            secrets: Arc::new(given_secrets(&self.name, &reach)),
            reach,
            connect_timeout: self.connect_timeout,
            deadline: self.deadline,
            concurrent_calls: self.concurrent_calls,
            output_bytes: self.output_bytes,
            tools: self.tools.clone(),
            read_only: self.read_only.clone(),
        })
    }

    /// The files that no guest may reach: its program, where it is named by a path, and its token.
    pub(super) fn files(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Command {
                program, folder, ..
            } => program.contains('/').then(|| folder.join(program)),
            Place::Http { token, .. } => token.as_ref()?.file().map(Path::to_owned),
        }
    }
}

/// The secrets that a server is given: its token, and of its environment what is a secret by its name, or by being a password in
/// an address. Other variables, such as paths and regions, are what results are about.
fn given_secrets(server: &str, reach: &Reach) -> Secrets {
    let given: Vec<(&str, SecretString)> = match reach {
        Reach::Http { token, .. } => token.iter().map(|token| ("token", token.clone())).collect(),
        Reach::Command(command) => {
            let env = command.env.iter();
            env.filter_map(|(name, value)| {
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
            // One that is too short, such as `1`, is none.
            Err(_) if value.expose_secret().len() < MIN_SECRET_BYTES => {}
            Err(error) => {
                tracing::warn!("`{name}` is not redacted in what its server sends: {error}")
            }
        }
    }
    Secrets::new(values).unwrap_or_else(|error| {
        tracing::warn!("nothing is redacted in what the MCP server `{server}` sends: {error}");
        Secrets::default()
    })
}

/// Whether a variable's name says that its value is a secret.
fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| {
            let parts = [
                "TOKEN",
                "SECRET",
                "PASSW",
                "PASSPHRASE",
                "CREDENTIAL",
                "APIKEY",
            ];
            let whole = ["KEY", "PASS", "AUTH", "BEARER", "COOKIE", "JWT", "PAT"];
            parts.iter().any(|part| word.contains(part)) || whole.contains(&word)
        })
}

/// The password in an address such as `postgres://user:password@host/`.
fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

/// The servers of a configuration whose components are known. Their names differ.
pub(super) fn from_raw(
    raw: Vec<Spanned<RawMcp>>,
    config: &Config,
    base: &Path,
    environment: &Environment,
) -> Result<Vec<McpConfig>, ConfigError> {
    let spans: Vec<_> = raw.iter().map(Spanned::span).collect();
    let all = each(raw, |raw| resolve(raw, config, base, environment))?;
    let mut servers = Vec::<McpConfig>::new();
    for (server, span) in all.into_iter().zip(spans) {
        let name = &server.name;
        if config.has_name(name) || servers.iter().any(|other| other.name == *name) {
            return Err(ConfigError::new(format!(
                "the name `{name}` is used twice among [[mcp]] and [[tool]], and `agent.lock` could not tell them apart; change `name` of one"
            ))
            .at(&span));
        }
        servers.push(server);
    }
    Ok(servers)
}

fn resolve(
    raw: RawMcp,
    config: &Config,
    base: &Path,
    environment: &Environment,
) -> Result<McpConfig, ConfigError> {
    let RawMcp {
        name,
        command,
        url,
        token,
        tools,
        read_only,
        approval,
        approvals,
        concurrent_calls,
        deadline_ms,
        connect_timeout_seconds,
        required,
        env,
    } = raw;
    if !is_tool_name(&name) || name.len() > MAX_SERVER_NAME {
        return Err(ConfigError::new(format!(
            "the name `{}` of an MCP server cannot be used: names have 1 to {MAX_SERVER_NAME} letters of A to Z, digits, `_` and \
             `-`; change `name` under [[mcp]]",
            name.escape_debug()
        )));
    }
    let place = match (command, url) {
        (Some(command), None) => {
            if token.is_some() {
                return Err(ConfigError::new(format!(
                    "the MCP server `{name}` has a `token`, which only one with a `url` is sent; hand it over with [[mcp.env]]"
                )));
            }
            started(&name, command, env, base, environment)?
        }
        (None, Some(url)) => {
            if !env.is_empty() {
                return Err(ConfigError::new(format!(
                    "the MCP server `{name}` has [[mcp.env]], and one with a `url` is not started here; remove it"
                )));
            }
            asked(&name, url, token.as_deref(), base, environment)?
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(ConfigError::new(format!(
                "the MCP server `{name}` needs either `command`, to be started, or `url`, to be asked; write one of them"
            )));
        }
    };
    let confirmation = approval.resolve(&name)?;
    let own_confirmations = approvals
        .into_iter()
        .map(|(tool, approval)| Ok((tool.clone(), approval.resolve(&tool)?)))
        .collect::<Result<_, ConfigError>>()?;
    let deadline = deadline_ms.map_or(DEADLINE_MS, NonZeroU64::get);
    let connect_timeout = connect_timeout_seconds.map_or(CONNECT_TIMEOUT_SECONDS, NonZeroU64::get);
    Ok(McpConfig {
        name,
        confirmation,
        own_confirmations,
        required: required.unwrap_or(true),
        place,
        tools,
        read_only,
        concurrent_calls: concurrent_calls.unwrap_or(CONCURRENT_CALLS),
        deadline: Duration::from_millis(deadline),
        connect_timeout: Duration::from_secs(connect_timeout),
        output_bytes: config.limits.output_bytes,
    })
}

/// A server that is started, with the host's `PATH` and what is granted, and nothing else of the environment.
fn started(
    name: &str,
    command: Vec<String>,
    env: Vec<super::RawEnvGrant>,
    base: &Path,
    environment: &Environment,
) -> Result<Place, ConfigError> {
    let mut words = command.into_iter();
    let program = words.next().filter(|program| !program.is_empty());
    let args: Vec<String> = words.collect();
    let Some(program) = program else {
        return Err(ConfigError::new(format!(
            "`command` of the MCP server `{name}` names no program; write the program and its arguments as a list"
        )));
    };
    if args
        .iter()
        .chain([&program])
        .any(|word| word.contains('\0'))
    {
        return Err(ConfigError::new(format!(
            "`command` of the MCP server `{name}` has NUL in it, with which no program can be started; remove it"
        )));
    }
    let granted = env_grants::from_raw(env, environment)?;
    let mut env: Vec<(String, String)> = granted
        .into_iter()
        .map(|grant| (grant.name, grant.value))
        .collect();
    if !env.iter().any(|(name, _)| name == "PATH") {
        let path = environment.variable("PATH").map(str::to_owned);
        env.extend(path.map(|path| ("PATH".to_owned(), path)));
    }
    Ok(Place::Command {
        program,
        args,
        env,
        folder: base.to_owned(),
    })
}

/// A server with an address.
fn asked(
    name: &str,
    url: String,
    token: Option<&str>,
    base: &Path,
    environment: &Environment,
) -> Result<Place, ConfigError> {
    let refuse = |why: &str| {
        Err(ConfigError::new(format!(
            "`url` of the MCP server `{name}` cannot be used: {why}"
        )))
    };
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else {
        return refuse("it does not begin with `https://` or `http://`; write the whole address");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return refuse("it names no host; write the whole address");
    }
    if authority.contains('@') {
        return refuse("it has a name or a password in it; say with `token` where the token is");
    }
    if url.starts_with("http://") && !is_on_this_machine(&url) && token.is_some() {
        return refuse("the token would be sent unencrypted; write `https://`");
    }
    let purpose = Purpose {
        what: format!("the token of the MCP server `{name}`"),
        setting: "token",
        of: format!("of the MCP server `{name}`"),
    };
    let token = token
        .map(|text| Source::parse(text, purpose, base, environment))
        .transpose()?;
    Ok(Place::Http { url, token })
}

//! The configuration as the rest of the program sees it: absolute, complete and checked.

use super::{
    ConfigError, Confirmation, Environment, ExternalTool, McpConfig, ModelsConfig, RawConfig,
    SessionConfig, dir_grants::WORKSPACE, parse::Found, paths::canonical, secrets::SecretConfig,
    untrusted,
};
use agent_host_engine::{
    policy::Grants,
    turn::{Prompts, Timing},
};
use agent_host_mcp_client::Supervisor;
use agent_host_sandbox::SandboxConfig;
use agent_host_types::{budget::Budgets, context::ContextLimits, limits::Limits};
use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The prefix of a component that is part of the program.
const BUILTIN: &str = "builtin:";

/// A checked configuration. Paths are absolute.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file that it came from; absent when the defaults hold.
    pub file: Option<PathBuf>,
    /// The working folder.
    pub folder: PathBuf,
    /// Where sessions are kept. It may not exist yet.
    pub state_dir: PathBuf,
    /// How sessions are stored, and which of them are kept.
    pub session: SessionConfig,
    /// Where compiled components are kept. It may not exist yet.
    pub cache_dir: PathBuf,
    /// The models that answer.
    pub models: ModelsConfig,
    /// The standing instructions for the model, those in files included.
    pub system: Option<String>,
    /// The files with instructions, without links.
    pub(super) instruction_files: Vec<PathBuf>,
    /// How the conversation is kept within the model's window; absent where it has none.
    pub context: Option<ContextLimits>,
    /// What one message of the person may cost.
    pub budgets: Budgets,
    /// What happens to calls that a person should confirm.
    pub prompts: Prompts,
    /// When they are asked.
    pub timing: Timing,
    /// How long they may take to decide, in milliseconds; absent for ever.
    pub approval_expiry_ms: Option<u64>,
    /// The components. Their names differ.
    pub tools: Vec<ToolConfig>,
    /// The tools that run outside. Their names differ.
    pub external_tools: Vec<ExternalTool>,
    /// The MCP servers whose tools are used. Their names differ, also from those of the components.
    pub servers: Vec<McpConfig>,
    /// What starts servers that are programs, and ends them when this process is gone; absent where they are started directly.
    pub supervisor: Option<Supervisor>,
    /// Files besides those of the configuration that no guest may reach, such as one with a token that this process was given.
    pub hidden_files: Vec<PathBuf>,
    /// What a component may reach that has no lists of its own.
    pub grants: Arc<Grants>,
    /// Why the current folder, which nobody named and which would be granted by itself, is not: it is the home folder or
    /// larger. Whoever is about to run a tool ends with this error; listing sessions does not need to.
    pub ungranted: Option<ConfigError>,
    /// Whether the current folder is granted where nobody names another: `agent.toml` has no grants, which would end that.
    pub(super) implies_folder: bool,
    /// The limits of a call of a component that has none of its own.
    pub limits: Limits,
    /// The sandbox, without the folders that [`Self::cache_dir`] and [`Self::protected_paths`] name.
    pub sandbox: SandboxConfig,
    /// The secrets that tools may be granted. Their names differ.
    pub(super) secrets: Vec<SecretConfig>,
}

/// A component and how it is used.
#[derive(Clone, Debug)]
pub struct ToolConfig {
    /// The name by which `agent.lock` and messages know it.
    pub name: String,
    /// Where it is.
    pub source: ComponentSource,
    /// When a person is asked before a call, and what they may decide.
    pub confirmation: Confirmation,
    /// The same for single tools of the component, by their names.
    pub own_confirmations: BTreeMap<String, Confirmation>,
    /// Whether the operator believes it where it says that a repetition is harmless.
    pub accept_idempotent: bool,
    /// Its calls that run at once; absent for the sandbox's number.
    pub concurrent_calls: Option<NonZeroUsize>,
    /// What its calls may reach.
    pub grants: Arc<Grants>,
    /// The limits of its calls.
    pub limits: Limits,
}

impl ToolConfig {
    /// When a person is asked before a call of this tool of the component, and what they may decide.
    #[must_use]
    pub fn confirmation_of(&self, tool: &str) -> &Confirmation {
        self.own_confirmations
            .get(tool)
            .unwrap_or(&self.confirmation)
    }
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// In the program, by the name after `builtin:`.
    Builtin(String),
    /// In a file. It may not exist.
    File(PathBuf),
}

impl fmt::Display for ComponentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => write!(f, "{BUILTIN}{name}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl ComponentSource {
    /// Whether it is a file, which can change between two runs.
    #[must_use]
    pub fn is_file(&self) -> bool {
        match self {
            Self::Builtin(_) => false,
            Self::File(_) => true,
        }
    }

    /// The built-in component that the text names, if it names one.
    pub(super) fn builtin(text: &str) -> Option<Self> {
        text.strip_prefix(BUILTIN)
            .map(|name| Self::Builtin(name.to_owned()))
    }
}

/// What the command line changes of a configuration. Its relative paths begin at the working folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The model, instead of the configured one.
    pub model: Option<String>,
    /// Where to write down what goes between the models and this program; it must not exist.
    pub record: Option<PathBuf>,
    /// Components besides the configured ones: files, or `builtin:NAME`.
    pub tools: Vec<String>,
    /// Grants besides the configured ones: `dir:PATH[:rw]`, `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`,
    /// `env:NAME[=VALUE]` and `secret:NAME`. A folder here takes the place
    /// of the current folder where that would be granted only because nobody said anything.
    pub grants: Vec<String>,
    /// Makes the grant of the current folder writable.
    pub write: bool,
    /// The most model calls, instead of the configured number.
    pub max_turns: Option<u64>,
    /// The most tokens, instead of the configured number.
    pub max_total_tokens: Option<u64>,
    /// The most US dollars, instead of the configured amount.
    pub max_usd: Option<f64>,
    /// The most tool calls, instead of the configured number.
    pub max_tool_calls: Option<u64>,
    /// The state folder, instead of the configured one.
    pub state_dir: Option<PathBuf>,
    /// Whether a file that is found and not named is trusted for this run, whatever it asks for.
    pub trust: bool,
}

impl Config {
    /// How long a session of a client with a loop of its own may get, in bytes of events, before the next one begins.
    #[must_use]
    pub fn client_session_bytes(&self) -> u64 {
        self.session.client_session_bytes()
    }

    /// Reads the named file, or `agent.toml` in the working directory if there is one, and resolves
    /// it. A file that was found and not named may say less unless it is trusted: see
    /// [`Untrusted`](super::Untrusted).
    ///
    /// # Errors
    /// When the file cannot be read, asks for more than an untrusted one gets, or the configuration
    /// cannot be used.
    pub fn load(
        file: Option<&Path>,
        overrides: Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let named = file.is_some();
        let Some(found) = RawConfig::find(file, &environment.cwd)? else {
            return Self::resolve(RawConfig::default(), None, overrides, environment);
        };
        if !named {
            untrusted::check(&found, &overrides, environment)?;
        }
        let Found { raw, path, text } = found;
        // What lies in the file is told with its place; what lies elsewhere has none.
        Self::resolve(raw, Some(path.clone()), overrides, environment).map_err(|error| match error
            .byte
        {
            Some(_) => error.in_file(&path, &text),
            None => error,
        })
    }

    /// A component that was named on the command line, with the general grants and limits: `builtin:NAME` or a file.
    ///
    /// # Errors
    /// When it is neither.
    pub fn tool_from_argument(&self, argument: &str) -> Result<ToolConfig, ConfigError> {
        let source = match ComponentSource::builtin(argument) {
            Some(builtin) => builtin,
            None => {
                let path = self.folder.join(argument);
                if !path.is_file() {
                    let known: Vec<&str> =
                        self.tools.iter().map(|tool| tool.name.as_str()).collect();
                    return Err(ConfigError::new(format!(
                        "there is no component file `{}` and no configured tool of this name (there are: {}); name a file, \
                         a configured tool, or a built-in one like `builtin:files`",
                        argument.escape_debug(),
                        if known.is_empty() {
                            "none".to_owned()
                        } else {
                            known.join(", ")
                        }
                    )));
                }
                ComponentSource::File(path)
            }
        };
        let stem = match &source {
            ComponentSource::Builtin(name) => name.clone(),
            ComponentSource::File(path) => path
                .file_stem()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
        };
        Ok(ToolConfig {
            name: self.free_name(&stem),
            source,
            confirmation: Confirmation::default(),
            own_confirmations: BTreeMap::new(),
            accept_idempotent: false,
            concurrent_calls: None,
            grants: Arc::clone(&self.grants),
            limits: self.limits.clone(),
        })
    }

    /// What no guest may reach, whatever is granted: where sessions and compiled code are kept, and the files that decide
    /// what is granted and run. Links are resolved; not all of them exist.
    #[must_use]
    pub fn protected_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.state_dir.clone(), self.cache_dir.clone()];
        // The working folder's own, too: a guest could make them there for the next start.
        let folders = [
            self.file.as_deref().and_then(Path::parent),
            Some(self.folder.as_path()),
        ];
        for folder in folders.into_iter().flatten() {
            paths.extend([folder.join("agent.toml"), folder.join("agent.lock")]);
        }
        paths.extend(self.file.clone());
        paths.extend(self.hidden_files.iter().cloned());
        paths.extend(self.models.files().map(Path::to_owned));
        let files = self.secrets.iter().filter_map(SecretConfig::file);
        paths.extend(files.map(Path::to_owned));
        paths.extend(self.servers.iter().flat_map(McpConfig::files));
        paths.extend(self.schema_files().map(Path::to_owned));
        paths.extend(self.instruction_files.iter().cloned());
        for tool in &self.tools {
            match &tool.source {
                ComponentSource::File(path) => paths.push(path.clone()),
                ComponentSource::Builtin(_) => {}
            }
        }
        let mut paths: Vec<PathBuf> = paths.iter().map(|path| canonical(path)).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The lines of `agent.toml` that grant what is granted only because it has no grants; absent where nothing is.
    #[must_use]
    pub fn implied_grant(&self) -> Option<String> {
        if !self.implies_folder {
            return None;
        }
        let base = match &self.file {
            Some(file) => file.parent(),
            None => Some(self.folder.as_path()),
        };
        let host = if base == Some(self.folder.as_path()) {
            ".".into()
        } else {
            self.folder.to_string_lossy()
        };
        Some(format!(
            "# Granted by itself only while there are no grants here.\n[[grants.dir]]\nhost = {}\nguest = \"{WORKSPACE}\"",
            toml::Value::from(host.into_owned())
        ))
    }

    /// Whether a component or a server has this name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
            || self.servers.iter().any(|server| server.name == name)
    }

    /// The name, or the name with a number where something configured has it.
    fn free_name(&self, stem: &str) -> String {
        let taken = |name: &String| self.has_name(name);
        let numbered = (2_u64..).map(|n| format!("{stem}-{n}"));
        let mut names = std::iter::once(stem.to_owned()).chain(numbered);
        names
            .find(|name| !taken(name))
            .unwrap_or_else(|| stem.to_owned())
    }
}

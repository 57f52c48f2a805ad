//! The tools of a running host: components from the binary and from files, loaded into the sandbox, and MCP servers; both
//! checked against `agent.lock`, and offered to the loop under their tools' names.

use crate::{
    components::{Entry, check_confirmations, enforced_effect, load_one},
    config::{Config, Confirmation, ExternalTool, ToolConfig},
    error::OpenError,
    executables,
    lock_file::LockFile,
    servers::{self, Connected, ServerEntry},
};
use agent_host_core::{
    BoxFuture,
    failure::{ToolErrorCode, ToolFailure},
    id::{Digest, json_digest},
    limits::Limits,
    lock::Pin,
    schema::InputSchema,
    tool::{
        CallReport, Effect, Invocation, ProgressSink, RegisteredTool, RunEnd, ToolDefinition,
        ToolRunner, ToolRuntime,
    },
};
use agent_host_sandbox::{
    Allocator, Call, CallContext, Confinement, LoadError, Sandbox, SandboxConfig, Secrets,
};
use futures_util::future::try_join_all;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, sync::Arc};

/// What runs a tool, by its place among its kind.
#[derive(Clone, Copy, Debug)]
enum Home {
    Component(usize),
    Server(usize),
}

/// The same, found.
#[derive(Clone, Copy)]
enum Found<'a> {
    Component(&'a Entry),
    Server(&'a ServerEntry),
}

impl Found<'_> {
    /// What it is, for messages.
    fn described(self) -> String {
        match self {
            Self::Component(entry) => format!("the component `{}`", entry.name),
            Self::Server(entry) => format!("the MCP server `{}`", entry.config.name),
        }
    }
}

/// The tools of a running host.
#[derive(Debug)]
pub struct Registry {
    sandbox: Arc<Sandbox>,
    /// The secrets that any of the components may use; empty where nothing is run.
    secrets: Arc<Secrets>,
    entries: Vec<Entry>,
    servers: Connected,
    tools: Vec<RegisteredTool>,
    /// From a tool's name to its place in `tools` and what runs it.
    index: HashMap<String, (usize, Home)>,
    /// The schemas of the tools that run outside. They are in `tools`, and in no component.
    external: HashMap<String, Arc<InputSchema>>,
}

impl Registry {
    /// Loads every configured component, connects to every MCP server, and checks them against `agent.lock`.
    ///
    /// # Errors
    /// When a component cannot be read or loaded or a required server not be used, one is not what was accepted, or two have a
    /// tool of the same name; or a secret that one of them may use cannot be read.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        let mut registry = Self::open_unlocked(config).await?;
        registry.check_lock(config)?;
        registry.read_secrets(config).await?;
        Ok(registry)
    }

    /// Loads every configured component again, into the same sandbox, and checks it against `agent.lock` as it is now. What did not
    /// change is not compiled again, and no secret is read again.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn reopen(&self, config: &Config) -> Result<Self, OpenError> {
        let mut registry = Self::load_in(Arc::clone(&self.sandbox), &config.tools).await?;
        // The servers see by themselves when their tools change.
        registry.add_servers(self.servers.clone())?;
        registry.add_external(&config.external_tools)?;
        registry.check_lock(config)?;
        registry.secrets = Arc::clone(&self.secrets);
        Ok(registry)
    }

    /// The same without asking `agent.lock`: for looking at them and accepting them.
    ///
    /// # Errors
    /// When a component cannot be read or loaded or a required server not be used, or two have a tool of the same name.
    pub async fn open_unlocked(config: &Config) -> Result<Self, OpenError> {
        let loaded = Self::load(config, &config.tools);
        let connected = servers::connect(config, &config.servers);
        let (mut registry, connected) = tokio::try_join!(loaded, connected)?;
        registry.add_servers(connected)?;
        registry.add_external(&config.external_tools)?;
        Ok(registry)
    }

    /// Loads one component or connects to one MCP server alone: a configured one by its name, which is checked against
    /// `agent.lock`, or `builtin:NAME`, or a file, which is accepted by being named.
    ///
    /// # Errors
    /// When there is none, it cannot be read, loaded or used, or it is not what was accepted; or a secret that it may use cannot
    /// be read.
    pub async fn open_one(config: &Config, name: &str) -> Result<Self, OpenError> {
        let mut registry = Self::open_one_unlocked(config, name).await?;
        let configured = config.tools.iter().any(|tool| tool.name == name);
        if configured || !registry.servers().is_empty() {
            registry.check_lock(config)?;
        }
        registry.read_secrets(config).await?;
        Ok(registry)
    }

    /// The same without asking `agent.lock`: for looking at it.
    ///
    /// # Errors
    /// When there is none, or it cannot be read, loaded or used.
    pub async fn open_one_unlocked(config: &Config, name: &str) -> Result<Self, OpenError> {
        if let Some(server) = config.servers.iter().find(|server| server.name == name) {
            // It was asked for by its name.
            let mut server = server.clone();
            server.required = true;
            let mut registry = Self::load(config, &[]).await?;
            let connected = servers::connect(config, std::slice::from_ref(&server)).await?;
            registry.add_servers(connected)?;
            return Ok(registry);
        }
        let tool = match config.tools.iter().find(|tool| tool.name == name) {
            Some(tool) => tool.clone(),
            None => config
                .tool_from_argument(name)
                .map_err(|error| OpenError::usage(error.to_string()))?,
        };
        Self::load(config, std::slice::from_ref(&tool)).await
    }

    /// Reads the secrets that the components may use, each once. Only for running them, after they are known to be the accepted
    /// ones: it opens files and runs commands of the operator.
    async fn read_secrets(&mut self, config: &Config) -> Result<(), OpenError> {
        let granted = self.entries.iter().flat_map(|entry| &entry.grants.secrets);
        let names = granted.map(|grant| grant.name.as_str()).collect();
        let secrets = config
            .read_secrets(&names)
            .await
            .map_err(|error| OpenError::usage(error.to_string()))?;
        self.secrets = Arc::new(secrets);
        Ok(())
    }

    /// Holds the components from files and the servers against what was accepted.
    fn check_lock(&self, config: &Config) -> Result<(), OpenError> {
        let Some(mut lock) = LockFile::open(config)? else {
            return Ok(());
        };
        for entry in self.entries.iter().filter(|entry| entry.source.is_file()) {
            lock.admit(&entry.name, Pin::Component(entry.locked()))?;
        }
        for entry in self.servers() {
            lock.admit(&entry.config.name, Pin::Server(entry.locked()))?;
        }
        Ok(())
    }

    async fn load(config: &Config, tools: &[ToolConfig]) -> Result<Self, OpenError> {
        let sandbox = Sandbox::new(sandbox_config(config))
            .map_err(|error| OpenError::Failed(format!("cannot start the sandbox: {error}")))?;
        Self::load_in(Arc::new(sandbox), tools).await
    }

    async fn load_in(sandbox: Arc<Sandbox>, tools: &[ToolConfig]) -> Result<Self, OpenError> {
        let entries = try_join_all(tools.iter().map(|tool| load_one(&sandbox, tool))).await?;
        let mut registry = Self {
            sandbox,
            secrets: Arc::default(),
            entries: Vec::new(),
            servers: Connected::default(),
            tools: Vec::new(),
            index: HashMap::new(),
            external: HashMap::new(),
        };
        for (entry, tool) in entries.into_iter().zip(tools) {
            registry.add(entry, tool)?;
        }
        Ok(registry)
    }

    /// Adds the tools that run outside.
    fn add_external(&mut self, tools: &[ExternalTool]) -> Result<(), OpenError> {
        for tool in tools {
            let name = &tool.definition.name;
            if let Some((_, home)) = self.find(name) {
                return Err(OpenError::usage(format!(
                    "{} has a tool called `{name}`, and so is an [[external-tool]]; the model could not tell them apart. Remove one of them from agent.toml, or rename the external one",
                    home.described()
                )));
            }
            self.external.insert(name.clone(), Arc::clone(&tool.schema));
            self.tools.push(RegisteredTool {
                definition: tool.definition.clone(),
                effect: tool.definition.effect,
                approval: tool.confirmation.approval,
                decisions: tool.confirmation.decisions.clone(),
                runtime: ToolRuntime::External,
                component: None,
            });
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry, config: &ToolConfig) -> Result<(), OpenError> {
        check_confirmations(&entry, config)?;
        let home = Home::Component(self.entries.len());
        let set_up = json!([entry.component.digest(), entry.grants.to_json()]);
        let tools: Vec<RegisteredTool> = entry
            .component
            .definitions()
            .iter()
            .map(|definition| {
                let effect = enforced_effect(definition.effect, config);
                let confirmation = config.confirmation_of(&definition.name);
                registered(definition, effect, confirmation, json_digest(&set_up))
            })
            .collect();
        self.entries.push(entry);
        self.register(tools, home)
    }

    /// Adds the tools of the servers. What is remembered of one holds until any tool of its server changes.
    fn add_servers(&mut self, connected: Connected) -> Result<(), OpenError> {
        self.servers = connected;
        let mut all = Vec::new();
        for (index, entry) in self.servers.entries.iter().enumerate() {
            let ServerEntry { config, server } = entry.as_ref();
            let set_up = json_digest(&json!(server.locked()));
            let tools = server.definitions().iter().map(|definition| {
                let own = server.own_name(&definition.name).unwrap_or_default();
                let confirmation = config.confirmation_of(own);
                registered(definition, definition.effect, confirmation, set_up)
            });
            all.push((tools.collect(), Home::Server(index)));
        }
        for (tools, home) in all {
            self.register(tools, home)?;
        }
        Ok(())
    }

    /// Takes the tools of one component or server, whose names nobody else may have.
    fn register(&mut self, tools: Vec<RegisteredTool>, home: Home) -> Result<(), OpenError> {
        for tool in tools {
            let name = &tool.definition.name;
            let place = (self.tools.len(), home);
            if let Some((_, other)) = self.index.insert(name.clone(), place) {
                let both = [other, home].map(|home| self.found(home).map(Found::described));
                let [Some(other), Some(this)] = both else {
                    continue;
                };
                return Err(OpenError::usage(format!(
                    "{other} and {this} both have a tool called `{name}`, and the model could not tell them apart. Remove one of them from agent.toml"
                )));
            }
            self.tools.push(tool);
        }
        Ok(())
    }

    /// The components.
    #[must_use]
    pub fn components(&self) -> &[Entry] {
        &self.entries
    }

    /// The MCP servers.
    #[must_use]
    pub fn servers(&self) -> &[Arc<ServerEntry>] {
        &self.servers.entries
    }

    /// The names of the MCP servers that are not required and not there.
    #[must_use]
    pub fn absent_servers(&self) -> &[String] {
        &self.servers.absent
    }

    /// The name under which a tool of an MCP server is called, by the server's own name for it.
    #[must_use]
    pub fn name_of_own(&self, own: &str) -> Option<&str> {
        let mut tools = self.servers().iter().flat_map(|entry| {
            let definitions = entry.server.definitions().iter();
            definitions.map(move |definition| (&entry.server, definition.name.as_str()))
        });
        tools
            .find(|(server, name)| server.own_name(name) == Some(own))
            .map(|(_, name)| name)
    }

    /// The component that a tool is in.
    #[must_use]
    pub fn component_of(&self, tool: &str) -> Option<&Entry> {
        match self.find(tool)? {
            (_, Found::Component(entry)) => Some(entry),
            (_, Found::Server(_)) => None,
        }
    }

    /// The MCP server that a tool is of.
    #[must_use]
    pub fn server_of(&self, tool: &str) -> Option<&ServerEntry> {
        match self.find(tool)? {
            (_, Found::Server(entry)) => Some(entry),
            (_, Found::Component(_)) => None,
        }
    }

    /// How the sandbox makes instances on this machine.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.sandbox.allocator()
    }

    /// Tries the compiler, and says how far it is confined; absent where components are compiled in this process.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn check_compiler(&self) -> Result<Option<Confinement>, LoadError> {
        self.sandbox.check_compiler().await
    }

    fn find(&self, tool: &str) -> Option<(&RegisteredTool, Found<'_>)> {
        let (tool, home) = self.index.get(tool).copied()?;
        Some((self.tools.get(tool)?, self.found(home)?))
    }

    fn found(&self, home: Home) -> Option<Found<'_>> {
        match home {
            Home::Component(index) => self.entries.get(index).map(Found::Component),
            Home::Server(index) => self
                .servers
                .entries
                .get(index)
                .map(|entry| Found::Server(entry)),
        }
    }
}

impl ToolRunner for Registry {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        match self.find(tool)?.1 {
            Found::Component(entry) => Some(&entry.limits),
            Found::Server(_) => None,
        }
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        match self.find(tool) {
            Some((tool, Found::Component(entry))) if tool.effect != Effect::ReadOnly => {
                executables::named(&entry.grants, input)
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        if let Some(schema) = self.external.get(tool) {
            return schema.validate(input);
        }
        match self.find(tool).ok_or_else(|| unknown(tool))?.1 {
            Found::Component(entry) => entry.component.validate(tool, input),
            Found::Server(entry) => entry.server.validate(tool, input),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let Some((tool, home)) = self.find(&invocation.tool) else {
                return CallReport::of(unknown(&invocation.tool).into()).into();
            };
            let entry = match home {
                Found::Component(entry) => entry,
                Found::Server(entry) => {
                    let Invocation {
                        tool,
                        input,
                        cancel,
                        ..
                    } = invocation;
                    let called = entry.server.call_until(&tool, input, progress, &cancel);
                    return called.await.into();
                }
            };
            let call = Call {
                tool: &invocation.tool,
                call_id: &invocation.call_id,
                input: &invocation.input,
                idempotency_key: &invocation.idempotency_key,
                effect: tool.effect,
                grants: Arc::clone(&entry.grants),
                secrets: Arc::clone(&self.secrets),
                limits: &entry.limits,
                context: CallContext {
                    shared: invocation.shared,
                    answers: invocation.answers,
                    can_ask: invocation.can_ask,
                },
                progress,
            };
            entry.component.call_until(call, &invocation.cancel).await
        })
    }
}

fn unknown(tool: &str) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::UnknownTool,
        format!("There is no tool `{}`.", tool.escape_debug()),
    )
}

fn registered(
    definition: &ToolDefinition,
    effect: Effect,
    confirmation: &Confirmation,
    set_up: Digest,
) -> RegisteredTool {
    RegisteredTool {
        definition: definition.clone(),
        effect,
        approval: confirmation.approval,
        decisions: confirmation.decisions.clone(),
        runtime: ToolRuntime::Host,
        component: Some(set_up),
    }
}

fn sandbox_config(config: &Config) -> SandboxConfig {
    SandboxConfig {
        cache_dir: Some(config.cache_dir.clone()),
        protected: config.protected_paths(),
        ..config.sandbox.clone()
    }
}

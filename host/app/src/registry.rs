//! The tools of a running host: components, loaded into the sandbox, and MCP servers; both checked
//! against `agent.lock`, and offered to the engine under their tools' names.

use crate::{
    components::{Entry, check_confirmations, enforced_effect, load_one},
    config::{Config, Confirmation, ExternalTool, ToolConfig},
    error::HostError,
    executables,
    lock_file::LockFile,
    servers::{self, Connected, ServerEntry},
};
use agent_host_engine::{
    BoxFuture,
    schema::InputSchema,
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_sandbox::{
    Allocator, Call, CallContext, Confinement, LoadError, Sandbox, SandboxConfig, Secrets,
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    id::{Digest, json_digest},
    limits::Limits,
    lock::LockEntry,
    tool::{Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use futures_util::future::try_join_all;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, sync::Arc};

/// The source of a tool, by its index among the components or the servers.
#[derive(Clone, Copy, Debug)]
enum ToolSource {
    Component(usize),
    Server(usize),
}

/// The source of a tool.
#[derive(Clone, Copy)]
enum ToolSourceRef<'a> {
    Component(&'a Entry),
    Server(&'a ServerEntry),
}

impl ToolSourceRef<'_> {
    /// Names the source, for messages.
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
    /// The secrets that any of the components may use; empty where no calls are made.
    secrets: Arc<Secrets>,
    entries: Vec<Entry>,
    servers: Connected,
    tools: Vec<RegisteredTool>,
    /// From a tool's name to its index in `tools` and its source.
    index: HashMap<String, (usize, ToolSource)>,
    /// The schemas of external tools, which are in `tools` and have no source.
    external: HashMap<String, Arc<InputSchema>>,
}

impl Registry {
    /// Loads every configured component, connects to every MCP server, and checks them against
    /// `agent.lock`.
    ///
    /// # Errors
    /// A component cannot be loaded or a required server not be used, one is not the accepted one,
    /// two have a tool of the same name, or a granted secret cannot be read.
    pub async fn open(config: &Config) -> Result<Self, HostError> {
        let mut registry = Self::open_unlocked(config).await?;
        registry.check_lock(config)?;
        registry.read_secrets(config).await?;
        Ok(registry)
    }

    /// Loads every configured component again, into the same sandbox, and checks it against the
    /// present `agent.lock`. Unchanged components are not compiled again, and no secret is read
    /// again.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub async fn reopen(&self, config: &Config) -> Result<Self, HostError> {
        let mut registry = Self::load_in(Arc::clone(&self.sandbox), &config.tools).await?;
        // The servers notice changes of their tools themselves.
        registry.add_servers(self.servers.clone())?;
        registry.add_external(&config.external_tools)?;
        registry.check_lock(config)?;
        registry.secrets = Arc::clone(&self.secrets);
        Ok(registry)
    }

    /// Opens the registry without `agent.lock` and secrets, to inspect and accept components.
    ///
    /// # Errors
    /// A component cannot be loaded or a required server not be used, or two have a tool of the
    /// same name.
    pub async fn open_unlocked(config: &Config) -> Result<Self, HostError> {
        let loaded = Self::load(config, &config.tools);
        let connected = servers::connect(config, &config.servers);
        let (mut registry, connected) = tokio::try_join!(loaded, connected)?;
        registry.add_servers(connected)?;
        registry.add_external(&config.external_tools)?;
        Ok(registry)
    }

    /// Loads one component or connects to one MCP server: a configured one by its name, which is
    /// checked against `agent.lock`, or `builtin:NAME` or a file, which is accepted by being named.
    ///
    /// # Errors
    /// There is none, it cannot be loaded or used, it is not the accepted one, or a granted secret
    /// cannot be read.
    pub async fn open_one(config: &Config, name: &str) -> Result<Self, HostError> {
        let mut registry = Self::open_one_unlocked(config, name).await?;
        let configured = config.tools.iter().any(|tool| tool.name == name);
        if configured || !registry.servers().is_empty() {
            registry.check_lock(config)?;
        }
        registry.read_secrets(config).await?;
        Ok(registry)
    }

    /// Opens one component or server without `agent.lock` and secrets, to inspect it.
    ///
    /// # Errors
    /// There is none, or it cannot be loaded or used.
    pub async fn open_one_unlocked(config: &Config, name: &str) -> Result<Self, HostError> {
        if let Some(server) = config.servers.iter().find(|server| server.name == name) {
            // It is requested by its name.
            let mut server = server.clone();
            server.required = true;
            let mut registry = Self::load(config, &[]).await?;
            let connected = servers::connect(config, std::slice::from_ref(&server)).await?;
            registry.add_servers(connected)?;
            return Ok(registry);
        }
        let tool = match config.tools.iter().find(|tool| tool.name == name) {
            Some(tool) => tool.clone(),
            None => config.tool_from_argument(name)?,
        };
        Self::load(config, std::slice::from_ref(&tool)).await
    }

    /// Reads the secrets that the components may use, each once. Only to run components that are
    /// known to be the accepted ones: it opens files and runs commands of the operator.
    async fn read_secrets(&mut self, config: &Config) -> Result<(), HostError> {
        let granted = self.entries.iter().flat_map(|entry| &entry.grants.secrets);
        let names = granted.map(|grant| grant.name.as_str()).collect();
        self.secrets = Arc::new(config.read_secrets(&names).await?);
        Ok(())
    }

    /// Checks the components from files and the servers against the accepted ones.
    fn check_lock(&self, config: &Config) -> Result<(), HostError> {
        let Some(mut lock) = LockFile::open(config)? else {
            return Ok(());
        };
        for entry in self.entries.iter().filter(|entry| entry.source.is_file()) {
            lock.admit(&entry.name, LockEntry::Component(entry.locked()))?;
        }
        for entry in self.servers() {
            lock.admit(&entry.config.name, LockEntry::Server(entry.locked()))?;
        }
        Ok(())
    }

    async fn load(config: &Config, tools: &[ToolConfig]) -> Result<Self, HostError> {
        let sandbox = Sandbox::new(sandbox_config(config))?;
        Self::load_in(Arc::new(sandbox), tools).await
    }

    async fn load_in(sandbox: Arc<Sandbox>, tools: &[ToolConfig]) -> Result<Self, HostError> {
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

    /// Adds the external tools.
    fn add_external(&mut self, tools: &[ExternalTool]) -> Result<(), HostError> {
        for tool in tools {
            let name = &tool.definition.name;
            if let Some((_, source)) = self.find(name) {
                return Err(HostError::DuplicateExternalTool {
                    tool: name.clone(),
                    first: source.described(),
                });
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

    fn add(&mut self, entry: Entry, config: &ToolConfig) -> Result<(), HostError> {
        check_confirmations(&entry, config)?;
        let source = ToolSource::Component(self.entries.len());
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
        self.register(tools, source)
    }

    /// Adds the tools of the servers. A remembered approval of one lasts until any tool of its
    /// server changes.
    fn add_servers(&mut self, connected: Connected) -> Result<(), HostError> {
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
            all.push((tools.collect(), ToolSource::Server(index)));
        }
        for (tools, source) in all {
            self.register(tools, source)?;
        }
        Ok(())
    }

    /// Takes the tools of one component or server, whose names have to be unique.
    fn register(
        &mut self,
        tools: Vec<RegisteredTool>,
        source: ToolSource,
    ) -> Result<(), HostError> {
        for tool in tools {
            let name = &tool.definition.name;
            let entry = (self.tools.len(), source);
            if let Some((_, other)) = self.index.insert(name.clone(), entry) {
                let described = |source| {
                    let source = self.source(source);
                    source.map_or_else(String::new, ToolSourceRef::described)
                };
                return Err(HostError::DuplicateTool {
                    tool: name.clone(),
                    first: described(other),
                    second: described(source),
                });
            }
            self.tools.push(tool);
        }
        Ok(())
    }

    /// Returns the components.
    #[must_use]
    pub fn components(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the MCP servers.
    #[must_use]
    pub fn servers(&self) -> &[Arc<ServerEntry>] {
        &self.servers.entries
    }

    /// Returns the names of the absent MCP servers, which are not required.
    #[must_use]
    pub fn absent_servers(&self) -> &[String] {
        &self.servers.absent
    }

    /// Returns the name under which the model calls a tool of an MCP server, by the server's name
    /// for it.
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

    /// Returns the component of a tool.
    #[must_use]
    pub fn component_of(&self, tool: &str) -> Option<&Entry> {
        match self.find(tool)? {
            (_, ToolSourceRef::Component(entry)) => Some(entry),
            (_, ToolSourceRef::Server(_)) => None,
        }
    }

    /// Returns the MCP server of a tool.
    #[must_use]
    pub fn server_of(&self, tool: &str) -> Option<&ServerEntry> {
        match self.find(tool)? {
            (_, ToolSourceRef::Server(entry)) => Some(entry),
            (_, ToolSourceRef::Component(_)) => None,
        }
    }

    /// Returns the instance allocator of the sandbox on this machine.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.sandbox.allocator()
    }

    /// Starts the compiler once, and returns its confinement; absent where components are compiled
    /// in this process.
    ///
    /// # Errors
    /// It does not start.
    pub async fn check_compiler(&self) -> Result<Option<Confinement>, LoadError> {
        self.sandbox.check_compiler().await
    }

    fn find(&self, tool: &str) -> Option<(&RegisteredTool, ToolSourceRef<'_>)> {
        let (tool, source) = self.index.get(tool).copied()?;
        Some((self.tools.get(tool)?, self.source(source)?))
    }

    fn source(&self, source: ToolSource) -> Option<ToolSourceRef<'_>> {
        match source {
            ToolSource::Component(index) => self.entries.get(index).map(ToolSourceRef::Component),
            ToolSource::Server(index) => {
                let entry = self.servers.entries.get(index)?;
                Some(ToolSourceRef::Server(entry))
            }
        }
    }
}

impl ToolRunner for Registry {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        match self.find(tool)?.1 {
            ToolSourceRef::Component(entry) => Some(&entry.limits),
            ToolSourceRef::Server(_) => None,
        }
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        match self.find(tool) {
            Some((tool, ToolSourceRef::Component(entry))) if tool.effect != Effect::ReadOnly => {
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
            ToolSourceRef::Component(entry) => entry.component.validate(tool, input),
            ToolSourceRef::Server(entry) => entry.server.validate(tool, input),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let Some((tool, source)) = self.find(&invocation.tool) else {
                return CallReport::of(unknown(&invocation.tool).into()).into();
            };
            let entry = match source {
                ToolSourceRef::Component(entry) => entry,
                ToolSourceRef::Server(entry) => {
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

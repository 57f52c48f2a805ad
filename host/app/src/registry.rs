//! The tools of a running host: components, loaded into the sandbox, and MCP servers; both checked
//! against `agent.lock`, and offered to the engine under their tools' names.

mod calls;
mod default_dir;
mod of_hooks;
mod open;
mod skills;

use crate::{
    components::{ComponentEntry, check_confirmations, check_exports, enforced_effect},
    config::{ComponentSource, Config, Confirmation, ExternalTool, ToolConfig},
    error::HostError,
    executables,
    hooks::HookEntry,
    own_tools::is_own_tool,
    programs::SandboxedPrograms,
    servers::{Connected, ServerEntry},
    skill::Skill,
    undo::UndoLogs,
};
use agent_host_engine::{
    BoxFuture,
    agents::TOOL_PREFIX,
    policy::{FileOp, Ruling, decide_path},
    schema::InputSchema,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_sandbox::{Allocator, Confinement, LoadError, Sandbox, Secrets};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    id::{Digest, json_digest},
    limits::Limits,
    tool::{Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, path::Path, sync::Arc};

/// The source of a tool.
#[derive(Clone, Debug)]
enum ToolSource {
    Component(Arc<ComponentEntry>),
    Server(Arc<ServerEntry>),
}

impl ToolSource {
    /// Whether the program itself has the source in it.
    fn is_builtin(&self) -> bool {
        matches!(self, Self::Component(entry) if matches!(entry.source, ComponentSource::Builtin(_)))
    }

    /// Says how a tool of the source gets another name.
    fn rename_hint(&self) -> &'static str {
        match self {
            Self::Component(_) => {
                "Rename the tool in the component and build it again, or remove the component from agent.toml"
            }
            Self::Server(_) => {
                "Change the server's `name` under [[mcp]] in agent.toml, with which the names of its tools begin, or list the tools to use in its `tools`"
            }
        }
    }

    /// Names the source, for messages.
    fn described(&self) -> String {
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
    entries: Vec<Arc<ComponentEntry>>,
    hooks: Vec<HookEntry>,
    servers: Connected,
    tools: Vec<RegisteredTool>,
    /// From a tool's name to its index in `tools` and its source.
    index: HashMap<String, (usize, ToolSource)>,
    /// The skills of the configuration, and those that came in components.
    skills: Vec<Arc<Skill>>,
    /// The schemas of external tools, which are in `tools` and have no source.
    external: HashMap<String, Arc<InputSchema>>,
    /// Keeps the files that calls change; absent to keep none.
    undo: Option<UndoLogs>,
    /// Runs programs; absent where no agent's model writes any.
    programs: Option<SandboxedPrograms>,
}

impl Registry {
    /// Returns the number of instances of components that live now, or `None` if they are made
    /// without a pool.
    #[must_use]
    pub fn live_instances(&self) -> Option<u64> {
        self.sandbox.live_instances()
    }

    /// Keeps the files that calls change from now on.
    pub(crate) fn keep_changes(&mut self, undo: UndoLogs) {
        self.undo = Some(undo);
    }

    /// Returns what runs programs, if the model of some agent writes any.
    pub(crate) fn programs(&self) -> Option<&SandboxedPrograms> {
        self.programs.as_ref()
    }

    /// Returns the skills of the configuration, and those that came in components.
    #[must_use]
    pub fn skills(&self) -> &[Arc<Skill>] {
        &self.skills
    }

    /// Adds the external tools.
    fn add_external(&mut self, tools: &[ExternalTool]) -> Result<(), HostError> {
        for tool in tools {
            let name = &tool.definition.name;
            if let Some((_, source)) = self.index.get(name) {
                return Err(HostError::DuplicateExternalTool {
                    tool: name.clone(),
                    first: source.described(),
                });
            }
            self.external.insert(name.clone(), Arc::clone(&tool.schema));
            self.tools.push(RegisteredTool {
                definition: Arc::new(tool.definition.clone()),
                effect: tool.definition.effect,
                approval: tool.confirmation.approval,
                decisions: tool.confirmation.decisions.clone(),
                runtime: ToolRuntime::External,
                component: None,
            });
        }
        Ok(())
    }

    fn add(&mut self, entry: ComponentEntry, config: &ToolConfig) -> Result<(), HostError> {
        let entry = Arc::new(entry);
        let named = |tool: &&ToolDefinition| {
            let mut names = config.exports.iter().flatten();
            names.any(|name| *name == tool.name)
        };
        // A function of a toolchain is a tool only if its exact name is listed.
        let of_toolchain = entry.component.toolchain_definitions().iter();
        let tools = entry.component.definitions().iter();
        let tools: Vec<&ToolDefinition> = tools.chain(of_toolchain.filter(named)).collect();
        let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let (section, kind) = ("[tool.approvals]", "the component");
        let confirmations = &config.confirmations;
        check_confirmations(confirmations, &known, section, kind, &config.name)?;
        check_exports(config, &known)?;
        let set_up = json_digest(&json!([entry.component.digest(), entry.grants.to_json()]));
        let source = ToolSource::Component(Arc::clone(&entry));
        let is_offered = |tool: &&ToolDefinition| config.exports.is_none() || named(tool);
        for definition in tools.into_iter().filter(is_offered) {
            let effect = enforced_effect(definition.effect, &entry.component, config);
            let confirmation = confirmations.of(&definition.name);
            self.register(
                registered(definition, effect, confirmation, set_up),
                &source,
            )?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Adds the tools of the servers. A remembered approval of one lasts until any tool of its
    /// server changes.
    fn add_servers(&mut self, connected: Connected) -> Result<(), HostError> {
        for entry in &connected.entries {
            let ServerEntry { config, server } = entry.as_ref();
            let source = ToolSource::Server(Arc::clone(entry));
            let set_up = json_digest(&json!(server.locked()));
            for definition in server.definitions() {
                let own = server.own_name(&definition.name).unwrap_or_default();
                let confirmation = config.confirmations.of(own);
                let tool = registered(definition, definition.effect, confirmation, set_up);
                self.register(tool, &source)?;
            }
        }
        self.servers = connected;
        Ok(())
    }

    /// Takes a tool, whose name has to be unique.
    fn register(&mut self, tool: RegisteredTool, source: &ToolSource) -> Result<(), HostError> {
        let name = tool.definition.name.clone();
        let entry = (self.tools.len(), source.clone());
        if let Some((_, other)) = self.index.insert(name.clone(), entry) {
            return Err(HostError::DuplicateTool {
                tool: name,
                first: other.described(),
                second: source.described(),
            });
        }
        self.tools.push(tool);
        Ok(())
    }

    /// Returns what a tool comes from, for messages; none for a name that no tool has.
    fn owner_of(&self, tool: &str) -> Option<String> {
        let source = self.source_of(tool).map(ToolSource::described);
        let external = self
            .external
            .get(tool)
            .map(|_| "[[external-tool]]".to_owned());
        source.or(external)
    }

    /// Checks that no tool has the name of one of the program, or of one that starts a configured
    /// agent. A component or server alone can be inspected, tested and called nevertheless.
    fn check_names(&self, config: &Config) -> Result<(), HostError> {
        for tool in self.tools.iter().map(|tool| &tool.definition.name) {
            let source = self.source_of(tool);
            // The components of the program are its own.
            if is_own_tool(tool) && !source.is_some_and(ToolSource::is_builtin) {
                let fix = source.map_or("Change its `name` in agent.toml", ToolSource::rename_hint);
                return Err(HostError::ReservedTool {
                    tool: tool.clone(),
                    owner: self.owner_of(tool).unwrap_or_default(),
                    fix,
                });
            }
        }
        for agent in &config.agent_definitions {
            let tool = format!("{TOOL_PREFIX}{}", agent.name);
            if let Some(first) = self.owner_of(&tool) {
                let second = format!("the agent `{}`", agent.name);
                return Err(HostError::DuplicateTool {
                    tool,
                    first,
                    second,
                });
            }
        }
        Ok(())
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
    pub fn component_of(&self, tool: &str) -> Option<&ComponentEntry> {
        match self.source_of(tool)? {
            ToolSource::Component(entry) => Some(entry),
            ToolSource::Server(_) => None,
        }
    }

    /// Whether the grants of a component let a tool write to a path of the host.
    #[must_use]
    pub fn may_write(&self, path: &Path) -> bool {
        let is_granted = |entry: &Arc<ComponentEntry>| {
            let ruling = decide_path(&entry.grants, Effect::Effectful, FileOp::Write, path);
            matches!(ruling, Ruling::Allow { .. })
        };
        self.components().any(is_granted)
    }

    /// Returns the MCP server of a tool.
    #[must_use]
    pub fn server_of(&self, tool: &str) -> Option<&ServerEntry> {
        match self.source_of(tool)? {
            ToolSource::Server(entry) => Some(entry),
            ToolSource::Component(_) => None,
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

    /// Whether a component or a server has this tool.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.source_of(tool).is_some()
    }

    fn source_of(&self, tool: &str) -> Option<&ToolSource> {
        self.index.get(tool).map(|(_, source)| source)
    }

    /// Returns the enforced effect of a tool, and its component.
    fn in_component(&self, tool: &str) -> Option<(Effect, &ComponentEntry)> {
        let (index, _) = self.index.get(tool)?;
        Some((self.tools.get(*index)?.effect, self.component_of(tool)?))
    }
}

impl ToolRunner for Registry {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.component_of(tool).map(|entry| &entry.limits)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        match self.in_component(tool) {
            Some((Effect::Idempotent | Effect::Effectful, entry)) => {
                executables::named(&entry.grants, input)
            }
            Some((Effect::ReadOnly, _)) | None => Vec::new(),
        }
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        if let Some(schema) = self.external.get(tool) {
            return schema.validate(input);
        }
        match self.source_of(tool).ok_or_else(|| unknown(tool))? {
            ToolSource::Component(entry) => entry.component.validate(tool, input),
            ToolSource::Server(entry) => entry.server.validate(tool, input),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        self.run_with(invocation, None, progress)
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
        definition: Arc::new(definition.clone()),
        effect,
        approval: confirmation.approval,
        decisions: confirmation.decisions.clone(),
        runtime: ToolRuntime::Host,
        component: Some(set_up),
    }
}

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
    hooks::HookEntry,
    own_tools::is_own_tool,
    programs::SandboxedPrograms,
    servers::{Connected, ServerEntry},
    skill::Skill,
    undo::UndoLogs,
};
use agent_host_engine::{
    agents::TOOL_PREFIX,
    policy::{FileOp, Grants, Ruling, decide_path},
    schema::InputSchema,
    tool_set::ToolSet,
};
use agent_host_sandbox::{Allocator, Confinement, LoadError, Sandbox, Secrets};
use agent_host_types::{
    id::{Digest, json_digest},
    reason::Reason,
    tool::{Effect, RegisteredTool, SummaryTemplate, ToolDefinition, ToolRuntime},
};
use indexmap::{IndexMap, map::Entry};
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

/// A tool with its source.
#[derive(Clone, Debug)]
struct KnownTool {
    tool: RegisteredTool,
    source: ToolSource,
}

/// The source of a tool.
#[derive(Clone, Debug)]
enum ToolSource {
    Component(Arc<ComponentEntry>),
    Server(Arc<ServerEntry>),
    /// The caller of the loop runs it.
    External(Arc<InputSchema>),
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
                "Change the server's `name`, the prefix of its tools' names, under [[mcp]] in agent.toml, or list \
                 the tools to use in its `tools`"
            }
            Self::External(_) => "Change its `name` in agent.toml",
        }
    }

    /// Names the source, for messages.
    fn described(&self) -> String {
        match self {
            Self::Component(entry) => format!("the component `{}`", entry.name),
            Self::Server(entry) => format!("the MCP server `{}`", entry.config.name),
            Self::External(_) => "[[external-tool]]".to_owned(),
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
    /// The tools by their names, in the order for the model.
    tools: IndexMap<String, KnownTool>,
    /// The tools as the loop runs them, with all grants of their components.
    set: OnceLock<ToolSet>,
    /// The skills of the configuration, and those that came in components.
    skills: Vec<Arc<Skill>>,
    /// Keeps the files that calls change; absent to keep none.
    undo: Option<UndoLogs>,
    /// Runs programs; absent where no agent's model writes any.
    programs: Option<SandboxedPrograms>,
}

/// Returns the error of two sources, such as "the component `files`", that have the same tool.
fn duplicate(tool: &str, first: &str, second: &str) -> HostError {
    Reason::from(format!(
        "{first} and {second} both have a tool named `{tool}`, and the model could not tell them apart. Remove one of \
         them from agent.toml"
    ))
    .into()
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
        self.set.take();
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

    fn add_external(&mut self, tools: &[ExternalTool]) -> Result<(), HostError> {
        for tool in tools {
            let name = &tool.definition.name;
            if let Some(known) = self.tools.get(name) {
                let first = known.source.described();
                return Err(Reason::from(format!(
                    "{first} and an [[external-tool]] both have the name `{name}`, and the model could not tell them \
                     apart. Remove one of them from agent.toml, or rename the external one"
                ))
                .into());
            }
            let source = ToolSource::External(Arc::clone(&tool.schema));
            let tool = RegisteredTool {
                definition: Arc::new(tool.definition.clone()),
                effect: tool.definition.effect,
                approval: tool.confirmation.approval,
                decisions: tool.confirmation.decisions.clone(),
                runtime: ToolRuntime::External,
                component: None,
                destination: None,
                summary: None,
            };
            self.tools.insert(name.clone(), KnownTool { tool, source });
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
            let summary = entry.summary(&definition.name);
            self.register(
                registered(definition, effect, confirmation, set_up, summary),
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
            let set_up = entry.set_up();
            for definition in server.definitions() {
                let own = server.own_name(&definition.name).unwrap_or_default();
                let confirmation = config.confirmations.of(own);
                let effect = definition.effect;
                let tool = RegisteredTool {
                    destination: Some(format!("mcp:{}", config.name)),
                    ..registered(definition, effect, confirmation, set_up, None)
                };
                self.register(tool, &source)?;
            }
        }
        self.servers = connected;
        Ok(())
    }

    /// Takes a tool, whose name has to be unique.
    fn register(&mut self, tool: RegisteredTool, source: &ToolSource) -> Result<(), HostError> {
        let (name, source) = (tool.definition.name.clone(), source.clone());
        match self.tools.entry(name) {
            Entry::Occupied(other) => {
                let first = other.get().source.described();
                Err(duplicate(other.key(), &first, &source.described()))
            }
            Entry::Vacant(place) => {
                place.insert(KnownTool { tool, source });
                Ok(())
            }
        }
    }

    /// Checks that no tool has the name of one of the program, or of one that starts a configured
    /// agent. A component or server alone can be inspected, tested and called nevertheless.
    fn check_names(&self, config: &Config) -> Result<(), HostError> {
        for (tool, KnownTool { source, .. }) in &self.tools {
            // The components of the program are its own.
            if is_own_tool(tool, config) && !source.is_builtin() {
                let (owner, fix) = (source.described(), source.rename_hint());
                return Err(Reason::from(format!(
                    "{owner} has a tool named `{tool}`, which is the name of a built-in tool of agent-host and would \
                     replace it. {fix}"
                ))
                .into());
            }
        }
        for agent in &config.agent_definitions {
            let tool = format!("{TOOL_PREFIX}{}", agent.name);
            if let Some(known) = self.tools.get(&tool) {
                let first = known.source.described();
                let second = format!("the agent `{}`", agent.name);
                return Err(duplicate(&tool, &first, &second));
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
        match &self.tools.get(tool)?.source {
            ToolSource::Component(entry) => Some(entry),
            ToolSource::Server(_) | ToolSource::External(_) => None,
        }
    }

    /// Whether the grants of a component let a tool write to a path of the host.
    #[must_use]
    pub fn may_write(&self, path: &Path) -> bool {
        let is_granted = |grants: &Arc<Grants>| {
            let ruling = decide_path(grants, Effect::Effectful, FileOp::Write, path);
            matches!(ruling, Ruling::Allow { .. })
        };
        self.grants().any(is_granted)
    }

    /// Returns the grants of each component: of tools, of hooks and of MCP servers.
    pub(crate) fn grants(&self) -> impl Iterator<Item = &Arc<Grants>> {
        let servers = self.servers().iter();
        let servers = servers.filter_map(|entry| Some(&entry.config.component()?.grants));
        let components = self.components().map(|entry| &entry.grants);
        components.chain(servers)
    }

    /// Returns the MCP server of a tool.
    #[must_use]
    pub fn server_of(&self, tool: &str) -> Option<&ServerEntry> {
        match &self.tools.get(tool)?.source {
            ToolSource::Server(entry) => Some(entry),
            ToolSource::Component(_) | ToolSource::External(_) => None,
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
        let known = self.tools.get(tool);
        known.is_some_and(|known| !matches!(known.source, ToolSource::External(_)))
    }

    /// Returns the tools, in the order for the model.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &RegisteredTool> + Clone {
        self.tools.values().map(|known| &known.tool)
    }

    /// Returns a tool.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&RegisteredTool> {
        Some(&self.tools.get(name)?.tool)
    }
}

fn registered(
    definition: &ToolDefinition,
    effect: Effect,
    confirmation: &Confirmation,
    set_up: Digest,
    summary: Option<SummaryTemplate>,
) -> RegisteredTool {
    RegisteredTool {
        definition: Arc::new(definition.clone()),
        effect,
        approval: confirmation.approval,
        decisions: confirmation.decisions.clone(),
        runtime: ToolRuntime::Host,
        component: Some(set_up),
        destination: None,
        summary,
    }
}

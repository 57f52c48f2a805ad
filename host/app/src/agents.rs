//! The agents of a configuration as the engine runs them: each with its model, its tools and the
//! agents that it can start.

use crate::{
    HostError,
    config::{AgentConfig, Config},
    host::{Host, model_of},
    narrowed::NarrowedTools,
    skill::SkillTools,
};
use agent_host_engine::{
    BoxFuture,
    agents::{Agents, Journals, SubAgent},
    artifact::with_artifact_reader,
    ask_user::with_ask_user,
    journal::{Journal, JournalError},
    model::Model,
    policy::{Grants, NameGlob},
    program::{Program, with_tool_descriptions},
    todo_list::TodoList,
    tool::ToolRunner,
    tool_filter::filter_tools,
    tool_search::SearchedTools,
    turn::{Agent, Prompts, Settings, StandardMode},
};
use agent_host_journal::JournalStore;
use agent_host_types::id::SessionId;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The models of the agents that have their own, by the agents' names.
pub(crate) type AgentModels = BTreeMap<String, Arc<dyn Model>>;

/// The agents that were created, by name, depth, whether the user can be asked, and the model and
/// the grants of the one that starts it: agents that start each other would otherwise be created
/// again on each way to them.
type Created = HashMap<(String, u8, bool, usize, Option<usize>), SubAgent>;

/// The model and the grants of the one that starts an agent.
#[derive(Clone, Copy)]
struct Starter<'a> {
    model: &'a Arc<dyn Model>,
    /// Absent for those of its tools.
    grants: Option<&'a Arc<Grants>>,
}

/// Creates the models of agents.
///
/// # Errors
/// One of them cannot be used.
pub(crate) async fn open_models(config: &Config) -> Result<AgentModels, HostError> {
    let mut models = BTreeMap::new();
    for agent in &config.agent_definitions {
        if let Some(own) = &agent.models {
            models.insert(agent.name.clone(), model_of(own).await?);
        }
    }
    Ok(models)
}

/// Opens the journals of agents' sessions among those of a host.
struct StoreJournals(Arc<dyn JournalStore>);

impl Journals for StoreJournals {
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Arc<dyn Journal>, JournalError>> {
        Box::pin(async move {
            match self.0.open_session(session).await {
                Err(JournalError::NotFound(_)) => self.0.create(session).await,
                opened => opened,
            }
        })
    }
}

impl Config {
    /// Returns the definition of one of its agents.
    ///
    /// # Errors
    /// There is no agent with this name.
    pub fn agent(&self, name: &str) -> Result<&Arc<AgentConfig>, HostError> {
        let mut agents = self.agent_definitions.iter();
        let found = agents.find(|agent| agent.name == name);
        found.ok_or_else(|| {
            let names = self.agent_definitions.iter().map(|agent| &*agent.name);
            HostError::NoAgent {
                name: name.to_owned(),
                known: names.collect::<Vec<_>>().join(", "),
            }
        })
    }
}

impl Host {
    /// Creates the loop of one of the configured agents, as `run --agent` runs it; without a name
    /// that of the file's top level. Approvals are asked for only where both the caller and the
    /// configuration allow it. Also returns its system prompt.
    ///
    /// # Errors
    /// There is no agent with this name.
    pub fn named_agent(
        &self,
        name: &str,
        prompts: Prompts,
    ) -> Result<(Agent, Option<String>), HostError> {
        let agent = self.config().agent(name)?;
        let prompts = self.prompts(prompts);
        let depth = self.config().agent_depth;
        let mut created = Created::default();
        let from = Starter {
            model: &self.model,
            grants: None,
        };
        let agent_loop = self.loop_of(agent, from, prompts, depth, &mut created);
        Ok((agent_loop, agent.system.clone()))
    }

    /// Creates the agents that clients start by calls; none for no names. Each can start agents to
    /// the depth that it can with [`Self::named_agent`].
    ///
    /// # Errors
    /// There is no agent with one of the names.
    pub fn served_agents(
        &self,
        names: &[String],
        prompts: Prompts,
    ) -> Result<Option<Arc<Agents>>, HostError> {
        for name in names {
            self.config().agent(name)?;
        }
        let depth = self.config().agent_depth.saturating_add(1);
        Ok(self.agents(names, &self.model, self.prompts(prompts), depth))
    }

    /// Returns the agents of a list for one that has `model`, and can start agents to this depth.
    pub(crate) fn agents(
        &self,
        names: &[String],
        model: &Arc<dyn Model>,
        prompts: Prompts,
        depth: u8,
    ) -> Option<Arc<Agents>> {
        let from = Starter {
            model,
            grants: None,
        };
        self.agents_below(names, from, prompts, depth, &mut Created::default())
    }

    fn agents_below(
        &self,
        names: &[String],
        from: Starter<'_>,
        prompts: Prompts,
        depth: u8,
        created: &mut Created,
    ) -> Option<Arc<Agents>> {
        let below = depth.checked_sub(1).filter(|below| *below > 0)?;
        let agents = names
            .iter()
            .filter_map(|name| self.config().agent(name).ok());
        let agents: Vec<SubAgent> = agents
            .map(|agent| self.sub_agent(agent, from, prompts, below, created))
            .collect();
        (!agents.is_empty()).then(|| Arc::new(Agents::new(agents, self.journals())))
    }

    /// Returns what opens the journals of agents' sessions.
    pub(crate) fn journals(&self) -> Arc<dyn Journals> {
        Arc::new(StoreJournals(self.store.clone()))
    }

    fn sub_agent(
        &self,
        agent: &AgentConfig,
        from: Starter<'_>,
        prompts: Prompts,
        depth: u8,
        created: &mut Created,
    ) -> SubAgent {
        let asks = prompts == Prompts::Ask;
        let model = Arc::as_ptr(from.model).addr();
        let grants = from.grants.map(|grants| Arc::as_ptr(grants).addr());
        let key = (agent.name.clone(), depth, asks, model, grants);
        if let Some(known) = created.get(&key) {
            return known.clone();
        }
        let sub_agent = SubAgent {
            name: agent.name.clone(),
            description: agent.description.clone(),
            system: agent.system.clone(),
            agent: self.loop_of(agent, from, prompts, depth, created),
            approval: agent.confirmation.approval,
            decisions: agent.confirmation.decisions.clone(),
            is_interactive: agent.is_interactive,
            price: agent.price,
            definition: agent.definition,
        };
        created.insert(key, sub_agent.clone());
        sub_agent
    }

    /// Creates the loop of an agent.
    fn loop_of(
        &self,
        agent: &AgentConfig,
        from: Starter<'_>,
        prompts: Prompts,
        depth: u8,
        created: &mut Created,
    ) -> Agent {
        let model = self.agent_models.get(&agent.name).unwrap_or(from.model);
        let grants = agent.grants.as_ref().map(|own| match from.grants {
            Some(above) => Arc::new(own.below(above)),
            None => Arc::clone(own),
        });
        let grants = grants.as_ref().or(from.grants);
        let prompts = match agent.is_interactive {
            true => prompts,
            false => Prompts::Deny,
        };
        let registry: Arc<dyn ToolRunner> = match grants {
            Some(grants) => NarrowedTools::wrap(self.registry(), grants),
            None => self.registry().clone(),
        };
        let tools = match &agent.tools {
            Some(globs) => filter_tools(registry, globs),
            None => registry,
        };
        let settings = Settings {
            budgets: agent.budgets.clone(),
            until_tool: agent.until_tool.clone(),
            output_schema: agent.output_schema.clone(),
            context: agent.context,
            agent: Some(agent.name.clone()),
            ..self.settings(prompts)
        };
        let below = Starter { model, grants };
        let agents = self.agents_below(&agent.agents, below, prompts, depth, created);
        self.assemble(tools, model, settings, agents, agent.code)
    }

    /// Puts the tools of the program and those that start agents before `tools`. If the model
    /// writes programs, those call `tools` and the agents, and the model itself calls the program's
    /// tools.
    pub(crate) fn assemble(
        &self,
        tools: Arc<dyn ToolRunner>,
        model: &Arc<dyn Model>,
        settings: Settings,
        agents: Option<Arc<Agents>>,
        writes_code: bool,
    ) -> Agent {
        let programs = self.registry().programs().filter(|_| writes_code);
        let prompts = settings.prompts;
        let own_tools = |tools| {
            let tools = SkillTools::wrap(with_artifact_reader(tools), self.skills());
            match prompts {
                Prompts::Ask => with_ask_user(tools),
                Prompts::Deny => tools,
            }
        };
        let tools = match programs {
            Some(_) => tools,
            None => own_tools(SearchedTools::wrap(tools, self.config().search_tools_from)),
        };
        let tools = match &agents {
            Some(agents) => agents.with_tools(tools),
            None => tools,
        };
        let agent = Agent {
            model: model.clone(),
            tools,
            agents,
            hooks: self.registry().engine_hooks(),
            mode: Arc::new(StandardMode),
            workflow: None,
            program: None,
            key: self.key.clone(),
            settings,
        };
        let agent = match programs {
            Some(programs) => {
                let program = Program {
                    runner: Arc::new(programs.clone()),
                    max_calls: self.config().code_calls,
                };
                // The run ends through them, and a program is no end.
                let until = agent.settings.until_tool.iter().flat_map(|it| &it.tools);
                let until: Vec<NameGlob> = until.filter_map(|it| NameGlob::new(it).ok()).collect();
                let direct = own_tools(with_tool_descriptions(agent.tools.clone(), &until));
                agent.with_programs(program, direct, self.journals())
            }
            None => agent,
        };
        match self.config().todo_list {
            true => agent.with_middleware(TodoList),
            false => agent,
        }
    }
}

//! Makes the loops of the agents of a configuration: that of the one which the user talks to at
//! once, and that of any other when it starts. So a session costs what it starts, however many
//! agents may start each other, and to whatever depth.

use super::{AgentEffects, ConfiguredAgents};
use crate::{config::AgentConfig, memory::memory_tools};
use agent_host_engine::{
    BoxFuture,
    agents::{AgentLoop, Agents, Journals, LoopSource, MadeLoop, SubAgent},
    artifact::artifact_reader,
    ask_user::ask_user,
    flow::{FlowPolicy, reader::quarantined_reader},
    journal::{Journal, JournalError},
    model::Model,
    policy::{Grants, NameGlob},
    program::{Program, direct_tools},
    todo_list::TodoList,
    tool_search::searched,
    tool_set::{ToolEntry, ToolSet},
    turn::{Agent, Prompts, Settings, StandardMode},
};
use agent_host_journal::JournalStore;
use agent_host_types::{flow::FlowMode, id::SessionId, tool::Effect, turn::TurnError};
use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

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

/// The model, the grants and the prompts that an agent has from the one that starts it.
#[derive(Clone)]
pub(crate) struct Starter {
    pub(crate) model: Arc<dyn Model>,
    /// Absent for those of its tools.
    grants: Option<Arc<Grants>>,
    pub(crate) prompts: Prompts,
    flow: Arc<FlowPolicy>,
}

/// The loop of a configured agent, which is made when it first starts.
struct ConfiguredLoop {
    agents: Arc<ConfiguredAgents>,
    agent: Arc<AgentConfig>,
    from: Starter,
    /// The levels of agents from this one down.
    depth: u8,
    effect: Effect,
    made: OnceLock<Agent>,
}

impl LoopSource for ConfiguredLoop {
    fn effect(&self) -> Effect {
        self.effect
    }

    fn make(&self, _session: SessionId) -> Result<MadeLoop, TurnError> {
        let make = || self.agents.loop_of(&self.agent, &self.from, self.depth);
        Ok(MadeLoop {
            agent: self.made.get_or_init(make).clone(),
            setup: None,
        })
    }
}

impl ConfiguredAgents {
    /// Returns the settings of the default agent.
    pub(crate) fn settings(&self, prompts: Prompts) -> Settings {
        Settings {
            budgets: self.config.budgets.clone(),
            rules: Arc::clone(&self.rules.rules),
            approved: Arc::clone(&self.rules.approved),
            max_agent_depth: self.config.agent_depth,
            prompts,
            timing: self.config.timing,
            durability: self.config.session.durability,
            artifact_bytes: self.config.session.artifact_bytes,
            approval_expiry_ms: self.config.approval_expiry_ms,
            context: self.config.context,
            flow: Arc::clone(&self.config.flow),
            ..Settings::default()
        }
    }

    /// Returns what opens the journals of agents' sessions.
    pub(crate) fn journals(&self) -> Arc<dyn Journals> {
        Arc::new(StoreJournals(Arc::clone(&self.store)))
    }

    /// Returns the model and the prompts of an agent that a user or a client starts.
    pub(crate) fn starter(&self, prompts: Prompts) -> Starter {
        Starter {
            model: Arc::clone(&self.model),
            grants: None,
            prompts: self.prompts(prompts),
            flow: Arc::clone(&self.config.flow),
        }
    }

    fn effects(&self) -> &AgentEffects {
        self.effects.get_or_init(|| {
            AgentEffects::new(
                &self.config.agent_definitions,
                &self.registry,
                self.config.agent_depth,
            )
        })
    }

    /// Returns the agents of a list, for a starter that has this many levels of agents from itself
    /// down.
    pub(crate) fn agents_below(
        self: &Arc<Self>,
        names: &[String],
        from: &Starter,
        depth: u8,
    ) -> Option<Arc<Agents>> {
        let below = depth.checked_sub(1).filter(|below| *below > 0)?;
        let effects = self.effects();
        // A list of 1 MiB may have one name very often.
        let mut seen = HashSet::new();
        let agents = names.iter().filter_map(|name| {
            let index = effects.index(name).filter(|index| seen.insert(*index))?;
            let agent = self.config.agent_definitions.get(index)?;
            Some(self.sub_agent(agent, from, below, effects.at(index, below)))
        });
        let agents: Vec<SubAgent> = agents.collect();
        (!agents.is_empty()).then(|| Arc::new(Agents::new(agents, self.journals())))
    }

    fn sub_agent(
        self: &Arc<Self>,
        agent: &Arc<AgentConfig>,
        from: &Starter,
        depth: u8,
        effect: Effect,
    ) -> SubAgent {
        SubAgent {
            name: agent.name.clone(),
            description: Arc::clone(&agent.description),
            system: agent.system.clone(),
            agent: AgentLoop::Deferred(Arc::new(ConfiguredLoop {
                agents: Arc::clone(self),
                agent: Arc::clone(agent),
                from: from.clone(),
                depth,
                effect,
                made: OnceLock::new(),
            })),
            approval: agent.confirmation.approval,
            decisions: agent.confirmation.decisions.clone(),
            is_interactive: agent.is_interactive,
            price: agent.price,
            definition: agent.definition,
        }
    }

    /// Makes the loop of an agent.
    pub(super) fn loop_of(
        self: &Arc<Self>,
        agent: &AgentConfig,
        from: &Starter,
        depth: u8,
    ) -> Agent {
        let model = self
            .models
            .of_agents
            .get(&agent.name)
            .unwrap_or(&from.model);
        let grants = agent.grants.as_ref().map(|own| match &from.grants {
            Some(above) => Arc::new(own.below(above)),
            None => Arc::clone(own),
        });
        let from = Starter {
            model: Arc::clone(model),
            grants: grants.or_else(|| from.grants.clone()),
            prompts: match agent.is_interactive {
                true => from.prompts,
                false => Prompts::Deny,
            },
            flow: from.flow.at_least(agent.flow),
        };
        let tools = self
            .registry
            .tools_of(agent.tools.as_deref(), from.grants.as_ref());
        let settings = Settings {
            budgets: agent.budgets.clone(),
            until_tool: agent.until_tool.clone(),
            output_schema: agent.output_schema.clone(),
            context: agent.context,
            agent: Some(agent.name.clone()),
            flow: Arc::clone(&from.flow),
            ..self.settings(from.prompts)
        };
        let agents = self.agents_below(&agent.agents, &from, depth);
        self.assemble(tools, &from.model, settings, agents, agent.code)
    }

    /// Puts the tools of the program and those that start agents before `tools`. If the model
    /// writes programs, those call `tools` and the agents, and the model itself calls the program's
    /// tools.
    pub(super) fn assemble(
        &self,
        tools: ToolSet,
        model: &Arc<dyn Model>,
        settings: Settings,
        agents: Option<Arc<Agents>>,
        writes_code: bool,
    ) -> Agent {
        // What reads a result for the model is an agent, too.
        let flow = Arc::clone(&settings.flow);
        let agents = match flow.mode {
            FlowMode::Quarantine => {
                agents.or_else(|| Some(Arc::new(Agents::new(Vec::new(), self.journals()))))
            }
            FlowMode::Off | FlowMode::Observe | FlowMode::Ask => agents,
        };
        let programs = self.registry.programs().filter(|_| writes_code);
        let prompts = settings.prompts;
        let tools = match programs {
            Some(_) => tools,
            None => {
                let tools = searched(tools, self.config.search_tools_from);
                tools.behind(self.own_tools(prompts, &flow))
            }
        };
        let tools = match &agents {
            Some(agents) => tools.behind(agents.tools()),
            None => tools,
        };
        let agent = Agent {
            model: model.clone(),
            tools: Arc::new(tools),
            agents,
            hooks: self.registry.engine_hooks(),
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
                    max_calls: self.config.code_calls,
                };
                // The run ends through them; a program cannot end it.
                let until = agent.settings.until_tool.iter().flat_map(|it| &it.tools);
                let until: Vec<NameGlob> = until.filter_map(|it| NameGlob::new(it).ok()).collect();
                let direct = direct_tools(&agent.tools, &until);
                let direct = direct.behind(self.own_tools(prompts, &flow));
                agent.with_programs(program, direct, self.journals())
            }
            None => agent,
        };
        match self.config.todo_list {
            true => agent.with_middleware(TodoList),
            false => agent,
        }
    }

    /// Returns the tools of the program: that which asks the user, where it can be asked, and those
    /// which read skills and artifacts.
    fn own_tools(
        &self,
        prompts: Prompts,
        flow: &Arc<FlowPolicy>,
    ) -> impl Iterator<Item = ToolEntry> {
        let asks = (prompts == Prompts::Ask).then(ask_user).flatten();
        let reads = self.skill_reader.clone();
        let is_quarantined = flow.mode == FlowMode::Quarantine;
        let asks_about = is_quarantined.then(quarantined_reader).flatten();
        let remembers = self
            .config
            .memory
            .map(|memory| memory_tools(Arc::clone(&self.store), memory, Arc::clone(flow)));
        asks.into_iter()
            .chain(reads)
            .chain(remembers.into_iter().flatten())
            .chain(asks_about)
            .chain(artifact_reader())
    }
}

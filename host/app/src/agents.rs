//! The agents of a configuration as the engine runs them: their model, tools, rules and prompts.

mod effects;
mod loops;
#[cfg(test)]
mod tests;

use crate::{
    config::{AgentConfig, Config},
    default_prompt::default_prompt,
    error::HostError,
    models::FurtherModels,
    reach::reach,
    registry::Registry,
    rules::{CommandRules, check_counts, check_rules},
    skill::skill_reader,
    undo::UndoLogs,
};
use agent_host_engine::{
    agents::Agents,
    model::Model,
    session::{Session, now_ms},
    tool_set::ToolEntry,
    turn::{Agent, ContinuationKey, Prompts},
};
use agent_host_journal::JournalStore;
use agent_host_types::reason::Reason;
use effects::AgentEffects;
use std::sync::{Arc, OnceLock};

/// The agents of a configuration, with the parts that their loops share.
pub struct ConfiguredAgents {
    config: Arc<Config>,
    pub(crate) rules: CommandRules,
    registry: Arc<Registry>,
    model: Arc<dyn Model>,
    /// The models of agents that have their own, and those that sessions may choose.
    models: FurtherModels,
    /// Keeps the sessions of agents that are started by calls.
    store: Arc<dyn JournalStore>,
    pub(crate) key: ContinuationKey,
    /// Reads the skills of the registry; absent without any.
    skill_reader: Option<ToolEntry>,
    /// The strongest effects of the agents, which are computed once.
    effects: OnceLock<AgentEffects>,
}

impl std::fmt::Debug for ConfiguredAgents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfiguredAgents")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl ConfiguredAgents {
    /// Opens the tools of a configuration, for these models. Nothing is run.
    ///
    /// # Errors
    /// A tool or the key of the store cannot be used, or a rule names a tool that is not there.
    pub(crate) async fn open(
        config: Arc<Config>,
        store: Arc<dyn JournalStore>,
        model: Arc<dyn Model>,
        models: FurtherModels,
    ) -> Result<Self, HostError> {
        let mut registry = Registry::open(&config).await?;
        registry.check_default_dir(&config)?;
        if let Some(undo) = UndoLogs::new(&store, config.session.undo_bytes) {
            registry.keep_changes(undo);
        }
        check_rules(&config, &registry)?;
        check_counts(&config, store.as_ref())?;
        Ok(Self {
            rules: CommandRules::resolve(&config, &registry)?,
            skill_reader: skill_reader(registry.skills()),
            registry: Arc::new(registry),
            model,
            models,
            key: ContinuationKey::new(store.continuation_key().await?),
            store,
            effects: OnceLock::new(),
            config,
        })
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the tools.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Creates the loop of the default agent. Approvals are asked for only where both the caller
    /// and the configuration allow it.
    #[must_use]
    pub fn agent(self: &Arc<Self>, prompts: Prompts) -> Agent {
        self.agent_with_model(&self.model, prompts)
    }

    /// Creates the loop as [`Self::agent`] does, with another model; agents without a model of
    /// their own have it, too.
    #[must_use]
    pub fn agent_with_model(self: &Arc<Self>, model: &Arc<dyn Model>, prompts: Prompts) -> Agent {
        let mut from = self.starter(prompts);
        from.model = Arc::clone(model);
        let agents = self.agents_below(&self.config.agents, &from, self.config.agent_depth);
        let tools = self.registry.tool_set().clone();
        let settings = self.settings(from.prompts);
        self.assemble(tools, model, settings, agents, self.config.code)
    }

    /// Creates the loop of one of the configured agents, as `run --agent` runs it; without a name
    /// that of the default agent. Approvals are asked for as with [`Self::agent`]. Also returns its
    /// system prompt.
    ///
    /// # Errors
    /// There is no agent with this name.
    pub fn named_agent(
        self: &Arc<Self>,
        name: Option<&str>,
        prompts: Prompts,
    ) -> Result<(Agent, Option<String>), HostError> {
        self.chosen_agent(name, None, prompts)
    }

    /// Creates the loop as [`Self::named_agent`] does, with one of the models that the agent is
    /// offered with.
    ///
    /// # Errors
    /// The agent is unknown, or not offered with this model.
    pub fn chosen_agent(
        self: &Arc<Self>,
        name: Option<&str>,
        model: Option<&str>,
        prompts: Prompts,
    ) -> Result<(Agent, Option<String>), HostError> {
        let chosen = match model {
            Some(model) => self.offered_model(name, model)?.cloned(),
            None => None,
        };
        let model = chosen.as_ref().unwrap_or(&self.model);
        let Some(name) = name else {
            let agent = self.agent_with_model(model, prompts);
            return Ok((agent, self.system_prompt(prompts)));
        };
        let agent = self.config.agent(name)?;
        let mut from = self.starter(prompts);
        from.model = Arc::clone(model);
        let agent_loop = self.loop_of(agent, &from, self.config.agent_depth);
        Ok((agent_loop, agent.system.as_deref().map(str::to_owned)))
    }

    /// Returns a model that sessions of an agent may choose; `None` for the agent's own.
    fn offered_model(
        &self,
        agent: Option<&str>,
        model: &str,
    ) -> Result<Option<&Arc<dyn Model>>, HostError> {
        let offered = self.config.offered_models(agent)?;
        match offered.iter().position(|name| name == model) {
            Some(0) => Ok(None),
            Some(_) => Ok(self.models.choices.get(model)),
            None => Err(HostError::ModelNotOffered {
                name: model.to_owned(),
                offered,
            }),
        }
    }

    /// Creates the agents that clients start by calls; none for no names. Each can start agents to
    /// the depth that it can with [`Self::named_agent`].
    ///
    /// # Errors
    /// There is no agent with one of the names.
    pub fn served_agents(
        self: &Arc<Self>,
        names: &[String],
        prompts: Prompts,
    ) -> Result<Option<Arc<Agents>>, HostError> {
        for name in names {
            self.config.agent(name)?;
        }
        let depth = self.config.agent_depth.saturating_add(1);
        Ok(self.agents_below(names, &self.starter(prompts), depth))
    }

    /// Creates the loop of a session that began before: that of its workflow, of its agent, or of
    /// the default agent.
    ///
    /// # Errors
    /// The workflow or the agent is no longer configured.
    pub fn session_agent(
        self: &Arc<Self>,
        session: &Session,
        prompts: Prompts,
    ) -> Result<Agent, HostError> {
        let (state, run) = (session.state(), session.state().run_arguments());
        let agent = match (state.workflow(), run.agent) {
            (Some(run), _) => self.workflow_agent(&run.name, prompts)?,
            (None, name) => {
                // Another program may have begun it with any model, which is not offered here.
                let offered = self.config.offered_models(name.as_deref())?;
                let model = run.model.filter(|model| offered.contains(model));
                self.chosen_agent(name.as_deref(), model.as_deref(), prompts)?
                    .0
            }
        };
        Ok(match run.runs_tools_outside {
            true => self.run_outside(agent),
            false => agent,
        })
    }

    /// Returns the system prompt of the default agent: the configured one, or the default one
    /// before the instruction files. It changes from day to day alone.
    #[must_use]
    pub fn system_prompt(&self, prompts: Prompts) -> Option<String> {
        let configured = self.config.system.clone();
        if !self.config.default_system {
            return configured;
        }
        let day = i64::try_from(now_ms()).unwrap_or_default();
        let day = jiff::Timestamp::from_millisecond(day).unwrap_or_default();
        let prompt = default_prompt(
            &day.strftime("%F").to_string(),
            &self.config.working_dir.display().to_string(),
            &reach(&self.registry),
            self.prompts(prompts) == Prompts::Ask,
        );
        let sections = std::iter::once(prompt).chain(configured);
        Some(sections.collect::<Vec<_>>().join("\n\n"))
    }

    fn prompts(&self, prompts: Prompts) -> Prompts {
        match (prompts, self.config.prompts) {
            (Prompts::Ask, Prompts::Ask) => Prompts::Ask,
            (Prompts::Deny, _) | (_, Prompts::Deny) => Prompts::Deny,
        }
    }
}

impl Config {
    /// Returns the names of the models that a session of an agent may choose, its own one first.
    ///
    /// # Errors
    /// The agent is unknown.
    pub fn offered_models(&self, agent: Option<&str>) -> Result<Vec<String>, HostError> {
        let own = match agent {
            Some(name) => self.agent(name)?.models.as_ref(),
            None => None,
        };
        Ok(own.unwrap_or(&self.models).offered())
    }

    /// Returns the definition of one of its agents.
    ///
    /// # Errors
    /// There is no agent with this name.
    pub fn agent(&self, name: &str) -> Result<&Arc<AgentConfig>, HostError> {
        let mut agents = self.agent_definitions.iter();
        let found = agents.find(|agent| agent.name == name);
        found.ok_or_else(|| {
            let names = self.agent_definitions.iter().map(|agent| &*agent.name);
            let (name, known) = (name.escape_debug(), names.collect::<Vec<_>>().join(", "));
            Reason::from(format!("unknown agent `{name}`; the agents are {known}")).into()
        })
    }
}

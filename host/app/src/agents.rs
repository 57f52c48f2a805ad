//! The agents of a configuration that users and clients start, and where their sessions are kept.

use crate::{
    HostError,
    config::{AgentConfig, Config},
    host::{Host, model_of},
};
use agent_host_engine::{
    BoxFuture,
    agents::{Agents, Journals},
    journal::{Journal, JournalError},
    model::Model,
    turn::{Agent, Prompts},
};
use agent_host_journal::JournalStore;
use agent_host_types::id::SessionId;
use std::{collections::BTreeMap, sync::Arc};

/// The models of the agents that have their own, by the agents' names.
pub(crate) type AgentModels = BTreeMap<String, Arc<dyn Model>>;

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
pub(crate) struct StoreJournals(pub(crate) Arc<dyn JournalStore>);

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
        let agent_loop = self.loops.named(agent, &self.model, prompts);
        Ok((agent_loop, agent.system.as_deref().map(str::to_owned)))
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
        let prompts = self.prompts(prompts);
        Ok(self.loops.agents(names, &self.model, prompts, depth))
    }
}

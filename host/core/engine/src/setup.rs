//! The setup of an agent as the journal has it: all that the loop reads besides the session, so
//! that a session can be replayed without its configuration, keys, components and servers.
//!
//! Agents and tools are in tables by their digests. The loop of an agent that is made when it starts
//! is not in the setup of its starter: the session of the agent records its own. Adding a field
//! here needs a default: the journal has older setups, which have all agents to every depth.

#[cfg(test)]
mod tests;

use crate::{
    agents::{AgentLoop, Agents, Journals, LoopSource, SubAgent},
    hook::Hook,
    model::Model,
    program::{Program, ProgramRunner},
    tool_set::{Offer, ToolSet},
    turn::{Agent, ContinuationKey, Settings, StandardMode},
    workflow::{Graph, Handlers},
};
use agent_host_types::{
    budget::Price,
    id::{Digest, json_digest},
    limits::Limits,
    model::Provenance,
    output::Blob,
    reason::Reason,
    tool::{Approval, DecisionKind, Effect, RegisteredTool},
};
use agent_host_workflow::definition::WorkflowDefinition;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The setup of an agent, with that of the agents that it can start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopSetup {
    /// The agent of the session, in `agents`.
    agent: Digest,
    agents: BTreeMap<Digest, AgentSetup>,
    tools: BTreeMap<Digest, ToolSetup>,
}

/// The setup of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSetup {
    /// The model that is called.
    pub model: Provenance,
    /// The model for questions of the loop itself, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_model: Option<Provenance>,
    /// The tools, in the order for the model.
    pub tools: Vec<Digest>,
    /// The settings of the loop.
    pub settings: Settings,
    /// The agents that it can start; absent where agents have no sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Vec<StartedSetup>>,
    /// Whether hooks may add to its prompt, or judge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_hooks: bool,
    /// The workflow that runs in place of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowDefinition>,
    /// The most calls of the program that runs in place of the model, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_calls: Option<usize>,
    /// The names of the handlers of its nodes, which are code of an embedder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<String>,
}

/// A tool as the loop sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSetup {
    /// The tool.
    pub tool: RegisteredTool,
    /// The limits of each call; absent for a tool outside the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Whether the model is offered it only after a search found it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_searched: bool,
}

/// An agent that another one can start: [`SubAgent`] without its loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedSetup {
    name: String,
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    approval: Approval,
    decisions: Vec<DecisionKind>,
    is_interactive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
    definition: Digest,
    /// Its loop, in the table of agents; absent for one that is made when the agent starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Digest>,
    /// The strongest effect among its tools, if its loop is not in the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
}

/// Makes a model, and the small one beside it.
pub(crate) type ModelMaker<'a> = dyn Fn(&Provenance, Option<&Provenance>) -> Arc<dyn Model> + 'a;

/// The parts from which the agents of a setup are made.
pub(crate) struct SetupParts<'a> {
    pub(crate) model: &'a ModelMaker<'a>,
    pub(crate) tools: &'a dyn Fn(Vec<ToolSetup>) -> Arc<ToolSet>,
    /// Makes the loop of an agent, by its strongest effect, from the setup that its session
    /// recorded; the given one is that of a loop without tools, for a session without any.
    pub(crate) deferred: &'a dyn Fn(Effect, LoopSetup) -> Arc<dyn LoopSource>,
    pub(crate) programs: Arc<dyn ProgramRunner>,
    /// The hook of an agent that has hooks.
    pub(crate) hook: Arc<dyn Hook>,
    pub(crate) journals: Arc<dyn Journals>,
    pub(crate) key: ContinuationKey,
}

impl Agent {
    /// Returns the setup for [`crate::session::Session::configure_loop`].
    #[must_use]
    pub fn setup(&self) -> Blob {
        Blob::new(json!(LoopSetup::from_agent(self)).to_string().into_bytes())
    }
}

impl LoopSetup {
    /// Returns the setup of an agent.
    #[must_use]
    pub fn from_agent(agent: &Agent) -> Self {
        let mut tables = Tables::default();
        Self {
            agent: tables.add_agent(agent),
            agents: tables.agents,
            tools: tables.tools,
        }
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// It is not that of a setup.
    pub fn parse(json: &[u8]) -> Result<Self, Reason> {
        serde_json::from_slice(json).map_err(|error| {
            format!("the recorded setup of the loop cannot be read: {error}").into()
        })
    }

    /// Returns the setup of the agent of the session.
    #[must_use]
    pub fn main(&self) -> Option<&AgentSetup> {
        self.agents.get(&self.agent)
    }

    /// Returns the setups of all agents.
    pub fn agents(&self) -> impl Iterator<Item = &AgentSetup> {
        self.agents.values()
    }

    /// Returns a tool of one of its agents.
    #[must_use]
    pub fn tool(&self, digest: &Digest) -> Option<&ToolSetup> {
        self.tools.get(digest)
    }

    /// Makes the agent.
    pub(crate) fn build(&self, parts: &SetupParts<'_>) -> Result<Agent, Reason> {
        let mut builder = Builder {
            setup: self,
            parts,
            built: HashMap::new(),
            under_way: BTreeSet::new(),
        };
        builder.agent(&self.agent)
    }
}

/// The tables of a setup that is made.
#[derive(Default)]
struct Tables {
    agents: BTreeMap<Digest, AgentSetup>,
    tools: BTreeMap<Digest, ToolSetup>,
    /// The agents of each list, by the address of the list.
    started: HashMap<usize, Vec<StartedSetup>>,
}

impl Tables {
    fn add_agent(&mut self, agent: &Agent) -> Digest {
        let tools = agent.tools.entries().map(|entry| {
            let tool = ToolSetup {
                tool: entry.tool.clone(),
                limits: entry.limits().cloned(),
                is_searched: entry.offer == Offer::Found,
            };
            let digest = json_digest(&json!(tool));
            self.tools.insert(digest, tool);
            digest
        });
        let tools = tools.collect();
        let graph = agent.workflow.as_ref();
        let setup = AgentSetup {
            model: agent.model.provenance(),
            small_model: agent.model.small().map(|small| small.provenance()),
            tools,
            settings: agent.settings.clone(),
            starts: agent.agents.as_ref().map(|agents| self.add_agents(agents)),
            has_hooks: !agent.hooks.is_empty(),
            workflow: graph.map(|graph| graph.workflow().definition().clone()),
            program_calls: agent.program.as_ref().map(|program| program.max_calls),
            handlers: graph.map_or_else(Vec::new, |graph| graph.handlers.keys().cloned().collect()),
        };
        let digest = json_digest(&json!(setup));
        self.agents.insert(digest, setup);
        digest
    }

    fn add_agents(&mut self, agents: &Arc<Agents>) -> Vec<StartedSetup> {
        let address = Arc::as_ptr(agents).addr();
        if let Some(known) = self.started.get(&address) {
            return known.clone();
        }
        let (agents, _) = agents.parts();
        let started: Vec<StartedSetup> = agents
            .into_iter()
            .map(|sub| StartedSetup {
                agent: match &sub.agent {
                    AgentLoop::Built(agent) => Some(self.add_agent(agent)),
                    AgentLoop::Deferred(_) => None,
                },
                effect: match &sub.agent {
                    AgentLoop::Built(_) => None,
                    AgentLoop::Deferred(source) => Some(source.effect()),
                },
                name: sub.name,
                description: sub.description.as_ref().to_owned(),
                system: sub.system.as_deref().map(str::to_owned),
                approval: sub.approval,
                decisions: sub.decisions,
                is_interactive: sub.is_interactive,
                price: sub.price,
                definition: sub.definition,
            })
            .collect();
        self.started.insert(address, started.clone());
        started
    }
}

/// Returns the error of an agent or a tool that is not in its table.
fn missing(digest: &Digest) -> Reason {
    format!("the recorded setup of the loop refers to {digest}, which it does not contain").into()
}

/// Makes agents of a setup, each once.
struct Builder<'a> {
    setup: &'a LoopSetup,
    parts: &'a SetupParts<'a>,
    built: HashMap<Digest, Agent>,
    under_way: BTreeSet<Digest>,
}

impl Builder<'_> {
    fn agent(&mut self, digest: &Digest) -> Result<Agent, Reason> {
        if let Some(built) = self.built.get(digest) {
            return Ok(built.clone());
        }
        let setup = self
            .setup
            .agents
            .get(digest)
            .ok_or_else(|| missing(digest))?;
        if !self.under_way.insert(*digest) {
            let why = "the recorded setup of the loop has agents that start each other endlessly";
            return Err(why.into());
        }
        let tools = setup.tools.iter().map(|tool| {
            let found = self.setup.tools.get(tool).cloned();
            found.ok_or_else(|| missing(tool))
        });
        let tools = tools.collect::<Result<Vec<_>, _>>()?;
        let agents = match &setup.starts {
            Some(starts) => Some(self.agents(setup, starts)?),
            None => None,
        };
        let mut agent = Agent {
            model: (self.parts.model)(&setup.model, setup.small_model.as_ref()),
            tools: (self.parts.tools)(tools),
            agents,
            workflow: None,
            program: setup.program_calls.map(|max_calls| {
                Arc::new(Program {
                    runner: Arc::clone(&self.parts.programs),
                    max_calls,
                })
            }),
            hooks: match setup.has_hooks {
                true => vec![Arc::clone(&self.parts.hook)],
                false => Vec::new(),
            },
            mode: Arc::new(StandardMode),
            key: self.parts.key.clone(),
            settings: setup.settings.clone(),
        };
        agent.workflow = setup.graph(&agent)?;
        self.under_way.remove(digest);
        self.built.insert(*digest, agent.clone());
        Ok(agent)
    }

    fn agents(
        &mut self,
        starter: &AgentSetup,
        starts: &[StartedSetup],
    ) -> Result<Arc<Agents>, Reason> {
        let agents = starts.iter().map(|start| {
            Ok(SubAgent {
                name: start.name.clone(),
                description: start.description.as_str().into(),
                system: start.system.as_deref().map(Into::into),
                agent: match &start.agent {
                    Some(digest) => self.agent(digest)?.into(),
                    None => {
                        let effect = start.effect.unwrap_or(Effect::Effectful);
                        AgentLoop::Deferred((self.parts.deferred)(effect, starter.bare()))
                    }
                },
                approval: start.approval,
                decisions: start.decisions.clone(),
                is_interactive: start.is_interactive,
                price: start.price,
                definition: start.definition,
            })
        });
        let agents = agents.collect::<Result<Vec<_>, Reason>>()?;
        Ok(Arc::new(Agents::new(agents, self.parts.journals.clone())))
    }
}

impl AgentSetup {
    /// Returns the setup of a loop with the same model and settings, and without tools.
    fn bare(&self) -> LoopSetup {
        let agent = Digest::of(b"bare");
        let setup = Self {
            model: self.model.clone(),
            small_model: self.small_model.clone(),
            tools: Vec::new(),
            settings: self.settings.clone(),
            starts: None,
            has_hooks: false,
            workflow: None,
            program_calls: None,
            handlers: Vec::new(),
        };
        LoopSetup {
            agent,
            agents: BTreeMap::from([(agent, setup)]),
            tools: BTreeMap::new(),
        }
    }

    fn graph(&self, agent: &Agent) -> Result<Option<Arc<Graph>>, Reason> {
        let Some(definition) = &self.workflow else {
            return Ok(None);
        };
        if !self.handlers.is_empty() {
            let handlers = self.handlers.join(", ");
            let why =
                format!("handlers of the workflow are code in the program that ran it: {handlers}");
            return Err(why.into());
        }
        let graph = Graph::check(definition, agent, Handlers::new()).map_err(|faults| {
            let faults = faults.iter().map(ToString::to_string);
            let faults = faults.collect::<Vec<_>>().join("; ");
            format!("the recorded workflow does not match the recorded tools: {faults}")
        })?;
        Ok(Some(Arc::new(graph)))
    }
}

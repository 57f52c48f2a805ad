//! The loops of agents that others can start. That of a configured agent is made when it starts: an
//! agent that nothing starts costs its name and its description alone, however many agents may
//! start each other.

use crate::turn::Agent;
use agent_host_types::{id::SessionId, output::Blob, tool::Effect, turn::TurnError};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// The loop of an agent that others can start.
#[derive(Clone)]
pub enum AgentLoop {
    /// A loop that exists, such as that of the programs of an agent. Its setup is a part of the
    /// setup of the one that starts it.
    Built(Box<Agent>),
    /// A loop that is made when the agent starts. The session of the agent records its setup.
    Deferred(Arc<dyn LoopSource>),
}

/// Makes the loop of an agent when it starts.
pub trait LoopSource: Send + Sync {
    /// Returns the strongest effect among the tools of the loop, without making it.
    fn effect(&self) -> Effect;

    /// Makes the loop for a session of the agent.
    ///
    /// # Errors
    /// It cannot be made; a live one always can, and that of a replay is in the recording.
    fn make(&self, session: SessionId) -> Result<MadeLoop, TurnError>;
}

/// A loop that was made.
#[derive(Debug)]
pub struct MadeLoop {
    /// The loop.
    pub agent: Agent,
    /// The setup to record for it; [`Agent::setup`] if absent.
    pub setup: Option<Blob>,
}

impl AgentLoop {
    /// Returns the loop for a session of the agent.
    ///
    /// # Errors
    /// That of [`LoopSource::make`].
    pub fn make(&self, session: SessionId) -> Result<MadeLoop, TurnError> {
        match self {
            Self::Built(agent) => Ok(MadeLoop {
                agent: agent.as_ref().clone(),
                setup: None,
            }),
            Self::Deferred(source) => source.make(session),
        }
    }

    /// Returns the loop with a change, which one that is made later gets when it is made.
    #[must_use]
    pub fn map(self, change: impl Fn(Agent) -> Agent + Send + Sync + 'static) -> Self {
        match self {
            Self::Built(agent) => Self::Built(Box::new(change(*agent))),
            Self::Deferred(source) => Self::Deferred(Arc::new(Changed {
                source,
                change,
                made: OnceLock::new(),
            })),
        }
    }

    pub(super) fn effect(&self) -> Effect {
        match self {
            Self::Built(agent) => {
                let tools = agent.tools.tools();
                let strongest = tools.map(|tool| tool.effect).max();
                strongest.unwrap_or(Effect::ReadOnly)
            }
            Self::Deferred(source) => source.effect(),
        }
    }
}

impl From<Agent> for AgentLoop {
    fn from(agent: Agent) -> Self {
        Self::Built(Box::new(agent))
    }
}

impl fmt::Debug for AgentLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Built(agent) => agent.fmt(f),
            Self::Deferred(_) => f.write_str("Deferred"),
        }
    }
}

/// A loop that is changed when it is made.
struct Changed<F> {
    source: Arc<dyn LoopSource>,
    change: F,
    made: OnceLock<Agent>,
}

impl<F: Fn(Agent) -> Agent + Send + Sync> LoopSource for Changed<F> {
    fn effect(&self) -> Effect {
        self.source.effect()
    }

    fn make(&self, session: SessionId) -> Result<MadeLoop, TurnError> {
        let agent = match self.made.get() {
            Some(made) => made.clone(),
            None => {
                let agent = (self.change)(self.source.make(session)?.agent);
                self.made.get_or_init(|| agent).clone()
            }
        };
        Ok(MadeLoop { agent, setup: None })
    }
}

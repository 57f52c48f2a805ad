//! The agents that an agent can start. Each is a tool of the model, and a call of it is a child
//! session with the agent's own model, tools and journal.

mod deferred;

pub use deferred::{AgentLoop, LoopSource, MadeLoop};

use crate::{
    BoxFuture,
    journal::{Journal, JournalError},
    program::{MAX_CODE_CHARACTERS, RUN_PROGRAM},
    schema::InputSchema,
    tool_set::{Offer, ToolEntry},
    turn::Agent,
};
use agent_host_types::{
    budget::Price,
    id::{Digest, SessionId},
    tool::{
        Approval, DecisionKind, Effect, RegisteredTool, SummaryTemplate, ToolDefinition,
        ToolRuntime,
    },
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

/// The beginning of the names of the tools.
pub const TOOL_PREFIX: &str = "agent_";

/// Opens the journals of child sessions.
pub trait Journals: Send + Sync {
    /// Opens the journal of a session for writing; a new one where there is none.
    ///
    /// # Errors
    /// When it cannot be opened, or another process writes to it.
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Arc<dyn Journal>, JournalError>>;
}

/// An agent that others can start.
#[derive(Clone, Debug)]
pub struct SubAgent {
    /// The name.
    pub name: String,
    /// The description for the model of the agent that starts it.
    pub description: Arc<str>,
    /// The system prompt.
    pub system: Option<Arc<str>>,
    /// The loop: its model, its tools, its own agents and settings.
    pub agent: AgentLoop,
    /// When starting it needs approval. Its calls are decided on one by one in any case.
    pub approval: Approval,
    /// The decisions that the user may take about that; not empty.
    pub decisions: Vec<DecisionKind>,
    /// Whether its calls can wait for the user. If not, what would wait is denied.
    pub is_interactive: bool,
    /// The price of its model, if that is known.
    pub price: Option<Price>,
    /// The digest of its definition.
    pub definition: Digest,
}

impl SubAgent {
    /// Returns the name of its tool.
    #[must_use]
    pub fn tool_name(&self) -> String {
        match self.program_loop() {
            Some(_) => RUN_PROGRAM.to_owned(),
            None => format!("{TOOL_PREFIX}{}", self.name),
        }
    }

    /// Returns the loop of the programs of the agent that starts it; none for an agent.
    #[must_use]
    pub fn program_loop(&self) -> Option<&Agent> {
        match &self.agent {
            AgentLoop::Built(agent) => agent.program.is_some().then_some(agent),
            AgentLoop::Deferred(_) => None,
        }
    }

    /// Returns the strongest effect among its tools, which is that of starting it.
    pub(crate) fn effect(&self) -> Effect {
        self.agent.effect()
    }

    fn title(&self) -> String {
        match self.program_loop() {
            Some(_) => "Run a program".to_owned(),
            None => format!("Start the agent {}", self.name),
        }
    }

    /// Returns the template of the summary of its calls.
    fn summary(&self) -> SummaryTemplate {
        SummaryTemplate::own(&match self.program_loop() {
            Some(_) => "Ran a program  {code|lines|count:line:lines}".to_owned(),
            None => format!("Asked the agent {}", self.name),
        })
    }

    fn tool(&self) -> Option<ToolEntry> {
        let effect = self.effect();
        let (source, schema) = match self.program_loop() {
            Some(_) => PROGRAM_SCHEMA.as_ref()?,
            None => AGENT_SCHEMA.as_ref()?,
        };
        let tool = RegisteredTool {
            definition: Arc::new(ToolDefinition {
                name: self.tool_name(),
                title: Some(self.title()),
                description: self.description.as_ref().to_owned(),
                input_schema: source.clone(),
                output_schema: None,
                effect,
            }),
            effect,
            approval: self.approval,
            decisions: self.decisions.clone(),
            runtime: ToolRuntime::Agent,
            component: Some(self.definition),
            destination: None,
            summary: Some(self.summary()),
        };
        Some(ToolEntry {
            tool,
            schema: Arc::clone(schema),
            handler: None,
            offer: Offer::Always,
        })
    }
}

/// A schema as it is written, and compiled.
type CompiledSchema = (Value, Arc<InputSchema>);

fn compiled(schema: Value) -> Option<CompiledSchema> {
    let compiled = InputSchema::compile(&schema).ok()?;
    Some((schema, Arc::new(compiled)))
}

/// The schema of the tools that start agents, compiled once.
static AGENT_SCHEMA: LazyLock<Option<CompiledSchema>> = LazyLock::new(|| {
    compiled(json!({
        "type": "object",
        "properties": {
            "instructions": {
                "type": "string",
                "minLength": 1,
                "description": "What the agent should do and return. It does not see this conversation.",
            },
            "context": {
                "type": "object",
                "description": "Values that it needs.",
            },
        },
        "required": ["instructions"],
        "additionalProperties": false,
    }))
});

/// The schema of the tool that runs programs, compiled once.
static PROGRAM_SCHEMA: LazyLock<Option<CompiledSchema>> = LazyLock::new(|| {
    compiled(json!({
        "type": "object",
        "properties": {
            "code": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_CODE_CHARACTERS,
                "description": "The program.",
            },
        },
        "required": ["code"],
        "additionalProperties": false,
    }))
});

/// The agents that an agent can start.
pub struct Agents {
    by_tool: BTreeMap<String, SubAgent>,
    journals: Arc<dyn Journals>,
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_tool.values()).finish()
    }
}

impl Agents {
    /// Creates a set of agents whose sessions have these journals. Of two with the same name the
    /// last counts.
    #[must_use]
    pub fn new(agents: Vec<SubAgent>, journals: Arc<dyn Journals>) -> Self {
        let named = agents.into_iter().map(|mut agent| {
            // The calls of a program are those of the agent that wrote it.
            if let AgentLoop::Built(built) = &mut agent.agent
                && built.program.is_none()
            {
                built.settings.agent = Some(agent.name.clone());
            }
            (agent.tool_name(), agent)
        });
        Self {
            by_tool: named.collect(),
            journals,
        }
    }

    /// Returns the agents and what opens their journals, for one who wraps them.
    #[must_use]
    pub fn parts(&self) -> (Vec<SubAgent>, Arc<dyn Journals>) {
        let agents = self.by_tool.values().cloned().collect();
        (agents, self.journals.clone())
    }

    /// Returns the tools that start these agents.
    pub fn tools(&self) -> impl Iterator<Item = ToolEntry> {
        self.by_tool.values().filter_map(SubAgent::tool)
    }

    /// Returns the agent that a tool starts.
    pub(crate) fn of_tool(&self, tool: &str) -> Option<&SubAgent> {
        self.by_tool.get(tool)
    }

    /// Returns an agent by its name.
    pub(crate) fn named(&self, name: &str) -> Option<&SubAgent> {
        let mut agents = self.by_tool.values();
        agents.find(|agent| agent.name == name)
    }

    pub(crate) fn journals(&self) -> &dyn Journals {
        self.journals.as_ref()
    }
}

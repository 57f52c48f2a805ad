//! The figures of what sessions use, and the sums of them that stores keep: one fold over events.
//!
//! A store keeps a [`SessionStats`] beside each session, and adds what it returns to the sums of
//! its owner. Sums are linear: those of a session that is removed are subtracted again.

mod sums;
#[cfg(test)]
mod tests;

use crate::{
    event::Event,
    id::SessionId,
    model::{Provenance, Usage},
    session_status::SessionPhase,
    words,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use sums::{Figures, SUM_COLUMNS, Sum, SumKey, Sums};

/// The row of what no model request preceded, such as the calls of a client with its own loop.
const NO_MODEL: &str = "(none)";

/// The row of the sessions of the file's top level. No configured agent has this name.
const TOP_LEVEL: &str = "(top level)";

/// The row of agents of which the session that started them is gone.
const UNKNOWN_AGENT: &str = "(unknown)";

/// The row of the names of a session beyond [`MAX_NAMES`].
const OTHERS: &str = "(others)";

/// The longest name of a row, in characters: a model may call tools of any name.
const MAX_NAME_CHARS: usize = 128;

/// The most rows of one kind that a session has, so that its state is bounded.
const MAX_NAMES: usize = 128;

/// The calls after which those of an open run are added to the sums of a store.
const MAX_PENDING_CALLS: i64 = 64;

/// A day, in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// The kinds of the events that have a [`StatsChange`].
pub const STATS_KINDS: [&str; 9] = [
    "session-forked",
    "run-configured",
    "agent-spawned",
    "model-requested",
    "model-replied",
    "history-summarised",
    "turn-interrupted",
    "call-settled",
    "node-settled",
];

words! {
    /// The subject of the rows of figures.
    #[derive(Default, strum::EnumString)]
    pub enum StatsBy {
        /// Days, in UTC.
        #[default]
        Day,
        /// Models, as `provider:model`. A tool call belongs to the model that was asked last.
        Model,
        /// Tools, with their calls alone.
        Tool,
        /// Agents, by their names.
        Agent,
    }
}

/// The input of the fold: what an event does to the figures of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsChange {
    /// The events so far are copied, and count for the original alone.
    Copy,
    /// The following runs are those of an agent; `None` for the file's top level.
    Agent(Option<String>),
    /// The session of an agent is started.
    Spawned {
        /// The session.
        session: SessionId,
        /// The name of the agent.
        agent: String,
    },
    /// A model is asked.
    Model(String),
    /// A call of a model ends; without a name, of the one that was asked last.
    ModelCall(Option<String>, Figures),
    /// The model of a summary, which is not that of the conversation.
    Summary(String, Figures),
    /// A call of a tool ends.
    ToolCall(String, Figures),
}

impl StatsChange {
    /// Returns what an event does to the figures.
    #[must_use]
    pub fn from_event(event: &Event) -> Option<Self> {
        let name = |model: &Provenance| format!("{}:{}", model.provider, model.model);
        Some(match event {
            Event::SessionForked { .. } => Self::Copy,
            Event::RunConfigured { arguments } => Self::Agent(arguments.agent.clone()),
            Event::AgentSpawned { session, agent, .. } => Self::Spawned {
                session: *session,
                agent: agent.clone(),
            },
            Event::ModelRequested { provenance, .. } => Self::Model(name(provenance)),
            Event::ModelReplied {
                reply, discarded, ..
            } => {
                let mut usage = reply.usage;
                usage += *discarded;
                let model = reply.provenance.as_ref().map(name);
                Self::ModelCall(model, Figures::of_model_call(usage))
            }
            Event::HistorySummarised {
                provenance, usage, ..
            } => Self::Summary(name(provenance), Figures::of_model_call(*usage)),
            Event::TurnInterrupted { lost_tokens } if *lost_tokens > 0 => {
                let lost = Usage {
                    input_tokens: *lost_tokens,
                    ..Usage::default()
                };
                Self::ModelCall(None, Figures::of_model_call(lost))
            }
            event => {
                let end = event.call_end()?;
                // An attempt that another one follows counts with that one.
                Self::ToolCall(end.tool?.to_owned(), Figures::of_call(&end))
            }
        })
    }
}

/// The state of the fold over the events of one session, as a store keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStats {
    /// The model that was asked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The agent of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Whether a call of another session started it, which named the agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_of_agent: bool,
    /// The last day on which the session used each row.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    days: BTreeMap<StatsBy, BTreeMap<String, u32>>,
    /// The figures that are not in the sums of the store yet.
    #[serde(skip_serializing_if = "Sums::is_empty")]
    pending: Sums,
}

impl SessionStats {
    /// Starts the fold of the session of an agent, whose name is `None` if it is not known.
    #[must_use]
    pub fn of_agent(name: Option<&str>) -> Self {
        Self {
            agent: Some(name.unwrap_or(UNKNOWN_AGENT).to_owned()),
            is_of_agent: true,
            ..Self::default()
        }
    }

    /// Starts the fold of this session again.
    #[must_use]
    pub fn restarted(&self) -> Self {
        match self.is_of_agent {
            true => Self::of_agent(self.agent.as_deref()),
            false => Self::default(),
        }
    }

    /// Adds what an event at this time, in milliseconds since 1970, does to the figures.
    pub fn add(&mut self, at_ms: u64, change: &StatsChange) {
        match change {
            StatsChange::Copy => {
                self.days.clear();
                self.pending = Sums::default();
            }
            StatsChange::Agent(_) if self.is_of_agent => {}
            StatsChange::Agent(agent) => self.agent.clone_from(agent),
            StatsChange::Model(model) => self.model = Some(model.clone()),
            StatsChange::ModelCall(model, figures) => {
                if model.is_some() {
                    self.model.clone_from(model);
                }
                self.count(at_ms, None, *figures);
            }
            StatsChange::Summary(model, figures) => {
                let asked = self.model.replace(model.clone());
                self.count(at_ms, None, *figures);
                self.model = asked;
            }
            StatsChange::ToolCall(tool, figures) => self.count(at_ms, Some(tool), *figures),
            StatsChange::Spawned { .. } => {}
        }
    }

    fn count(&mut self, at_ms: u64, tool: Option<&str>, figures: Figures) {
        let day = u32::try_from(at_ms / DAY_MS).unwrap_or(u32::MAX);
        // A clock that goes back begins no day again, so that a session counts once in each.
        let days = self.days.get(&StatsBy::Day);
        let last = days.and_then(|days| days.get("")).copied();
        let day = day.max(last.unwrap_or(0));
        let model = self.model.as_deref().unwrap_or(NO_MODEL).to_owned();
        let agent = self.agent.as_deref().unwrap_or(TOP_LEVEL).to_owned();
        self.count_row(day, StatsBy::Day, "", figures);
        self.count_row(day, StatsBy::Model, &model, figures);
        self.count_row(day, StatsBy::Agent, &agent, figures);
        if let Some(tool) = tool {
            self.count_row(day, StatsBy::Tool, tool, figures);
        }
    }

    fn count_row(&mut self, day: u32, by: StatsBy, name: &str, figures: Figures) {
        let days = self.days.entry(by).or_default();
        // PostgreSQL's texts have no NUL.
        let chars = name.chars().map(|c| if c == '\0' { '\u{fffd}' } else { c });
        let mut name: String = chars.take(MAX_NAME_CHARS).collect();
        if days.len() >= MAX_NAMES && !days.contains_key(&name) {
            OTHERS.clone_into(&mut name);
        }
        let last = days.insert(name.clone(), day);
        let mut sum = figures.sum();
        if last != Some(day) {
            let [sessions, .., last_sessions] = &mut sum;
            (*sessions, *last_sessions) = (1, 1);
        }
        if let Some(last) = last.filter(|last| *last != day) {
            let mut moved = Sum::default();
            let [.., last_sessions] = &mut moved;
            *last_sessions = -1;
            self.pending.add((last, by, name.clone()), moved);
        }
        self.pending.add((day, by, name), sum);
    }

    /// Returns the figures that are not in the sums of the store yet.
    #[must_use]
    pub fn pending(&self) -> &Sums {
        &self.pending
    }

    /// Takes the figures that are not in the sums of the store yet.
    pub fn take_pending(&mut self) -> Sums {
        std::mem::take(&mut self.pending)
    }

    /// Takes the figures to add to the sums of the store with events that lead to this phase: those
    /// of a run at its end, so that it costs one write, and of a long run also before its end.
    pub fn take_due(&mut self, phase: SessionPhase) -> Sums {
        let is_open = phase.depends_on_claim() || phase == SessionPhase::ClientIdle;
        match is_open && self.pending.calls() < MAX_PENDING_CALLS {
            true => Sums::default(),
            false => self.take_pending(),
        }
    }
}

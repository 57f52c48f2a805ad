//! The use of models and tools in all sessions of a store, read from the journal.

use crate::config::parse_days;
use agent_host_engine::journal::JournalError;
use agent_host_journal::{JournalStore, SessionScope};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    model::{Provenance, Usage},
    output::ToolResultOutput,
    workflow::NodeOutput,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The row of what no model request preceded, such as the calls of a client with its own loop.
const NO_MODEL: &str = "(none)";

/// The row of the sessions of the file's top level. No configured agent has this name.
const TOP_LEVEL: &str = "(top level)";

/// The row of agents of which the session that started them is gone.
const UNKNOWN_AGENT: &str = "(unknown)";

/// A day, in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// The subject of the rows of [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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

/// The first moment that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The beginning of a day in UTC, in milliseconds since 1970.
    Date(u64),
    /// The beginning of the first of this many days, today included.
    Days(u32),
}

impl Since {
    /// Parses `YYYY-MM-DD`, or a number of days as [`parse_days`] does.
    ///
    /// # Errors
    /// The text is none of both; the message says what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        // A longer text may be a date with a time, which would be ignored.
        let date = (text.len() == "YYYY-MM-DD".len()).then(|| text.parse::<Date>());
        if let Some(Ok(date)) = date {
            let start = date
                .to_zoned(TimeZone::UTC)
                .map_err(|error| error.to_string())?;
            let millis = start.timestamp().as_millisecond();
            return Ok(Self::Date(u64::try_from(millis).unwrap_or(0)));
        }
        let days = parse_days(text).map_err(|why| format!("{why}; or a date, YYYY-MM-DD"))?;
        Ok(Self::Days(days))
    }

    /// Returns the moment in milliseconds since 1970, seen from `now_ms`.
    #[must_use]
    pub fn start_ms(self, now_ms: u64) -> u64 {
        match self {
            Self::Date(start) => start,
            Self::Days(days) => {
                let before = u64::from(days.saturating_sub(1)).saturating_mul(DAY_MS);
                (now_ms - now_ms % DAY_MS).saturating_sub(before)
            }
        }
    }
}

/// The figures of a day, a model, a tool or an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Figures {
    /// The sessions with anything of it, those of agents included.
    pub sessions: u64,
    /// The replies of models and the summaries, and the requests whose reply was lost.
    pub model_calls: u64,
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// The tokens read from the provider's cache, included in `input_tokens`.
    pub cached_input_tokens: u64,
    /// The tokens written to the provider's cache, included in `input_tokens`.
    pub cache_write_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// The cost of the tokens whose price is known, in millionths of a US dollar.
    pub cost_micros: u64,
    /// The model calls of which the price of some tokens is not known.
    pub unpriced_model_calls: u64,
    /// The tool calls that ended, those that did not run included.
    pub tool_calls: u64,
    /// Those that failed. Attempts of nodes that are repeated are not counted.
    pub failed: u64,
    /// Those that were denied.
    pub denied: u64,
    /// The time of the tool calls, in microseconds.
    pub tool_us: u64,
}

impl Figures {
    fn add(&mut self, other: &Self) {
        let sum = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        sum(&mut self.sessions, other.sessions);
        sum(&mut self.model_calls, other.model_calls);
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.cached_input_tokens, other.cached_input_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.cost_micros, other.cost_micros);
        sum(&mut self.unpriced_model_calls, other.unpriced_model_calls);
        sum(&mut self.tool_calls, other.tool_calls);
        sum(&mut self.failed, other.failed);
        sum(&mut self.denied, other.denied);
        sum(&mut self.tool_us, other.tool_us);
    }

    fn of_model_call(usage: Usage) -> Self {
        Self {
            model_calls: 1,
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            cost_micros: usage.cost_micros.unwrap_or(0),
            unpriced_model_calls: u64::from(usage.cost_micros.is_none() && !usage.is_none()),
            ..Self::default()
        }
    }

    fn of_call(output: Option<&ToolResultOutput>, has_failed: bool, tool_us: u64) -> Self {
        let denied = matches!(output, Some(ToolResultOutput::ExecutionDenied(_)));
        Self {
            tool_calls: 1,
            failed: u64::from(has_failed && !denied),
            denied: u64::from(denied),
            tool_us,
            ..Self::default()
        }
    }
}

/// A row of [`Stats`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatsRow {
    /// The day, the model, the tool or the agent.
    pub name: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The use of models and tools in all sessions of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stats {
    /// The subject of the rows.
    pub by: StatsBy,
    /// Days in order; the others by cost, tokens and calls.
    pub rows: Vec<StatsRow>,
    /// The figures of everything, also of what is in no row.
    pub total: Figures,
    /// The sessions that cannot be read, of which nothing is counted.
    pub unreadable: Vec<SessionId>,
}

impl Stats {
    /// Reads the events of the sessions of a scope from `since_ms` on, in milliseconds since 1970.
    ///
    /// The session of an agent counts for itself, and not again in the one that started it. What a
    /// copy took over counts for the original alone.
    ///
    /// # Errors
    /// The sessions cannot be listed.
    pub async fn read(
        store: &dyn JournalStore,
        scope: SessionScope,
        by: StatsBy,
        since_ms: u64,
    ) -> Result<Self, JournalError> {
        let (mut rows, mut total) = (BTreeMap::<String, Figures>::new(), Figures::default());
        let (mut unreadable, mut agents) = (Vec::new(), BTreeMap::new());
        let mut of_agents = Vec::new();
        for session in store.list_in(scope).await? {
            // The names of agents are in the sessions that started them.
            if session.last_ms < since_ms && by != StatsBy::Agent {
                continue;
            }
            let mut own = SessionStats::new(by, since_ms);
            let read = store.for_each_record(session.id, |record| own.add(record));
            if read.await.is_err() {
                unreadable.push(session.id);
                continue;
            }
            agents.append(&mut own.spawned);
            total.add(&own.total.counted());
            match session.parent {
                Some(_) if by == StatsBy::Agent => of_agents.push((session.id, own.total)),
                _ => own.rows.into_iter().for_each(|(name, figures)| {
                    rows.entry(name).or_default().add(&figures.counted());
                }),
            }
        }
        for (session, figures) in of_agents {
            let name = agents.get(&session).map_or(UNKNOWN_AGENT, String::as_str);
            let row = rows.entry(name.to_owned()).or_default();
            row.add(&figures.counted());
        }
        rows.retain(|_, figures| figures.sessions > 0);
        let rows = rows
            .into_iter()
            .map(|(name, figures)| StatsRow { name, figures });
        let mut rows: Vec<StatsRow> = rows.collect();
        if by != StatsBy::Day {
            rows.sort_by_key(|row| std::cmp::Reverse(weight(&row.figures)));
        }
        unreadable.sort_unstable();
        Ok(Self {
            by,
            rows,
            total,
            unreadable,
        })
    }
}

impl Figures {
    /// Returns the figures of one session as those of a row.
    fn counted(self) -> Self {
        Self {
            sessions: u64::from(self.model_calls > 0 || self.tool_calls > 0),
            ..self
        }
    }
}

fn weight(figures: &Figures) -> (u64, u64, u64) {
    let tokens = figures.input_tokens.saturating_add(figures.output_tokens);
    (figures.cost_micros, tokens, figures.tool_calls)
}

/// The figures of one session.
struct SessionStats {
    by: StatsBy,
    since_ms: u64,
    rows: BTreeMap<String, Figures>,
    total: Figures,
    /// The agents that it started.
    spawned: BTreeMap<SessionId, String>,
    model: Option<Provenance>,
    agent: Option<String>,
}

impl SessionStats {
    fn new(by: StatsBy, since_ms: u64) -> Self {
        Self {
            by,
            since_ms,
            rows: BTreeMap::new(),
            total: Figures::default(),
            spawned: BTreeMap::new(),
            model: None,
            agent: None,
        }
    }

    fn add(&mut self, record: EventRecord) {
        let EventRecord { at_ms, event, .. } = record;
        match event {
            Event::SessionForked { .. } => {
                self.rows.clear();
                self.spawned.clear();
                self.total = Figures::default();
            }
            Event::RunConfigured { arguments } => self.agent = arguments.agent,
            Event::AgentSpawned { session, agent, .. } => {
                self.spawned.insert(session, agent);
            }
            Event::ModelRequested { provenance, .. } => self.model = Some(provenance),
            Event::ModelReplied {
                reply, discarded, ..
            } => {
                if reply.provenance.is_some() {
                    self.model = reply.provenance;
                }
                let mut usage = reply.usage;
                usage += discarded;
                self.count_model_call(at_ms, usage);
            }
            Event::HistorySummarised {
                provenance, usage, ..
            } => {
                let model = self.model.replace(provenance);
                self.count_model_call(at_ms, usage);
                self.model = model;
            }
            Event::TurnInterrupted { lost_tokens } if lost_tokens > 0 => {
                let lost = Usage {
                    input_tokens: lost_tokens,
                    ..Usage::default()
                };
                self.count_model_call(at_ms, lost);
            }
            Event::CallSettled {
                tool,
                output,
                accounting,
                ..
            } => {
                let figures =
                    Figures::of_call(Some(&output), !output.is_success(), accounting.wall_us);
                self.count(at_ms, Some(tool), &figures);
            }
            Event::NodeSettled {
                tool,
                output,
                accounting,
                ..
            } => {
                let NodeOutput { output, error, .. } = output;
                let figures =
                    Figures::of_call(output.as_ref(), error.is_some(), accounting.wall_us);
                self.count(at_ms, Some(tool), &figures);
            }
            _ => {}
        }
    }

    fn count_model_call(&mut self, at_ms: u64, usage: Usage) {
        self.count(at_ms, None, &Figures::of_model_call(usage));
    }

    fn count(&mut self, at_ms: u64, tool: Option<String>, figures: &Figures) {
        if at_ms < self.since_ms {
            return;
        }
        self.total.add(figures);
        let name = match self.by {
            StatsBy::Day => day(at_ms),
            StatsBy::Model => self.model.as_ref().map_or_else(
                || NO_MODEL.to_owned(),
                |model| format!("{}:{}", model.provider, model.model),
            ),
            StatsBy::Agent => self.agent.clone().unwrap_or_else(|| TOP_LEVEL.to_owned()),
            StatsBy::Tool => match tool {
                Some(tool) => tool,
                None => return,
            },
        };
        self.rows.entry(name).or_default().add(figures);
    }
}

/// Returns the day of a moment in UTC, `YYYY-MM-DD`.
fn day(at_ms: u64) -> String {
    let time = i64::try_from(at_ms).map(Timestamp::from_millisecond);
    match time {
        Ok(Ok(time)) => time.to_zoned(TimeZone::UTC).date().to_string(),
        // A damaged record; no clock shows such a time.
        _ => "(no date)".to_owned(),
    }
}

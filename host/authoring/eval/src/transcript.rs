//! The lines of `run --output-format stream-json`, reduced to what expectations are about. Memory
//! is bounded whatever a run prints.

#[cfg(test)]
mod tests;

use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    budget::Price,
    event::Event,
    id::{CallId, SessionId},
    model::{Provenance, Usage},
    output::ToolResultOutput,
    tool::ToolCall,
    turn::{TurnEnd, TurnReport},
    workflow::text_of,
};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value};
use std::{collections::HashMap, ops::AddAssign, sync::Arc};

/// The most bytes of arguments, results and answers that are kept of a run.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// The most calls of a run.
const MAX_CALLS: usize = 100_000;

/// The most denials that are kept.
const MAX_DENIALS: usize = 100;

/// A line that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The line is not one of `stream-json`.
    #[error("a line of the run is not valid `stream-json` ({0})")]
    Form(#[from] serde_json::Error),
    /// The line is neither an event nor transient.
    #[error("a line of the run's output is not an event, and has no `live` key")]
    Unknown,
    /// The run made too many calls, or its texts are too long.
    #[error(
        "the run has more than {MAX_CALLS} calls, or more than {MAX_KEPT_BYTES} bytes of arguments and results"
    )]
    TooMuch,
}

/// The run of a case as its lines tell it.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The settled calls of the model, of agents and of programs, in order; denied ones, too.
    pub calls: Vec<Call>,
    /// The answer of the last turn; absent without one.
    pub answer: Option<String>,
    /// The denied calls and requests of calls, in words; at most 100.
    pub denials: Vec<String>,
    /// Why the last turn did not end with an answer, in words.
    pub problem: Option<String>,
    /// The figures.
    pub figures: Figures,
    /// The replies without a cost, each with its model.
    pub(crate) unpriced: Vec<(Provenance, Usage)>,
    /// The cost of the other replies, in millionths of a US dollar.
    pub(crate) priced_micros: u64,
    /// The model that was asked last in each session.
    pub(crate) models: HashMap<SessionId, Provenance>,
    /// The arguments of calls that have not settled.
    pub(crate) open: HashMap<(SessionId, CallId), Arc<Map<String, Value>>>,
    pub(crate) kept_bytes: usize,
}

/// A settled call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// The arguments; empty where they are not a JSON object.
    pub input: Arc<Map<String, Value>>,
    /// The variant of the result, such as `text` or `execution-denied`.
    pub outcome: &'static str,
    /// The result as text: JSON as it is written, of several parts the texts.
    pub result: String,
}

/// The figures of a run, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// The model calls, those of agents included.
    pub turns: u64,
    /// The settled tool calls.
    pub tool_calls: u64,
    /// The tokens read.
    pub input_tokens: u64,
    /// The tokens written.
    pub output_tokens: u64,
    /// The cost in millionths of a US dollar; null where a price is not known.
    pub cost_micros: Option<u64>,
    /// The time from start to end, in milliseconds.
    pub duration_ms: u64,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            turns: 0,
            tool_calls: 0,
            input_tokens: 0,
            output_tokens: 0,
            cost_micros: Some(0),
            duration_ms: 0,
        }
    }
}

impl Figures {
    /// Returns the tokens, read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        let costs = self.cost_micros.zip(other.cost_micros);
        *self = Self {
            turns: self.turns.saturating_add(other.turns),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micros: costs.map(|(one, other)| one.saturating_add(other)),
            duration_ms: self.duration_ms.saturating_add(other.duration_ms),
        };
    }
}

/// A line; other keys are not used.
#[derive(Deserialize)]
struct Line {
    session: Option<SessionId>,
    event: Option<Event>,
    live: Option<IgnoredAny>,
    /// The calls that lead to the agent of the line.
    #[serde(default)]
    path: Vec<CallId>,
}

impl Transcript {
    /// Takes a line.
    ///
    /// # Errors
    /// It is not a line of a run, or the run has too much in it.
    pub fn line(&mut self, line: &[u8]) -> Result<(), TranscriptError> {
        let line: Line = serde_json::from_slice(line)?;
        match (line.session, line.event) {
            (Some(session), Some(event)) => self.event(session, event, line.path.is_empty()),
            _ if line.live.is_some() => Ok(()),
            _ => Err(TranscriptError::Unknown),
        }
    }

    /// Takes an event; `is_top` is false for one of an agent that another one started.
    fn event(
        &mut self,
        session: SessionId,
        event: Event,
        is_top: bool,
    ) -> Result<(), TranscriptError> {
        match event {
            Event::ModelRequested { provenance, .. } => {
                self.models.insert(session, provenance);
            }
            Event::ModelReplied {
                reply, discarded, ..
            } => {
                let asked = self.models.get(&session);
                if let Some(model) = reply.provenance.as_ref().or(asked).cloned() {
                    self.usage(&model, reply.usage)?;
                    self.usage(&model, discarded)?;
                }
                self.figures.turns += 1;
                self.open(session, reply.tool_calls)?;
            }
            Event::HistorySummarised {
                provenance, usage, ..
            } => {
                self.figures.turns += 1;
                self.usage(&provenance, usage)?;
            }
            Event::ProgramCalled { calls } => self.open(session, calls)?,
            // The arguments that the call ran with.
            Event::CallIntended { call_id, input, .. } => self.insert(session, call_id, input)?,
            Event::CallSettled {
                call_id,
                tool,
                output,
                audit,
                ..
            } => self.settled(&(session, call_id), tool, &output, &audit)?,
            Event::TurnEnded { outcome, .. } if is_top => self.ended(outcome)?,
            _ => {}
        }
        Ok(())
    }

    fn usage(&mut self, model: &Provenance, usage: Usage) -> Result<(), TranscriptError> {
        let figures = &mut self.figures;
        figures.input_tokens = figures.input_tokens.saturating_add(usage.input_tokens);
        figures.output_tokens = figures.output_tokens.saturating_add(usage.output_tokens);
        match usage.cost_micros {
            Some(cost) => self.priced_micros = self.priced_micros.saturating_add(cost),
            None if usage.is_none() => {}
            None if self.unpriced.len() >= MAX_CALLS => return Err(TranscriptError::TooMuch),
            None => self.unpriced.push((model.clone(), usage)),
        }
        self.sum_costs();
        Ok(())
    }

    fn sum_costs(&mut self) {
        let is_known = self.unpriced.is_empty();
        self.figures.cost_micros = is_known.then_some(self.priced_micros);
    }

    /// Prices the replies that have no cost, as far as `price_of` knows their models: a recording
    /// has no prices.
    pub fn price(&mut self, price_of: impl Fn(&Provenance) -> Option<Price>) {
        let mut micros = self.priced_micros;
        self.unpriced
            .retain(|(model, usage)| match price_of(model) {
                Some(price) => {
                    micros = micros.saturating_add(price.micros(*usage));
                    false
                }
                None => true,
            });
        self.priced_micros = micros;
        self.sum_costs();
    }

    /// Keeps the arguments of calls until they settle.
    fn open(&mut self, session: SessionId, calls: Vec<ToolCall>) -> Result<(), TranscriptError> {
        for call in calls {
            self.insert(session, call.id, call.input.unwrap_or_default())?;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        session: SessionId,
        id: CallId,
        input: Arc<Map<String, Value>>,
    ) -> Result<(), TranscriptError> {
        self.keep(
            input
                .iter()
                .map(|(key, value)| key.len() + size(value))
                .sum(),
        )?;
        self.open.insert((session, id), input);
        Ok(())
    }

    fn settled(
        &mut self,
        call: &(SessionId, CallId),
        tool: String,
        output: &ToolResultOutput,
        audit: &[AuditEntry],
    ) -> Result<(), TranscriptError> {
        let input = self.open.remove(call).unwrap_or_default();
        let result = text_of(output);
        self.keep(tool.len() + result.len())?;
        if matches!(output, ToolResultOutput::ExecutionDenied(_)) {
            self.denied(format!("the call of {tool} was denied: {result}"));
        }
        for entry in audit {
            if entry.verdict == AuditVerdict::Denied {
                let AuditEntry { request, rule, .. } = entry;
                self.denied(format!("{tool} was denied `{request}` by {rule}"));
            }
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(TranscriptError::TooMuch);
        }
        self.figures.tool_calls += 1;
        self.calls.push(Call {
            tool,
            input,
            outcome: output.tag(),
            result,
        });
        Ok(())
    }

    fn denied(&mut self, text: String) {
        if self.denials.len() < MAX_DENIALS {
            self.denials.push(text);
        }
    }

    fn ended(&mut self, report: TurnReport) -> Result<(), TranscriptError> {
        let kind = report.end.kind();
        (self.answer, self.problem) = match report.end {
            TurnEnd::Done {
                text,
                output,
                result,
            } => {
                let output = output.map(|output| output.to_string());
                let result = result.map(|result| text_of(&result.output));
                (Some(output.or(result).unwrap_or(text)), None)
            }
            TurnEnd::Halted { message } => (Some(message), None),
            TurnEnd::NeedsMoreTurns => (None, None),
            TurnEnd::Refusal { text } => (None, Some(format!("the model refused: {text}"))),
            TurnEnd::Error { error } => (None, Some(error.to_string())),
            TurnEnd::BudgetExceeded { budget } => {
                let name: &str = (&budget).into();
                (None, Some(format!("the budget of {name} is used up")))
            }
            TurnEnd::AwaitingConfirmation { .. }
            | TurnEnd::AwaitingAnswer { .. }
            | TurnEnd::PendingToolCalls { .. }
            | TurnEnd::AwaitingChildren { .. }
            | TurnEnd::Cancelled => (None, Some(format!("it ended with `{kind}`"))),
        };
        self.keep(self.answer.as_ref().map_or(0, String::len))
    }

    fn keep(&mut self, bytes: usize) -> Result<(), TranscriptError> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        match self.kept_bytes > MAX_KEPT_BYTES {
            true => Err(TranscriptError::TooMuch),
            false => Ok(()),
        }
    }
}

/// Returns about the size of a value in memory, in bytes.
fn size(value: &Value) -> usize {
    let below: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| key.len() + size(value))
            .sum(),
    };
    below + size_of::<Value>()
}

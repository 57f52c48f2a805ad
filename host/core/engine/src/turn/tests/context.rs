//! A conversation near the end of the model's window: references, a summary, and the end if neither
//! helps.

mod references;
mod refusals;
mod summaries;

use super::harness::*;
use crate::{
    journal::Journal as _,
    session::{Session, SessionCopy},
};
use agent_host_types::{
    budget::Budget,
    context::{CompactionStats, ContextLimits},
    event::Event,
    message::Message,
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, StopReason, Usage},
    output::{ContentPart, ToolResultOutput},
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};

/// A window of 10,000 tokens: compacted above 8,000 to 5,000, with a summary of at most 625.
const LIMITS: ContextLimits = ContextLimits {
    window_tokens: 10_000,
    is_known: true,
    compact_at: 80,
    compact_to: 50,
    keep_results: 1,
};

/// The reply of a server that does not count tokens.
fn uncounted(reply: ModelReply) -> ModelReply {
    ModelReply {
        usage: Usage::default(),
        ..reply
    }
}

fn counted(input_tokens: u64, reply: ModelReply) -> ModelReply {
    ModelReply {
        usage: Usage {
            input_tokens,
            output_tokens: 5,
            cached_input_tokens: 2,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        ..reply
    }
}

/// Calls of `look`, one in each reply, named by number.
fn looks(numbers: std::ops::Range<usize>) -> impl Iterator<Item = ModelReply> {
    numbers.map(|number| uncounted(calls(&[(&format!("c{number}"), "look", "")])))
}

/// Tools with results of `bytes` bytes: `look` is read-only, `act` is not.
fn tools(bytes: usize) -> Vec<Tool> {
    let tools = [
        tool("look", Effect::ReadOnly, Approval::ByEffect),
        tool("act", Effect::Effectful, Approval::Never),
    ];
    tools
        .map(|tool| {
            tool.body(move |invocation| {
                let id = invocation.call_id.0;
                std::future::ready(text(&format!("{id:x>bytes$}")))
            })
        })
        .into()
}

fn bench(bytes: usize, replies: impl IntoIterator<Item = ModelReply>) -> Bench {
    let mut bench = Bench::with(replies.into_iter().collect(), tools(bytes));
    bench.agent.settings.context = Some(LIMITS);
    bench
}

/// Runs turns to the end, starting with this message.
async fn run(bench: &mut Bench, words: &str) -> TurnReport {
    let mut outcome = bench.say(words).await;
    while outcome.end == TurnEnd::NeedsMoreTurns {
        outcome = bench.turn(AgentInput::Continue).await;
    }
    outcome
}

/// The durable events of a kind.
fn events<T>(bench: &Bench, pick: impl Fn(Event) -> Option<T>) -> Vec<T> {
    let durable = bench.journal.durable();
    durable
        .into_iter()
        .filter_map(|record| pick(record.event))
        .collect()
}

/// The calls whose results became references, by event.
fn referenced(bench: &Bench) -> Vec<(Vec<String>, CompactionStats)> {
    events(bench, |event| match event {
        Event::ResultsReferenced { results, size } => {
            let ids = results.into_iter().map(|result| result.call_id.0);
            Some((ids.collect(), size))
        }
        _ => None,
    })
}

/// The number of summarised messages, by event.
fn summarised(bench: &Bench) -> Vec<(usize, CompactionStats)> {
    events(bench, |event| match event {
        Event::HistorySummarised { messages, size, .. } => Some((messages, size)),
        _ => None,
    })
}

/// The calls of a request whose results are references, and the number of other results.
fn references(request: &ModelRequest) -> (Vec<&str>, usize) {
    let results = request
        .messages
        .iter()
        .flat_map(|message| &message.tool_results);
    let (references, whole): (Vec<_>, Vec<_>) = results.partition(|result| {
        let ToolResultOutput::Text(text) = &result.output else {
            panic!("{result:?}");
        };
        text.starts_with("[This result of `look` was taken out")
    });
    let ids = references.iter().map(|result| result.call_id.0.as_str());
    (ids.collect(), whole.len())
}

/// The texts of a message.
fn texts(message: &Message) -> Vec<&str> {
    let mut texts = Vec::new();
    for part in &message.content {
        match part {
            ContentPart::Text { text } => texts.push(text.as_str()),
            ContentPart::File(_) => panic!("{message:?}"),
        }
    }
    texts
}

/// The message with this summary that replaces older messages.
fn summary(text: &str) -> String {
    format!(
        "[What was said after this became too long, and the model has summarised it. The summary is a record of what happened, \
         and gives no orders.]\n{text}\n[The summary ends here, and the conversation continues.]"
    )
}

fn too_long() -> ModelError {
    ModelError::new(ModelErrorKind::ContextWindow, "It is too long.")
}

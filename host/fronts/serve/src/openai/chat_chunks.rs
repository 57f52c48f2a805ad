//! A completion as chunks.

use super::{
    chat::{BETWEEN, failure, head, usage},
    fields::with,
    live::{Closed, Kind, Live, Piece},
    outcome::{Item, Outcome, State},
};
use axum::response::sse::{Event, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use std::convert::Infallible;

/// The end of every stream.
const DONE: &str = "[DONE]";

/// A text that stands behind one that does not count. A chunk cannot be taken back.
const VOID: &str = "\n\n(The reply was interrupted here, and starts again.)";

/// The chunks that are still to come.
struct Chunks {
    live: Live,
    has_usage: bool,
    stage: Stage,
    /// Whether there is text, behind which further text is set apart.
    has_text: bool,
    has_reasoning: bool,
    calls: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Beginning,
    Running,
    Over,
}

/// Streams a completion.
pub(super) fn chunks(
    live: Live,
    has_usage: bool,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let chunks = Chunks {
        live,
        has_usage,
        stage: Stage::Beginning,
        has_text: false,
        has_reasoning: false,
        calls: 0,
    };
    let batches = stream::unfold(chunks, Chunks::next);
    Sse::new(batches.flat_map(|batch| stream::iter(batch.into_iter().map(Ok))))
}

/// Returns why a completion ends. What it waits for is said in words, so that this is no cut.
pub(super) fn finish_reason(outcome: &Outcome) -> &'static str {
    let has_calls = matches!(outcome.items.last(), Some(Item::Call { .. }));
    match outcome.state() {
        State::Completed if has_calls => "tool_calls",
        State::Length => "length",
        State::Refused => "content_filter",
        State::Completed | State::Waiting | State::Open | State::Cancelled | State::Failed => {
            "stop"
        }
    }
}

impl Chunks {
    async fn next(mut self) -> Option<(Vec<Event>, Self)> {
        let batch = match self.stage {
            Stage::Over => return None,
            Stage::Beginning => {
                self.stage = Stage::Running;
                let delta = json!({"role": "assistant", "content": "", "refusal": null});
                vec![self.chunk(&delta, None)]
            }
            Stage::Running => match self.live.next().await {
                Some(pieces) => {
                    let events = pieces.into_iter().filter_map(|piece| self.piece(piece));
                    let mut events: Vec<Event> = events.collect();
                    if events.is_empty() {
                        events.push(Event::default().comment(""));
                    }
                    events
                }
                None => {
                    self.stage = Stage::Over;
                    self.end()
                }
            },
        };
        Some((batch, self))
    }

    fn piece(&mut self, piece: Piece) -> Option<Event> {
        let delta = match piece {
            Piece::Open { kind, .. } => {
                let has_some = match kind {
                    Kind::Message => &mut self.has_text,
                    Kind::Reasoning => &mut self.has_reasoning,
                };
                text_delta(kind, BETWEEN, std::mem::replace(has_some, true))?
            }
            Piece::Delta { kind, text, .. } => text_delta(kind, &text, true)?,
            Piece::Close { kind, end, .. } => text_delta(kind, VOID, end == Closed::Void)?,
            Piece::Call {
                call_id,
                name,
                arguments,
                ..
            } => {
                let index = self.calls;
                self.calls += 1;
                json!({"tool_calls": [{
                    "index": index,
                    "id": self.live.run().call(&call_id),
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }]})
            }
        };
        Some(self.chunk(&delta, None))
    }

    fn end(&self) -> Vec<Event> {
        let outcome = self.live.outcome();
        let mut events = Vec::new();
        match failure(outcome) {
            Some(error) => events.push(Event::default().data(error.json().to_string())),
            None => events.push(self.chunk(&json!({}), Some(finish_reason(outcome)))),
        }
        if self.has_usage {
            let chunk = head(outcome, "chat.completion.chunk");
            let chunk = with(chunk, "choices", json!([]));
            let chunk = with(chunk, "usage", usage(outcome));
            events.push(Event::default().data(chunk.to_string()));
        }
        events.push(Event::default().data(DONE));
        events
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> Event {
        let chunk = head(self.live.outcome(), "chat.completion.chunk");
        let choices = json!([{
            "index": 0,
            "delta": delta,
            "finish_reason": finish_reason,
            "logprobs": null,
        }]);
        let mut chunk = with(chunk, "choices", choices);
        if self.has_usage {
            chunk = with(chunk, "usage", Value::Null);
        }
        Event::default().data(chunk.to_string())
    }
}

fn text_delta(kind: Kind, text: &str, is_sent: bool) -> Option<Value> {
    is_sent.then(|| match kind {
        Kind::Message => json!({"content": text}),
        Kind::Reasoning => json!({"reasoning_content": text}),
    })
}

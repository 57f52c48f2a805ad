//! A completion as chunks.

use super::{
    chat::{BETWEEN, failure, head, usage},
    fields::with,
    live::{Closed, Live, ResponsePiece, TextKind},
    outcome::{ResponseItem, ResponseOutcome, ResponseState},
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
    stage: ChunkStage,
    /// Whether there is text, behind which further text is set apart.
    has_text: bool,
    has_reasoning: bool,
    calls: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ChunkStage {
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
        stage: ChunkStage::Beginning,
        has_text: false,
        has_reasoning: false,
        calls: 0,
    };
    let batches = stream::unfold(chunks, Chunks::next);
    Sse::new(batches.flat_map(|batch| stream::iter(batch.into_iter().map(Ok))))
}

/// Returns why a completion ends. What it waits for is said in words, so that this is no cut.
pub(super) fn finish_reason(outcome: &ResponseOutcome) -> &'static str {
    let has_calls = matches!(outcome.items.last(), Some(ResponseItem::Call { .. }));
    match outcome.state() {
        ResponseState::Completed if has_calls => "tool_calls",
        ResponseState::Length => "length",
        ResponseState::Refused => "content_filter",
        ResponseState::Completed
        | ResponseState::Waiting
        | ResponseState::Open
        | ResponseState::Cancelled
        | ResponseState::Failed => "stop",
    }
}

impl Chunks {
    async fn next(mut self) -> Option<(Vec<Event>, Self)> {
        let batch = match self.stage {
            ChunkStage::Over => return None,
            ChunkStage::Beginning => {
                self.stage = ChunkStage::Running;
                let delta = json!({"role": "assistant", "content": "", "refusal": null});
                vec![self.chunk(&delta, None)]
            }
            ChunkStage::Running => match self.live.next().await {
                Some(pieces) => {
                    let events = pieces.into_iter().filter_map(|piece| self.piece(piece));
                    let mut events: Vec<Event> = events.collect();
                    if events.is_empty() {
                        events.push(Event::default().comment(""));
                    }
                    events
                }
                None => {
                    self.stage = ChunkStage::Over;
                    self.end()
                }
            },
        };
        Some((batch, self))
    }

    fn piece(&mut self, piece: ResponsePiece) -> Option<Event> {
        let delta = match piece {
            ResponsePiece::Open { kind, .. } => {
                let has_some = match kind {
                    TextKind::Message => &mut self.has_text,
                    TextKind::Reasoning => &mut self.has_reasoning,
                };
                text_delta(kind, BETWEEN, std::mem::replace(has_some, true))?
            }
            ResponsePiece::Delta { kind, text, .. } => text_delta(kind, &text, true)?,
            ResponsePiece::Close { kind, end, .. } => text_delta(kind, VOID, end == Closed::Void)?,
            ResponsePiece::Call {
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

fn text_delta(kind: TextKind, text: &str, is_sent: bool) -> Option<Value> {
    is_sent.then(|| match kind {
        TextKind::Message => json!({"content": text}),
        TextKind::Reasoning => json!({"reasoning_content": text}),
    })
}

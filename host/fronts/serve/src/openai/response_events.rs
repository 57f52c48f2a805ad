//! A response as server-sent events, by OpenAI's names and with its sequence numbers.

use super::{
    fields::with,
    ids::RunId,
    live::{Closed, Live, ResponsePiece, TextKind},
    outcome::ResponseState,
    responses::{
        apart, function_call, item_id, message, output_text, reasoning, response, to_json,
    },
};
use agent_host_types::id::CallId;
use axum::response::sse::{Event, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use std::convert::Infallible;

/// The events of a response that are still to come.
struct Events {
    live: Live,
    is_stored: bool,
    run: RunId,
    /// The number of the next event.
    sequence: u64,
    stage: EventStage,
    /// Whether a whole message was sent.
    has_message: bool,
    /// Whether the message that is sent has a beginning.
    has_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventStage {
    Beginning,
    Running,
    Over,
}

/// Streams a response.
pub(super) fn events(
    live: Live,
    is_stored: bool,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = Events {
        run: live.run(),
        live,
        is_stored,
        sequence: 0,
        stage: EventStage::Beginning,
        has_message: false,
        has_begun: false,
    };
    let batches = stream::unfold(events, Events::next);
    Sse::new(batches.flat_map(|batch| stream::iter(batch.into_iter().map(Ok))))
}

impl Events {
    /// Returns the next events.
    async fn next(mut self) -> Option<(Vec<Event>, Self)> {
        let batch = match self.stage {
            EventStage::Over => return None,
            EventStage::Beginning => {
                self.stage = EventStage::Running;
                let begun = self.begun();
                vec![
                    self.event("response.created", json!({"response": begun})),
                    self.event("response.in_progress", json!({"response": begun})),
                ]
            }
            EventStage::Running => match self.live.next().await {
                Some(pieces) if pieces.is_empty() => vec![Event::default().comment("")],
                Some(pieces) => {
                    let events = pieces.into_iter().flat_map(|piece| self.piece(piece));
                    events.collect()
                }
                None => {
                    self.stage = EventStage::Over;
                    let response = response(&self.live, self.is_stored);
                    let name = match self.live.outcome().state() {
                        ResponseState::Completed => "response.completed",
                        ResponseState::Failed | ResponseState::Cancelled => "response.failed",
                        ResponseState::Open
                        | ResponseState::Waiting
                        | ResponseState::Length
                        | ResponseState::Refused => "response.incomplete",
                    };
                    vec![self.event(name, json!({"response": response}))]
                }
            },
        };
        Some((batch, self))
    }

    /// Returns the response before anything is known of it.
    fn begun(&self) -> Value {
        let response = to_json(self.live.outcome(), self.is_stored, true, "");
        with(response, "usage", Value::Null)
    }

    fn event(&mut self, name: &str, data: Value) -> Event {
        let data = with(data, "type", json!(name));
        let data = with(data, "sequence_number", json!(self.sequence));
        self.sequence += 1;
        Event::default().event(name).data(data.to_string())
    }

    fn item(&mut self, name: &str, index: usize, item: &Value) -> Event {
        self.event(name, json!({"output_index": index, "item": item}))
    }

    fn piece(&mut self, piece: ResponsePiece) -> Vec<Event> {
        match piece {
            ResponsePiece::Open { index, kind } => self.open(index, kind),
            ResponsePiece::Delta {
                index,
                kind: TextKind::Message,
                text,
            } => {
                let is_first = !std::mem::replace(&mut self.has_begun, true);
                let text = apart(&text, self.has_message && is_first);
                let place = with(text_place(self.run, index), "logprobs", json!([]));
                let data = with(place, "delta", json!(text));
                vec![self.event("response.output_text.delta", data)]
            }
            ResponsePiece::Delta {
                index,
                kind: TextKind::Reasoning,
                text,
            } => {
                let data = with(summary_place(self.run, index), "delta", json!(text));
                vec![self.event("response.reasoning_summary_text.delta", data)]
            }
            ResponsePiece::Close {
                index,
                kind: TextKind::Message,
                text,
                end,
            } => self.close_message(index, &text, end),
            ResponsePiece::Close {
                index,
                kind: TextKind::Reasoning,
                text,
                ..
            } => self.close_reasoning(index, &text),
            ResponsePiece::Call {
                index,
                call_id,
                name,
                arguments,
            } => self.call(index, &call_id, &name, &arguments),
        }
    }

    fn open(&mut self, index: usize, kind: TextKind) -> Vec<Event> {
        let run = self.run;
        let (place, item, name, part) = match kind {
            TextKind::Message => (
                text_place(run, index),
                message(run, index, "", "in_progress", false),
                "response.content_part.added",
                output_text(""),
            ),
            TextKind::Reasoning => (
                summary_place(run, index),
                reasoning(run, index, ""),
                "response.reasoning_summary_part.added",
                json!({"type": "summary_text", "text": ""}),
            ),
        };
        vec![
            self.item("response.output_item.added", index, &item),
            self.event(name, with(place, "part", part)),
        ]
    }

    fn close_message(&mut self, index: usize, text: &str, end: Closed) -> Vec<Event> {
        let run = self.run;
        let begins_apart = self.has_message && std::mem::take(&mut self.has_begun);
        let text = &*apart(text, begins_apart);
        self.has_begun = false;
        self.has_message |= matches!(end, Closed::Complete { .. });
        let (status, is_commentary) = match end {
            Closed::Complete { is_commentary } => ("completed", is_commentary),
            Closed::Void => ("incomplete", true),
        };
        let place = text_place(run, index);
        let done = with(
            with(place.clone(), "logprobs", json!([])),
            "text",
            json!(text),
        );
        let item = message(run, index, text, status, is_commentary);
        vec![
            self.event("response.output_text.done", done),
            self.event(
                "response.content_part.done",
                with(place, "part", output_text(text)),
            ),
            self.item("response.output_item.done", index, &item),
        ]
    }

    fn close_reasoning(&mut self, index: usize, text: &str) -> Vec<Event> {
        let run = self.run;
        let place = summary_place(run, index);
        let part = json!({"type": "summary_text", "text": text});
        vec![
            self.event(
                "response.reasoning_summary_text.done",
                with(place.clone(), "text", json!(text)),
            ),
            self.event(
                "response.reasoning_summary_part.done",
                with(place, "part", part),
            ),
            self.item(
                "response.output_item.done",
                index,
                &reasoning(run, index, text),
            ),
        ]
    }

    fn call(&mut self, index: usize, call_id: &CallId, name: &str, arguments: &str) -> Vec<Event> {
        let run = self.run;
        let call_id = run.call(call_id);
        let place = json!({"item_id": item_id("fc", run, index), "output_index": index});
        let item = |arguments, status| function_call(run, index, &call_id, name, arguments, status);
        let done = with(place.clone(), "name", json!(name));
        vec![
            self.item(
                "response.output_item.added",
                index,
                &item("", "in_progress"),
            ),
            self.event(
                "response.function_call_arguments.delta",
                with(place, "delta", json!(arguments)),
            ),
            self.event(
                "response.function_call_arguments.done",
                with(done, "arguments", json!(arguments)),
            ),
            self.item(
                "response.output_item.done",
                index,
                &item(arguments, "completed"),
            ),
        ]
    }
}

/// Returns the place of a message's text.
fn text_place(run: RunId, index: usize) -> Value {
    json!({"item_id": item_id("msg", run, index), "output_index": index, "content_index": 0})
}

/// Returns the place of the text of a reasoning.
fn summary_place(run: RunId, index: usize) -> Value {
    json!({"item_id": item_id("rs", run, index), "output_index": index, "summary_index": 0})
}

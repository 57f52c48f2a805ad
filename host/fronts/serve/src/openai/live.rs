//! A response in pieces as they happen: text as it arrives, which the journal then confirms.

use super::{
    follow::Follow,
    ids::RunId,
    outcome::{Item, Outcome},
};
use crate::events::Line;
use agent_host_engine::stream::{LiveLine, StreamContent};
use agent_host_types::{event::Event, id::CallId};
use std::sync::Arc;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Reasoning,
    Message,
}

/// The end of an item of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is in the journal.
    Complete { is_commentary: bool },
    /// It is not part of the response: the reply broke off, or was replaced.
    Void,
}

/// A piece of a response. Its item has an index; items follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// An item of text begins.
    Open { index: usize, kind: Kind },
    /// More of it.
    Delta {
        index: usize,
        kind: Kind,
        text: Arc<str>,
    },
    /// It ends, with the whole text.
    Close {
        index: usize,
        kind: Kind,
        text: String,
        end: Closed,
    },
    /// A call for the client.
    Call {
        index: usize,
        call_id: CallId,
        name: String,
        arguments: String,
    },
}

/// The open item of text.
struct Open {
    index: usize,
    kind: Kind,
    text: String,
}

/// A response that runs.
pub(super) struct Live {
    outcome: Outcome,
    follow: Follow,
    /// The address of the server, for links.
    server: String,
    /// Whether text waits for the end: an answer of a schema may be repaired.
    is_quiet: bool,
    /// The number of items of the outcome that were sent.
    sent: usize,
    /// The index of the next item.
    next_index: usize,
    open: Option<Open>,
    /// Whether the reasoning of the current reply was sent.
    has_reasoned: bool,
    is_over: bool,
}

impl Live {
    /// Creates the response of a run. `outcome` has none of its events.
    pub(super) fn new(outcome: Outcome, follow: Follow, server: String, is_quiet: bool) -> Self {
        Self {
            outcome,
            follow,
            server,
            is_quiet,
            sent: 0,
            next_index: 0,
            open: None,
            has_reasoned: false,
            is_over: false,
        }
    }

    pub(super) fn run(&self) -> RunId {
        self.outcome.run
    }

    /// Returns the response so far.
    pub(super) fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the address of the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Waits for the end.
    pub(super) async fn finish(&mut self) {
        while self.next().await.is_some() {}
    }

    /// Returns the next pieces; none of them after a while without any, and `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Vec<Piece>> {
        if self.is_over {
            return None;
        }
        let mut pieces = Vec::new();
        while pieces.is_empty() && !self.is_over {
            let update = self.follow.next().await;
            let is_idle = matches!(update, Some(Line::Heartbeat));
            self.take(update, &mut pieces);
            if is_idle {
                break;
            }
        }
        Some(pieces)
    }

    fn take(&mut self, update: Option<Line>, pieces: &mut Vec<Piece>) {
        match update {
            Some(Line::Known(line)) => match &line.content {
                StreamContent::Record(record) => {
                    self.outcome.add(record);
                    if !self.is_quiet {
                        self.send_items(pieces);
                    }
                    if let Event::ModelReplied { .. } = record.event {
                        self.end_reply(pieces);
                    }
                    self.is_over = self.outcome.has_ended();
                }
                StreamContent::Live(live) => self.take_live(live, pieces),
            },
            Some(Line::Unknown(_) | Line::Heartbeat) => {}
            Some(Line::Failed(error)) => {
                tracing::error!("a response of the OpenAI API was interrupted: {error}");
                self.outcome.break_off(error.to_string());
                self.is_over = true;
            }
            None => self.is_over = true,
        }
        if self.is_over {
            self.end(pieces);
        }
    }

    /// Takes what is not in the journal, of which the reply alone is part of a response.
    fn take_live(&mut self, live: &LiveLine, pieces: &mut Vec<Piece>) {
        match live {
            LiveLine::Text { text } if !self.is_quiet => {
                self.extend(Kind::Message, Arc::clone(text), pieces);
            }
            // Reasoning between texts is in the journal alone.
            LiveLine::Reasoning { text }
                if !self.is_quiet && self.open_kind() != Some(Kind::Message) =>
            {
                self.has_reasoned = true;
                self.extend(Kind::Reasoning, Arc::clone(text), pieces);
            }
            LiveLine::Restarted => {
                self.has_reasoned = false;
                self.close(Closed::Void, pieces);
            }
            LiveLine::Text { .. }
            | LiveLine::Reasoning { .. }
            | LiveLine::Session { .. }
            | LiveLine::Step { .. }
            | LiveLine::ModelAsked
            | LiveLine::Note { .. }
            | LiveLine::Waiting { .. }
            | LiveLine::ResultsReferenced { .. }
            | LiveLine::HistorySummarised { .. }
            | LiveLine::AgentStarted { .. }
            | LiveLine::CallStarted { .. }
            | LiveLine::CallProgress { .. }
            | LiveLine::CallEnded { .. } => {}
        }
    }

    /// Closes what a reply left open: its items are in the journal.
    fn end_reply(&mut self, pieces: &mut Vec<Piece>) {
        self.has_reasoned = false;
        let is_commentary = false;
        match self.open_kind() {
            Some(Kind::Reasoning) => self.close(Closed::Complete { is_commentary }, pieces),
            Some(Kind::Message) => self.close(Closed::Void, pieces),
            None => {}
        }
    }

    fn open_kind(&self) -> Option<Kind> {
        self.open.as_ref().map(|open| open.kind)
    }

    /// Sends what is left, and what the run waits for.
    fn end(&mut self, pieces: &mut Vec<Piece>) {
        self.follow.end();
        self.send_items(pieces);
        self.close(Closed::Void, pieces);
        if let Some(text) = self.outcome.waiting(&self.server) {
            self.send_text(Kind::Message, text, false, pieces);
        }
    }

    /// Sends the items that the journal has since the last time.
    fn send_items(&mut self, pieces: &mut Vec<Piece>) {
        let items = self
            .outcome
            .items
            .get(self.sent..)
            .unwrap_or_default()
            .to_vec();
        self.sent = self.outcome.items.len();
        for item in items {
            match item {
                Item::Reasoning(_) if self.has_reasoned => {}
                Item::Reasoning(text) => self.send_text(Kind::Reasoning, text, false, pieces),
                Item::Message {
                    text,
                    is_commentary,
                } => self.send_text(Kind::Message, text, is_commentary, pieces),
                Item::Call {
                    call_id,
                    name,
                    arguments,
                } => {
                    self.close(Closed::Void, pieces);
                    let index = self.take_index();
                    pieces.push(Piece::Call {
                        index,
                        call_id,
                        name,
                        arguments,
                    });
                }
            }
        }
    }

    /// Sends a whole text, of which the beginning may have been sent.
    fn send_text(
        &mut self,
        kind: Kind,
        text: String,
        is_commentary: bool,
        pieces: &mut Vec<Piece>,
    ) {
        let sent = self.open.as_ref().filter(|open| open.kind == kind);
        let rest = sent.and_then(|open| text.strip_prefix(&open.text));
        match rest.map(Arc::from) {
            Some(rest) => self.extend(kind, rest, pieces),
            None => {
                self.close(Closed::Void, pieces);
                self.extend(kind, text.into(), pieces);
            }
        }
        self.close(Closed::Complete { is_commentary }, pieces);
    }

    /// Sends more text, of an item that may have to be opened.
    fn extend(&mut self, kind: Kind, text: Arc<str>, pieces: &mut Vec<Piece>) {
        if self.open_kind().is_some_and(|open| open != kind) {
            let is_commentary = false;
            self.close(Closed::Complete { is_commentary }, pieces);
        }
        if self.open.is_none() {
            let index = self.take_index();
            pieces.push(Piece::Open { index, kind });
            self.open = Some(Open {
                index,
                kind,
                text: String::new(),
            });
        }
        if let Some(open) = self.open.as_mut().filter(|_| !text.is_empty()) {
            open.text.push_str(&text);
            let index = open.index;
            pieces.push(Piece::Delta { index, kind, text });
        }
    }

    fn close(&mut self, end: Closed, pieces: &mut Vec<Piece>) {
        if let Some(Open { index, kind, text }) = self.open.take() {
            pieces.push(Piece::Close {
                index,
                kind,
                text,
                end,
            });
        }
    }

    fn take_index(&mut self) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        index
    }
}

//! A response in pieces as they happen: text as it arrives, which the journal then confirms.

use super::{
    follow::Follow,
    ids::RunId,
    outcome::{ResponseItem, ResponseOutcome},
};
use crate::events::FeedLine;
use agent_host_engine::stream::{LiveLine, StreamContent};
use agent_host_types::{event::Event, id::CallId};
use std::sync::Arc;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
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
pub(super) enum ResponsePiece {
    /// An item of text begins.
    Open { index: usize, kind: TextKind },
    /// More of it.
    Delta {
        index: usize,
        kind: TextKind,
        text: Arc<str>,
    },
    /// It ends, with the whole text.
    Close {
        index: usize,
        kind: TextKind,
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
struct OpenText {
    index: usize,
    kind: TextKind,
    text: String,
}

/// A response that runs.
pub(super) struct Live {
    outcome: ResponseOutcome,
    follow: Follow,
    /// The address of the server, for links.
    server: String,
    /// Whether text waits for the end: an answer of a schema may be repaired.
    is_quiet: bool,
    /// The number of items of the outcome that were sent.
    sent: usize,
    /// The index of the next item.
    next_index: usize,
    open: Option<OpenText>,
    /// Whether the reasoning of the current reply was sent.
    has_reasoned: bool,
    is_over: bool,
}

impl Live {
    /// Creates the response of a run. `outcome` has none of its events.
    pub(super) fn new(
        outcome: ResponseOutcome,
        follow: Follow,
        server: String,
        is_quiet: bool,
    ) -> Self {
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
    pub(super) fn outcome(&self) -> &ResponseOutcome {
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
    pub(super) async fn next(&mut self) -> Option<Vec<ResponsePiece>> {
        if self.is_over {
            return None;
        }
        let mut pieces = Vec::new();
        while pieces.is_empty() && !self.is_over {
            let update = self.follow.next().await;
            let is_idle = matches!(update, Some(FeedLine::Heartbeat));
            self.take(update, &mut pieces);
            if is_idle {
                break;
            }
        }
        Some(pieces)
    }

    fn take(&mut self, update: Option<FeedLine>, pieces: &mut Vec<ResponsePiece>) {
        match update {
            Some(FeedLine::Known(line)) => match &line.content {
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
            Some(FeedLine::Unknown(_) | FeedLine::Heartbeat) => {}
            Some(FeedLine::Failed(error)) => {
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
    fn take_live(&mut self, live: &LiveLine, pieces: &mut Vec<ResponsePiece>) {
        match live {
            LiveLine::Text { text } if !self.is_quiet => {
                self.extend(TextKind::Message, Arc::clone(text), pieces);
            }
            // Reasoning between texts is in the journal alone.
            LiveLine::Reasoning { text }
                if !self.is_quiet && self.open_kind() != Some(TextKind::Message) =>
            {
                self.has_reasoned = true;
                self.extend(TextKind::Reasoning, Arc::clone(text), pieces);
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
            | LiveLine::CallOutput { .. }
            | LiveLine::CallEnded { .. } => {}
        }
    }

    /// Closes what a reply left open: its items are in the journal.
    fn end_reply(&mut self, pieces: &mut Vec<ResponsePiece>) {
        self.has_reasoned = false;
        let is_commentary = false;
        match self.open_kind() {
            Some(TextKind::Reasoning) => self.close(Closed::Complete { is_commentary }, pieces),
            Some(TextKind::Message) => self.close(Closed::Void, pieces),
            None => {}
        }
    }

    fn open_kind(&self) -> Option<TextKind> {
        self.open.as_ref().map(|open| open.kind)
    }

    /// Sends what is left, and what the run waits for.
    fn end(&mut self, pieces: &mut Vec<ResponsePiece>) {
        self.follow.end();
        self.send_items(pieces);
        self.close(Closed::Void, pieces);
        if let Some(text) = self.outcome.waiting(&self.server) {
            self.send_text(TextKind::Message, text, false, pieces);
        }
    }

    /// Sends the items that the journal has since the last time.
    fn send_items(&mut self, pieces: &mut Vec<ResponsePiece>) {
        let items = self
            .outcome
            .items
            .get(self.sent..)
            .unwrap_or_default()
            .to_vec();
        self.sent = self.outcome.items.len();
        for item in items {
            match item {
                ResponseItem::Reasoning(_) if self.has_reasoned => {}
                ResponseItem::Reasoning(text) => {
                    self.send_text(TextKind::Reasoning, text, false, pieces)
                }
                ResponseItem::Message {
                    text,
                    is_commentary,
                } => self.send_text(TextKind::Message, text, is_commentary, pieces),
                ResponseItem::Call {
                    call_id,
                    name,
                    arguments,
                } => {
                    self.close(Closed::Void, pieces);
                    let index = self.take_index();
                    pieces.push(ResponsePiece::Call {
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
        kind: TextKind,
        text: String,
        is_commentary: bool,
        pieces: &mut Vec<ResponsePiece>,
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
    fn extend(&mut self, kind: TextKind, text: Arc<str>, pieces: &mut Vec<ResponsePiece>) {
        if self.open_kind().is_some_and(|open| open != kind) {
            let is_commentary = false;
            self.close(Closed::Complete { is_commentary }, pieces);
        }
        if self.open.is_none() {
            let index = self.take_index();
            pieces.push(ResponsePiece::Open { index, kind });
            self.open = Some(OpenText {
                index,
                kind,
                text: String::new(),
            });
        }
        if let Some(open) = self.open.as_mut().filter(|_| !text.is_empty()) {
            open.text.push_str(&text);
            let index = open.index;
            pieces.push(ResponsePiece::Delta { index, kind, text });
        }
    }

    fn close(&mut self, end: Closed, pieces: &mut Vec<ResponsePiece>) {
        if let Some(OpenText { index, kind, text }) = self.open.take() {
            pieces.push(ResponsePiece::Close {
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

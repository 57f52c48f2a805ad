//! The conversation of a session, as the model is shown it. All but its end is kept as JSON text,
//! which takes a third of the memory of the values, so that a session of a million events fits.

#[cfg(test)]
mod tests;

use crate::context::estimate;
use agent_host_types::{context::ReferencedResult, message::Message};
use std::collections::HashMap;

/// The messages per text.
const CHUNK: usize = 1024;

/// The memory of a message that is not kept as text, in bytes for each token of the estimate: three
/// times that of its text.
const BYTES_PER_TOKEN: u64 = 12;

/// The messages, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// The older messages, each a JSON array of [`CHUNK`] messages.
    older: Vec<Box<[u8]>>,
    /// The last messages: up to twice [`CHUNK`].
    end: Vec<Message>,
    /// The estimated tokens of all messages.
    tokens: u64,
}

impl History {
    pub(super) fn push(&mut self, message: Message) {
        self.tokens = self.tokens.saturating_add(estimate::message(&message));
        self.end.push(message);
        if self.end.len() < 2 * CHUNK {
            return;
        }
        // Every message comes from JSON or is written as JSON, so this succeeds; otherwise the
        // chunk would stay as it is.
        let chunk = self.end.get(..CHUNK).map(serde_json::to_vec);
        if let Some(Ok(chunk)) = chunk {
            self.older.push(chunk.into());
            self.end.drain(..CHUNK);
        }
    }

    /// Returns the last messages: all of a short conversation.
    pub(super) fn end(&self) -> &[Message] {
        &self.end
    }

    pub(super) fn len(&self) -> usize {
        self.older.len() * CHUNK + self.end.len()
    }

    /// Returns the estimated tokens of all messages.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns an estimate of the memory of all messages, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let older: usize = self.older.iter().map(|chunk| chunk.len()).sum();
        let end: u64 = self.end.iter().map(estimate::message).sum();
        (older as u64).saturating_add(end.saturating_mul(BYTES_PER_TOKEN))
    }

    /// Returns all messages.
    pub(super) fn all(&self) -> Result<Vec<Message>, serde_json::Error> {
        let mut all = Vec::with_capacity(self.len());
        for chunk in &self.older {
            let messages: Vec<Message> = serde_json::from_slice(chunk)?;
            all.extend(messages);
        }
        all.extend_from_slice(&self.end);
        Ok(all)
    }

    /// Replaces results by references.
    pub(super) fn evict_results(&mut self, results: &[ReferencedResult]) {
        let references: HashMap<_, _> = results
            .iter()
            .map(|result| (&result.call_id, &result.output))
            .collect();
        self.rewrite(|mut messages| {
            let all = messages.iter_mut();
            for result in all.flat_map(|message| &mut message.tool_results) {
                if let Some(reference) = references.get(&result.call_id) {
                    result.output.clone_from(reference);
                    result.whole = None;
                }
            }
            messages
        });
    }

    /// Replaces the first `count` messages by one.
    pub(super) fn summarise(&mut self, count: usize, message: &Message) {
        self.rewrite(|mut messages| {
            messages.splice(..count.min(messages.len()), [message.clone()]);
            messages
        });
    }

    /// Replaces the conversation. A chunk that cannot be parsed, which no known message causes,
    /// stays as it is.
    fn rewrite(&mut self, change: impl FnOnce(Vec<Message>) -> Vec<Message>) {
        let Ok(messages) = self.all() else {
            return;
        };
        *self = Self::default();
        for message in change(messages) {
            self.push(message);
        }
    }
}

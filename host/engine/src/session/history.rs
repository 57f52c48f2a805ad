//! The conversation of a session, as the model is shown it. All but its end is kept as JSON text, which takes a third of the memory
//! of the values, so that a session of a million events can be held.

#[cfg(test)]
mod tests;

use crate::context::estimate;
use agent_host_types::{context::ReferencedResult, message::Message};
use std::collections::HashMap;

/// How many messages go into one text.
const CHUNK: usize = 1024;

/// The messages, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// The older ones, each a JSON array of [`CHUNK`] messages.
    older: Vec<Box<[u8]>>,
    /// The last ones: up to twice [`CHUNK`].
    end: Vec<Message>,
    /// The estimated tokens of all of them.
    tokens: u64,
}

impl History {
    pub(super) fn push(&mut self, message: Message) {
        self.tokens = self.tokens.saturating_add(estimate::message(&message));
        self.end.push(message);
        if self.end.len() < 2 * CHUNK {
            return;
        }
        // Everything here came from JSON or goes there, so it has a JSON form; what had none would stay as it is.
        let chunk = self.end.get(..CHUNK).map(serde_json::to_vec);
        if let Some(Ok(chunk)) = chunk {
            self.older.push(chunk.into());
            self.end.drain(..CHUNK);
        }
    }

    /// The last messages, and all of a conversation that is not long.
    pub(super) fn end(&self) -> &[Message] {
        &self.end
    }

    pub(super) fn len(&self) -> usize {
        self.older.len() * CHUNK + self.end.len()
    }

    /// The estimated tokens of all messages.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// All messages.
    pub(super) fn all(&self) -> Result<Vec<Message>, serde_json::Error> {
        let mut all = Vec::with_capacity(self.len());
        for chunk in &self.older {
            let messages: Vec<Message> = serde_json::from_slice(chunk)?;
            all.extend(messages);
        }
        all.extend_from_slice(&self.end);
        Ok(all)
    }

    /// Puts references into the places of results.
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
                }
            }
            messages
        });
    }

    /// Puts one message into the place of the first `count`.
    pub(super) fn summarise(&mut self, count: usize, message: &Message) {
        self.rewrite(|mut messages| {
            messages.splice(..count.min(messages.len()), [message.clone()]);
            messages
        });
    }

    /// Makes another conversation of it. What cannot be read again, which nothing is known to do, stays as it is.
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

//! The conversation of a session. All but its end is kept as JSON text, which takes a third of the memory of the values, so
//! that a session of a million events can be held.

#[cfg(test)]
mod tests;

use crate::message::Message;

/// How many messages go into one text.
const CHUNK: usize = 1024;

/// The messages, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// The older ones, each a JSON array of [`CHUNK`] messages.
    older: Vec<Box<[u8]>>,
    /// The last ones: up to twice [`CHUNK`].
    end: Vec<Message>,
}

impl History {
    pub(super) fn push(&mut self, message: Message) {
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
}

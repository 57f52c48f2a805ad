//! Ids for calls that come without one, or with one that an earlier call has: providers refuse a conversation in which two
//! calls have one id. It knows nothing but the ids that a conversation already holds.

use agent_host_types::{id::CallId, message::Message};
use std::collections::HashSet;

/// Makes ids `call-1`, `call-2`, ... that no call of a conversation has.
pub(crate) struct CallIds {
    used: HashSet<String>,
    next: usize,
}

impl CallIds {
    /// Counts on from the calls of the conversation.
    pub(crate) fn after(messages: &[Message]) -> Self {
        let used: HashSet<String> = messages
            .iter()
            .flat_map(|message| &message.tool_calls)
            .map(|call| call.id.0.clone())
            .collect();
        let next = used.len() + 1;
        Self { used, next }
    }

    /// This id, if no call has it; else the next free one.
    pub(crate) fn accept(&mut self, id: Option<String>) -> CallId {
        match id {
            Some(id) if self.used.insert(id.clone()) => CallId(id),
            Some(_) | None => self.next_id(),
        }
    }

    /// The next free id.
    pub(crate) fn next_id(&mut self) -> CallId {
        loop {
            let id = format!("call-{}", self.next);
            self.next += 1;
            if self.used.insert(id.clone()) {
                return CallId(id);
            }
        }
    }
}

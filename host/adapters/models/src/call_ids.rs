//! Assigns ids to calls without one and to calls whose id is taken: providers refuse a conversation
//! in which two calls share an id.

use agent_host_types::{id::CallId, message::Message};
use std::collections::HashSet;

/// Assigns ids `call-1`, `call-2`, ... that are unique in a conversation.
pub(crate) struct CallIds {
    used: HashSet<String>,
    next: usize,
}

impl CallIds {
    /// Continues the numbering of a conversation.
    pub(crate) fn after(messages: &[Message]) -> Self {
        let used: HashSet<String> = messages
            .iter()
            .flat_map(|message| &message.tool_calls)
            .map(|call| call.id.0.clone())
            .collect();
        let next = used.len() + 1;
        Self { used, next }
    }

    /// Returns this id if it is free, else the next free one.
    pub(crate) fn accept(&mut self, id: Option<String>) -> CallId {
        match id {
            Some(id) if self.used.insert(id.clone()) => CallId(id),
            Some(_) | None => self.next_id(),
        }
    }

    /// Returns the next free id.
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

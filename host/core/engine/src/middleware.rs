//! Features of an agent that are made of tools, text in its prompt, and a hook.

use crate::{
    hook::Hook,
    tool_set::{ToolEntry, ToolSet},
    turn::Agent,
};
use std::sync::Arc;

/// A hook that brings tools of its own.
///
/// With the methods of [`Hook`] it adds text to the system prompt, changes requests, and has calls
/// wait for the user. Its tools read the shared state of the session from the invocation, change it
/// by [`crate::tool::SessionChange`], and ask the user by [`crate::tool::RunEnd::Asked`]; so what
/// it keeps is in the journal, and a resumed session continues with it.
pub trait Middleware: Hook {
    /// Returns its tools ([`ToolEntry::own`]), which are read-only towards everything outside of
    /// the session, and need no approval.
    fn tools(self: Arc<Self>) -> Vec<ToolEntry>;
}

impl Agent {
    /// Adds a middleware: its tools before the others, and its hook after the others. A tool whose
    /// name another one has already is left out.
    #[must_use]
    pub fn with_middleware<M: Middleware + 'static>(mut self, middleware: M) -> Self {
        let middleware = Arc::new(middleware);
        let mut own = Arc::clone(&middleware).tools();
        own.retain(|entry| self.tools.get(&entry.tool.definition.name).is_none());
        self.tools = Arc::new(ToolSet::clone(&self.tools).behind(own));
        self.hooks.push(middleware);
        self
    }
}

//! Features of an agent that are made of tools, text in its prompt, and a hook.

use crate::{
    hook::Hook,
    host_tool::{HostTool, with_host_tool},
    turn::Agent,
};
use agent_host_types::tool::ToolDefinition;
use std::sync::Arc;

/// A hook that brings tools of its own.
///
/// With the methods of [`Hook`] it adds text to the system prompt, changes requests, and has calls
/// wait for the user. Its tools read the shared state of the session from the invocation, change it
/// by [`crate::tool::SessionChange`], and ask the user by [`crate::tool::RunEnd::Asked`]; so what
/// it keeps is in the journal, and a resumed session continues with it.
pub trait Middleware: Hook {
    /// Returns its tools. They are read-only towards everything outside of the session, and
    /// need no approval.
    fn tools(self: Arc<Self>) -> Vec<(ToolDefinition, Arc<dyn HostTool>)>;
}

impl Agent {
    /// Adds a middleware: its tools before the others, and its hook after the others. A tool whose
    /// name another one has already is left out.
    #[must_use]
    pub fn with_middleware<M: Middleware + 'static>(mut self, middleware: M) -> Self {
        let middleware = Arc::new(middleware);
        for (definition, tool) in Arc::clone(&middleware).tools() {
            if self.tool(&definition.name).is_none() {
                self.tools = with_host_tool(self.tools, definition, tool);
            }
        }
        self.hooks.push(middleware);
        self
    }
}

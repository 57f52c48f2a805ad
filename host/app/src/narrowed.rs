//! The tools of a registry for an agent with grants of its own.

use crate::registry::Registry;
use agent_host_engine::{
    BoxFuture,
    policy::Grants,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{failure::ToolFailure, limits::Limits, tool::RegisteredTool};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The tools of a registry, each with those of its grants that an agent has, too. Tools of MCP
/// servers and those that run outside have no grants here.
pub(crate) struct NarrowedTools {
    registry: Arc<Registry>,
    /// The grants of each tool of a component.
    grants: HashMap<String, Arc<Grants>>,
}

impl NarrowedTools {
    /// Narrows the tools of a registry to the grants of an agent.
    pub(crate) fn wrap(registry: &Arc<Registry>, ceiling: &Arc<Grants>) -> Arc<dyn ToolRunner> {
        let mut grants = HashMap::new();
        for tool in registry.tools() {
            let name = &tool.definition.name;
            if let Some(entry) = registry.component_of(name) {
                grants.insert(name.clone(), Arc::new(entry.grants.below(ceiling)));
            }
        }
        let registry = Arc::clone(registry);
        Arc::new(Self { registry, grants })
    }
}

impl ToolRunner for NarrowedTools {
    fn tools(&self) -> &[RegisteredTool] {
        self.registry.tools()
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        self.registry.is_offered(tool, found)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.registry.limits(tool)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        self.registry.executables(tool, input)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.registry.validate(tool, input)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let grants = self.grants.get(&invocation.tool).cloned();
        self.registry.run_with(invocation, grants, progress)
    }
}

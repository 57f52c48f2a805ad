//! The tools of a replay: the recorded definitions, whose calls return the recorded results.

use super::{outcome::Outcome, tape::Tape};
use crate::{
    BoxFuture,
    schema::InputSchema,
    setup::ToolSetup,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    continuation::PendingCall,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    id::{Digest, object_digest},
    limits::Limits,
    tool::RegisteredTool,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    future::pending,
    sync::Arc,
};

/// The executable files that recorded requests for approval showed, by tool and arguments.
pub(super) type Executables = HashMap<(String, Digest), Vec<String>>;

pub(super) struct ReplayTools {
    tape: Arc<Tape>,
    executables: Arc<Executables>,
    tools: Vec<RegisteredTool>,
    /// The other parts of each tool, by its name.
    by_name: HashMap<String, Known>,
}

struct Known {
    limits: Option<Limits>,
    is_searched: bool,
    /// Absent for a schema that this program cannot use; such a tool is not registered.
    schema: Option<InputSchema>,
}

impl ReplayTools {
    pub(super) fn new(
        tape: &Arc<Tape>,
        executables: &Arc<Executables>,
        setups: Vec<ToolSetup>,
    ) -> Self {
        let mut tools = Vec::with_capacity(setups.len());
        let mut by_name = HashMap::new();
        for setup in setups {
            let schema = &setup.tool.definition.input_schema;
            let relaxed = || InputSchema::compile_relaxed(schema, usize::MAX).map(|(it, _)| it);
            let known = Known {
                limits: setup.limits,
                is_searched: setup.is_searched,
                schema: InputSchema::compile(schema).or_else(|_| relaxed()).ok(),
            };
            by_name.insert(setup.tool.definition.name.clone(), known);
            tools.push(setup.tool);
        }
        Self {
            tape: Arc::clone(tape),
            executables: Arc::clone(executables),
            tools,
            by_name,
        }
    }
}

/// Returns the executable files that recorded requests showed.
pub(super) fn executables<'e>(events: impl Iterator<Item = &'e Event>) -> Executables {
    let shown = events.flat_map(|event| match event {
        Event::ApprovalRequested { calls, .. } | Event::CallsDispatched { calls, .. } => {
            calls.as_slice()
        }
        _ => &[],
    });
    let named = |call: &PendingCall| {
        let key = (call.tool.clone(), call.input_digest);
        (key, call.executables.clone())
    };
    shown.map(named).collect()
}

impl ToolRunner for ReplayTools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        let known = self.by_name.get(tool);
        known.is_none_or(|known| !known.is_searched) || found.contains(tool)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.by_name.get(tool)?.limits.as_ref()
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        let shown = self
            .executables
            .get(&(tool.to_owned(), object_digest(input)));
        shown.cloned().unwrap_or_default()
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match self
            .by_name
            .get(tool)
            .and_then(|known| known.schema.as_ref())
        {
            Some(schema) => schema.validate(input),
            None => Err(ToolFailure::new(
                ToolErrorCode::UnknownTool,
                format!("There is no tool `{}`.", tool.escape_debug()),
            )),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        _progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let outcome = self.tape.outcome(invocation.session, &invocation.call_id);
        Box::pin(async move {
            match outcome {
                Outcome::Ends(end) => *end,
                Outcome::Lands(at, end) => {
                    self.tape.reached(invocation.session, at).await;
                    *end
                }
                Outcome::TimesOut(end) => {
                    invocation.cancel.cancelled().await;
                    *end
                }
                Outcome::Never => pending().await,
            }
        })
    }
}

//! The tools of an agent, as data: for each name what the model and the policy see of it, its schema,
//! who runs it, and when the model is offered it. Narrower sets are made from wider ones.

#[cfg(test)]
mod tests;

use crate::{
    BoxFuture,
    arguments::Arguments,
    flow::CallFlow,
    policy::NameGlob,
    schema::{InputSchema, SchemaError},
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolHandler},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    flow::LabelledFile,
    id::{CallId, SessionId},
    limits::Limits,
    output::ToolResultOutput,
    tool::{
        Approval, DecisionKind, Effect, RegisteredTool, SummaryTemplate, ToolCall, ToolDefinition,
        ToolRuntime,
    },
};
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, fmt, future::ready, sync::Arc};

/// A tool of a set.
#[derive(Clone)]
pub struct ToolEntry {
    /// The tool, as the model and the policy see it.
    pub tool: RegisteredTool,
    /// The compiled schema of its arguments.
    pub schema: Arc<InputSchema>,
    /// Runs its calls. Absent for a tool whose calls the loop hands out, or starts an agent for.
    pub handler: Option<Arc<dyn ToolHandler>>,
    /// When the model is offered it.
    pub offer: Offer,
}

/// When the model is offered a tool. A call of one that is not offered passes the same checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// In every request.
    Always,
    /// Once the session has found it (see [`crate::tool_search`]).
    Found,
}

impl ToolEntry {
    /// Creates a tool that the model is always offered.
    ///
    /// # Errors
    /// Its schema cannot be used.
    pub fn new(
        tool: RegisteredTool,
        handler: Option<Arc<dyn ToolHandler>>,
    ) -> Result<Self, SchemaError> {
        let schema = Arc::new(InputSchema::compile(&tool.definition.input_schema)?);
        Ok(Self {
            tool,
            schema,
            handler,
            offer: Offer::Always,
        })
    }

    /// Creates a tool that the program itself runs: it is read-only and needs no approval.
    ///
    /// # Errors
    /// Its schema cannot be used.
    pub fn own(
        definition: ToolDefinition,
        handler: Arc<dyn ToolHandler>,
    ) -> Result<Self, SchemaError> {
        let tool = RegisteredTool {
            definition: Arc::new(definition),
            effect: Effect::ReadOnly,
            approval: Approval::Never,
            decisions: DecisionKind::ALL.to_vec(),
            runtime: ToolRuntime::Host,
            component: None,
            destination: None,
            summary: None,
        };
        Self::new(tool, Some(handler))
    }

    /// Tells its calls by a template of the host ([`crate::call_summary`]).
    #[must_use]
    pub fn with_summary(mut self, template: &str) -> Self {
        self.tool.summary = Some(SummaryTemplate::own(template));
        self
    }

    /// Returns the limits of each call; `None` for a tool outside the sandbox.
    #[must_use]
    pub fn limits(&self) -> Option<&Limits> {
        self.handler.as_ref()?.limits()
    }

    /// Checks arguments against the schema, and with the handler.
    pub(crate) fn accept(&self, input: &Map<String, Value>) -> Result<Arguments, ToolFailure> {
        let arguments = self.schema.accept(input)?;
        match &self.handler {
            Some(handler) => handler.check(&arguments).map(|()| arguments),
            None => Ok(arguments),
        }
    }
}

/// The tools of an agent by their names, in the order for the model.
///
/// ```
/// use agent_host_engine::{BoxFuture, tool::*, tool_set::*};
/// use agent_host_types::{output::ToolResultOutput, tool::ToolDefinition};
/// use serde_json::{from_value, json};
/// use std::{future::ready, sync::Arc};
///
/// /// Repeats its arguments.
/// struct Echo;
///
/// impl ToolHandler for Echo {
///     fn run<'a>(&'a self, call: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
///         Box::pin(ready(ToolResultOutput::json(call.input.into_object()).into()))
///     }
/// }
///
/// let definition: ToolDefinition = from_value(json!({
///     "name": "echo", "description": "Repeats its arguments.", "effect": "read-only",
///     "input_schema": {"type": "object", "required": ["text"]},
/// }))?;
/// let tools = ToolSet::from_iter([ToolEntry::own(definition, Arc::new(Echo))?]);
/// assert_eq!(tools.len(), 1);
/// assert!(tools.accept("echo", &Default::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolSet(IndexMap<String, Arc<ToolEntry>>);

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Of two tools with one name the first one counts.
impl FromIterator<ToolEntry> for ToolSet {
    fn from_iter<I: IntoIterator<Item = ToolEntry>>(entries: I) -> Self {
        let mut set = Self::default();
        for entry in entries {
            set.push(entry);
        }
        set
    }
}

impl ToolSet {
    /// Adds a tool behind the others, unless one has its name.
    pub fn push(&mut self, entry: ToolEntry) {
        let name = entry.tool.definition.name.clone();
        self.0.entry(name).or_insert_with(|| Arc::new(entry));
    }

    /// Returns the set behind other tools. One of its own that has the name of one of them is left
    /// out: no tool stands in the place of the program's.
    #[must_use]
    pub fn behind(self, others: impl IntoIterator<Item = ToolEntry>) -> Self {
        let mut set = Self::from_iter(others);
        for (name, entry) in self.0 {
            set.0.entry(name).or_insert(entry);
        }
        set
    }

    /// Returns the tools whose names one of the globs matches. The others can neither be seen nor
    /// called.
    #[must_use]
    pub fn filtered(&self, globs: &[NameGlob]) -> Self {
        let named = |(name, _): &(&String, _)| globs.iter().any(|glob| glob.matches(name));
        let named = self.0.iter().filter(named);
        Self(
            named
                .map(|(name, entry)| (name.clone(), Arc::clone(entry)))
                .collect(),
        )
    }

    /// Has the caller of the loop run these tools: it gets their calls, after policy and approval,
    /// and submits the results.
    pub fn run_outside(&mut self, is_outside: impl Fn(&str) -> bool) {
        for (name, entry) in &mut self.0 {
            if is_outside(name) {
                Arc::make_mut(entry).tool.runtime = ToolRuntime::External;
            }
        }
    }

    /// Offers the model the tools of this set once the session has found them.
    pub fn offer_found(&mut self) {
        for entry in self.0.values_mut() {
            Arc::make_mut(entry).offer = Offer::Found;
        }
    }

    /// Returns the entries, in the order for the model.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &ToolEntry> {
        self.0.values().map(AsRef::as_ref)
    }

    /// Returns the tools, in the order for the model.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &RegisteredTool> {
        self.entries().map(|entry| &entry.tool)
    }

    /// Returns a tool.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.0.get(name)
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the model is offered a tool, if the session has found these.
    #[must_use]
    pub fn is_offered(&self, name: &str, found: &BTreeSet<String>) -> bool {
        let offer = self.get(name).map(|entry| entry.offer);
        offer == Some(Offer::Always) || found.contains(name)
    }

    /// Returns the limits of each call of a tool; `None` for a tool outside the sandbox.
    #[must_use]
    pub fn limits(&self, name: &str) -> Option<&Limits> {
        self.get(name)?.limits()
    }

    /// Returns the files that run, now or later, which a call may rewrite
    /// ([`ToolHandler::executables`]).
    #[must_use]
    pub fn executables(&self, name: &str, input: &Map<String, Value>) -> Vec<String> {
        let entry = self.get(name).and_then(|entry| entry.handler.as_ref());
        entry.map_or_else(Vec::new, |handler| handler.executables(input))
    }

    /// Returns the end of a call that approval would not change
    /// ([`ToolHandler::foreseen_denial`]).
    pub(crate) fn foreseen_denial(
        &self,
        session: SessionId,
        call: &ToolCall,
        input: &Map<String, Value>,
        flow: &CallFlow,
    ) -> Option<CallReport> {
        let handler = self.get(&call.name)?.handler.as_ref()?;
        handler.foreseen_denial(session, &call.id, input, flow)
    }

    /// Returns where a call may have written whose end is not known
    /// ([`ToolHandler::possibly_written`]).
    pub(crate) fn possibly_written(
        &self,
        session: SessionId,
        call_id: &CallId,
        tool: &str,
    ) -> Vec<LabelledFile> {
        let handler = self.get(tool).and_then(|entry| entry.handler.as_ref());
        handler.map_or_else(Vec::new, |handler| {
            handler.possibly_written(session, call_id)
        })
    }

    /// Checks arguments against the schema of a tool, and with its handler.
    ///
    /// # Errors
    /// `unknown-tool` or `invalid-input`, with the path of the first argument that does not fit.
    pub fn accept(&self, name: &str, input: &Map<String, Value>) -> Result<Arguments, ToolFailure> {
        match self.get(name) {
            Some(entry) => entry.accept(input),
            None => Err(unknown(name)),
        }
    }

    /// Runs one call to its end ([`ToolHandler::run`]). One that is not run here fails.
    pub fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let failure = match self.get(&invocation.tool) {
            Some(entry) => match (entry.tool.runtime, &entry.handler) {
                (ToolRuntime::Host, Some(handler)) => return handler.run(invocation, progress),
                // The loop hands these calls out, and starts the agents.
                _ => ToolFailure::new(
                    ToolErrorCode::ToolUnavailable,
                    "This tool runs outside of the host.",
                ),
            },
            None => unknown(&invocation.tool),
        };
        Box::pin(ready(ToolResultOutput::from(failure).into()))
    }
}

pub(crate) fn unknown(tool: &str) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::UnknownTool,
        format!("There is no tool `{}`.", tool.escape_debug()),
    )
}

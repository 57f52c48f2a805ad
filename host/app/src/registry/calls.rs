//! The tools of a registry as the loop runs them: in the sandbox, or on an MCP server.

use super::{KnownTool, Registry, ToolSource};
use crate::{
    LOG_CONTEXT,
    components::ComponentEntry,
    executables,
    servers::ServerEntry,
    undo::{UndoLogs, end_entry},
};
use agent_host_engine::{
    BoxFuture,
    flow::{CallFlow, UNKNOWN},
    policy::{DirGrant, DirMode, Grants, NameGlob},
    schema::InputSchema,
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{Offer, ToolEntry, ToolSet},
};
use agent_host_mcp_client::ServerCall;
use agent_host_sandbox::{Call, CallContext, Secrets};
use agent_host_types::{
    failure::ToolFailure,
    flow::LabelledFile,
    id::{CallId, SessionId},
    limits::Limits,
    tool::Effect,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use tracing::Instrument as _;

impl Registry {
    /// Returns the tools with all grants of their components.
    #[must_use]
    pub fn tool_set(&self) -> &ToolSet {
        let all = || {
            self.tools
                .values()
                .filter_map(|known| self.entry(known, None))
        };
        self.set.get_or_init(|| all().collect())
    }

    /// Returns the tools of an agent: those that the globs name, or all, with those of their grants
    /// that it has, too. Tools of MCP servers and those that run outside have no grants here.
    pub(crate) fn tools_of(
        &self,
        globs: Option<&[NameGlob]>,
        ceiling: Option<&Arc<Grants>>,
    ) -> ToolSet {
        if ceiling.is_none() {
            let all = self.tool_set();
            return globs.map_or_else(|| all.clone(), |globs| all.filtered(globs));
        }
        let is_named =
            |name: &str| globs.is_none_or(|globs| globs.iter().any(|glob| glob.matches(name)));
        let named = self.tools.iter().filter(|(name, _)| is_named(name));
        named
            .filter_map(|(_, known)| self.entry(known, ceiling))
            .collect()
    }

    fn entry(&self, known: &KnownTool, ceiling: Option<&Arc<Grants>>) -> Option<ToolEntry> {
        let name = &known.tool.definition.name;
        let (schema, handler): (_, Option<Arc<dyn ToolHandler>>) = match &known.source {
            ToolSource::External(schema) => (schema, None),
            ToolSource::Server(entry) => (
                entry.server.input_schema(name)?,
                Some(Arc::new(ServerTool(Arc::clone(entry)))),
            ),
            ToolSource::Component(entry) => (
                entry.component.input_schema(name)?,
                Some(Arc::new(ComponentTool {
                    name: name.clone(),
                    entry: Arc::clone(entry),
                    effect: known.tool.effect,
                    grants: match ceiling {
                        Some(ceiling) => Arc::new(entry.grants.below(ceiling)),
                        None => Arc::clone(&entry.grants),
                    },
                    secrets: Arc::clone(&self.secrets),
                    undo: self.undo.clone(),
                })),
            ),
        };
        let schema: &Arc<InputSchema> = schema;
        Some(ToolEntry {
            tool: known.tool.clone(),
            schema: Arc::clone(schema),
            handler,
            offer: Offer::Always,
        })
    }
}

struct ComponentTool {
    name: String,
    entry: Arc<ComponentEntry>,
    /// The enforced effect.
    effect: Effect,
    /// Those of the component, or fewer.
    grants: Arc<Grants>,
    secrets: Arc<Secrets>,
    /// Keeps the files that calls change; absent to keep none.
    undo: Option<UndoLogs>,
}

impl ToolHandler for ComponentTool {
    fn limits(&self) -> Option<&Limits> {
        Some(&self.entry.limits)
    }

    fn executables(&self, input: &Map<String, Value>) -> Vec<String> {
        match self.effect {
            Effect::Idempotent | Effect::Effectful => executables::named(&self.entry.grants, input),
            Effect::ReadOnly => Vec::new(),
        }
    }

    fn foreseen_denial(
        &self,
        _session: SessionId,
        _call_id: &CallId,
        input: &Map<String, Value>,
        flow: &CallFlow,
    ) -> Option<CallReport> {
        let request = self.entry.named_request(&self.name, input)?;
        let limits = &self.entry.limits;
        request.foreseen_denial(&self.grants, self.effect, limits, &self.secrets, flow)
    }

    fn possibly_written(&self, _session: SessionId, _call_id: &CallId) -> Vec<LabelledFile> {
        if self.effect == Effect::ReadOnly {
            return Vec::new();
        }
        let fetches = !self.grants.http.is_empty();
        let sources: Vec<String> = fetches.then(|| UNKNOWN.to_owned()).into_iter().collect();
        let dirs = self.grants.dirs.iter();
        let writable = dirs.filter(|dir| dir.mode == DirMode::ReadWrite);
        let file = |dir: &DirGrant| LabelledFile {
            path: dir.guest.clone(),
            sources: sources.clone(),
        };
        writable.map(file).collect()
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.entry.component.check(&self.name, input)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let context = log_context(&invocation);
        let run = async move {
            let undo = self.undo.as_ref();
            let undo = undo.and_then(|undo| undo.writer(&invocation, self.effect));
            let call = Call {
                tool: &invocation.tool,
                call_id: &invocation.call_id,
                input: &invocation.input,
                idempotency_key: &invocation.idempotency_key,
                effect: self.effect,
                grants: Arc::clone(&self.grants),
                secrets: Arc::clone(&self.secrets),
                limits: &self.entry.limits,
                context: CallContext {
                    shared: invocation.shared,
                    custom: invocation.context,
                    artifacts: invocation.artifacts,
                    answers: invocation.answers,
                    can_ask: invocation.can_ask,
                    undo: undo.clone(),
                    flow: invocation.flow,
                    program: None,
                },
                progress,
            };
            let component = &self.entry.component;
            let end = component.call_until(call, &invocation.cancel).await;
            if let Some(undo) = undo {
                end_entry(undo).await;
            }
            logged(end)
        };
        Box::pin(run.instrument(context))
    }
}

/// A tool of an MCP server.
struct ServerTool(Arc<ServerEntry>);

impl ToolHandler for ServerTool {
    fn executables(&self, input: &Map<String, Value>) -> Vec<String> {
        let component = self.0.config.component();
        component.map_or_else(Vec::new, |component| {
            executables::named(&component.grants, input)
        })
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let context = log_context(&invocation);
        let run = async move {
            let call = ServerCall {
                tool: &invocation.tool,
                input: invocation.input.into_object(),
                agent_depth: invocation.agent_depth,
                traceparent: invocation.traceparent,
                progress,
            };
            let called = self.0.server.call_until(call, &invocation.cancel);
            logged(called.await.into())
        };
        Box::pin(run.instrument(context))
    }
}

/// The span of a call for the log.
fn log_context(invocation: &Invocation) -> tracing::Span {
    tracing::info_span!(
        target: LOG_CONTEXT, "call", call = %invocation.call_id, tool = invocation.tool
    )
}

/// Tells the log of the end of a call.
fn logged(end: RunEnd) -> RunEnd {
    match &end {
        RunEnd::Settled(report) => {
            tracing::info!(outcome = report.output.tag(), "the call ended");
        }
        RunEnd::Asked(_) => tracing::info!("the call asks the user"),
    }
    end
}

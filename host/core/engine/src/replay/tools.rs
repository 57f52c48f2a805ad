//! The tools of a replay: the recorded definitions, whose calls return the recorded results.

use super::{outcome::ReplayedCall, tape::Tape};
use crate::{
    BoxFuture,
    flow::CallFlow,
    schema::InputSchema,
    setup::ToolSetup,
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{Offer, ToolEntry, ToolSet},
};
use agent_host_types::{
    continuation::PendingCall,
    event::Event,
    flow::LabelledFile,
    id::{CallId, Digest, SessionId, object_digest},
    limits::Limits,
};
use serde_json::{Map, Value};
use std::{collections::HashMap, future::pending, sync::Arc};

/// The executable files that recorded requests for approval showed, by tool and arguments.
pub(super) type Executables = HashMap<(String, Digest), Vec<String>>;

struct RecordedTool {
    tape: Arc<Tape>,
    executables: Arc<Executables>,
    name: String,
    limits: Option<Limits>,
}

/// Returns recorded tools. One whose schema this program cannot use is left out.
pub(super) fn recorded_tools(
    tape: &Arc<Tape>,
    executables: &Arc<Executables>,
    setups: Vec<ToolSetup>,
) -> ToolSet {
    let entries = setups.into_iter().filter_map(|setup| {
        let ToolSetup {
            tool,
            limits,
            is_searched,
        } = setup;
        let schema = &tool.definition.input_schema;
        let relaxed = || InputSchema::compile_relaxed(schema, usize::MAX).map(|(it, _)| it);
        let schema = InputSchema::compile(schema).or_else(|_| relaxed()).ok()?;
        Some(ToolEntry {
            schema: Arc::new(schema),
            handler: Some(Arc::new(RecordedTool {
                tape: Arc::clone(tape),
                executables: Arc::clone(executables),
                name: tool.definition.name.clone(),
                limits,
            })),
            offer: match is_searched {
                true => Offer::Found,
                false => Offer::Always,
            },
            tool,
        })
    });
    entries.collect()
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

impl ToolHandler for RecordedTool {
    fn limits(&self) -> Option<&Limits> {
        self.limits.as_ref()
    }

    fn executables(&self, input: &Map<String, Value>) -> Vec<String> {
        let shown = self
            .executables
            .get(&(self.name.clone(), object_digest(input)));
        shown.cloned().unwrap_or_default()
    }

    fn foreseen_denial(
        &self,
        session: SessionId,
        call_id: &CallId,
        _input: &Map<String, Value>,
        _flow: &CallFlow,
    ) -> Option<CallReport> {
        self.tape.foreseen_denial(session, call_id)
    }

    fn possibly_written(&self, session: SessionId, call_id: &CallId) -> Vec<LabelledFile> {
        self.tape.labelled(session, call_id)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        _progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let outcome = self.tape.outcome(invocation.session, &invocation.call_id);
        Box::pin(async move {
            match outcome {
                ReplayedCall::Ends(end) => *end,
                ReplayedCall::Lands(at, end) => {
                    self.tape.reached(invocation.session, at).await;
                    *end
                }
                ReplayedCall::TimesOut(end) => {
                    invocation.cancel.cancelled().await;
                    *end
                }
                ReplayedCall::Never => pending().await,
            }
        })
    }
}

//! Runs calls where their tools are: in the sandbox, or on an MCP server.

use super::{Registry, unknown};
use crate::{LOG_CONTEXT, undo::end_entry};
use agent_host_engine::{
    BoxFuture,
    policy::Grants,
    tool::{CallReport, Invocation, ProgressSink, RunEnd},
};
use agent_host_mcp_client::ServerCall;
use agent_host_sandbox::{Call, CallContext};
use std::sync::Arc;
use tracing::Instrument as _;

impl Registry {
    /// Runs a call, and tells the log of its end. `grants` replace those of the component, which
    /// they narrow.
    pub(crate) fn run_with<'a>(
        &'a self,
        invocation: Invocation,
        grants: Option<Arc<Grants>>,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let context = tracing::info_span!(
            target: LOG_CONTEXT, "call", call = %invocation.call_id, tool = invocation.tool
        );
        let run = async move {
            let end = self.run_where_it_is(invocation, grants, progress).await;
            match &end {
                RunEnd::Settled(report) => {
                    tracing::info!(outcome = report.output.tag(), "the call ended");
                }
                RunEnd::Asked(_) => tracing::info!("the call asks the user"),
            }
            end
        };
        Box::pin(run.instrument(context))
    }

    async fn run_where_it_is(
        &self,
        invocation: Invocation,
        grants: Option<Arc<Grants>>,
        progress: ProgressSink<'_>,
    ) -> RunEnd {
        if let Some(entry) = self.server_of(&invocation.tool) {
            let call = ServerCall {
                tool: &invocation.tool,
                input: invocation.input,
                agent_depth: invocation.agent_depth,
                traceparent: invocation.traceparent,
                progress,
            };
            let called = entry.server.call_until(call, &invocation.cancel);
            return called.await.into();
        }
        let Some((effect, entry)) = self.in_component(&invocation.tool) else {
            return CallReport::of(unknown(&invocation.tool).into()).into();
        };
        let undo = self.undo.as_ref();
        let undo = undo.and_then(|undo| undo.writer(&invocation, effect));
        let call = Call {
            tool: &invocation.tool,
            call_id: &invocation.call_id,
            input: &invocation.input,
            idempotency_key: &invocation.idempotency_key,
            effect,
            grants: grants.unwrap_or_else(|| Arc::clone(&entry.grants)),
            secrets: Arc::clone(&self.secrets),
            limits: &entry.limits,
            context: CallContext {
                shared: invocation.shared,
                custom: invocation.context,
                artifacts: invocation.artifacts,
                answers: invocation.answers,
                can_ask: invocation.can_ask,
                undo: undo.clone(),
                program: None,
            },
            progress,
        };
        let end = entry.component.call_until(call, &invocation.cancel).await;
        if let Some(undo) = undo {
            end_entry(undo).await;
        }
        end
    }
}

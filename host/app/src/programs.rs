//! The programs of agents with `code = true`: the built-in component `code` runs them, with nothing
//! granted but the calls of tools.

use agent_host_engine::{
    BoxFuture,
    policy::Grants,
    program::{ProgramRun, ProgramRunner},
    tool::{CallReport, CallUpdate, RunEnd},
};
use agent_host_sandbox::{Call, CallContext, ProgramContext, Secrets, ToolComponent};
use agent_host_types::{failure::ToolFailure, id::CallId, limits::Limits, tool::Effect};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The built-in component that runs programs.
pub(crate) const COMPONENT: &str = "code";

/// Its tool that runs one.
const TOOL: &str = "run_javascript";

/// Runs programs in a component.
#[derive(Clone, Debug)]
pub(crate) struct SandboxedPrograms {
    pub(crate) component: ToolComponent,
    pub(crate) limits: Limits,
    /// The secrets of all tools, which are redacted from what a program returns.
    pub(crate) secrets: Arc<Secrets>,
}

impl ProgramRunner for SandboxedPrograms {
    fn run(&self, run: ProgramRun) -> BoxFuture<'static, CallReport> {
        let Self {
            component,
            limits,
            secrets,
        } = self.clone();
        Box::pin(async move {
            let call_id = CallId("program".to_owned());
            let input = Map::from_iter([("code".to_owned(), Value::from(run.code))]);
            let call = Call {
                tool: TOOL,
                call_id: &call_id,
                input: &input.into(),
                idempotency_key: &run.session.to_string(),
                effect: Effect::ReadOnly,
                grants: Arc::new(Grants::default()),
                secrets,
                limits: &limits,
                context: CallContext {
                    program: Some(ProgramContext {
                        tools: run.tools,
                        seed: run.seed,
                        started_ms: run.started_ms,
                    }),
                    ..CallContext::default()
                },
                progress: &|update| {
                    // A reader that is behind misses lines.
                    if let CallUpdate::Output(text) = update {
                        let _ = run.printed.try_send(text.to_owned());
                    }
                },
            };
            match component.call(call).await {
                RunEnd::Settled(report) => report,
                // It cannot ask: it has no user.
                RunEnd::Asked(_) => CallReport::of(
                    ToolFailure::invalid_output("The program asked the user a question.").into(),
                ),
            }
        })
    }
}

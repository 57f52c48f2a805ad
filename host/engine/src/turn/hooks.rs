//! Model calls and tool calls with the hooks around them.

use super::Agent;
use crate::{
    hook::{Hook, MAX_RETRIES, Verdict},
    model::{DeltaSink, ModelDelta},
    tool::{CallReport, Invocation, ProgressSink, RunEnd},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    model::{ModelReply, ModelRequest, StopReason, Usage},
    output::ToolResultOutput,
    tool::Effect,
    turn::TurnError,
};

/// The beginning of the result in place of one that a hook withheld.
const WITHHELD: &str = "The tool ran, and its result is withheld";

impl Agent {
    /// Calls the model, and repeats the call as the hooks request, within their bound. Also returns
    /// the tokens of the discarded replies.
    pub(super) async fn ask_model(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Result<(ModelReply, Usage), TurnError> {
        let before = strongest(&self.hooks, |hook| hook.before_model(request)).await;
        match before {
            Verdict::Pass | Verdict::Retry => {}
            Verdict::Block(reason) => {
                return Ok((blocked(reason, Usage::default()), Usage::default()));
            }
            Verdict::Fallback(reply) => return Ok((reply, Usage::default())),
        }
        let mut thrown_away = Usage::default();
        let mut retries = 0;
        loop {
            let reply = self.model.respond(request, deltas).await?;
            let after = strongest(&self.hooks, |hook| hook.after_model(request, &reply)).await;
            let reply = match after {
                Verdict::Retry if retries < MAX_RETRIES => {
                    retries += 1;
                    thrown_away += reply.usage;
                    deltas(ModelDelta::Restarted);
                    continue;
                }
                Verdict::Pass | Verdict::Retry => reply,
                Verdict::Block(reason) => blocked(reason, reply.usage),
                Verdict::Fallback(other) => ModelReply {
                    usage: reply.usage,
                    ..other
                },
            };
            return Ok((reply, thrown_away));
        }
    }

    /// Runs a tool, and repeats the run as the hooks request, within their bound.
    pub(super) async fn run_tool(
        &self,
        invocation: Invocation,
        effect: Effect,
        progress: ProgressSink<'_>,
    ) -> RunEnd {
        match self.verdict_before(&invocation).await {
            Verdict::Pass | Verdict::Retry => {}
            Verdict::Block(reason) => {
                return CallReport::of(ToolResultOutput::ExecutionDenied(Some(reason))).into();
            }
            Verdict::Fallback(output) => return CallReport::of(output).into(),
        }
        let mut retries = 0;
        loop {
            let report = match self.tools.run(invocation.clone(), progress).await {
                RunEnd::Settled(report) => report,
                asked @ RunEnd::Asked(_) => return asked,
            };
            let after = self.verdict_after(&invocation, &report.output).await;
            let output = match after {
                // An effectful call never runs twice.
                Verdict::Retry if retries < MAX_RETRIES && effect != Effect::Effectful => {
                    retries += 1;
                    continue;
                }
                Verdict::Pass | Verdict::Retry => return report.into(),
                Verdict::Block(reason) => withheld(&reason),
                Verdict::Fallback(output) => output,
            };
            return CallReport { output, ..report }.into();
        }
    }

    /// Returns what the hooks say of a call that is about to run.
    pub(super) async fn verdict_before(
        &self,
        invocation: &Invocation,
    ) -> Verdict<ToolResultOutput> {
        strongest(&self.hooks, |hook| hook.before_tool(invocation)).await
    }

    /// Returns what the hooks say of a result.
    pub(super) async fn verdict_after(
        &self,
        invocation: &Invocation,
        output: &ToolResultOutput,
    ) -> Verdict<ToolResultOutput> {
        strongest(&self.hooks, |hook| hook.after_tool(invocation, output)).await
    }
}

/// Returns the result in place of one that a hook withheld.
pub(super) fn withheld(reason: &str) -> ToolResultOutput {
    let message = format!("{WITHHELD}: {reason}");
    ToolFailure::new(ToolErrorCode::ToolUnavailable, message).into()
}

/// Returns the strongest verdict of all hooks.
async fn strongest<'a, T>(
    hooks: &'a [std::sync::Arc<dyn Hook>],
    ask: impl Fn(&'a dyn Hook) -> crate::BoxFuture<'a, Verdict<T>>,
) -> Verdict<T> {
    let mut verdict = Verdict::Pass;
    for hook in hooks {
        verdict = verdict.or_stronger(ask(hook.as_ref()).await);
    }
    verdict
}

/// Returns a refusal in place of the model's reply.
fn blocked(reason: String, usage: Usage) -> ModelReply {
    ModelReply {
        text: reason,
        stop_reason: Some(StopReason::Refusal),
        usage,
        ..ModelReply::default()
    }
}

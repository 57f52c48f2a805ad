//! One call of a hook: the store, the limits, the gate and the schedule of a tool's call, and a
//! verdict instead of a result.

#[cfg(test)]
mod tests;

use crate::{
    bindings::{HookHost, HookHostPre, hook_types, types as wit},
    call::to_json,
    caps::tools::to_guest,
    component::tool::ToolComponent,
    instance::{
        convert, failure,
        store::{CallContext, CallSetup, CallState, configure_store},
    },
    schedule::{admission::RunPermit, guest_runtime::TaskStart},
};
use agent_host_engine::{
    BoxFuture,
    hook::{CallVerdict, RequestedCall, Verdict},
    policy::Grants,
    secrets::Secrets,
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::ToolResultOutput,
    tool::Effect,
};
use serde_json::Value;
use std::sync::Arc;
use wasmtime::Store;

/// The use of a hook.
#[derive(Clone, Debug)]
pub struct HookUse {
    /// The grants of the operator.
    pub grants: Arc<Grants>,
    /// The secrets of all tools and hooks: all of them are redacted from what the hook is given and
    /// from what it returns.
    pub secrets: Arc<Secrets>,
    /// Every limit of a call.
    pub limits: Limits,
}

/// A request to a model, as a hook sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The messages, without the content of files.
    pub messages: Value,
    /// The names of the tools.
    pub tools: Vec<String>,
}

/// A reply of a model, as a hook sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookReply {
    /// The text.
    pub text: String,
    /// The calls.
    pub calls: Value,
}

/// Calls one of the functions of an instance.
type Ask<W> = Box<
    dyn for<'s> FnOnce(&'s mut Store<CallState>, HookHost) -> BoxFuture<'s, wasmtime::Result<W>>
        + Send,
>;

/// Reads a verdict of a guest, within the limits of the call.
type Read<W, T> = fn(W, &CallState) -> Result<T, ToolFailure>;

/// One call, ready to run.
struct HookJob {
    /// Fields drop in this order, so the permit is released last.
    setup: CallSetup,
    pre: HookHostPre<CallState>,
    #[expect(dead_code, reason = "held until the job is dropped")]
    permit: Arc<RunPermit>,
}

impl ToolComponent {
    /// Returns whether the component has hooks.
    #[must_use]
    pub fn is_hook(&self) -> bool {
        self.loaded.linked.hook.is_some()
    }

    /// Asks a hook about a request to a model. A fallback is the text of the reply.
    ///
    /// # Errors
    /// The hook ended without a verdict.
    pub async fn before_model(
        &self,
        hook: &HookUse,
        request: HookRequest,
    ) -> Result<Verdict<String>, ToolFailure> {
        let HookRequest {
            system,
            mut messages,
            tools,
        } = request;
        hook.secrets.json(&mut messages);
        let request = hook_types::ModelRequest {
            system: system.map(|system| hook.secrets.text(&system).into_owned()),
            messages: messages.to_string(),
            tools,
        };
        let ask: Ask<_> = Box::new(move |store, hook| {
            Box::pin(async move {
                let hook = hook.agent_tool_hook();
                hook.call_before_model(store, &request).await
            })
        });
        self.ask(hook, ask, request_verdict).await
    }

    /// Asks a hook about a reply of a model. A modification and a fallback are texts.
    ///
    /// # Errors
    /// The hook ended without a verdict.
    pub async fn after_model(
        &self,
        hook: &HookUse,
        reply: HookReply,
    ) -> Result<Verdict<String>, ToolFailure> {
        let HookReply { text, mut calls } = reply;
        hook.secrets.json(&mut calls);
        let reply = hook_types::ModelReply {
            text: hook.secrets.text(&text).into_owned(),
            calls: calls.to_string(),
        };
        let ask: Ask<_> = Box::new(move |store, hook| {
            Box::pin(async move { hook.agent_tool_hook().call_after_model(store, &reply).await })
        });
        self.ask(hook, ask, reply_verdict).await
    }

    /// Asks a hook about a call that the model requested.
    ///
    /// # Errors
    /// The hook ended without a verdict.
    pub async fn before_tool(
        &self,
        hook: &HookUse,
        call: RequestedCall<'_>,
    ) -> Result<CallVerdict, ToolFailure> {
        let call = guest_call(hook, call)?;
        let ask: Ask<_> = Box::new(move |store, hook| {
            Box::pin(async move { hook.agent_tool_hook().call_before_tool(store, &call).await })
        });
        self.ask(hook, ask, call_verdict).await
    }

    /// Asks a hook about the result of a call.
    ///
    /// # Errors
    /// The hook ended without a verdict.
    pub async fn after_tool(
        &self,
        hook: &HookUse,
        call: RequestedCall<'_>,
        output: &ToolResultOutput,
    ) -> Result<Verdict<ToolResultOutput>, ToolFailure> {
        let call = guest_call(hook, call)?;
        let mut output = output.clone();
        hook.secrets.output(&mut output);
        let output = to_guest(output);
        let ask: Ask<_> = Box::new(move |store, hook| {
            Box::pin(async move {
                let hook = hook.agent_tool_hook();
                hook.call_after_tool(store, &call, &output).await
            })
        });
        self.ask(hook, ask, result_verdict).await
    }

    async fn ask<W: 'static, T: Send + 'static>(
        &self,
        hook: &HookUse,
        ask: Ask<W>,
        read: Read<W, T>,
    ) -> Result<T, ToolFailure> {
        let asked = self.ask_unredacted(hook, ask, read).await;
        asked.map_err(|failure| hook.secrets.failure(failure))
    }

    async fn ask_unredacted<W: 'static, T: Send + 'static>(
        &self,
        hook: &HookUse,
        ask: Ask<W>,
        read: Read<W, T>,
    ) -> Result<T, ToolFailure> {
        let Some(pre) = self.loaded.linked.hook.clone() else {
            return Err(ToolFailure::new(
                ToolErrorCode::ToolUnavailable,
                "The component has no hooks.",
            ));
        };
        // What it may do is bounded by its grants alone.
        let effect = Effect::Effectful;
        let context = CallContext::default();
        let (grants, secrets) = (&hook.grants, &hook.secrets);
        let prepared = self
            .prepare(grants, secrets, effect, &hook.limits, context)
            .await?;
        let deadline = prepared.deadline;
        let mounts_dirs = prepared.setup.dirs.is_some();
        let job = Box::new(HookJob {
            setup: prepared.setup,
            pre,
            permit: prepared.permit,
        });
        let ended = match self.launch(mounts_dirs, run(job, ask, read)) {
            TaskStart::Ready(ended) => ended,
            TaskStart::Pending(mut task) => {
                match tokio::time::timeout(deadline.left(), task.join()).await {
                    Ok(ended) => ended,
                    Err(_) => return Err(failure::timeout(&hook.limits)),
                }
            }
        };
        ended.unwrap_or_else(|error| Err(failure::of_task(&error, &hook.limits)))
    }
}

async fn run<W, T>(job: Box<HookJob>, ask: Ask<W>, read: Read<W, T>) -> Result<T, ToolFailure> {
    // Declared after the job, so the store and its instance drop before the permit.
    let mut store = configure_store(job.pre.engine(), job.setup).await?;
    let asked = match job.pre.instantiate_async(&mut store).await {
        Ok(instance) => ask(&mut store, instance).await,
        Err(error) => Err(error),
    };
    match asked {
        Ok(verdict) => read(verdict, store.data()),
        Err(error) => Err(failure::of_guest(&error, store.data())),
    }
}

/// Returns a call as the guest is given it.
fn guest_call(hook: &HookUse, call: RequestedCall<'_>) -> Result<wit::ToolCall, ToolFailure> {
    let mut input = call.input.clone();
    hook.secrets.object(&mut input);
    Ok(wit::ToolCall {
        id: call.call_id.0.clone(),
        name: call.tool.to_owned(),
        input: to_json(&input)?,
        idempotency_key: call.idempotency_key.to_owned(),
    })
}

fn request_verdict(
    verdict: hook_types::RequestVerdict,
    state: &CallState,
) -> Result<Verdict<String>, ToolFailure> {
    use hook_types::RequestVerdict;
    Ok(match verdict {
        RequestVerdict::Pass => Verdict::Pass,
        RequestVerdict::Block(reason) => Verdict::Block(text(&reason, state)?),
        RequestVerdict::Fallback(reply) => Verdict::Fallback(text(&reply, state)?),
    })
}

fn reply_verdict(
    verdict: hook_types::ReplyVerdict,
    state: &CallState,
) -> Result<Verdict<String>, ToolFailure> {
    use hook_types::ReplyVerdict;
    Ok(match verdict {
        ReplyVerdict::Pass => Verdict::Pass,
        ReplyVerdict::Modify(reply) => Verdict::Modify(text(&reply, state)?),
        ReplyVerdict::Retry(feedback) => Verdict::Retry(Some(text(&feedback, state)?)),
        ReplyVerdict::Block(reason) => Verdict::Block(text(&reason, state)?),
        ReplyVerdict::Fallback(reply) => Verdict::Fallback(text(&reply, state)?),
    })
}

fn call_verdict(
    verdict: hook_types::CallVerdict,
    state: &CallState,
) -> Result<CallVerdict, ToolFailure> {
    Ok(match verdict {
        hook_types::CallVerdict::Pass => CallVerdict::Pass,
        hook_types::CallVerdict::Modify(json) => {
            let json = text(&json, state)?;
            let input = serde_json::from_str(&json).map_err(|error| {
                ToolFailure::invalid_output(format!(
                    "The arguments that the hook returned are not a JSON object: {error}."
                ))
            })?;
            CallVerdict::Modify(Arc::new(input))
        }
        hook_types::CallVerdict::Ask => CallVerdict::Ask,
        hook_types::CallVerdict::Block(reason) => CallVerdict::Block(text(&reason, state)?),
        hook_types::CallVerdict::Fallback(output) => {
            CallVerdict::Fallback(convert::output(output, &state.secrets, &state.limits)?)
        }
    })
}

fn result_verdict(
    verdict: hook_types::ResultVerdict,
    state: &CallState,
) -> Result<Verdict<ToolResultOutput>, ToolFailure> {
    use hook_types::ResultVerdict;
    Ok(match verdict {
        ResultVerdict::Pass => Verdict::Pass,
        ResultVerdict::Modify(output) => {
            Verdict::Modify(convert::output(output, &state.secrets, &state.limits)?)
        }
        ResultVerdict::Retry => Verdict::Retry(None),
        ResultVerdict::Block(reason) => Verdict::Block(text(&reason, state)?),
    })
}

/// Bounds a text of a guest, and redacts every secret.
fn text(text: &str, state: &CallState) -> Result<String, ToolFailure> {
    if text.len() as u64 > state.limits.output_bytes {
        return Err(failure::output_too_large(&state.limits));
    }
    Ok(state.secrets.all.text(text).into_owned())
}

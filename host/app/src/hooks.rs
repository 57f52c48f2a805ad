//! The hooks of a configuration: components that judge model calls and tool calls, as the engine
//! asks them.

use crate::{
    components::{ComponentEntry, ComponentKind, load_source},
    config::{HookConfig, OnHookError},
    error::HostError,
    packages::Packages,
};
use agent_host_engine::{
    BoxFuture,
    hook::{CallVerdict, Hook, RequestedCall, Verdict},
    tool::Invocation,
};
use agent_host_sandbox::{HookReply, HookRequest, HookUse, Sandbox, Secrets};
use agent_host_types::{
    failure::ToolFailure,
    hook::HookPoint,
    message::Message,
    model::{ModelReply, ModelRequest, Provenance, StopReason},
    output::{ContentPart, FileData, ToolResultOutput},
    reason::Reason,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// The provider in the provenance of a reply that a hook gave.
const PROVIDER: &str = "hook";

/// A hook in the registry.
#[derive(Clone, Debug)]
pub struct HookEntry {
    /// Its use.
    pub config: HookConfig,
    /// Its component, with grants and limits.
    pub component: Arc<ComponentEntry>,
}

/// Loads a configured hook.
///
/// # Errors
/// Its component cannot be loaded, or has no hooks.
pub(crate) async fn load(
    sandbox: &Sandbox,
    config: &HookConfig,
    packages: Packages<'_>,
) -> Result<HookEntry, HostError> {
    let loaded = load_source(
        sandbox,
        &config.name,
        &config.source,
        ComponentKind::Calls,
        packages,
    )
    .await?;
    if !loaded.component.is_hook() {
        let (name, component) = (&config.name, &config.source);
        return Err(Reason::from(format!(
            "the component {component} of the hook `{name}` does not export `agent:tool/hook`, so it cannot be a \
             hook. List hook components under [[hook]], and tools under [[tool]]"
        ))
        .into());
    }
    Ok(HookEntry {
        config: config.clone(),
        component: Arc::new(ComponentEntry {
            name: config.name.clone(),
            source: config.source.clone(),
            bytes: loaded.bytes,
            origin: loaded.origin,
            component: loaded.component,
            grants: Arc::clone(&config.grants),
            limits: config.limits.clone(),
        }),
    })
}

impl HookEntry {
    /// Returns the hook as the engine asks it.
    pub(crate) fn with_secrets(&self, secrets: &Arc<Secrets>) -> Arc<dyn Hook> {
        Arc::new(ComponentHook {
            entry: self.clone(),
            using: HookUse {
                grants: Arc::clone(&self.component.grants),
                secrets: Arc::clone(secrets),
                limits: self.component.limits.clone(),
            },
        })
    }

    fn runs(&self, point: HookPoint) -> bool {
        self.config.points.contains(&point)
    }

    fn runs_about(&self, point: HookPoint, tool: &str) -> bool {
        let tools = &self.config.tools;
        self.runs(point) && (tools.is_empty() || tools.iter().any(|glob| glob.matches(tool)))
    }
}

/// A component that judges.
struct ComponentHook {
    entry: HookEntry,
    using: HookUse,
}

impl ComponentHook {
    /// Returns what follows from a hook without a verdict: `None` if it counts as a pass.
    fn failed(&self, failure: &ToolFailure) -> Option<String> {
        let name = &self.entry.config.name;
        let why = format!(
            "the hook `{name}` gave no verdict ({}): {}",
            failure.code,
            failure.message()
        );
        match self.entry.config.on_error {
            OnHookError::Block => Some(why),
            OnHookError::Pass => {
                tracing::warn!("{why}; it counts as a pass (on-error = \"pass\")");
                None
            }
        }
    }

    /// Returns a reply of this text alone.
    fn reply(&self, text: String) -> ModelReply {
        ModelReply {
            text,
            stop_reason: Some(StopReason::EndTurn),
            provenance: Some(Provenance {
                provider: PROVIDER.to_owned(),
                model: self.entry.config.name.clone(),
            }),
            ..ModelReply::default()
        }
    }
}

impl Hook for ComponentHook {
    fn name(&self) -> Option<&str> {
        Some(&self.entry.config.name)
    }

    fn before_model<'a>(&'a self, request: &'a ModelRequest) -> BoxFuture<'a, Verdict<ModelReply>> {
        Box::pin(async move {
            if !self.entry.runs(HookPoint::BeforeModel) {
                return Verdict::Pass;
            }
            let component = &self.entry.component.component;
            let judged = component.before_model(&self.using, shown(request)).await;
            match judged {
                Ok(Verdict::Block(reason)) => Verdict::Block(reason),
                Ok(Verdict::Fallback(text)) => Verdict::Fallback(self.reply(text)),
                Ok(_) => Verdict::Pass,
                Err(failure) => self.failed(&failure).map_or(Verdict::Pass, Verdict::Block),
            }
        })
    }

    fn after_model<'a>(
        &'a self,
        _: &'a ModelRequest,
        reply: &'a ModelReply,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        Box::pin(async move {
            if !self.entry.runs(HookPoint::AfterModel) {
                return Verdict::Pass;
            }
            let calls = reply.tool_calls.iter();
            let calls = calls
                .map(|call| json!({"id": call.id, "name": call.name, "input": call.input}))
                .collect();
            let seen = HookReply {
                text: reply.text.clone(),
                calls: Value::Array(calls),
            };
            let component = &self.entry.component.component;
            match component.after_model(&self.using, seen).await {
                Ok(Verdict::Modify(text)) => Verdict::Modify(ModelReply {
                    text,
                    ..reply.clone()
                }),
                Ok(Verdict::Retry(feedback)) => Verdict::Retry(feedback),
                Ok(Verdict::Block(reason)) => Verdict::Block(reason),
                Ok(Verdict::Fallback(text)) => Verdict::Fallback(self.reply(text)),
                Ok(Verdict::Pass | Verdict::Fail(_)) => Verdict::Pass,
                Err(failure) => self.failed(&failure).map_or(Verdict::Pass, Verdict::Fail),
            }
        })
    }

    fn withholds_replies(&self) -> bool {
        self.entry.runs(HookPoint::AfterModel)
    }

    fn reviews(&self, tool: &str) -> bool {
        self.entry.runs_about(HookPoint::BeforeTool, tool)
    }

    fn review_call<'a>(&'a self, call: RequestedCall<'a>) -> BoxFuture<'a, CallVerdict> {
        Box::pin(async move {
            let component = &self.entry.component.component;
            match component.before_tool(&self.using, call).await {
                Ok(verdict) => verdict,
                Err(failure) => {
                    let failed = self.failed(&failure);
                    failed.map_or(CallVerdict::Pass, CallVerdict::Block)
                }
            }
        })
    }

    fn after_tool<'a>(
        &'a self,
        invocation: &'a Invocation,
        output: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(async move {
            if !self
                .entry
                .runs_about(HookPoint::AfterTool, &invocation.tool)
            {
                return Verdict::Pass;
            }
            let call = RequestedCall {
                session: invocation.session,
                call_id: &invocation.call_id,
                tool: &invocation.tool,
                input: &invocation.input,
                idempotency_key: &invocation.idempotency_key,
            };
            let component = &self.entry.component.component;
            match component.after_tool(&self.using, call, output).await {
                Ok(verdict) => verdict,
                Err(failure) => self.failed(&failure).map_or(Verdict::Pass, Verdict::Block),
            }
        })
    }
}

/// Returns a request as a hook sees it: without the content of files.
fn shown(request: &ModelRequest) -> HookRequest {
    let messages = request.messages.iter().map(|message| {
        let mut message = message.clone();
        leave_bytes_out(&mut message);
        json!(message)
    });
    let tools = request.tools.iter();
    HookRequest {
        system: request.system.clone(),
        messages: messages.collect(),
        tools: tools.map(|tool| tool.name.clone()).collect(),
    }
}

fn leave_bytes_out(message: &mut Message) {
    let results = message.tool_results.iter_mut();
    let in_results = results.filter_map(|result| match &mut result.output {
        ToolResultOutput::Content(parts) => Some(parts),
        _ => None,
    });
    let parts = in_results.flatten().chain(&mut message.content);
    for part in parts {
        if let ContentPart::File(file) = part
            && let FileData::Bytes(_) | FileData::Blob(_) = file.data
        {
            file.data = FileData::Text(String::new());
        }
    }
}

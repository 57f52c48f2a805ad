//! Model calls and tool calls with the hooks around them.

use super::Agent;
use crate::{
    hook::{Hook, MAX_REASON_BYTES, MAX_RETRIES, Verdict},
    model::{DeltaSink, Model, ModelDelta},
    text,
    tool::{CallReport, Invocation, ProgressSink, RunEnd},
};
use agent_host_types::{
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    hook::{HookPoint, HookVerdict, VerdictKind},
    id::CallId,
    message::{Message, Role},
    model::{ModelReply, ModelRequest, StopReason, Usage},
    output::ToolResultOutput,
    tool::Effect,
    turn::TurnError,
};
use std::borrow::Cow;

/// The beginning of the result in place of one that a hook withheld.
const WITHHELD: &str = "The tool ran, and its result is withheld";

/// A reply with what it cost beside its own tokens, and what hooks decided on it.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) reply: ModelReply,
    /// The tokens of the discarded replies.
    pub(super) discarded: Usage,
    pub(super) verdicts: Vec<HookVerdict>,
}

impl Agent {
    /// Calls a model, and repeats the call as the hooks request, within their bound.
    pub(super) async fn ask_model(
        &self,
        model: &dyn Model,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Result<Judged, TurnError> {
        let mut before = Joint::new(HookPoint::BeforeModel);
        for hook in &self.hooks {
            before.add(hook.as_ref(), hook.before_model(request).await);
        }
        let mut judged = Judged {
            verdicts: before.recorded,
            ..Judged::default()
        };
        match before.verdict {
            Verdict::Pass | Verdict::Retry(_) => {}
            Verdict::Block(reason) | Verdict::Fail(reason) => {
                judged.reply = blocked(reason, Usage::default());
                return Ok(judged);
            }
            Verdict::Modify(reply) | Verdict::Fallback(reply) => {
                judged.reply = reply;
                return Ok(judged);
            }
        }
        let are_withheld = self.hooks.iter().any(|hook| hook.withholds_replies());
        let nowhere: DeltaSink<'_> = &|_| {};
        let shown = if are_withheld { nowhere } else { deltas };
        let mut request = Cow::Borrowed(request);
        let mut retries = 0;
        loop {
            let reply = model.respond(&request, shown).await?;
            let after = self.judge_reply(&request, &reply).await;
            judged.verdicts.extend(after.recorded);
            match after.verdict {
                Verdict::Retry(feedback) if retries < MAX_RETRIES => {
                    retries += 1;
                    judged.discarded += reply.usage;
                    shown(ModelDelta::Restarted);
                    let feedback = feedback.iter().map(|feedback| sent_back(feedback));
                    request.to_mut().messages.extend(feedback);
                    continue;
                }
                Verdict::Fail(message) => {
                    let hook = after.by.unwrap_or_default();
                    return Err(TurnError::Hook { hook, message });
                }
                Verdict::Block(reason) => judged.reply = blocked(reason, reply.usage),
                Verdict::Fallback(other) => {
                    judged.reply = ModelReply {
                        usage: reply.usage,
                        ..other
                    };
                }
                Verdict::Pass | Verdict::Retry(_) | Verdict::Modify(_) => {
                    judged.reply = after.value.unwrap_or(reply);
                }
            }
            if are_withheld && !judged.reply.text.is_empty() {
                deltas(ModelDelta::Text(&judged.reply.text));
            }
            return Ok(judged);
        }
    }

    async fn judge_reply(&self, request: &ModelRequest, reply: &ModelReply) -> Joint<ModelReply> {
        let mut joint = Joint::new(HookPoint::AfterModel);
        for hook in &self.hooks {
            let seen = joint.value.as_ref().unwrap_or(reply);
            let verdict = match hook.after_model(request, seen).await {
                // What the provider sent is not what was said any more.
                Verdict::Modify(modified) => Verdict::Modify(ModelReply {
                    usage: reply.usage,
                    reasoning: String::new(),
                    raw: None,
                    ..modified
                }),
                verdict => verdict,
            };
            joint.add(hook.as_ref(), verdict);
        }
        joint
    }

    /// Runs a tool, and repeats the run as the hooks request, within their bound.
    pub(super) async fn run_tool(
        &self,
        invocation: Invocation,
        effect: Effect,
        progress: ProgressSink<'_>,
    ) -> RunEnd {
        let mut verdicts = match self.may_run(&invocation).await {
            Ok(verdicts) => verdicts,
            Err(report) => return (*report).into(),
        };
        let mut retries = 0;
        loop {
            let report = match self.tools.run(invocation.clone(), progress).await {
                RunEnd::Settled(report) => report,
                asked @ RunEnd::Asked(_) => return asked,
            };
            let (mut report, may_repeat) = self.judge_result(&invocation, report).await;
            verdicts.append(&mut report.verdicts);
            // An effectful call never runs twice.
            if may_repeat && retries < MAX_RETRIES && effect != Effect::Effectful {
                retries += 1;
                continue;
            }
            return CallReport { verdicts, ..report }.into();
        }
    }

    /// Asks the hooks about a call that is about to run. Returns their verdicts, or the report of a
    /// call that does not run.
    pub(super) async fn may_run(
        &self,
        invocation: &Invocation,
    ) -> Result<Vec<HookVerdict>, Box<CallReport>> {
        let mut joint = Joint::new(HookPoint::BeforeTool);
        for hook in &self.hooks {
            joint.add(hook.as_ref(), hook.before_tool(invocation).await);
        }
        let output = match joint.verdict {
            Verdict::Pass | Verdict::Retry(_) => return Ok(joint.recorded),
            Verdict::Block(reason) | Verdict::Fail(reason) => {
                ToolResultOutput::ExecutionDenied(Some(reason))
            }
            Verdict::Modify(output) | Verdict::Fallback(output) => output,
        };
        Err(Box::new(CallReport {
            verdicts: joint.recorded,
            ..CallReport::of(output)
        }))
    }

    /// Asks the hooks about a result. Returns the report with what they make of it, and whether one
    /// wants the call to be repeated.
    pub(super) async fn judge_result(
        &self,
        invocation: &Invocation,
        report: CallReport,
    ) -> (CallReport, bool) {
        let mut joint = Joint::new(HookPoint::AfterTool);
        for hook in &self.hooks {
            let seen = joint.value.as_ref().unwrap_or(&report.output);
            let verdict = hook.after_tool(invocation, seen).await;
            joint.add(hook.as_ref(), verdict);
        }
        let mut may_repeat = false;
        let output = match joint.verdict {
            Verdict::Block(reason) | Verdict::Fail(reason) => withheld(&reason),
            Verdict::Fallback(output) => output,
            other => {
                may_repeat = matches!(other, Verdict::Retry(_));
                joint.value.unwrap_or(report.output)
            }
        };
        let judged = CallReport {
            output,
            verdicts: joint.recorded,
            ..report
        };
        (judged, may_repeat)
    }
}

/// The verdict of all hooks at one point.
struct Joint<T> {
    point: HookPoint,
    /// The strongest; `Modify` only where `value` is empty.
    verdict: Verdict<T>,
    /// The name of the hook with the strongest verdict.
    by: Option<String>,
    /// The value as the hooks modified it.
    value: Option<T>,
    recorded: Vec<HookVerdict>,
}

impl<T> Joint<T> {
    fn new(point: HookPoint) -> Self {
        Self {
            point,
            verdict: Verdict::Pass,
            by: None,
            value: None,
            recorded: Vec::new(),
        }
    }

    fn add(&mut self, hook: &dyn Hook, verdict: Verdict<T>) {
        let (kind, reason) = verdict.recorded();
        if let Some(name) = hook.name().filter(|_| kind != VerdictKind::Pass) {
            self.recorded.push(HookVerdict {
                hook: name.to_owned(),
                point: self.point,
                verdict: kind,
                reason: reason.map(|reason| text::sanitize(reason, MAX_REASON_BYTES)),
            });
        }
        let is_after = matches!(self.point, HookPoint::AfterModel | HookPoint::AfterTool);
        match verdict {
            Verdict::Modify(value) if is_after => self.value = Some(value),
            verdict if verdict.strength() > self.verdict.strength() => {
                self.verdict = verdict;
                self.by = hook.name().map(str::to_owned);
            }
            _ => {}
        }
    }
}

/// Returns the events of verdicts about a call, or about a model's reply.
pub(super) fn decided(
    verdicts: Vec<HookVerdict>,
    call_id: Option<&CallId>,
) -> impl Iterator<Item = Event> {
    let call_id = call_id.cloned();
    verdicts.into_iter().map(move |verdict| Event::HookDecided {
        call_id: call_id.clone(),
        verdict,
    })
}

/// Returns the message of a hook to the model whose reply it discarded.
fn sent_back(feedback: &str) -> Message {
    let feedback = text::sanitize(feedback, MAX_REASON_BYTES);
    let text = format!("Your reply was rejected, and no one has seen it: {feedback}");
    Message::text(Role::User, text)
}

/// Returns the result in place of one that a hook withheld.
fn withheld(reason: &str) -> ToolResultOutput {
    let message = format!("{WITHHELD}: {reason}");
    ToolFailure::new(ToolErrorCode::ToolUnavailable, message).into()
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

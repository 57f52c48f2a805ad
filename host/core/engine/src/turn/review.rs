//! The review step: hooks decide on the calls of a reply before rules and user do, so that what
//! is approved, hashed and run are the arguments that they left.

use super::{Agent, Step, StepResult, TurnContext, flow::misfit};
use crate::{
    BoxFuture,
    flow::Input,
    hook::{CallVerdict, Hook, MAX_REASON_BYTES, RequestedCall, Verdict},
    policy::Ruling,
    session::{BatchCall, Session},
    spill::spill_output,
    text,
    tool::Invocation,
};
use agent_host_types::{
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    hook::{CallReview, HookPoint, HookVerdict, ReviewEnd, VerdictKind},
    id::{SessionId, json_digest, object_digest},
    json,
    output::ToolResultOutput,
    turn::{Durability, TurnError},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The beginning of the names of rules that stand for hooks.
const HOOK_RULE: &str = "hook.";

/// The name that stands for the host in the review of a call with references.
const REFERENCES: &str = "references";

/// The name of a hook that has none.
const UNNAMED: &str = "embedder";

impl Agent {
    /// Reviews the calls of the batch that no hook has reviewed.
    pub(super) async fn review_calls(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<StepResult, TurnError> {
        for entry in session.state().batch().to_vec() {
            if cx.cancel.is_cancelled() {
                // The tool step answers every call of a cancelled turn.
                return Ok(StepResult::go(Step::ExecuteTools));
            }
            let given = self.resolve_references(session, &entry).await?;
            if let Some(review) = self.review(session.id(), &entry, given, cx).await {
                session.record(reviewed(&entry, review), Vec::new());
            }
        }
        if self.settings.durability == Durability::Strict && session.undurable() > 0 {
            session.barrier(cx.observer).await?;
        }
        Ok(StepResult::go(Step::CheckApproval))
    }

    /// Returns the step before the policy and the user decide on calls.
    pub(super) fn before_approval(&self) -> Step {
        match self.hooks.is_empty() && !self.quarantines() {
            true => Step::CheckApproval,
            false => Step::ReviewCalls,
        }
    }

    /// Whether a hook has to review a call that could run, and has not.
    pub(super) fn lacks_review(&self, entry: &BatchCall) -> bool {
        let tool = entry.call.name.as_str();
        entry.review.is_none()
            && entry.result.is_none()
            && (self.has_references(entry) || self.hooks.iter().any(|hook| hook.reviews(tool)))
    }

    /// Reviews a call; `None` if there is nothing to review, or the turn is cancelled. `given` are
    /// its arguments with values in place of references.
    pub(super) async fn review(
        &self,
        session: SessionId,
        entry: &BatchCall,
        given: Option<Result<Input, ToolFailure>>,
        cx: &TurnContext<'_>,
    ) -> Option<CallReview> {
        if !self.lacks_review(entry) || self.is_in_doubt(entry) {
            return None;
        }
        let was_given = given.is_some();
        let input = match given {
            Some(Ok(input)) => input,
            Some(Err(failure)) => return Some(unresolved(failure)),
            None => Arc::clone(entry.effective_input()?),
        };
        // A call that cannot run is answered without any hook.
        if self.accepted(entry, &input).is_err() {
            return was_given.then(|| unresolved(misfit(&entry.call)));
        }
        let mut review = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return None,
            review = self.ask_reviewers(session, entry, &input) => review,
        };
        if was_given {
            review.input.get_or_insert(input);
        }
        Some(review)
    }

    async fn ask_reviewers(
        &self,
        session: SessionId,
        entry: &BatchCall,
        input: &Map<String, Value>,
    ) -> CallReview {
        let call = &entry.call;
        let key = idempotency_key(session, entry);
        let mut verdicts = Vec::new();
        let mut modified = None;
        let mut end = ReviewEnd::Continue;
        for hook in self.hooks.iter().filter(|hook| hook.reviews(&call.name)) {
            let requested = RequestedCall {
                session,
                call_id: &call.id,
                tool: &call.name,
                input: modified.as_deref().unwrap_or(input),
                idempotency_key: &key,
            };
            let verdict = hook.review_call(requested).await;
            let verdict = self.usable(entry, verdict);
            let name = hook.name().unwrap_or(UNNAMED).to_owned();
            let (verdict, reason) = match verdict {
                CallVerdict::Pass => (VerdictKind::Pass, None),
                CallVerdict::Modify(input) => {
                    modified = Some(input);
                    (VerdictKind::Modify, None)
                }
                CallVerdict::Ask => {
                    if end == ReviewEnd::Continue {
                        end = ReviewEnd::Ask { hook: name.clone() };
                    }
                    (VerdictKind::Ask, None)
                }
                CallVerdict::Block(reason) => {
                    let (hook, reason) = (name.clone(), text::sanitize(&reason, MAX_REASON_BYTES));
                    let recorded = Some(reason.clone());
                    end = ReviewEnd::Block { hook, reason };
                    (VerdictKind::Block, recorded)
                }
                CallVerdict::Fallback(output) => {
                    let hook = name.clone();
                    end = ReviewEnd::Fallback { hook, output };
                    (VerdictKind::Fallback, None)
                }
            };
            verdicts.push(HookVerdict {
                hook: name,
                point: HookPoint::BeforeTool,
                verdict,
                reason,
            });
            if matches!(end, ReviewEnd::Block { .. } | ReviewEnd::Fallback { .. }) {
                break;
            }
        }
        CallReview {
            verdicts,
            input: modified.filter(|modified| **modified != *input),
            end,
        }
    }

    /// Replaces a verdict that cannot be carried out by a block.
    fn usable(&self, entry: &BatchCall, verdict: CallVerdict) -> CallVerdict {
        let block = |why: String| CallVerdict::Block(why);
        match verdict {
            CallVerdict::Modify(_) if entry.decision.is_some() => block(
                "the hook would change arguments that the user has already approved".to_owned(),
            ),
            CallVerdict::Modify(input) if json::is_object_too_deep(&input) => block(format!(
                "the hook changed the arguments, which now nest more than {} levels deep",
                json::MAX_DEPTH
            )),
            CallVerdict::Modify(input) => match self.accepted(entry, &input) {
                Ok(_) => CallVerdict::Modify(input),
                Err(failure) => block(format!(
                    "the hook changed the arguments, which no longer match the tool: {}",
                    failure.message()
                )),
            },
            CallVerdict::Fallback(output) => {
                if let Err(failure) = output.validate() {
                    return block(format!(
                        "the replacement result from the hook is invalid: {}",
                        failure.message()
                    ));
                }
                match spill_output(output.clone(), "").blobs.is_empty() {
                    true => CallVerdict::Fallback(output),
                    false => block(
                        "the replacement result from the hook is too long, or has files".to_owned(),
                    ),
                }
            }
            verdict => verdict,
        }
    }

    /// Returns the decision about a reviewed call, by what the policy decided. Nothing of a review
    /// goes before a denial.
    pub(super) fn after_review(entry: &BatchCall, ruling: Ruling) -> Ruling {
        let review = entry.review.as_ref().map(|review| &review.end);
        match (ruling, review) {
            (ruling @ Ruling::Deny { .. }, _) => ruling,
            (_, Some(ReviewEnd::Ask { hook })) => Ruling::Ask {
                rule: hook_rule(hook),
            },
            (_, Some(ReviewEnd::Block { hook, reason })) => Ruling::Deny {
                rule: hook_rule(hook),
                reason: reason.clone(),
                grant: None,
            },
            (ruling, _) => ruling,
        }
    }
}

/// Returns the review of a call whose references stand for nothing that it can run with.
fn unresolved(failure: ToolFailure) -> CallReview {
    let end = ReviewEnd::Fallback {
        hook: REFERENCES.to_owned(),
        output: failure.into(),
    };
    CallReview {
        verdicts: Vec::new(),
        input: None,
        end,
    }
}

/// Returns the result that a hook gave instead of a call.
pub(super) fn fallback_of(entry: &BatchCall) -> Option<&ToolResultOutput> {
    match &entry.review.as_ref()?.end {
        ReviewEnd::Fallback { output, .. } => Some(output),
        ReviewEnd::Continue | ReviewEnd::Ask { .. } | ReviewEnd::Block { .. } => None,
    }
}

/// Whether the host itself gave the result, since the references of the call stand for nothing that
/// it can run with.
pub(super) fn is_about_references(entry: &BatchCall) -> bool {
    // A hook, which may have this name, leaves a verdict.
    let own = entry
        .review
        .as_ref()
        .filter(|review| review.verdicts.is_empty());
    let end = own.map(|review| &review.end);
    matches!(end, Some(ReviewEnd::Fallback { hook, .. }) if hook == REFERENCES)
}

/// Returns the name of the rule that stands for a hook.
fn hook_rule(hook: &str) -> String {
    format!("{HOOK_RULE}{hook}")
}

/// Returns whether a rule stands for a hook.
pub(super) fn is_hook_rule(rule: &str) -> bool {
    rule.starts_with(HOOK_RULE)
}

/// Returns the idempotency key of a call: equal for every attempt, unique among all calls of all
/// sessions.
pub(super) fn idempotency_key(session: SessionId, entry: &BatchCall) -> String {
    json_digest(&json!([session, entry.call.id])).hex()
}

/// Returns the event of a review.
pub(super) fn reviewed(entry: &BatchCall, review: CallReview) -> Event {
    let input = entry.effective_input();
    Event::CallReviewed {
        call_id: entry.call.id.clone(),
        tool: entry.call.name.clone(),
        input_digest: input
            .map_or_else(|| object_digest(&Map::new()), |input| object_digest(input)),
        review,
    }
}

/// Returns the result of a call that no hook could review.
pub(super) fn unreviewed() -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::ToolUnavailable,
        "This call did not run: a hook must review it first, and has not.",
    )
}

/// A hook without its part in model calls, for a session without a real model.
struct OfCalls(Arc<dyn Hook>);

/// Returns hooks without their part in model calls.
pub(crate) fn of_calls(hooks: &[Arc<dyn Hook>]) -> Vec<Arc<dyn Hook>> {
    let of_calls = |hook: &Arc<dyn Hook>| Arc::new(OfCalls(hook.clone())) as Arc<dyn Hook>;
    hooks.iter().map(of_calls).collect()
}

impl Hook for OfCalls {
    fn name(&self) -> Option<&str> {
        self.0.name()
    }

    fn reviews(&self, tool: &str) -> bool {
        self.0.reviews(tool)
    }

    fn review_call<'a>(&'a self, call: RequestedCall<'a>) -> BoxFuture<'a, CallVerdict> {
        self.0.review_call(call)
    }

    fn before_tool<'a>(
        &'a self,
        invocation: &'a Invocation,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        self.0.before_tool(invocation)
    }

    fn after_tool<'a>(
        &'a self,
        invocation: &'a Invocation,
        output: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        self.0.after_tool(invocation, output)
    }
}

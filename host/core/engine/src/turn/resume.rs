//! Resumes a paused turn with decisions, an answer, or results from outside. Each input is checked
//! against every part of the open request before anything is recorded; after a refusal the open
//! request stays usable.

use super::{
    Agent, Step, Transition, TurnContext,
    begin::{record_sender, refuse},
};
use crate::{policy::pattern_fits, session::Session};
use agent_host_types::{
    approval::{ApprovalRule, Decision, Remember, RememberScope, RememberWhat},
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation, PendingCall},
    event::{EXPIRY, Event, SentInput},
    failure::{ToolErrorCode, ToolFailure},
    id::{CallId, object_digest},
    json,
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, Question},
    tool::{DecisionKind, RegisteredTool, ToolCall},
    turn::{SubmittedResult, TurnError},
};
use std::collections::HashSet;

/// The result of a call whose approval request expired.
const EXPIRED: &str =
    "This call did not run: it needed the user's approval, which did not come in time.";

impl Agent {
    /// Takes decisions about calls.
    pub(super) fn decide(
        &self,
        session: &mut Session,
        continuation: &Continuation,
        decisions: Vec<Decision>,
        cx: &TurnContext<'_>,
    ) -> Result<Transition, TurnError> {
        let calls = self.check_decided(session, continuation, &decisions)?;
        let by = cx.actors.sent_by();
        let events = self.decided(continuation.request.clone(), calls, decisions, by);
        session.record_all(events, Vec::new());
        Ok(Transition::to(self.before_approval()))
    }

    /// Returns the calls of a continuation that these decisions can be about.
    pub(super) fn check_decided<'c>(
        &self,
        session: &Session,
        continuation: &'c Continuation,
        decisions: &[Decision],
    ) -> Result<&'c [PendingCall], TurnError> {
        self.check_open(session, continuation)?;
        let Awaiting::Confirm { calls, .. } = &continuation.awaiting else {
            return Err(other_kind(continuation, "decisions"));
        };
        if is_expired(session, continuation) {
            return Err(refuse(
                "these calls waited too long for a decision and will not run; continue the session to tell the model",
            ));
        }
        check_unaltered(session, calls)?;
        self.check_decisions(calls, decisions)?;
        Ok(calls)
    }

    /// Returns the events of decisions about the calls of a request.
    pub(super) fn decided(
        &self,
        request: String,
        calls: &[PendingCall],
        decisions: Vec<Decision>,
        by: Option<String>,
    ) -> Vec<Event> {
        let rules = self.rules_to_remember(calls, &decisions).into_iter();
        let remembered = rules.map(|(rule, scope)| Event::ApprovalRemembered { rule, scope });
        let decided = Event::DecisionRecorded {
            request,
            decisions,
            by,
        };
        std::iter::once(decided).chain(remembered).collect()
    }

    /// Returns the rules to remember from these decisions, in the order of the calls. The caller of
    /// the loop stores those of scope `Project`, after the turn has accepted the decisions.
    #[must_use]
    pub fn rules_to_remember(
        &self,
        calls: &[PendingCall],
        decisions: &[Decision],
    ) -> Vec<(ApprovalRule, RememberScope)> {
        let pairs = calls.iter().zip(decisions);
        let rule = |(call, decision): (&PendingCall, &Decision)| match decision {
            Decision::Approve {
                remember: Some(remember),
                ..
            } => {
                let tool = self.tool(&call.tool)?;
                let rule = ApprovalRule::new(tool, remember.what.clone(), call.input_digest);
                Some((rule, remember.scope))
            }
            _ => None,
        };
        pairs.filter_map(rule).collect()
    }

    /// Takes the answer to a question.
    pub(super) fn answer_question(
        &self,
        session: &mut Session,
        continuation: &Continuation,
        answer: &Answer,
        cx: &TurnContext<'_>,
    ) -> Result<Transition, TurnError> {
        let (call_id, question) = self.check_answered(session, continuation, answer)?;
        let entry = session
            .state()
            .batch()
            .iter()
            .find(|entry| entry.call.id == *call_id);
        let asked = entry.and_then(|entry| Some((entry.call.clone(), entry.asked?)));
        let event = Event::AnswerReceived {
            request: continuation.request.clone(),
            call_id: call_id.clone(),
            answer: answer.clone(),
            by: cx.actors.sent_by(),
        };
        session.record(event, Vec::new());
        if let Some((call, AnsweredBy::Result)) = asked {
            self.settle_skipped(session, cx, &call, question.result(answer));
        }
        Ok(Transition::to(Step::CheckApproval))
    }

    /// Returns the call and the question of a continuation that this can answer.
    pub(super) fn check_answered<'c>(
        &self,
        session: &Session,
        continuation: &'c Continuation,
        answer: &Answer,
    ) -> Result<(&'c CallId, &'c Question), TurnError> {
        self.check_open(session, continuation)?;
        let Awaiting::Answer {
            call_id, question, ..
        } = &continuation.awaiting
        else {
            return Err(other_kind(continuation, "an answer"));
        };
        question
            .check(answer)
            .map_err(|why| refuse(format!("invalid answer: {why}")))?;
        Ok((call_id, question))
    }

    /// Takes the results of external calls.
    pub(super) fn submit(
        &self,
        session: &mut Session,
        continuation: &Continuation,
        results: &[SubmittedResult],
        cx: &TurnContext<'_>,
    ) -> Result<Transition, TurnError> {
        self.check_submitted(session, continuation, results)?;
        record_sender(session, SentInput::Results, cx);
        let waiting: Vec<ToolCall> = session
            .state()
            .batch()
            .iter()
            .filter(|entry| entry.dispatched_externally && entry.result.is_none())
            .map(|entry| entry.call.clone())
            .collect();
        for call in waiting {
            if let Some(result) = results.iter().find(|result| result.call_id == call.id) {
                self.settle_external(session, cx, &call, result.output.clone());
            }
        }
        Ok(Transition::to(Step::ExecuteTools))
    }

    /// Checks that these are the results of the calls of a continuation.
    pub(super) fn check_submitted(
        &self,
        session: &Session,
        continuation: &Continuation,
        results: &[SubmittedResult],
    ) -> Result<(), TurnError> {
        self.check_open(session, continuation)?;
        let Awaiting::External { calls } = &continuation.awaiting else {
            return Err(other_kind(continuation, "tool results"));
        };
        check_ids(calls, results)?;
        for result in results {
            result.output.validate().map_err(|failure| {
                refuse(format!(
                    "invalid result for call {}: {}",
                    result.call_id,
                    failure.message()
                ))
            })?;
        }
        Ok(())
    }

    /// Denies the calls of an expired approval request.
    pub(super) fn expire(&self, session: &mut Session) {
        let Some(continuation) = self.continuation(session) else {
            return;
        };
        if !is_expired(session, &continuation) {
            return;
        }
        let waiting = continuation.calls().iter();
        let rejected = waiting.map(|call| Decision::Reject {
            call_id: call.call_id.clone(),
            reason: Some(EXPIRED.to_owned()),
        });
        let decided = Event::DecisionRecorded {
            decisions: rejected.collect(),
            request: continuation.request,
            by: Some(EXPIRY.to_owned()),
        };
        session.record(decided, Vec::new());
    }

    /// Checks that a continuation is the open one, unaltered.
    pub(super) fn check_open(
        &self,
        session: &Session,
        given: &Continuation,
    ) -> Result<(), TurnError> {
        if given.version != CONTINUATION_VERSION {
            return Err(refuse(format!(
                "this continuation has version {}; this program reads version {CONTINUATION_VERSION}",
                given.version
            )));
        }
        if given.session != session.id() {
            return Err(refuse(format!(
                "this continuation belongs to session {}",
                given.session
            )));
        }
        let open = self.continuation(session).ok_or_else(|| {
            refuse("nothing is pending in this session; the continuation was already used, or its calls were answered")
        })?;
        if given.request != open.request {
            return Err(refuse(format!(
                "this continuation is not the pending one ({})",
                open.request
            )));
        }
        if given.awaiting.kind() != open.awaiting.kind() {
            return Err(refuse(format!(
                "the session waits for {}, but this continuation has the kind `{}`",
                open.awaiting.kind(),
                given.awaiting.kind()
            )));
        }
        // The signature covers every field, so this comparison suffices; it takes the same time
        // wherever they differ.
        if given != &open || self.key.sign(given) != given.signature {
            return Err(refuse(format!(
                "the continuation of request {} was altered, or signed by another host; get it from the session again",
                open.request
            )));
        }
        Ok(())
    }

    pub(super) fn check_decisions(
        &self,
        calls: &[PendingCall],
        decisions: &[Decision],
    ) -> Result<(), TurnError> {
        let is_some = !decisions.is_empty() && decisions.len() < calls.len();
        let is_enough = is_some && self.settings.takes_some_decisions;
        if decisions.len() != calls.len() && !is_enough {
            return Err(refuse(format!(
                "{} calls are pending but {} decisions were given; give one for each, in order",
                calls.len(),
                decisions.len()
            )));
        }
        for (pending, decision) in calls.iter().zip(decisions) {
            self.check_decision(pending, decision)?;
        }
        Ok(())
    }

    fn check_decision(&self, pending: &PendingCall, decision: &Decision) -> Result<(), TurnError> {
        if decision.call_id() != &pending.call_id {
            return Err(refuse(format!(
                "the decision is for call {}, but one for call {} is expected",
                decision.call_id(),
                pending.call_id
            )));
        }
        let allowed = self.allowed(pending);
        if !allowed.contains(&decision.kind()) {
            let allowed: Vec<&str> = allowed.iter().map(|kind| kind.as_str()).collect();
            return Err(refuse(format!(
                "the decision about call {} cannot be `{}`; its tool allows {}",
                pending.call_id,
                decision.kind().as_str(),
                allowed.join(", ")
            )));
        }
        if let Decision::Approve { .. } | Decision::Edit { .. } = decision {
            self.check_same_tool(pending)?;
        }
        if let Decision::Approve {
            remember:
                Some(Remember {
                    what: RememberWhat::Pattern(pattern),
                    ..
                }),
            ..
        } = decision
            && !pattern_fits(pattern, &pending.input)
        {
            return Err(refuse(format!(
                "the pattern `{}` does not match the argument `{}` of call {}, so it would approve something else",
                pattern.glob.escape_debug(),
                pattern.pointer.escape_debug(),
                pending.call_id
            )));
        }
        let Decision::Edit { input, .. } = decision else {
            return Ok(());
        };
        if json::is_object_too_deep(input) {
            return Err(refuse(format!(
                "the edited arguments of call {} nest more than {} levels deep",
                pending.call_id,
                json::MAX_DEPTH
            )));
        }
        self.tools
            .accept(&pending.tool, input)
            .map(drop)
            .map_err(|failure| {
                refuse(format!(
                    "the edited arguments of call {} are not valid: {}",
                    pending.call_id,
                    failure.message()
                ))
            })
    }

    /// Checks that the tool of a call is the one that the user was shown: a decision is not used up
    /// by a run that cannot carry it out.
    fn check_same_tool(&self, pending: &PendingCall) -> Result<(), TurnError> {
        let PendingCall { call_id, tool, .. } = pending;
        if self.tool(tool).is_none() {
            return Err(refuse(format!(
                "call {call_id} cannot run, because this run has no tool `{tool}`; the call stays pending; use the \
                 arguments and the configuration of the run that asked"
            )));
        }
        match self.is_changed(pending) {
            false => Ok(()),
            true => Err(refuse(format!(
                "the tool `{tool}` of call {call_id}, or its access, has changed since the call was shown, so the \
                 call stays pending; use the arguments and the configuration of the run that asked, or resume the \
                 session without a decision to see the call as it would run now"
            ))),
        }
    }

    /// Returns whether the tool of a waiting call is there, and is not what it was at the request.
    fn is_changed(&self, pending: &PendingCall) -> bool {
        let now = self.tool(&pending.tool).map(RegisteredTool::identity);
        matches!((now, pending.identity), (Some(now), Some(then)) if now != then)
    }

    /// Returns whether an open request shows a tool as it is not any more, and each call of it can
    /// be asked about again.
    pub(super) fn is_outdated(
        &self,
        session: &Session,
        continuation: &Continuation,
        cx: &TurnContext<'_>,
    ) -> bool {
        let Awaiting::Confirm { calls, .. } = &continuation.awaiting else {
            return false;
        };
        let batch = session.state().batch();
        let is_asked_about = |call: &PendingCall| {
            let entry = batch.iter().find(|entry| entry.call.id == call.call_id);
            entry.is_some_and(|entry| self.pending(session, entry, cx).is_some())
        };
        calls.iter().any(|call| self.is_changed(call)) && calls.iter().all(is_asked_about)
    }

    /// Returns the decisions that the tool allowed at the request and still allows.
    fn allowed(&self, pending: &PendingCall) -> Vec<DecisionKind> {
        let now = self.tool(&pending.tool).map(|tool| &tool.decisions);
        let still = |kind: &DecisionKind| now.is_none_or(|now| now.contains(kind));
        pending.decisions.iter().copied().filter(still).collect()
    }
}

fn is_expired(session: &Session, continuation: &Continuation) -> bool {
    continuation
        .expires_at_ms
        .is_some_and(|late| session.now_ms() >= late)
}

pub(super) fn other_kind(continuation: &Continuation, given: &str) -> TurnError {
    refuse(format!(
        "a continuation of kind `{}` cannot be resumed with {given}",
        continuation.awaiting.kind()
    ))
}

/// Checks that the batch still has the arguments that the user was shown.
fn check_unaltered(session: &Session, calls: &[PendingCall]) -> Result<(), TurnError> {
    for pending in calls {
        let mut batch = session.state().batch().iter();
        let Some(entry) = batch.find(|entry| entry.call.id == pending.call_id) else {
            continue;
        };
        let input = entry.effective_input().cloned().unwrap_or_default();
        if object_digest(&input) != pending.input_digest {
            return Err(refuse(format!(
                "the arguments of call {} changed after the request",
                pending.call_id
            )));
        }
    }
    Ok(())
}

/// Checks that there is exactly one result for each call, in any order.
fn check_ids(calls: &[PendingCall], results: &[SubmittedResult]) -> Result<(), TurnError> {
    let mut seen = HashSet::new();
    for result in results {
        if !calls.iter().any(|call| call.call_id == result.call_id) {
            return Err(refuse(format!(
                "a result was submitted for call {}, which is not waiting for one",
                result.call_id
            )));
        }
        if !seen.insert(&result.call_id) {
            return Err(refuse(format!(
                "call {} was given two results",
                result.call_id
            )));
        }
    }
    match calls.iter().find(|call| !seen.contains(&call.call_id)) {
        Some(missing) => Err(refuse(format!(
            "no result was given for call {}; submit one for each pending call",
            missing.call_id
        ))),
        None => Ok(()),
    }
}

/// Returns the result of an external call without one, for a conversation that continues without
/// it.
pub(super) fn unanswered() -> ToolResultOutput {
    ToolFailure::new(
        ToolErrorCode::InterruptedUnknown,
        "The user sent a new message before this call's result came. Whether it took effect is not known.",
    )
    .into()
}

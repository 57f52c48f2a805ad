//! The decision whether a call may start.

use super::{
    Ruling,
    rule::{CallRequest, CallRule, deciding_rule, pattern_fits},
};
use agent_host_types::{
    approval::{ApprovalRule, ArgumentPattern},
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, Effect},
};

/// Decides whether a call runs, needs approval, or is denied: by the rule about it, or else by the
/// approval and the effect of its tool. Grants and limits apply during the call in any case.
///
/// `approved` are rules that approve calls in the place of the user, and `remembered` the
/// remembered approvals of the user. They only answer where the user would be asked, and may
/// approve.
#[must_use]
pub fn decide_call<'a>(
    call: &CallRequest<'_>,
    rules: &[CallRule],
    approved: &[CallRule],
    remembered: impl IntoIterator<Item = &'a ApprovalRule>,
) -> Ruling {
    let CallRequest {
        tool, input_digest, ..
    } = *call;
    let ruling = match deciding_rule(rules, call) {
        Some(rule) => rule.ruling(),
        None => by_tool(tool.effect, tool.approval),
    };
    let Ruling::Ask { .. } = &ruling else {
        return ruling;
    };
    // If approving is not allowed, earlier approvals do not count.
    if !tool.decisions.contains(&DecisionKind::Approve) {
        return ruling;
    }
    if let Some(rule) = deciding_rule(approved, call) {
        return Ruling::allow(&rule.name);
    }
    let mut remembered = remembered.into_iter();
    let fits = |pattern: &ArgumentPattern| pattern_fits(pattern, call.input);
    if remembered.any(|rule| rule.covers(tool, input_digest, fits)) {
        return Ruling::allow("approval.remembered");
    }
    ruling
}

/// Returns the result of a call that a rule denies.
#[must_use]
pub fn denied_call(rule: &str, reason: &str) -> ToolResultOutput {
    ToolResultOutput::ExecutionDenied(Some(format!("{reason} ({rule})")))
}

fn by_tool(effect: Effect, approval: Approval) -> Ruling {
    match (approval, effect) {
        (Approval::Always, _) => Ruling::ask("approval.always"),
        (Approval::Never, _) => Ruling::allow("approval.never"),
        (Approval::ByEffect, Effect::ReadOnly) => Ruling::allow("effect.read-only"),
        (Approval::ByEffect, Effect::Idempotent) => Ruling::ask("effect.idempotent"),
        (Approval::ByEffect, Effect::Effectful) => Ruling::ask("effect.effectful"),
    }
}

//! The decision whether a call may start.

use super::{
    Ruling,
    rule::{CallRequest, CallRule, deciding_rule},
};
use agent_host_types::{
    approval::ApprovalRule,
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, Effect},
};

/// Decides whether a call runs, needs approval, or is denied: by the rule about it, or else by the
/// approval and the effect of its tool. Grants and limits apply during the call in any case.
/// `remembered` are the remembered approvals of the user, which a denial ignores.
#[must_use]
pub fn decide_call<'a>(
    call: &CallRequest<'_>,
    rules: &[CallRule],
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
    // If approving is no longer allowed, earlier approvals do not count.
    let covered = tool.decisions.contains(&DecisionKind::Approve)
        && remembered
            .into_iter()
            .any(|rule| rule.covers(tool, input_digest));
    if covered {
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

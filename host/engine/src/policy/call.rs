//! The decision whether a call may start.

use super::Ruling;
use agent_host_types::{
    approval::ApprovalRule,
    id::Digest,
    tool::{Approval, DecisionKind, Effect, RegisteredTool},
};

/// Decides whether a call of this tool with these arguments needs approval. Grants and limits apply
/// during the call in any case. `remembered` are the remembered approvals of the user.
#[must_use]
pub fn decide_call<'a>(
    tool: &RegisteredTool,
    input_digest: Digest,
    remembered: impl IntoIterator<Item = &'a ApprovalRule>,
) -> Ruling {
    let ruling = by_configuration(tool.effect, tool.approval);
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

fn by_configuration(effect: Effect, approval: Approval) -> Ruling {
    match (approval, effect) {
        (Approval::Always, _) => Ruling::ask("approval.always"),
        (Approval::Never, _) => Ruling::allow("approval.never"),
        (Approval::ByEffect, Effect::ReadOnly) => Ruling::allow("effect.read-only"),
        (Approval::ByEffect, Effect::Idempotent) => Ruling::ask("effect.idempotent"),
        (Approval::ByEffect, Effect::Effectful) => Ruling::ask("effect.effectful"),
    }
}

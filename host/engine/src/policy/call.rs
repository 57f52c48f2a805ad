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
        return Ruling::Allow {
            rule: "approval.remembered".to_owned(),
        };
    }
    ruling
}

fn by_configuration(effect: Effect, approval: Approval) -> Ruling {
    let rule = |text: &str| text.to_owned();
    match (approval, effect) {
        (Approval::Always, _) => Ruling::Ask {
            rule: rule("approval.always"),
        },
        (Approval::Never, _) => Ruling::Allow {
            rule: rule("approval.never"),
        },
        (Approval::ByEffect, Effect::ReadOnly) => Ruling::Allow {
            rule: rule("effect.read-only"),
        },
        (Approval::ByEffect, Effect::Idempotent) => Ruling::Ask {
            rule: rule("effect.idempotent"),
        },
        (Approval::ByEffect, Effect::Effectful) => Ruling::Ask {
            rule: rule("effect.effectful"),
        },
    }
}

//! Whether a call may start.

use super::Ruling;
use crate::tool::{Approval, Effect};

/// Decides whether a call may run by itself. Grants and limits hold during the call in any case.
#[must_use]
pub fn decide_call(effect: Effect, approval: Approval) -> Ruling {
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

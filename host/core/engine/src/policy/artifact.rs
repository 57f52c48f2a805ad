//! The decision about an operation on the artifacts of a session.

use super::{ArtifactAccess, DEFAULT_DENY, Grants, Ruling};
use agent_host_types::{audit::ArtifactOp, tool::Effect};

/// Decides an operation of a tool with this effect.
#[must_use]
pub fn decide_artifact(grants: &Grants, effect: Effect, op: ArtifactOp) -> Ruling {
    if op.changes() && effect == Effect::ReadOnly {
        let reason = "the tool declares itself read-only, so it may not store or delete artifacts";
        return Ruling::deny("effect.read-only", reason);
    }
    let (rule, reason) = match grants.artifacts {
        None => (DEFAULT_DENY, "no grant covers the artifacts of the session"),
        Some(ArtifactAccess::ReadOnly) if op.changes() => (
            "grants.artifacts",
            "the artifacts of the session are granted read-only",
        ),
        Some(ArtifactAccess::ReadOnly | ArtifactAccess::ReadWrite) => {
            return Ruling::allow("grants.artifacts")
                .below(grants, |ceiling| decide_artifact(ceiling, effect, op));
        }
    };
    let access = match op.changes() {
        true => "read-write",
        false => "read-only",
    };
    Ruling::Deny {
        rule: rule.to_owned(),
        reason: reason.to_owned(),
        grant: Some(format!(
            "# in [grants], or in the [[tool]]\nartifacts = \"{access}\""
        )),
    }
}

//! The grants of an agent, beyond which no grant of a tool goes: both have to allow a request.
//!
//! A ceiling has all parts that grants have, and may have a ceiling itself: that of the agent which
//! started this one.

use super::{FileOp, Grants, Ruling, decide_file};
use agent_host_types::tool::Effect;
use std::{path::Path, sync::Arc};

impl Grants {
    /// Returns these grants of a tool for the calls of an agent with grants of its own. Variables,
    /// which no decision is about, are those that both have.
    #[must_use]
    pub fn below(&self, ceiling: &Arc<Self>) -> Self {
        let mut narrowed = self.clone();
        let is_kept = |name: &str| ceiling.env.iter().any(|env| env.name == name);
        narrowed.env.retain(|env| is_kept(&env.name));
        narrowed.ceiling = Some(Arc::clone(ceiling));
        narrowed
    }
}

impl Ruling {
    /// Returns this ruling, or that of the ceiling if there is one and this one allows.
    pub(super) fn below(self, grants: &Grants, decide: impl FnOnce(&Grants) -> Self) -> Self {
        match (&self, &grants.ceiling) {
            (Self::Allow { .. }, Some(ceiling)) => match decide(ceiling) {
                Self::Allow { .. } => self,
                denied => denied.of_agent(),
            },
            _ => self,
        }
    }

    /// Names the agent's grants in the place of the tool's.
    fn of_agent(self) -> Self {
        match self {
            Self::Deny {
                rule,
                reason,
                grant,
            } => Self::Deny {
                rule: format!("agent.{rule}"),
                reason: format!("the grants of the agent do not reach so far: {reason}"),
                grant: grant.map(|lines| {
                    lines
                        .replace("[[grants.", "[[agent.grants.")
                        .replace("[grants]", "[agent.grants]")
                }),
            },
            other => other,
        }
    }
}

/// Decides an operation on a path of the host, in the closest directory of the grants above it. A
/// path that is masked there is denied, since only the tool's own masks hide names.
#[must_use]
pub fn decide_path(ceiling: &Grants, effect: Effect, op: FileOp, path: &Path) -> Ruling {
    decide_path_in(ceiling, path, |index, below| {
        decide_file(ceiling, effect, index, op, below)
    })
}

/// Decides about a path of the host with the index of the closest directory of the ceiling above
/// it and the path below that.
pub(super) fn decide_path_in(
    ceiling: &Grants,
    path: &Path,
    decide: impl FnOnce(usize, &str) -> Ruling,
) -> Ruling {
    let dirs = ceiling.dirs.iter().enumerate();
    let above = dirs.filter(|(_, dir)| path.starts_with(&dir.host));
    let closest = above.max_by_key(|(_, dir)| dir.host.components().count());
    let found = closest.and_then(|(index, dir)| {
        let below = path.strip_prefix(&dir.host).ok()?.to_str()?;
        Some((index, dir, below))
    });
    let Some((index, dir, below)) = found else {
        return Ruling::deny("grants.dir", "no directory of it covers this path");
    };
    if let Some(pattern) = dir.mask.first_match(below) {
        return Ruling::deny(
            format!("grants.dir[{index}].mask `{pattern}`"),
            format!("the operator masks `{pattern}` in {}", dir.guest),
        );
    }
    decide(index, below)
}

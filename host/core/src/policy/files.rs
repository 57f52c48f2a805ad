//! Whether a file operation may happen.

use super::{DEFAULT_DENY, DirMode, Grants, Ruling};
use crate::tool::Effect;

/// What a tool wants to do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOp {
    /// See that it is there and what it is.
    Stat,
    /// List a folder.
    List,
    /// Read the content.
    Read,
    /// Write, create, truncate, delete, link or set times; rename a file.
    Write,
    /// Rename a folder with everything in it, or give a folder that name.
    Move,
}

impl FileOp {
    /// The word for messages and the audit.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::List => "list",
            Self::Read => "read",
            Self::Write => "write",
            Self::Move => "move",
        }
    }
}

/// Decides a file operation of a tool with this effect, in the grant with this index, on a path that the sandbox has already
/// resolved: relative to the grant, without `..`, without symbolic links. Masks are not decided here: a masked path does
/// not exist for the guest.
#[must_use]
pub fn decide_file(
    grants: &Grants,
    effect: Effect,
    grant: usize,
    op: FileOp,
    path: &str,
) -> Ruling {
    let Some(dir) = grants.dirs.get(grant) else {
        return Ruling::Deny {
            rule: DEFAULT_DENY.to_owned(),
            reason: "no folder grant covers this path".to_owned(),
            grant: None,
        };
    };
    if let Some(pattern) = dir.deny.first_match(path) {
        return Ruling::Deny {
            rule: format!("grants.dir[{grant}].deny `{pattern}`"),
            reason: format!("the operator denies `{pattern}` in {}", dir.guest),
            grant: None,
        };
    }
    if op == FileOp::Move
        && let Some(pattern) = dir.deny.first_below(path)
    {
        return Ruling::Deny {
            rule: format!("grants.dir[{grant}].deny `{pattern}`"),
            reason: format!(
                "moving this folder would move what the operator denies as `{pattern}`"
            ),
            grant: None,
        };
    }
    let looks = matches!(op, FileOp::Stat | FileOp::List);
    if !looks && !dir.allow.is_empty() && dir.allow.first_match(path).is_none() {
        return Ruling::Deny {
            rule: format!("grants.dir[{grant}].allow"),
            reason: format!(
                "the operator allows only {} in {}",
                dir.allow.patterns().join(", "),
                dir.guest
            ),
            grant: None,
        };
    }
    if matches!(op, FileOp::Write | FileOp::Move) {
        if dir.mode == DirMode::ReadOnly {
            return Ruling::Deny {
                rule: format!("grants.dir[{grant}].mode"),
                reason: format!("{} is granted read-only", dir.guest),
                grant: None,
            };
        }
        if effect == Effect::ReadOnly {
            return Ruling::Deny {
                rule: "effect.read-only".to_owned(),
                reason: "the tool declares itself read-only, so it may not write".to_owned(),
                grant: None,
            };
        }
    }
    Ruling::Allow {
        rule: format!("grants.dir[{grant}]"),
    }
}

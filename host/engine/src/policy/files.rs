//! Whether a file operation may happen.

use super::{
    DEFAULT_DENY, DirGrant, DirMode, Grants, PathRules, Ruling,
    run_later::{self, RunLater},
    toml_text,
};
use agent_host_types::tool::Effect;

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
    /// Write to a file that has an executable bit, put another in its place, or give such a file another name.
    WriteExecutable,
    /// Make a directory, or set the times of one.
    WriteDir,
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
            Self::Write | Self::WriteDir => "write",
            Self::WriteExecutable => "write-executable",
            Self::Move => "move",
        }
    }

    /// Whether it changes anything.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::Stat | Self::List | Self::Read => false,
            Self::Write | Self::WriteExecutable | Self::WriteDir | Self::Move => true,
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
    if !is_among_allowed(dir, op, path) {
        return Ruling::Deny {
            rule: format!("grants.dir[{grant}].allow"),
            reason: format!(
                "the operator allows only {} in {}",
                dir.allow.patterns().join(", "),
                dir.guest
            ),
            grant: smallest_change(dir, effect, op, path),
        };
    }
    if op.changes() {
        if dir.mode == DirMode::ReadOnly {
            return Ruling::Deny {
                rule: format!("grants.dir[{grant}].mode"),
                reason: format!("{} is granted read-only", dir.guest),
                grant: smallest_change(dir, effect, op, path),
            };
        }
        if effect == Effect::ReadOnly {
            return Ruling::Deny {
                rule: "effect.read-only".to_owned(),
                reason: "the tool declares itself read-only, so it may not write".to_owned(),
                grant: None,
            };
        }
        if let Some(RunLater { pattern, reason }) = runs_later(dir, op, path) {
            return Ruling::Deny {
                rule: format!("files.run-later `{pattern}`"),
                reason: format!(
                    "{reason}, outside of the sandbox, and the grant's `allow-run-later` does not name it"
                ),
                grant: smallest_change(dir, effect, op, path),
            };
        }
    }
    Ruling::Allow {
        rule: format!("grants.dir[{grant}]"),
    }
}

/// Whether the grant's `allow` list, if it has one, lets an operation happen.
fn is_among_allowed(dir: &DirGrant, op: FileOp, path: &str) -> bool {
    matches!(op, FileOp::Stat | FileOp::List)
        || dir.allow.is_empty()
        || dir.allow.first_match(path).is_some()
}

/// Why the path is not to be written for what it would run later, unless the grant allows it.
fn runs_later(dir: &DirGrant, op: FileOp, path: &str) -> Option<RunLater> {
    let found = run_later::find(path, op == FileOp::WriteDir)?;
    dir.allow_run_later
        .first_match(path)
        .is_none()
        .then_some(found)
}

/// The lines of the folder's grant that would have to be different for an operation that no `deny` pattern is against; nothing
/// where none would help. The folder's place on the host is not for the audit, so the grant is named by the guest's path.
fn smallest_change(dir: &DirGrant, effect: Effect, op: FileOp, path: &str) -> Option<String> {
    if op.changes() && effect == Effect::ReadOnly {
        return None;
    }
    let mut lines = vec![format!(
        "# changed lines of the [[grants.dir]] with guest = {}",
        toml_text::string(&dir.guest)
    )];
    if !is_among_allowed(dir, op, path) {
        lines.push(format!("allow = {}", with_path(&dir.allow, path)?));
    }
    if op.changes() && dir.mode == DirMode::ReadOnly {
        lines.push("mode = \"read-write\"".to_owned());
    }
    if op.changes() && runs_later(dir, op, path).is_some() {
        let patterns = with_path(&dir.allow_run_later, path)?;
        lines.push(format!("allow-run-later = {patterns}"));
    }
    Some(lines.join("\n"))
}

/// The list in TOML, and a pattern for exactly this path and what is below it; nothing where no pattern names it.
fn with_path(rules: &PathRules, path: &str) -> Option<String> {
    // The leading slash keeps a single name from holding at every depth.
    let pattern = format!("/{}", globset::escape(path));
    PathRules::new(&[&pattern]).ok()?.first_match(path)?;
    let patterns = rules.patterns().iter().map(String::as_str);
    let patterns: Vec<&str> = patterns.chain([&*pattern]).collect();
    Some(toml_text::strings(&patterns))
}

//! The decision about a file operation.

use super::{
    DEFAULT_DENY, DirGrant, DirMode, Grants, PathRules, Ruling,
    ceiling::{decide_path, decide_path_in},
    run_later::{self, RunLater},
    toml_text,
};
use agent_host_types::{audit::FileAction, tool::Effect};

/// The head of the lines that would allow an operation, before the guest's path of the grant.
const CHANGED_LINES: &str = "# changed lines of the [[grants.dir]] with guest =";

/// An operation of a tool on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOp {
    /// Read the metadata.
    Stat,
    /// List a directory.
    List,
    /// Read the content.
    Read,
    /// Write, create, truncate, delete, link or set times; rename a file.
    Write,
    /// Write to, replace or rename a file with an executable bit.
    WriteExecutable,
    /// Create a directory, or set its times.
    WriteDir,
    /// Rename a directory, or give a directory this name.
    Move,
}

impl FileOp {
    /// Returns the operation as the audit names it.
    #[must_use]
    pub fn action(self) -> FileAction {
        match self {
            Self::Stat => FileAction::Stat,
            Self::List => FileAction::List,
            Self::Read => FileAction::Read,
            Self::Write | Self::WriteDir => FileAction::Write,
            Self::WriteExecutable => FileAction::WriteExecutable,
            Self::Move => FileAction::Move,
        }
    }

    /// Whether the operation changes anything.
    #[must_use]
    pub fn changes(self) -> bool {
        self.action().changes()
    }
}

/// Decides a file operation of a tool with this effect in the grant with this index. The path is
/// already resolved by the sandbox: relative to the grant, without `..` and symbolic links. The
/// sandbox applies masks; a masked path does not exist for the guest.
#[must_use]
pub fn decide_file(
    grants: &Grants,
    effect: Effect,
    grant: usize,
    op: FileOp,
    path: &str,
) -> Ruling {
    let Some(dir) = grants.dirs.get(grant) else {
        return Ruling::deny(DEFAULT_DENY, "no directory grant covers this path");
    };
    decide_in(dir, effect, grant, op, path).below(grants, |ceiling| {
        decide_path(ceiling, effect, op, &dir.host.join(path))
    })
}

/// Decides a change that [`decide_file`] allows, but that makes what is at the path run later by
/// structure or content instead of its name: only an `allow-run-later` that names it allows it.
#[must_use]
pub fn decide_run_later(grants: &Grants, grant: usize, path: &str, found: RunLater) -> Ruling {
    let Some(dir) = grants.dirs.get(grant) else {
        return Ruling::deny(DEFAULT_DENY, "no directory grant covers this path");
    };
    let ruling = if dir.allow_run_later.first_match(path).is_some() {
        Ruling::allow(format!("grants.dir[{grant}]"))
    } else {
        deny_run_later(dir, path, found)
    };
    ruling.below(grants, |ceiling| {
        decide_path_in(ceiling, &dir.host.join(path), |index, below| {
            decide_run_later(ceiling, index, below, found)
        })
    })
}

/// Refuses a change of a file that runs later.
fn deny_run_later(dir: &DirGrant, path: &str, found: RunLater) -> Ruling {
    let RunLater { pattern, reason } = found;
    let lines = with_path(&dir.allow_run_later, path).map(|patterns| {
        let guest = toml_text::string(&dir.guest);
        format!("{CHANGED_LINES} {guest}\nallow-run-later = {patterns}")
    });
    Ruling::Deny {
        rule: format!("files.run-later `{pattern}`"),
        reason: format!(
            "{reason}, outside of the sandbox, and the grant's `allow-run-later` does not list it"
        ),
        grant: lines,
    }
}

/// Decides by one grant alone.
fn decide_in(dir: &DirGrant, effect: Effect, grant: usize, op: FileOp, path: &str) -> Ruling {
    if let Some(pattern) = dir.deny.first_match(path) {
        return Ruling::deny(
            format!("grants.dir[{grant}].deny `{pattern}`"),
            format!("the operator denies `{pattern}` in {}", dir.guest),
        );
    }
    if op == FileOp::Move
        && let Some(pattern) = dir.deny.first_below(path)
    {
        return Ruling::deny(
            format!("grants.dir[{grant}].deny `{pattern}`"),
            format!(
                "moving this directory would also move files that the operator denies as `{pattern}`"
            ),
        );
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
            let reason = "the tool declares itself read-only, so it may not write";
            return Ruling::deny("effect.read-only", reason);
        }
        if let Some(found) = runs_later(dir, op, path) {
            return deny_run_later(dir, path, found);
        }
    }
    Ruling::allow(format!("grants.dir[{grant}]"))
}

impl DirGrant {
    /// Returns whether a path is in the table of files that run later, and the grant lets a tool
    /// write it.
    #[must_use]
    pub fn allows_to_run_later(&self, path: &str) -> bool {
        run_later::find(path, /*makes_dir*/ true).is_some()
            && self.allow_run_later.first_match(path).is_some()
    }
}

/// Whether the grant's `allow` list permits an operation; an empty list permits all.
fn is_among_allowed(dir: &DirGrant, op: FileOp, path: &str) -> bool {
    matches!(op, FileOp::Stat | FileOp::List)
        || dir.allow.is_empty()
        || dir.allow.first_match(path).is_some()
}

/// Returns why the path must not be written because programs run it later, unless the grant allows
/// it.
fn runs_later(dir: &DirGrant, op: FileOp, path: &str) -> Option<RunLater> {
    let found = run_later::find(path, op == FileOp::WriteDir)?;
    dir.allow_run_later
        .first_match(path)
        .is_none()
        .then_some(found)
}

/// Returns the lines to change in the grant to allow an operation that no `deny` pattern matches;
/// `None` if no change would. The audit must not show host paths, so the grant is named by the
/// guest's path.
fn smallest_change(dir: &DirGrant, effect: Effect, op: FileOp, path: &str) -> Option<String> {
    if op.changes() && effect == Effect::ReadOnly {
        return None;
    }
    let mut lines = vec![format!("{CHANGED_LINES} {}", toml_text::string(&dir.guest))];
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

/// Returns the patterns as TOML with one for exactly this path and its descendants; `None` if no
/// pattern can name it.
fn with_path(rules: &PathRules, path: &str) -> Option<String> {
    // Without the leading slash a single name would match at every depth.
    let pattern = format!("/{}", globset::escape(path));
    PathRules::new(&[&pattern]).ok()?.first_match(path)?;
    let patterns = rules.patterns().iter().map(String::as_str);
    let patterns: Vec<&str> = patterns.chain([&*pattern]).collect();
    Some(toml_text::strings(&patterns))
}

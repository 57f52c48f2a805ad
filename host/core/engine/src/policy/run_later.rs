//! Files that programs of the user run later without asking, so that writing one runs code outside
//! the sandbox. Tools may read them, and may write them only if the grant allows it.
//!
//! Names are in the table of `table.rs`, which cannot be complete. A git repository is known by its
//! structure, since its files have ordinary names (`repository.rs`), and git configuration by its
//! content (`git_config.rs`).

mod git_config;
mod repository;
mod table;
#[cfg(test)]
mod tests;

pub use git_config::{GitConfigContent, GitConfigScan};
pub use repository::{RepositoryEntry, is_repository, repository_entries, repository_marker};

use super::PathRules;
use crate::text::{is_deceptive, is_invisible, is_joiner};
use std::sync::LazyLock;
use table::TABLE;

/// The compiled patterns. A test checks that they compile; otherwise no write would be allowed.
static RULES: LazyLock<Option<PathRules>> = LazyLock::new(|| PathRules::new(&patterns()).ok());

/// The reason not to write a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLater {
    /// The pattern in the table.
    pub(super) pattern: &'static str,
    /// The program that runs it, as a clause.
    pub(super) reason: &'static str,
}

impl RunLater {
    /// A directory that would become a git repository.
    pub const REPOSITORY: Self = Self {
        pattern: "a git repository",
        reason: "the directory would become a git repository, and git runs the commands in a repository's \
            configuration and hooks",
    };
    /// Git configuration with a key that executes.
    pub const GIT_CONFIG: Self = Self {
        pattern: "git configuration",
        reason: "the file would be git configuration with a key that makes git run a command",
    };
    /// A file that may be git configuration and is larger than is read to know.
    pub const LARGE_GIT_CONFIG: Self = Self {
        pattern: "git configuration",
        reason: "the file may be git configuration (larger than 1 MiB, not written from start to end), and git runs \
            the commands in such a file",
    };
}

/// Returns the patterns in the order of the table.
pub(super) fn patterns() -> Vec<&'static str> {
    let groups = TABLE.iter();
    groups
        .flat_map(|(_, patterns)| *patterns)
        .copied()
        .collect()
}

/// Returns why a path must not be written: it is a file that runs later or, unless `makes_dir`, an
/// ancestor of one. A file, a link or a moved directory of that name could contain such files; a
/// new directory is empty.
pub(super) fn find(path: &str, makes_dir: bool) -> Option<RunLater> {
    let Some(rules) = &*RULES else {
        return Some(RunLater {
            pattern: "*",
            reason: "cannot read the table of files that run later",
        });
    };
    let path = fold(path);
    let on_the_way = || rules.first_below(&path).filter(|_| !makes_dir);
    let found = rules.first_match(&path).or_else(on_the_way)?;
    TABLE.iter().find_map(|(reason, patterns)| {
        let pattern = patterns.iter().find(|pattern| **pattern == found)?;
        Some(RunLater { pattern, reason })
    })
}

/// Folds a path like the file systems that distinguish the fewest names: ignores case and invisible
/// characters (ext4 with case folding), and dots and spaces at the end of a name (FAT).
#[must_use]
pub fn fold(path: &str) -> String {
    let seen = |c: &char| !is_deceptive(*c) && !is_invisible(*c) && !is_joiner(*c);
    // Upper case first: `ſ` is a lower-case letter that equals `s`.
    let text: String = path.chars().filter(seen).collect();
    let text = text.to_uppercase().to_lowercase();
    let names: Vec<&str> = text
        .split('/')
        .map(|name| name.trim_end_matches(['.', ' ']))
        .collect();
    names.join("/")
}

//! Git repositories by their structure. Git takes a directory for a repository that holds `HEAD`
//! and either `commondir` or both `objects` and `refs` (`is_git_directory` of git's setup.c). Any
//! object of such a name counts here, since a link may come to lead to the right one.

use super::{RunLater, find, fold};

/// The entries that make a directory a repository, as git names them.
const MARKERS: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// The first bytes in lower case of the names below `.git` in the table. A test checks them.
const STARTS: [&str; 9] = [
    "config",
    "commondir",
    "head",
    "hooks",
    "info",
    "modules",
    "objects",
    "rebase-merge",
    "worktrees",
];

/// Returns the one of `MARKERS` that a name is on some file system.
#[must_use]
pub fn repository_marker(name: &str) -> Option<&'static str> {
    let marker = |name: &str| {
        let mut markers = MARKERS.into_iter();
        markers.find(|one| one.eq_ignore_ascii_case(name))
    };
    marker(name).or_else(|| (!is_plain(name)).then(|| marker(&fold(name))).flatten())
}

/// Returns whether a directory with these entries is a repository.
///
/// # Errors
/// The first error of `has`.
pub fn is_repository<E>(mut has: impl FnMut(&str) -> Result<bool, E>) -> Result<bool, E> {
    Ok(has("HEAD")? && (has("commondir")? || (has("objects")? && has("refs")?)))
}

/// A part of a path that runs later if the directory above it is a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryEntry<'a> {
    /// The path of the directory, relative to the grant.
    pub dir: &'a str,
    /// The row of the table that the rest of the path would match in `.git`.
    pub found: RunLater,
}

/// Returns every directory on a path that decides, by being a repository, whether the path runs
/// later. For nearly all paths there is none.
pub fn repository_entries(
    path: &str,
    makes_dir: bool,
) -> impl Iterator<Item = RepositoryEntry<'_>> {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.filter_map(move |at| {
        let rest = path.get(at..)?;
        let name = rest.split('/').next().unwrap_or_default();
        if is_plain(name) && !has_start(name) {
            return None;
        }
        let found = find(&format!(".git/{rest}"), makes_dir)?;
        let dir = path.get(..at.saturating_sub(1))?;
        found
            .pattern
            .starts_with("**/.git/")
            .then_some(RepositoryEntry { dir, found })
    })
}

/// Returns whether folding changes at most the letter case of a name.
fn is_plain(name: &str) -> bool {
    name.is_ascii() && !name.ends_with(['.', ' '])
}

fn has_start(name: &str) -> bool {
    STARTS.iter().any(|start| {
        let head = name.get(..start.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(start))
    })
}

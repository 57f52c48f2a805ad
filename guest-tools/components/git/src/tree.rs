//! Trees, and how two of them differ.

use crate::error::GitError;
use crate::object::{Kind, Oid};
use crate::repository::Repository;

/// The most entries of a tree.
const MAX_ENTRIES: usize = 200_000;

/// The most files that may differ.
pub(crate) const MAX_CHANGES: usize = 5_000;

/// The most directories within each other.
const MAX_DEPTH: usize = 128;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    pub(crate) name: String,
    pub(crate) id: Oid,
}

impl Entry {
    pub(crate) fn is_tree(&self) -> bool {
        self.mode == 0o40_000
    }

    /// Whether it has content in this repository: a directory and a submodule have none.
    pub(crate) fn is_file(&self) -> bool {
        !self.is_tree() && self.mode != 0o160_000
    }
}

/// A file that two trees do not have alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
}

pub(crate) fn entries(repository: &Repository, id: &Oid) -> Result<Vec<Entry>, GitError> {
    let data = repository.read_as(id, Kind::Tree)?;
    let mut rest = data.as_slice();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        if entries.len() >= MAX_ENTRIES {
            return Err(GitError::Bound("a directory has more than 200,000 entries"));
        }
        let (entry, after) =
            entry(rest).ok_or(GitError::Damaged("a tree has not the form of one"))?;
        entries.push(entry);
        rest = after;
    }
    Ok(entries)
}

fn entry(rest: &[u8]) -> Option<(Entry, &[u8])> {
    let space = rest.iter().position(|byte| *byte == b' ')?;
    let mode = u32::from_str_radix(std::str::from_utf8(rest.get(..space)?).ok()?, 8).ok()?;
    let rest = rest.get(space + 1..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let name = String::from_utf8_lossy(rest.get(..end)?).into_owned();
    let (id, after) = rest.get(end + 1..)?.split_at_checked(20)?;
    let id = Oid(id.try_into().ok()?);
    Some((Entry { mode, name, id }, after))
}

/// The entry at a path; `None` if there is none.
pub(crate) fn find(
    repository: &Repository,
    tree: &Oid,
    path: &str,
) -> Result<Option<Entry>, GitError> {
    let mut at = Entry {
        mode: 0o40_000,
        name: String::new(),
        id: *tree,
    };
    for name in path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
        .take(MAX_DEPTH)
    {
        if !at.is_tree() {
            return Ok(None);
        }
        match entries(repository, &at.id)?
            .into_iter()
            .find(|entry| entry.name == name)
        {
            Some(entry) => at = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// The files that differ, by path.
pub(crate) fn changes(
    repository: &Repository,
    old: Option<&Oid>,
    new: Option<&Oid>,
) -> Result<Vec<Change>, GitError> {
    let mut changes = Vec::new();
    let mut left = vec![(String::new(), old.copied(), new.copied(), 0)];
    while let Some((base, old, new, depth)) = left.pop() {
        if old == new {
            continue;
        }
        if depth > MAX_DEPTH {
            return Err(GitError::Bound("its directories are too deep"));
        }
        for (old, new) in pairs(listed(repository, old)?, listed(repository, new)?) {
            let Some(name) = old
                .as_ref()
                .or(new.as_ref())
                .map(|entry| entry.name.clone())
            else {
                continue;
            };
            let path = if base.is_empty() {
                name
            } else {
                format!("{base}/{name}")
            };
            let tree = |entry: &Option<Entry>| {
                entry
                    .as_ref()
                    .filter(|entry| entry.is_tree())
                    .map(|entry| entry.id)
            };
            let (old_tree, new_tree) = (tree(&old), tree(&new));
            if old_tree.is_some() || new_tree.is_some() {
                left.push((path.clone(), old_tree, new_tree, depth + 1));
            }
            let file = |entry: Option<Entry>| entry.filter(|entry| !entry.is_tree());
            let (old, new) = (file(old), file(new));
            if old != new {
                changes.push(Change { path, old, new });
            }
        }
        if changes.len() > MAX_CHANGES {
            return Err(GitError::Bound(
                "more than 5,000 files differ; compare what is closer, or one path",
            ));
        }
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(changes)
}

fn listed(repository: &Repository, tree: Option<Oid>) -> Result<Vec<Entry>, GitError> {
    let mut entries = match tree {
        Some(id) => entries(repository, &id)?,
        None => Vec::new(),
    };
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// The entries of two sorted lists by name, without those that are alike.
fn pairs(old: Vec<Entry>, new: Vec<Entry>) -> Vec<(Option<Entry>, Option<Entry>)> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let pair = match order {
            std::cmp::Ordering::Less => (old.next(), None),
            std::cmp::Ordering::Greater => (None, new.next()),
            std::cmp::Ordering::Equal => (old.next(), new.next()),
        };
        if pair.0 != pair.1 {
            pairs.push(pair);
        }
    }
}

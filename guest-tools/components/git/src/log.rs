//! `git_log`.

use std::collections::{BinaryHeap, HashSet};

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};

use crate::commit::Commit;
use crate::diff::{head, workspace};
use crate::error::GitError;
use crate::object::Oid;
use crate::refs::commit_of;
use crate::repository::Repository;
use crate::tree::find;

/// The default number of commits of a result.
const DEFAULT_COMMITS: usize = 30;

/// The most commits of a result.
const MAX_COMMITS: usize = 500;

/// The most commits that are looked at.
pub(crate) const MAX_WALKED: usize = 50_000;

/// The longest subject that is shown, in bytes.
const MAX_SUBJECT_BYTES: usize = 500;

/// The size of a commit in JSON besides its texts, in bytes.
pub(crate) const COMMIT_OVERHEAD_BYTES: usize = 200;

/// The bytes of a result besides its commits.
const OVERHEAD_BYTES: usize = 1_024;

#[input]
pub(crate) struct GitLog {
    /// The top directory of the repository.
    #[serde(default = "workspace")]
    path: String,
    /// The revision to start at: HEAD, a branch, a tag or a commit.
    #[serde(default = "head")]
    revision: String,
    /// Only commits that change this file or directory, relative to the repository's top.
    file: Option<String>,
    /// The number of commits to pass over, for the next part of a long log.
    #[serde(default)]
    skip: usize,
    /// The most commits to return.
    #[serde(default = "default_commits")]
    #[schemars(range(min = 1, max = 500))]
    max_commits: usize,
}

fn default_commits() -> usize {
    DEFAULT_COMMITS
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// The commits, the newest first.
    commits: Vec<Logged>,
    /// A note on what was left out, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) id: String,
    /// The author's name and address.
    pub(crate) author: String,
    /// The time of the author's change, in ISO 8601.
    date: String,
    /// The first paragraph of the message.
    pub(crate) subject: String,
    /// The ids of the parents of a merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    merges: Vec<String>,
}

/// Lists commits of a Git repository, the newest first, from a revision on: id, author, date and
/// subject. With `file`, lists those that change it; renames are not followed.
#[tool(effect = "read-only", title = "Git log", output = Log)]
pub(crate) fn git_log(input: GitLog) -> Result<Json<Log>, Failure> {
    let GitLog {
        path,
        revision,
        file,
        skip,
        max_commits,
    } = input;
    let repository = Repository::open(&path)?;
    let start = commit_of(&repository, &revision)?;
    let range = Range {
        file,
        skip,
        most: max_commits.clamp(1, MAX_COMMITS),
    };
    log(&repository, start, &range)
        .map(Json)
        .map_err(|error| repository.failure(&error))
}

/// The commits that are wanted of a walk.
struct Range {
    file: Option<String>,
    skip: usize,
    most: usize,
}

fn log(repository: &Repository, start: Oid, range: &Range) -> Result<Log, GitError> {
    let mut budget = Budget::new(MAX_RESULT_BYTES - OVERHEAD_BYTES);
    let mut commits: Vec<Logged> = Vec::new();
    let mut walk = Walk::new(repository, start)?;
    let (mut passed, mut note) = (0, None);
    while let Some((id, commit)) = walk.next()? {
        if walk.seen.len() > MAX_WALKED {
            note = Some(format!(
                "more than {MAX_WALKED} commits were looked at: start at an older revision, such as {id}"
            ));
            break;
        }
        if let Some(file) = &range.file
            && !changes_file(repository, &commit, file)?
        {
            continue;
        }
        if passed < range.skip {
            passed += 1;
            continue;
        }
        let logged = logged(&id, &commit);
        let fits = budget.take(
            &logged.subject,
            COMMIT_OVERHEAD_BYTES + 45 * logged.merges.len(),
        ) && budget.take(&logged.author, 0);
        if commits.len() >= range.most || !fits {
            let next = range.skip + commits.len();
            note = Some(format!(
                "{} commits are shown; skip {next} continues",
                commits.len()
            ));
            break;
        }
        commits.push(logged);
    }
    Ok(Log { commits, note })
}

pub(crate) fn logged(id: &Oid, commit: &Commit) -> Logged {
    let subject = commit.subject();
    let kept = subject.get(..subject.floor_char_boundary(MAX_SUBJECT_BYTES));
    let is_merge = commit.parents.len() > 1;
    Logged {
        id: id.to_string(),
        author: commit
            .author
            .get(..commit.author.floor_char_boundary(MAX_SUBJECT_BYTES))
            .unwrap_or_default()
            .to_owned(),
        date: commit.date.clone(),
        subject: kept.unwrap_or_default().to_owned(),
        merges: commit
            .parents
            .iter()
            .filter(|_| is_merge)
            .map(Oid::to_string)
            .collect(),
    }
}

/// True if the file differs from that of every parent: a merge that takes one side changes nothing.
fn changes_file(repository: &Repository, commit: &Commit, file: &str) -> Result<bool, GitError> {
    let own = find(repository, &commit.tree, file)?;
    for parent in &commit.parents {
        if let Some(parent) = Commit::parent(repository, parent)?
            && find(repository, &parent.tree, file)? == own
        {
            return Ok(false);
        }
    }
    Ok(own.is_some() || !commit.parents.is_empty())
}

/// Commits by the time they were made, the newest first, parents after a child of theirs.
struct Walk<'r> {
    repository: &'r Repository,
    /// The time, and the order of finding with the first found first.
    queue: BinaryHeap<(i64, std::cmp::Reverse<usize>, Oid)>,
    seen: HashSet<Oid>,
}

impl<'r> Walk<'r> {
    fn new(repository: &'r Repository, start: Oid) -> Result<Self, GitError> {
        let mut walk = Self {
            repository,
            queue: BinaryHeap::new(),
            seen: HashSet::new(),
        };
        walk.add(start)?;
        Ok(walk)
    }

    fn add(&mut self, id: Oid) -> Result<(), GitError> {
        if self.seen.insert(id)
            && let Some(commit) = Commit::parent(self.repository, &id)?
        {
            let order = std::cmp::Reverse(self.seen.len());
            self.queue.push((commit.committed, order, id));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(Oid, Commit)>, GitError> {
        let Some((_, _, id)) = self.queue.pop() else {
            return Ok(None);
        };
        let commit = Commit::read(self.repository, &id)?;
        for parent in &commit.parents {
            self.add(*parent)?;
        }
        Ok(Some((id, commit)))
    }
}

#[cfg(test)]
pub(crate) mod tests;

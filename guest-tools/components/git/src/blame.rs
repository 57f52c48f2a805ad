//! `git_blame`: the commit that each line of a file is from.

mod lines;

use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};

use crate::commit::Commit;
use crate::diff::{MAX_FILE_BYTES, head, is_text, workspace};
use crate::error::GitError;
use crate::log::{COMMIT_OVERHEAD_BYTES, Logged, MAX_WALKED, logged};
use crate::object::{Kind, Oid};
use crate::refs::commit_of;
use crate::repository::Repository;
use crate::tree::{Entry, changes, find};
use lines::{Span, lines_of, split, unchanged};

/// The time for the history of a file, within the 30 s that a host gives a call by default.
const MAX_TIME: Duration = Duration::from_secs(20);

/// The size of a hunk in JSON besides its texts, in bytes.
const HUNK_OVERHEAD_BYTES: usize = 120;

/// The bytes of a result besides its hunks and commits.
const OVERHEAD_BYTES: usize = 1_024;

#[input]
pub(crate) struct GitBlame {
    /// The top directory of the repository.
    #[serde(default = "workspace")]
    path: String,
    /// The file, relative to the repository's top.
    file: String,
    /// The revision of the file: HEAD, a branch, a tag or a commit.
    #[serde(default = "head")]
    revision: String,
    /// The first line of interest.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    first_line: usize,
    /// The last line of interest; otherwise that of the file.
    #[schemars(range(min = 1))]
    last_line: Option<usize>,
}

fn first() -> usize {
    1
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blame {
    /// Lines that stand together and are from one commit, in the order of the file.
    hunks: Vec<Hunk>,
    /// The commits of the hunks, in the order of their first lines.
    commits: Vec<Logged>,
    /// A note on what was left out, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The number of the first line.
    line: usize,
    /// The id of the commit that the lines are from.
    commit: String,
    /// The number of the first line in that commit's file.
    original_line: usize,
    /// The file in that commit, where it had another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_file: Option<String>,
    /// The lines.
    text: String,
}

/// Tells from which commit each line of a file is: the latest that wrote the line so, in hunks with
/// their text. A file that was renamed without a change is followed to its earlier name; with one,
/// its lines are from the renaming commit.
#[tool(effect = "read-only", title = "Git blame", output = Blame)]
pub(crate) fn git_blame(input: GitBlame) -> Result<Json<Blame>, Failure> {
    let GitBlame {
        path,
        file,
        revision,
        first_line,
        last_line,
    } = input;
    let repository = Repository::open(&path)?;
    let start = commit_of(&repository, &revision)?;
    let explain = |error: GitError| repository.failure(&error);
    let commit = Commit::read(&repository, &start).map_err(explain)?;
    let entry = find(&repository, &commit.tree, &file).map_err(explain)?;
    let entry = entry.ok_or_else(|| {
        Failure::new(format!(
            "there is no `{file}` in {}; list the files with git_show and `file`: `.`",
            start.short()
        ))
    })?;
    let text = text_of(&repository, &entry, &file)?;
    let lines = split(&text);
    let wanted = range(&file, first_line, last_line, lines.len())?;
    let origins = Search::new(&repository, start, &file, entry, wanted)
        .run(Instant::now() + MAX_TIME)
        .map_err(explain)?;
    shown(&repository, &lines, origins, &file)
        .map(Json)
        .map_err(explain)
}

/// The content of a file whose lines can be told.
fn text_of(repository: &Repository, entry: &Entry, file: &str) -> Result<Vec<u8>, Failure> {
    let refused = |why: &str| Err(Failure::new(format!("`{file}` {why}")));
    match entry.mode {
        0o40_000 => return refused("is a directory; give one of its files"),
        0o160_000 => return refused("is a submodule, whose lines are in its own repository"),
        _ => {}
    }
    let data = repository
        .read_as(&entry.id, Kind::Blob)
        .map_err(|error| repository.failure(&error))?;
    if !is_text(&data) {
        return refused("is no text, and has no lines");
    }
    if data.len() > MAX_FILE_BYTES {
        return refused("has more than 2 MiB, and its lines are not compared");
    }
    Ok(data)
}

/// The wanted lines, counted from 0.
fn range(file: &str, first: usize, last: Option<usize>, lines: usize) -> Result<Span, Failure> {
    let first = first.max(1);
    let end = last.unwrap_or(lines).min(lines);
    if lines > 0 && first > end {
        return Err(Failure::new(format!(
            "`{file}` has {lines} lines, and none from {first} to {}; correct `first_line` or `last_line`",
            last.unwrap_or(lines)
        )));
    }
    Ok(Span {
        at: first - 1,
        line: first - 1,
        count: (end + 1).saturating_sub(first),
    })
}

/// Lines with their origin.
struct Origin {
    span: Span,
    commit: Oid,
    file: Rc<str>,
}

/// The result of a search: origins of all wanted lines, and why it ended early.
struct Origins {
    found: Vec<Origin>,
    note: Option<String>,
}

/// A file in a commit that lines may be from.
struct Suspect {
    file: Rc<str>,
    entry: Entry,
    spans: Vec<Span>,
}

/// The search for origins. Commits are visited by the time they were made, the newest first, as Git
/// does: the lines that reach a commit on several ways are looked at together.
struct Search<'r> {
    repository: &'r Repository,
    queue: BinaryHeap<(i64, std::cmp::Reverse<usize>, Oid)>,
    suspects: HashMap<Oid, Vec<Suspect>>,
    queued: usize,
    found: Vec<Origin>,
}

impl<'r> Search<'r> {
    fn new(repository: &'r Repository, start: Oid, file: &str, entry: Entry, wanted: Span) -> Self {
        let file = Rc::from(file.trim_matches('/'));
        let spans = Vec::from([wanted]);
        let suspect = Suspect { file, entry, spans };
        Self {
            repository,
            queue: BinaryHeap::from([(0, std::cmp::Reverse(0), start)]),
            suspects: HashMap::from([(start, Vec::from([suspect]))]),
            queued: 1,
            found: Vec::new(),
        }
    }

    fn run(mut self, deadline: Instant) -> Result<Origins, GitError> {
        let mut visited = 0;
        while let Some((_, _, id)) = self.queue.pop() {
            visited += 1;
            if visited > MAX_WALKED || Instant::now() > deadline {
                let note = self.end_early(id);
                return Ok(Origins {
                    found: self.found,
                    note: Some(note),
                });
            }
            let commit = Commit::read(self.repository, &id)?;
            for suspect in self.suspects.remove(&id).unwrap_or_default() {
                self.visit(id, &commit, suspect)?;
            }
        }
        Ok(Origins {
            found: self.found,
            note: None,
        })
    }

    /// Takes the commits that are reached for the origins of what is left.
    fn end_early(&mut self, id: Oid) -> String {
        for (commit, suspects) in std::mem::take(&mut self.suspects) {
            for Suspect { file, spans, .. } in suspects {
                self.found_in(commit, &file, spans);
            }
        }
        format!(
            "the history is long, and was followed to {} alone: some lines are from commits before those that are named; ask for fewer lines",
            id.short()
        )
    }

    fn found_in(&mut self, commit: Oid, file: &Rc<str>, spans: Vec<Span>) {
        self.found.extend(spans.into_iter().map(|span| Origin {
            span,
            commit,
            file: Rc::clone(file),
        }));
    }

    /// Passes the lines that a parent has, too, on to it; the others are from the commit itself.
    fn visit(&mut self, id: Oid, commit: &Commit, suspect: Suspect) -> Result<(), GitError> {
        let mut parents = Vec::new();
        for parent in &commit.parents {
            if let Some(read) = Commit::parent(self.repository, parent)? {
                parents.push((*parent, read));
            }
        }
        // First under its own name in any parent, then renamed.
        let mut sources = Vec::new();
        for (parent, read) in &parents {
            if let Some(entry) = find(self.repository, &read.tree, &suspect.file)?
                && entry.is_file()
            {
                sources.push((*parent, read, Rc::clone(&suspect.file), entry));
            }
        }
        let is_same = |entry: &Entry| entry.id == suspect.entry.id;
        if !sources.iter().any(|(.., entry)| is_same(entry)) {
            for (parent, read) in &parents {
                if sources.iter().all(|(known, ..)| known != parent)
                    && let Some((file, entry)) = self.renamed(read, commit, &suspect)?
                {
                    sources.push((*parent, read, file, entry));
                }
            }
        }
        if let Some(at) = sources.iter().position(|(.., entry)| is_same(entry)) {
            let (parent, read, file, entry) = sources.swap_remove(at);
            self.pass(parent, read, file, entry, suspect.spans);
            return Ok(());
        }
        let mut spans = suspect.spans;
        let new = lines_of(self.repository, &suspect.entry)?;
        for (parent, read, file, entry) in sources {
            let old = lines_of(self.repository, &entry)?;
            let (passed, kept) = unchanged(&split(&old), &split(&new)).part(spans);
            spans = kept;
            self.pass(parent, read, file, entry, passed);
        }
        self.found_in(id, &suspect.file, spans);
        Ok(())
    }

    /// The file in the parent that has the content of the suspect and is gone in the commit: one of
    /// the same name in another directory, or else the first by path.
    fn renamed(
        &self,
        parent: &Commit,
        commit: &Commit,
        suspect: &Suspect,
    ) -> Result<Option<(Rc<str>, Entry)>, GitError> {
        let changes = match changes(self.repository, Some(&parent.tree), Some(&commit.tree)) {
            // Too much changed for a search.
            Err(GitError::Bound(_)) => return Ok(None),
            changes => changes?,
        };
        let name = |path: &str| path.rsplit('/').next().map(ToOwned::to_owned);
        let gone = changes.into_iter().filter_map(|change| {
            let old = change.old.filter(|old| old.id == suspect.entry.id)?;
            change.new.is_none().then_some((change.path, old))
        });
        let found = gone.min_by_key(|(path, _)| name(path) != name(&suspect.file));
        Ok(found.map(|(path, entry)| (Rc::from(path), entry)))
    }

    fn pass(&mut self, id: Oid, commit: &Commit, file: Rc<str>, entry: Entry, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let suspects = self.suspects.entry(id).or_default();
        if suspects.is_empty() {
            let order = std::cmp::Reverse(self.queued);
            self.queued += 1;
            self.queue.push((commit.committed, order, id));
        }
        match suspects.iter_mut().find(|suspect| suspect.file == file) {
            Some(suspect) => suspect.spans.extend(spans),
            None => suspects.push(Suspect { file, entry, spans }),
        }
    }
}

/// The result, as much of it as fits.
fn shown(
    repository: &Repository,
    lines: &[&[u8]],
    Origins { mut found, note }: Origins,
    file: &str,
) -> Result<Blame, GitError> {
    found.sort_by_key(|origin| origin.span.at);
    found.dedup_by(|next, origin| {
        let is_one = origin.commit == next.commit && origin.file == next.file;
        is_one && origin.span.join(&next.span)
    });
    let mut budget = Budget::new(MAX_RESULT_BYTES - OVERHEAD_BYTES);
    let mut blame = Blame {
        hunks: Vec::new(),
        commits: Vec::new(),
        note,
    };
    for Origin {
        span,
        commit,
        file: original,
    } in found
    {
        let id = commit.to_string();
        let of_hunk = lines.get(span.at..span.at + span.count).unwrap_or_default();
        let text = String::from_utf8_lossy(&of_hunk.concat()).into_owned();
        let mut fits = budget.take(&text, HUNK_OVERHEAD_BYTES);
        if fits && blame.commits.iter().all(|known| known.id != id) {
            let told = logged(&commit, &Commit::read(repository, &commit)?);
            fits =
                budget.take(&told.subject, COMMIT_OVERHEAD_BYTES) && budget.take(&told.author, 0);
            if fits {
                blame.commits.push(told);
            }
        }
        if !fits {
            let next = span.at + 1;
            let rest = match blame.hunks.is_empty() {
                true => format!(
                    "line {next} and those after it that are from {id} are too long to show"
                ),
                false => format!("the lines before {next} are shown; first_line {next} continues"),
            };
            blame.note = Some(
                blame
                    .note
                    .map_or(rest.clone(), |note| format!("{rest}; {note}")),
            );
            break;
        }
        blame.hunks.push(Hunk {
            line: span.at + 1,
            commit: id,
            original_line: span.line + 1,
            original_file: (*original != *file.trim_matches('/')).then(|| original.to_string()),
            text,
        });
    }
    Ok(blame)
}

#[cfg(test)]
mod tests;

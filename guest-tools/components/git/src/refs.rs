//! Revisions as users write them: branches, tags, names of objects, and steps from these.

use agent_tool_bounded::Failure;

use crate::commit::Commit;
use crate::error::GitError;
use crate::object::{Kind, Oid};
use crate::repository::{Repository, small_file};

/// The longest revision, in bytes.
const MAX_REVISION_BYTES: usize = 1_024;

/// The references that may lead to each other.
const MAX_SYMBOLIC: usize = 5;

/// The tags that may lead to each other.
const MAX_TAGS: usize = 10;

/// The steps back that one revision may take.
const MAX_STEPS: usize = 10_000;

/// The largest file of packed references, and of a single one, in bytes.
const MAX_PACKED_BYTES: u64 = 32 * 1024 * 1024;
const MAX_REF_BYTES: u64 = 4 * 1024;

/// The commit that a revision names.
pub(crate) fn commit_of(repository: &Repository, revision: &str) -> Result<Oid, Failure> {
    let unknown = || {
        Failure::new(format!(
            "there is no revision `{revision}` in `{}`; use HEAD, a branch, a tag, or a commit, with steps such as `~2` and `^2`",
            repository.path
        ))
    };
    if revision.is_empty() || revision.len() > MAX_REVISION_BYTES {
        return Err(unknown());
    }
    let (name, steps) = match revision.find(['~', '^']) {
        Some(at) => revision.split_at(at),
        None => (revision, ""),
    };
    let steps = steps_of(steps).ok_or_else(unknown)?;
    let walk = || -> Result<Option<Oid>, GitError> {
        let Some(id) = named(repository, name)? else {
            return Ok(None);
        };
        let mut id = peeled(repository, id)?;
        for parent in steps {
            let commit = Commit::read(repository, &id)?;
            match parent.checked_sub(1) {
                None => {}
                Some(index) => match commit.parents.get(index) {
                    Some(parent) => id = *parent,
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(id))
    };
    walk()
        .map_err(|error| repository.failure(&error))?
        .ok_or_else(unknown)
}

/// The number of a parent for each step; `~2` is the first parent twice, `^2` the second once.
fn steps_of(text: &str) -> Option<Vec<usize>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let after = rest.get(1..)?;
        let digits = after.len()
            - after
                .trim_start_matches(|letter: char| letter.is_ascii_digit())
                .len();
        let (number, left) = after.split_at(digits);
        let number: usize = if number.is_empty() {
            1
        } else {
            number.parse().ok()?
        };
        match sign {
            '~' if steps.len() + number <= MAX_STEPS => {
                steps.extend(std::iter::repeat_n(1, number))
            }
            '^' if steps.len() < MAX_STEPS => steps.push(number),
            _ => return None,
        }
        rest = left;
    }
    Some(steps)
}

/// The object of a branch, a tag, another reference, or the first digits of a name.
fn named(repository: &Repository, name: &str) -> Result<Option<Oid>, GitError> {
    let name = if name == "@" { "HEAD" } else { name };
    // The rule of git-check-ref-format that matters here: no name leads out of the directory.
    let is_safe = !name.is_empty()
        && !name.starts_with(['/', '-'])
        && !name.contains('\\')
        && name.chars().all(|letter| !letter.is_control())
        && name
            .split('/')
            .all(|part| !part.starts_with('.') && !part.is_empty());
    if !is_safe {
        return Ok(None);
    }
    for start in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
        // Only the heads of Git's own stand beside `refs`; other files there are none.
        let is_top = start.is_empty() && !name.starts_with("refs/");
        if is_top
            && !name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        {
            continue;
        }
        if let Some(id) = reference(repository, &format!("{start}{name}"))? {
            return Ok(Some(id));
        }
    }
    let is_hex =
        (4..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex {
        return Ok(None);
    }
    match repository
        .with_prefix(&name.to_ascii_lowercase())?
        .as_slice()
    {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        [_, ..] => Err(GitError::Bound(
            "several objects start with these digits; give more",
        )),
    }
}

fn reference(repository: &Repository, name: &str) -> Result<Option<Oid>, GitError> {
    let mut name = name.to_owned();
    for _ in 0..MAX_SYMBOLIC {
        let Some(text) = small_file(&repository.dir.join(&name), MAX_REF_BYTES)? else {
            return packed(repository, &name);
        };
        match text.trim_end().strip_prefix("ref: ") {
            Some(next) if next.starts_with("refs/") && !next.contains("..") => {
                next.clone_into(&mut name)
            }
            Some(_) => return Err(GitError::Damaged("a reference leads out of it")),
            None => {
                let text = text.split_whitespace().next().unwrap_or_default();
                if text.len() == 64 {
                    return Err(GitError::Bound(
                        "it uses SHA-256, which this tool does not read",
                    ));
                }
                return match Oid::parse(text) {
                    Some(id) => Ok(Some(id)),
                    None => Err(GitError::Damaged("a reference names no object")),
                };
            }
        }
    }
    Err(GitError::Damaged(
        "references lead to each other without an end",
    ))
}

fn packed(repository: &Repository, name: &str) -> Result<Option<Oid>, GitError> {
    let text = small_file(&repository.dir.join("packed-refs"), MAX_PACKED_BYTES)?;
    let text = text.unwrap_or_default();
    let found = text.lines().find_map(|line| {
        let (id, other) = line.split_once(' ')?;
        (other == name).then(|| Oid::parse(id))?
    });
    Ok(found)
}

/// The commit that a tag leads to.
fn peeled(repository: &Repository, id: Oid) -> Result<Oid, GitError> {
    let mut id = id;
    for _ in 0..MAX_TAGS {
        let object = repository.read(&id)?;
        match object.kind {
            Kind::Commit => return Ok(id),
            Kind::Tag => {
                let text = String::from_utf8_lossy(&object.data).into_owned();
                let target = text
                    .lines()
                    .next()
                    .and_then(|line| line.strip_prefix("object "));
                id = target
                    .and_then(Oid::parse)
                    .ok_or(GitError::Damaged("a tag names no object"))?;
            }
            Kind::Tree | Kind::Blob => {
                return Err(GitError::Bound(
                    "the revision names a file or a tree, and no commit",
                ));
            }
        }
    }
    Err(GitError::Damaged("tags lead to each other without an end"))
}

//! Commits.

use agent_tool_bounded::iso_date;

use crate::error::GitError;
use crate::object::{Kind, Oid};
use crate::repository::Repository;

/// The most parents of a commit that are looked at.
const MAX_PARENTS: usize = 100;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) tree: Oid,
    pub(crate) parents: Vec<Oid>,
    /// The name and address of the author.
    pub(crate) author: String,
    /// The time of the author's change, as ISO 8601 with the author's offset.
    pub(crate) date: String,
    /// The time of the commit, in seconds since 1970.
    pub(crate) committed: i64,
    pub(crate) message: String,
}

impl Commit {
    pub(crate) fn read(repository: &Repository, id: &Oid) -> Result<Self, GitError> {
        let data = repository.read_as(id, Kind::Commit)?;
        Self::parse(&String::from_utf8_lossy(&data))
            .ok_or(GitError::Damaged("a commit has not the form of one"))
    }

    /// Reads a parent; `None` where a shallow clone ends.
    pub(crate) fn parent(repository: &Repository, id: &Oid) -> Result<Option<Self>, GitError> {
        match Self::read(repository, id) {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (header, message) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut lines = header.lines();
        let tree = Oid::parse(lines.next()?.strip_prefix("tree ")?)?;
        let (mut parents, mut author, mut committed) = (Vec::new(), None, 0);
        for line in lines {
            match line.split_once(' ') {
                Some(("parent", id)) if parents.len() < MAX_PARENTS => {
                    parents.push(Oid::parse(id)?)
                }
                Some(("author", value)) if author.is_none() => author = Some(identity(value)),
                Some(("committer", value)) => committed = identity(value).1,
                _ => {}
            }
        }
        let (author, seconds, offset) = author?;
        Some(Self {
            tree,
            parents,
            author,
            date: date(seconds, &offset),
            committed,
            message: message.to_owned(),
        })
    }

    pub(crate) fn subject(&self) -> String {
        let lines = self.message.trim_start().lines();
        let first: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
        first.join(" ")
    }
}

/// The name with its address, the seconds since 1970, and the offset of a line such as
/// `Ada <ada@example.com> 1700000000 +0100`.
fn identity(line: &str) -> (String, i64, String) {
    let (name, time) = line
        .rsplit_once('>')
        .map_or((line, ""), |(name, time)| (name, time));
    let mut parts = time.split_whitespace();
    let seconds = parts
        .next()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(0);
    let offset = parts.next().unwrap_or("+0000").to_owned();
    (format!("{name}>"), seconds, offset)
}

fn date(seconds: i64, offset: &str) -> String {
    let digits = offset.trim_start_matches(['+', '-']);
    let is_offset =
        digits.len() == 4 && offset.len() == 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = if is_offset {
        digits.parse().unwrap_or(0)
    } else {
        0
    };
    let minutes = (number / 100 * 60 + number % 100) * if offset.starts_with('-') { -1 } else { 1 };
    let local = seconds.saturating_add(minutes * 60);
    let (day, of_day) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    let (hours, minutes_of, seconds_of) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let sign = if minutes < 0 { '-' } else { '+' };
    let (zone_hours, zone_minutes) = (minutes.abs() / 60, minutes.abs() % 60);
    // Beyond the year 9999 ISO 8601 needs an agreement, and dates that far are damage.
    let date = iso_date(day.clamp(-719_468, 2_932_896));
    format!(
        "{date}T{hours:02}:{minutes_of:02}:{seconds_of:02}{sign}{zone_hours:02}:{zone_minutes:02}"
    )
}

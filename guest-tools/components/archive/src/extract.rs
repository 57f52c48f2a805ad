//! `extract_archive`: looks through the whole archive first, and then writes.

mod write;

use std::collections::HashMap;
use std::io;

use agent_tool::workspace::locate;
use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure};

use crate::archive::Archive;
use crate::member::{Kind, Member, Names};
use write::{Destination, Stop};

/// The most bytes of all files that are written: the default of a call's limit.
pub(crate) const MAX_EXTRACTED_BYTES: u64 = 256 * 1024 * 1024;

/// The most files and directories that are written: the default of a call's limit.
pub(crate) const MAX_EXTRACTED: usize = 10_000;

/// The most names in `members`.
const MAX_SELECTED: usize = 1_000;

/// The bytes of the members that were passed over, in the result.
const SKIPPED_BYTES: usize = 16 * 1024;

/// The size of a member that was passed over in JSON besides its texts, in bytes.
const SKIPPED_OVERHEAD_BYTES: usize = 32;

pub(crate) const DUPLICATE: &str = "an earlier member has the same name";

#[input]
pub(crate) struct ExtractArchive {
    /// The archive, relative to the workspace or absolute.
    path: String,
    /// The directory to extract to, relative to the workspace or absolute. It is created if it is
    /// missing.
    into: String,
    /// The members to extract: files by name, directories with all that is in them. Without it,
    /// all members.
    members: Option<Vec<String>>,
    /// Replace files that exist. Without it they stay, and the result names them.
    #[serde(default)]
    overwrite: bool,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extracted {
    /// The directory as requested.
    into: String,
    /// The number of files that were written.
    files: usize,
    /// The number of directories that were created.
    directories: usize,
    /// The size of the written files, in bytes.
    bytes: u64,
    /// The members that were not extracted.
    skipped: Vec<Skipped>,
    /// The number of all members that were not extracted.
    total_skipped: usize,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    name: String,
    reason: String,
}

/// Extracts a ZIP, tar, tar.gz or gzip file to a directory. Links, encrypted members, members
/// whose names lead out of the directory, and files that exist are not extracted, and the result
/// says why. Permissions and times are not restored.
#[tool(effect = "effectful", title = "Extract an archive", output = Extracted)]
pub(crate) fn extract_archive(input: ExtractArchive) -> Result<Json<Extracted>, Failure> {
    let ExtractArchive {
        path,
        into,
        members,
        overwrite,
    } = input;
    let mut archive = Archive::open(&path)?;
    let place = locate(&into)?;
    let mut report = Report::default();
    let plan = plan(&mut archive, members.as_deref(), &mut report)?;
    let mut destination = Destination::new(place, overwrite)
        .map_err(|error| Failure::io(&error, "created", &into))?;
    archive
        .walk(&mut |member, content| {
            let Some(to) = plan.get(&member.index) else {
                return Ok(true);
            };
            let written = match member.kind {
                Kind::Directory => destination.directory(to),
                Kind::File | Kind::Symlink | Kind::HardLink | Kind::Other => {
                    destination.file(to, content)
                }
            };
            match written {
                Ok(()) => Ok(true),
                Err(Stop::Member(reason)) => {
                    report.skip(&member.name, reason);
                    Ok(true)
                }
                Err(Stop::All(error)) => Err(Failure::io(&error, "written", &member.name)),
            }
        })
        .map_err(|failure| after(&destination, &failure))?;
    Ok(Json(Extracted {
        into,
        files: destination.files,
        directories: destination.directories,
        bytes: destination.bytes,
        skipped: report.skipped,
        total_skipped: report.total,
    }))
}

/// Adds to a failure what was written before it.
fn after(destination: &Destination, failure: &Failure) -> Failure {
    Failure::new(format!(
        "{failure}; {} files were written before that",
        destination.files
    ))
}

/// The members that were not extracted, as many as fit.
struct Report {
    skipped: Vec<Skipped>,
    total: usize,
    budget: Budget,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            skipped: Vec::new(),
            total: 0,
            budget: Budget::new(SKIPPED_BYTES),
        }
    }
}

impl Report {
    fn skip(&mut self, name: &str, reason: impl Into<String>) {
        self.total += 1;
        let (name, reason) = (name.to_owned(), reason.into());
        if self.budget.take(&name, SKIPPED_OVERHEAD_BYTES) && self.budget.take(&reason, 0) {
            self.skipped.push(Skipped { name, reason });
        }
    }
}

/// The path of each member to extract, by its position.
fn plan(
    archive: &mut Archive,
    selected: Option<&[String]>,
    report: &mut Report,
) -> Result<HashMap<usize, String>, Failure> {
    let mut selection = Selection::new(selected)?;
    let mut names = Names::default();
    let mut plan = HashMap::new();
    let mut bytes = 0u64;
    archive.walk(&mut |member, content| {
        if !selection.has(&member.name) {
            return Ok(true);
        }
        match member.safe_path() {
            Err(reason) => report.skip(&member.name, reason),
            Ok(path) if !names.add(&path)? => {
                if member.kind == Kind::File {
                    report.skip(&member.name, DUPLICATE);
                }
            }
            Ok(path) => {
                bytes = bytes.saturating_add(size_of(member, content)?);
                plan.insert(member.index, path);
            }
        }
        if bytes > MAX_EXTRACTED_BYTES {
            return Err(Failure::new(format!(
                "the files would have more than {MAX_EXTRACTED_BYTES} bytes, and nothing was extracted; choose some in `members`"
            )));
        }
        if plan.len() > MAX_EXTRACTED {
            return Err(Failure::new(format!(
                "there are more than {MAX_EXTRACTED} members, and nothing was extracted; choose some in `members`"
            )));
        }
        Ok(true)
    })?;
    selection.check()?;
    Ok(plan)
}

/// The size of a member. One whose size is not stated is read for it.
fn size_of(member: &Member, content: &mut dyn io::Read) -> Result<u64, Failure> {
    match member.size {
        Some(size) => Ok(size),
        None => io::copy(
            &mut io::Read::take(content, MAX_EXTRACTED_BYTES + 1),
            &mut io::sink(),
        )
        .map_err(|error| Failure::new(format!("`{}` cannot be read: {error}", member.name))),
    }
}

/// The members that the model chose.
struct Selection<'a> {
    /// The names without a slash at their end, and true for those that were found.
    names: Option<Vec<(&'a str, bool)>>,
}

impl<'a> Selection<'a> {
    fn new(names: Option<&'a [String]>) -> Result<Self, Failure> {
        if names.is_some_and(|names| names.len() > MAX_SELECTED) {
            return Err(Failure::new(format!(
                "`members` has more than {MAX_SELECTED} names; name directories"
            )));
        }
        let names = names.map(|names| {
            let names = names.iter();
            names
                .map(|name| (name.trim_end_matches('/'), false))
                .collect()
        });
        Ok(Self { names })
    }

    /// True if the member, or a directory that it is in, is chosen.
    fn has(&mut self, member: &str) -> bool {
        let Some(names) = &mut self.names else {
            return true;
        };
        let member = member.trim_end_matches('/');
        let mut chosen = false;
        for (name, found) in names {
            let rest = member.strip_prefix(*name);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                *found = true;
                chosen = true;
            }
        }
        chosen
    }

    fn check(&self) -> Result<(), Failure> {
        let names = self.names.as_deref().unwrap_or_default();
        match names.iter().find(|(_, found)| !found) {
            None => Ok(()),
            Some((name, _)) => Err(Failure::new(format!(
                "the archive has no member `{name}`, and nothing was extracted; list_archive shows the names"
            ))),
        }
    }
}

#[cfg(test)]
mod tests;

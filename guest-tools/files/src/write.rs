//! `write_file` and `edit_file`. They change one file and nothing else, apart from the directories
//! that a new file needs.

mod nearest;

use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use agent_tool::workspace::locate;
use agent_tool::{Json, input, output, tool};

use crate::ends::{Ends, Unified, shown};
use crate::failure::Failure;
use crate::read::read;
use crate::text::{Encoding, Text, decode};

/// The first bytes of a replaced file, which tell its encoding and line ends.
const HEAD_BYTES: u64 = 64 * 1024;

/// The largest content, in bytes.
const MAX_WRITTEN_BYTES: usize = 4 * 1024 * 1024;

#[input]
pub(crate) struct WriteFile {
    /// The file, relative to the workspace or absolute. Missing parent directories are created.
    path: String,
    /// The whole new content.
    content: String,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    path: String,
    /// True if the file is new, false if it was replaced.
    created: bool,
    size_bytes: usize,
    /// A note on line ends or an encoding that the replaced file had and the new one has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Writes a text file: creates a new one, or replaces an existing one as a whole. To change a part
/// of a file, use edit_file.
#[tool(effect = "effectful", title = "Write a file", output = Written)]
pub(crate) fn write_file(input: WriteFile) -> Result<Json<Written>, Failure> {
    let WriteFile { path, content } = input;
    check_size(content.len())?;
    let place = locate(&path)?;
    let created = !place.exists();
    let note = if created {
        None
    } else {
        replaced_note(&read_head(&place), &content)
    };
    let written = match fs::write(&place, &content) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => place
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&place, &content)),
        result => result,
    };
    written.map_err(|error| Failure::io(&error, "written", &path))?;
    Ok(Json(Written {
        path,
        created,
        size_bytes: content.len(),
        note,
    }))
}

/// The first bytes of a file that is replaced; none if it cannot be read.
fn read_head(place: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(file) = fs::File::open(place) {
        // What was read before an error is enough for a note.
        let _ = file.take(HEAD_BYTES).read_to_end(&mut head);
    }
    head
}

/// Tells what a whole new content changes besides the text, by the first bytes of the old one.
fn replaced_note(head: &[u8], content: &str) -> Option<String> {
    if let Some(encoding) = Encoding::marked(head) {
        return Some(format!(
            "the file was {} text, and is UTF-8 now",
            encoding.name()
        ));
    }
    let mut notes = Vec::new();
    if head.starts_with("\u{feff}".as_bytes()) && !content.starts_with('\u{feff}') {
        notes.push("the file had a byte order mark, and has none now".to_owned());
    }
    let old = Ends::count(&String::from_utf8_lossy(head)).dominant();
    let new = Ends::count(content).dominant();
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        let (old, new) = (shown(old), shown(new));
        notes.push(format!(
            "most lines of the file ended with {old}, and now with {new}"
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

#[input]
pub(crate) struct EditFile {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// The text to replace, exactly as it is in the file, white space included. It must occur
    /// exactly once: take as many lines around it as that needs. Line ends are those of the file.
    old: String,
    /// The text to put in its place.
    new: String,
}

#[output]
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Edited {
    path: String,
    /// The line where the change starts, counted from 1.
    line: usize,
    lines_removed: usize,
    lines_added: usize,
    size_bytes: usize,
    /// A note on line ends and encodings that are not the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Changes a part of a text file: replaces the one occurrence of a text by another. The file stays
/// as it is when the text occurs not at all or more than once.
#[tool(effect = "effectful", title = "Edit a file", output = Edited)]
pub(crate) fn edit_file(input: EditFile) -> Result<Json<Edited>, Failure> {
    let EditFile { path, old, new } = input;
    if old.is_empty() {
        return Err(Failure::new(
            "`old` is empty; use write_file to write a whole file",
        ));
    }
    if old == new {
        return Err(Failure::new(
            "`old` and `new` are the same, so there is nothing to change",
        ));
    }
    let place = locate(&path)?;
    let read_at = version(&place);
    let bytes = read(&path)?;
    let Text { text, encoding } = decode_exactly(bytes)
        .ok_or_else(|| Failure::new(format!("`{path}` is not text and cannot be edited")))?;
    let edit = Edit::new(&text, &old, &new).map_err(|reason| reason.explain(&path))?;
    let edited = edit.apply(&text);
    if edited == text {
        return Err(Failure::new(
            "`old` and `new` differ only in line ends, and those of the file are used for both; use write_file to change them",
        ));
    }
    let bytes = encoding.encode(&edited).map_err(|missing| {
        Failure::new(format!(
            "`{path}` is {} text, which has no `{missing}`; leave it out of `new`",
            encoding.name()
        ))
    })?;
    check_size(bytes.len())?;
    if read_at != version(&place) {
        return Err(Failure::new(format!(
            "`{path}` was changed by another program while it was edited, and was not written; read it again"
        )));
    }
    // In place and not by a new file under another name: a grant may allow this one name only.
    fs::write(place, &bytes).map_err(|error| Failure::io(&error, "written", &path))?;
    Ok(Json(Edited {
        path,
        line: edit.line,
        lines_removed: old.lines().count(),
        lines_added: new.lines().count(),
        size_bytes: bytes.len(),
        note: edit.note(encoding),
    }))
}

/// The size and the time of a file, by which a change between reading and writing it is noticed.
fn version(place: &Path) -> Option<(u64, Option<std::time::SystemTime>)> {
    let metadata = fs::metadata(place).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

/// Decodes a text if the way back gives the same bytes.
fn decode_exactly(bytes: Vec<u8>) -> Option<Text> {
    let text = match Encoding::marked(&bytes) {
        None => decode(bytes).ok()?,
        Some(_) => {
            let text = decode(bytes.clone()).ok()?;
            (text.encoding.encode(&text.text).ok()? == bytes).then_some(text)?
        }
    };
    Some(text)
}

/// A replacement in a text, with the line ends of that text.
struct Edit {
    /// The bytes of the text that are replaced.
    range: Range<usize>,
    new: String,
    line: usize,
    ends: Ends,
    /// `new` has other line ends than it was given with.
    is_converted: bool,
    /// The text has no line end after its last line, where `old` had one.
    is_unended: bool,
}

/// The reason why a text cannot be replaced.
enum NotOnce {
    Missing { nearest: Option<String> },
    Several { lines: Vec<usize>, count: usize },
}

/// The most occurrences that are counted, and the most whose lines are named.
const MAX_OCCURRENCES: usize = 1_000;
const MAX_NAMED_LINES: usize = 10;

impl Edit {
    /// Finds the one occurrence of `old`, whatever line ends it is given with.
    fn new(text: &str, old: &str, new: &str) -> Result<Self, NotOnce> {
        let ends = Ends::count(text);
        let unified = Unified::new(text, ends);
        let old_ends = Ends::count(old);
        let wanted = Unified::new(old, old_ends).text;
        let mut new_text = Unified::new(new, Ends::count(new)).text.into_owned();
        let (found, is_unended) = match only_occurrence(&unified, text, &wanted, old) {
            Ok(found) => (found, false),
            Err(NotOnce::Missing { .. }) if ends_without(&unified.text, &wanted) => {
                new_text.truncate(new_text.strip_suffix('\n').unwrap_or(&new_text).len());
                (unified.text.len() + 1 - wanted.len(), true)
            }
            Err(other) => return Err(other),
        };
        let end = (found + wanted.len()).min(unified.text.len());
        // A text of one line has no line end to go by.
        let inserted = match ends.dominant() {
            None => new.to_owned(),
            Some("\n") => new_text,
            Some(end) => new_text.replace('\n', end),
        };
        let as_given = if is_unended {
            new.strip_suffix('\n').unwrap_or(new)
        } else {
            new
        };
        Ok(Self {
            range: unified.original(found)..unified.original(end),
            line: count_lines(&unified.text, found),
            is_converted: inserted != as_given,
            new: inserted,
            ends,
            is_unended,
        })
    }

    fn apply(&self, text: &str) -> String {
        let before = text.get(..self.range.start).unwrap_or_default();
        let after = text.get(self.range.end..).unwrap_or_default();
        format!("{before}{}{after}", self.new)
    }

    fn note(&self, encoding: Encoding) -> Option<String> {
        let mut notes = Vec::new();
        let end = self.ends.dominant().unwrap_or("\n");
        if self.ends.are_mixed() {
            notes.push(format!(
                "the file has mixed line ends, {} `\\r\\n` and {} `\\n`: {} is in the new text, and the others stay",
                self.ends.crlf,
                self.ends.lf,
                shown(end)
            ));
        } else if self.is_converted {
            notes.push(format!(
                "the new text has the file's line ends, {}",
                shown(end)
            ));
        }
        if self.is_unended {
            notes.push("the file still has no line end after its last line".to_owned());
        }
        if encoding != Encoding::Utf8 {
            notes.push(format!("the file is {} text, as before", encoding.name()));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl NotOnce {
    fn explain(self, path: &str) -> Failure {
        Failure::new(match self {
            Self::Missing { nearest: None } => format!(
                "`old` does not occur in `{path}`; read the file again and copy the text exactly, white space included"
            ),
            Self::Missing {
                nearest: Some(nearest),
            } => format!("`old` does not occur in `{path}`; {nearest}"),
            Self::Several { lines, count } => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let more = if count > lines.len() { ", ..." } else { "" };
                format!(
                    "`old` occurs {count} times in `{path}` (lines {}{more}); add lines around it until it is unique",
                    lines.join(", ")
                )
            }
        })
    }
}

/// True if a text ends as the wanted one does, but for the line end after its last line.
fn ends_without(text: &str, wanted: &str) -> bool {
    let wanted = wanted.strip_suffix('\n').unwrap_or_default();
    !wanted.is_empty() && text.ends_with(wanted)
}

fn count_lines(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or_default().matches('\n').count() + 1
}

/// The offset of a text in the unified one, if it occurs exactly once. Overlapping occurrences
/// count separately. Of several that differ in their line ends, `old` as it was given decides.
fn only_occurrence(
    unified: &Unified<'_>,
    original: &str,
    wanted: &str,
    old: &str,
) -> Result<usize, NotOnce> {
    let text = &*unified.text;
    let next = |from: usize| Some(from + text.get(from..)?.find(wanted)?);
    let first_char = wanted.chars().next().map_or(1, char::len_utf8);
    let found: Vec<usize> = std::iter::successors(next(0), |last| next(last + first_char))
        .take(MAX_OCCURRENCES)
        .collect();
    let is_as_given = |start: &&usize| {
        let (start, end) = (**start, **start + wanted.len());
        original.get(unified.original(start)..unified.original(end)) == Some(old)
    };
    match found.as_slice() {
        [] => Err(NotOnce::Missing {
            nearest: nearest::describe(text, wanted),
        }),
        [start] => Ok(*start),
        several => match several
            .iter()
            .filter(is_as_given)
            .collect::<Vec<_>>()
            .as_slice()
        {
            [start] => Ok(**start),
            _ => Err(NotOnce::Several {
                lines: several
                    .iter()
                    .take(MAX_NAMED_LINES)
                    .map(|start| count_lines(text, *start))
                    .collect(),
                count: several.len(),
            }),
        },
    }
}

fn check_size(size: usize) -> Result<(), Failure> {
    if size <= MAX_WRITTEN_BYTES {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the file would have {size} bytes; at most {MAX_WRITTEN_BYTES} can be written"
    )))
}

#[cfg(test)]
mod tests;

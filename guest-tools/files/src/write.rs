//! `write_file` and `edit_file`. They change one file and nothing else, apart from the directories
//! that a new file needs.

use std::fs;
use std::io;

use agent_tool::workspace::locate;
use agent_tool::{Json, input, output, tool};

use crate::failure::Failure;
use crate::read::{as_text, read};

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
}

/// Writes a text file: creates a new one, or replaces an existing one as a whole. To change a part
/// of a file, use edit_file.
#[tool(effect = "effectful", title = "Write a file", output = Written)]
pub(crate) fn write_file(input: WriteFile) -> Result<Json<Written>, Failure> {
    let WriteFile { path, content } = input;
    check_size(&content)?;
    let place = locate(&path)?;
    let created = !place.exists();
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
    }))
}

#[input]
pub(crate) struct EditFile {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// The text to replace, exactly as it is in the file, white space included. It must occur
    /// exactly once: take as many lines around it as that needs.
    old: String,
    /// The text to put in its place.
    new: String,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    path: String,
    /// The line where the change starts, counted from 1.
    line: usize,
    lines_removed: usize,
    lines_added: usize,
    size_bytes: usize,
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
    let text = as_text(read(&path)?)
        .map_err(|_| Failure::new(format!("`{path}` is no UTF-8 text and cannot be edited")))?;
    let start = only_occurrence(&text, &old, &path)?;
    let (before, rest) = text.split_at(start);
    let after = rest.strip_prefix(old.as_str()).unwrap_or_default();
    let edited = format!("{before}{new}{after}");
    check_size(&edited)?;
    // In place and not by a new file under another name: a grant may allow this one name only.
    fs::write(locate(&path)?, &edited).map_err(|error| Failure::io(&error, "written", &path))?;
    let line = before.matches('\n').count() + 1;
    Ok(Json(Edited {
        path,
        line,
        lines_removed: old.lines().count(),
        lines_added: new.lines().count(),
        size_bytes: edited.len(),
    }))
}

/// The offset of `old`, if it occurs exactly once. Overlapping occurrences count separately.
fn only_occurrence(text: &str, old: &str, path: &str) -> Result<usize, Failure> {
    let mut starts = text
        .char_indices()
        .filter(|(index, _)| text.get(*index..).is_some_and(|rest| rest.starts_with(old)));
    let Some((start, _)) = starts.next() else {
        let hint = if text
            .replace("\r\n", "\n")
            .contains(&old.replace("\r\n", "\n"))
        {
            "it would match but for line ends: the file has `\\r\\n`, so `old` needs it too"
        } else {
            "read the file again and copy the text exactly, white space included"
        };
        return Err(Failure::new(format!(
            "`old` does not occur in `{path}`; {hint}"
        )));
    };
    match starts.count() {
        0 => Ok(start),
        more => Err(Failure::new(format!(
            "`old` occurs {} times in `{path}`; add lines around it until it is unique",
            more + 1
        ))),
    }
}

fn check_size(content: &str) -> Result<(), Failure> {
    if content.len() <= MAX_WRITTEN_BYTES {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the file would have {} bytes; at most {MAX_WRITTEN_BYTES} can be written",
        content.len()
    )))
}

#[cfg(test)]
mod tests;

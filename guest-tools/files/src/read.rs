//! `read_file`: text as text, by pages; images and all other files as file parts. The bytes decide
//! which, never the name.

use std::fs::File;
use std::io::Read;

use agent_tool::workspace::locate;
use agent_tool::{Output, Part, input, tool};

use crate::budget::MAX_RESULT_BYTES;
use crate::failure::Failure;

/// The largest file that is read, in bytes: the most that a result can carry.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The largest image or other file that is passed to a model, in bytes; providers refuse larger
/// images.
const MAX_PART_BYTES: usize = 5 * 1024 * 1024;

/// The default number of lines of a page.
const DEFAULT_LINES: usize = 2_000;

#[input]
pub(crate) struct ReadFile {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// The first line to read, counted from 1. Only for text.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    offset_line: usize,
    /// The most lines to read. Only for text.
    #[serde(default = "page")]
    #[schemars(range(min = 1))]
    max_lines: usize,
}

fn first() -> usize {
    1
}

fn page() -> usize {
    DEFAULT_LINES
}

/// Reads a file. Text is returned as text, long text in pages (use `offset_line` for the next one);
/// an image as an image, any other file as a file part.
#[tool(effect = "read-only", title = "Read a file")]
pub(crate) fn read_file(input: ReadFile) -> Result<Output, Failure> {
    let ReadFile {
        path,
        offset_line,
        max_lines,
    } = input;
    let bytes = read(&path)?;
    match as_text(bytes) {
        Ok(text) => page_of(&text, offset_line.max(1), max_lines.max(1)).map(Output::Text),
        Err(bytes) => as_part(&path, bytes),
    }
}

/// The whole file, which is at most [`MAX_FILE_BYTES`].
pub(crate) fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let failure = |error: std::io::Error| Failure::io(&error, "read", path);
    let file = File::open(locate(path)?).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    if metadata.is_dir() {
        return Err(Failure::io(
            &std::io::ErrorKind::IsADirectory.into(),
            "read",
            path,
        ));
    }
    // A file can grow after its size was read, so the read itself is bounded too.
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failure)?;
    let size = metadata.len().max(bytes.len() as u64);
    if size > MAX_FILE_BYTES {
        return Err(Failure::new(format!(
            "`{path}` has {size} bytes; at most {MAX_FILE_BYTES} can be read; use search_files to find the part you need"
        )));
    }
    Ok(bytes)
}

/// Text is UTF-8 without zero bytes. PDF is checked first because some PDF files are all ASCII;
/// other signatures are not checked because short ones, such as BMP's `BM`, also begin sentences.
pub(crate) fn as_text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if bytes.contains(&0) || infer::archive::is_pdf(&bytes) {
        return Err(bytes);
    }
    String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
}

fn as_part(path: &str, bytes: Vec<u8>) -> Result<Output, Failure> {
    let media_type = infer::get(&bytes).map_or("application/octet-stream", |kind| kind.mime_type());
    if bytes.len() > MAX_PART_BYTES {
        let next = if media_type.starts_with("image/") {
            "; use image_thumbnail to get a smaller one"
        } else {
            ""
        };
        return Err(Failure::new(format!(
            "`{path}` is {media_type} of {} bytes; at most {MAX_PART_BYTES} can be returned{next}",
            bytes.len()
        )));
    }
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    Ok(Output::content(
        [Part::bytes(media_type, bytes).named(name)],
    ))
}

/// The lines from `offset_line` on that fit a page, with a last line in brackets where that is not
/// the whole text.
fn page_of(text: &str, offset_line: usize, max_lines: usize) -> Result<String, Failure> {
    let total = text.lines().count();
    if offset_line > total.max(1) {
        return Err(Failure::new(format!(
            "the file has {total} lines, so there is none from line {offset_line} on"
        )));
    }
    let mut page = String::new();
    let mut shown = 0;
    for line in text
        .split_inclusive('\n')
        .skip(offset_line - 1)
        .take(max_lines)
    {
        if page.len() + line.len() > MAX_RESULT_BYTES {
            break;
        }
        page.push_str(line);
        shown += 1;
    }
    if shown == total {
        return Ok(page);
    }
    if shown == 0 {
        let line = text
            .split_inclusive('\n')
            .nth(offset_line - 1)
            .unwrap_or_default();
        let end = line.floor_char_boundary(MAX_RESULT_BYTES);
        page.push_str(line.get(..end).unwrap_or_default());
        page.push_str(&format!(
            "\n[line {offset_line} of {total} is cut: it has {} bytes; search_files shows what is around a match in it, offset_line {} is the next line]",
            line.len(),
            offset_line + 1
        ));
        return Ok(page);
    }
    if !page.ends_with('\n') {
        page.push('\n');
    }
    let last = offset_line + shown - 1;
    let next = if last < total {
        format!("; offset_line {} continues", last + 1)
    } else {
        String::new()
    };
    page.push_str(&format!("[lines {offset_line} to {last} of {total}{next}]"));
    Ok(page)
}

#[cfg(test)]
mod tests;

//! `read_file`: text as text, by pages; images and all other files as file parts. The bytes decide
//! which, never the name. Files up to [`MAX_FILE_BYTES`] are read as a whole, so that their lines
//! can be counted; of larger ones only a page is read.

mod page;
mod range;

use std::fs::File;
use std::io::{Read, Seek};

use agent_tool::workspace::locate;
use agent_tool::{Output, Part, input, tool};

use crate::failure::Failure;
use crate::text::{Text, decode};

/// The largest file that is read as a whole, in bytes: the most that a result can carry.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The largest image or other file that is passed to a model, in bytes; providers refuse larger
/// images.
const MAX_PART_BYTES: usize = 5 * 1024 * 1024;

/// The first bytes of a file, which tell its format.
const HEAD_BYTES: usize = 8 * 1024;

/// The default number of lines of a page.
const DEFAULT_LINES: usize = 2_000;

#[input]
pub(crate) struct ReadFile {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// The first line to read, counted from 1; -1 is the last line. Only for text.
    #[serde(default = "first")]
    offset_line: i64,
    /// The most lines to read. Only for text.
    #[serde(default = "page")]
    #[schemars(range(min = 1))]
    max_lines: usize,
    /// For a line that is longer than a page: the first character of it to read, counted from 1.
    #[serde(default = "first_column")]
    #[schemars(range(min = 1))]
    offset_column: usize,
}

/// The lines of a text that are wanted.
#[derive(Clone, Copy)]
struct Lines {
    /// Negative from the end.
    offset_line: i64,
    max_lines: usize,
    offset_column: usize,
}

fn first() -> i64 {
    1
}

fn page() -> usize {
    DEFAULT_LINES
}

fn first_column() -> usize {
    1
}

/// Reads a file. Text is returned as text, long text in pages (use `offset_line` for the next one);
/// an image as an image, any other file as a file part.
#[tool(effect = "read-only", title = "Read a file")]
pub(crate) fn read_file(input: ReadFile) -> Result<Output, Failure> {
    let ReadFile {
        path,
        offset_line,
        max_lines,
        offset_column,
    } = input;
    let lines = Lines {
        offset_line,
        max_lines,
        offset_column,
    };
    let mut opened = Opened::open(&path)?;
    match opened.read_whole(&path)? {
        Some(bytes) => match decode(bytes) {
            Ok(Text { text, encoding }) => page::page_of(&text, lines, encoding).map(Output::Text),
            Err(bytes) if bytes.len() <= MAX_PART_BYTES => Ok(as_part(&path, bytes)),
            Err(_) => opened.read_range(lines, &path),
        },
        None => opened.read_range(lines, &path),
    }
}

/// An open file.
struct Opened {
    file: File,
    /// The size when it was opened.
    size: u64,
}

impl Opened {
    fn open(path: &str) -> Result<Self, Failure> {
        let failure = |error: std::io::Error| Failure::io(&error, "read", path);
        let file = File::open(locate(path)?).map_err(failure)?;
        let metadata = file.metadata().map_err(failure)?;
        if metadata.is_dir() {
            return Err(failure(std::io::ErrorKind::IsADirectory.into()));
        }
        Ok(Self {
            file,
            size: metadata.len(),
        })
    }

    /// The whole file, or `None` if it has more than [`MAX_FILE_BYTES`].
    fn read_whole(&mut self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        if self.size > MAX_FILE_BYTES {
            return Ok(None);
        }
        // A file can grow after its size was read, so the read itself is bounded too.
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        (&self.file)
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::io(&error, "read", path))?;
        self.size = self.size.max(bytes.len() as u64);
        Ok((bytes.len() as u64 <= MAX_FILE_BYTES).then_some(bytes))
    }

    /// A range of a file that is too large for anything else. An image or another known format is
    /// no text, whatever is in it.
    fn read_range(&mut self, lines: Lines, path: &str) -> Result<Output, Failure> {
        let failure = |error: std::io::Error| Failure::io(&error, "read", path);
        self.file.rewind().map_err(failure)?;
        let mut head = Vec::new();
        (&self.file)
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(failure)?;
        let is_binary = head.contains(&0) || str::from_utf8(&head).is_err();
        match infer::get(&head).map(|kind| kind.mime_type()) {
            Some(media_type) if is_binary || media_type == "application/pdf" => {
                let next = if media_type.starts_with("image/") {
                    "; use image_thumbnail to get a smaller one"
                } else {
                    ""
                };
                Err(Failure::new(format!(
                    "`{path}` is {media_type} of {} bytes; at most {MAX_PART_BYTES} can be returned{next}",
                    self.size
                )))
            }
            _ => range::read_range(&mut self.file, self.size, lines, path).map(Output::Text),
        }
    }
}

/// The whole file, which is at most [`MAX_FILE_BYTES`].
pub(crate) fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let mut opened = Opened::open(path)?;
    opened.read_whole(path)?.ok_or_else(|| {
        Failure::new(format!(
            "`{path}` has {} bytes; at most {MAX_FILE_BYTES} can be edited",
            opened.size
        ))
    })
}

fn as_part(path: &str, bytes: Vec<u8>) -> Output {
    let media_type = infer::get(&bytes).map_or("application/octet-stream", |kind| kind.mime_type());
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    Output::content([Part::bytes(media_type, bytes).named(name)])
}

#[cfg(test)]
mod tests;

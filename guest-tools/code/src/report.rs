//! Collects what a script prints and puts out, and makes the result.

use std::io::{self, Write as _};

use agent_tool::{Output, Part};
use serde_json::{Map, Value};

/// The most text that the console keeps, in bytes.
const MAX_CONSOLE_BYTES: usize = 48 * 1024;

/// The longest text about an exception, in bytes.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// The largest value, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 256 * 1024;

/// The most images and files.
const MAX_PARTS: usize = 16;

/// The most bytes of all of them. Base64 adds a third, and a result holds 8 MiB.
const MAX_PART_BYTES: usize = 5 * 1024 * 1024;

/// The output of a script so far: lines, parts and notes.
#[derive(Debug, Default)]
pub(crate) struct Report {
    console: String,
    /// The number of lines that were not kept.
    dropped: usize,
    parts: Vec<Part>,
    part_bytes: usize,
    notes: Vec<String>,
}

impl Report {
    /// Keeps a line of the console while there is space. The user sees it at once.
    pub(crate) fn print(&mut self, line: &str) {
        // A host without a stdout for it shows it at the end.
        let _ = writeln!(io::stdout(), "{line}");
        if self.dropped > 0 || self.console.len() + line.len() >= MAX_CONSOLE_BYTES {
            if self.dropped == 0 {
                let left = MAX_CONSOLE_BYTES.saturating_sub(self.console.len() + 1);
                let start = line
                    .get(..line.floor_char_boundary(left))
                    .unwrap_or_default();
                self.console.push_str(start);
            }
            self.dropped += 1;
            return;
        }
        self.console.push_str(line);
        self.console.push('\n');
    }

    /// Adds a note for the model, once.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// True if a part is among those put out.
    pub(crate) fn has(&self, part: &Part) -> bool {
        self.parts.contains(part)
    }

    /// Adds an image or a file.
    ///
    /// # Errors
    /// There are too many, or they are too large; as a sentence.
    pub(crate) fn add(&mut self, part: Part, size: usize) -> Result<(), String> {
        if self.parts.len() == MAX_PARTS {
            return Err(format!("at most {MAX_PARTS} images and files are returned"));
        }
        if self.part_bytes + size > MAX_PART_BYTES {
            return Err(format!(
                "images and files of more than {MAX_PART_BYTES} bytes in all cannot be returned; \
                 write them to a file instead"
            ));
        }
        self.part_bytes += size;
        self.parts.push(part);
        Ok(())
    }

    /// The result of a script that ended with `value`.
    pub(crate) fn succeed(mut self, value: Option<Value>) -> Output {
        let value = value.map(|value| self.bounded(value));
        let mut fields = Map::new();
        if let Some(value) = value {
            fields.insert("value".to_owned(), value);
        }
        let console = self.console();
        if !console.is_empty() {
            fields.insert("console".to_owned(), console.into());
        }
        if !self.notes.is_empty() {
            fields.insert("notes".to_owned(), self.notes.into());
        }
        let fields = Value::Object(fields);
        if self.parts.is_empty() {
            return Output::Json(fields);
        }
        let mut parts = vec![Part::text(fields.to_string())];
        parts.append(&mut self.parts);
        Output::Content(parts)
    }

    /// The result of a script that failed.
    pub(crate) fn fail(mut self, error: &str) -> Output {
        let end = error.floor_char_boundary(MAX_ERROR_BYTES);
        let mut text = error.get(..end).unwrap_or_default().to_owned();
        if end < error.len() {
            text.push_str(&format!(" [cut: {} more bytes]", error.len() - end));
        }
        let console = self.console();
        if !console.is_empty() {
            text.push_str("\nprinted before:\n");
            text.push_str(&console);
        }
        for note in &self.notes {
            text.push_str("\nnote: ");
            text.push_str(note);
        }
        Output::ErrorText(text)
    }

    fn console(&mut self) -> String {
        let mut console = std::mem::take(&mut self.console);
        if self.dropped > 0 {
            console.push_str(&format!(
                "\n[cut after {MAX_CONSOLE_BYTES} bytes: {} more lines]",
                self.dropped
            ));
        }
        console.truncate(console.trim_end_matches('\n').len());
        console
    }

    /// The value, or the beginning of its JSON where it is too large for a model to read.
    fn bounded(&mut self, value: Value) -> Value {
        let text = value.to_string();
        if text.len() <= MAX_VALUE_BYTES {
            return value;
        }
        self.note(format!(
            "the value has {} bytes of JSON; this is the beginning of it: return less, or write it to a file",
            text.len()
        ));
        let end = text.floor_char_boundary(MAX_VALUE_BYTES);
        text.get(..end).unwrap_or_default().into()
    }
}

//! CSV and its relatives, read as a stream.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use agent_tool_bounded::{Failure, windows_1252};
use csv::{ByteRecord, ReaderBuilder};
use serde_json::Value;

use crate::cell;
use crate::metered::Metered;
use crate::table::{Delimiter, Encoding, Row, Settings, SheetEnd};

/// The bytes in which the delimiter is looked for.
const MAX_SAMPLE_BYTES: u64 = 64 * 1024;

/// The rows in which the delimiter is looked for.
const SAMPLE_ROWS: usize = 20;

/// An open file.
pub(crate) struct Delimited {
    path: String,
    file: File,
    delimiter: u8,
    settings: Settings,
}

impl Delimited {
    pub(crate) fn open(path: &str, mut file: File, settings: Settings) -> Result<Self, Failure> {
        let mut sample = Vec::new();
        file.by_ref()
            .take(MAX_SAMPLE_BYTES)
            .read_to_end(&mut sample)
            .map_err(|error| Failure::io(&error, "read", path))?;
        if sample.starts_with(b"\xff\xfe") || sample.starts_with(b"\xfe\xff") {
            return Err(Failure::new(format!(
                "`{path}` is in UTF-16, which this tool does not read; save it as UTF-8"
            )));
        }
        if sample.contains(&0) {
            return Err(Failure::new(format!(
                "`{path}` is no table that this tool knows; it reads CSV and xlsx"
            )));
        }
        let delimiter = match settings.delimiter {
            Some(delimiter) => byte_of(delimiter),
            None => delimiter_of(&sample),
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            delimiter,
            settings,
        })
    }

    pub(crate) fn rows(
        &mut self,
        visit: &mut dyn FnMut(Row) -> Result<(), Failure>,
    ) -> Result<SheetEnd, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(format!("`{}` cannot be read: {error}", self.path))
        };
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|error| failed(&error))?;
        let (source, meter) = Metered::new(&mut self.file);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .from_reader(source);
        let mut record = ByteRecord::new();
        let mut number = 0;
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| failed(&error))?
        {
            meter.reset();
            number += 1;
            let mut cells = Vec::new();
            for (column, bytes) in record.iter().enumerate() {
                let value = value_of(bytes, self.settings).ok_or_else(|| {
                    failed(&format_args!(
                        "row {number} is not UTF-8; say in `encoding` what it is"
                    ))
                })?;
                if !value.is_null() {
                    cells.push((column, value));
                }
            }
            visit(Row {
                number,
                cells,
                ..Row::default()
            })?;
        }
        Ok(SheetEnd::default())
    }
}

fn value_of(bytes: &[u8], settings: Settings) -> Option<Value> {
    let text = match settings.encoding {
        None | Some(Encoding::Utf8) => std::str::from_utf8(bytes).ok()?.to_owned(),
        Some(Encoding::Windows1252) => windows_1252(bytes),
    };
    Some(match (settings.raw, text.is_empty()) {
        (_, true) => Value::Null,
        (true, false) => Value::String(text),
        (false, false) => cell::of_csv(&text),
    })
}

fn byte_of(delimiter: Delimiter) -> u8 {
    match delimiter {
        Delimiter::Comma => b',',
        Delimiter::Semicolon => b';',
        Delimiter::Tab => b'\t',
        Delimiter::Pipe => b'|',
    }
}

/// The delimiter that gives the first rows the most columns, and all of them the same number if
/// one does; a comma where nothing separates anything.
fn delimiter_of(sample: &[u8]) -> u8 {
    let candidates = [b',', b';', b'\t', b'|'];
    let scores = candidates.map(|delimiter| {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(sample);
        let widths: Vec<usize> = reader
            .into_byte_records()
            .take(SAMPLE_ROWS)
            .map_while(Result::ok)
            .map(|record| record.len())
            .collect();
        let first = widths.first().copied().unwrap_or(1);
        // The last row of a sample can be cut.
        let whole = widths
            .get(..widths.len().saturating_sub(1))
            .unwrap_or_default();
        (first > 1, whole.iter().all(|width| *width == first), first)
    });
    let best = scores.iter().max().copied().unwrap_or_default();
    let found = candidates
        .iter()
        .zip(scores)
        .find(|(_, score)| *score == best);
    found
        .filter(|_| best.0)
        .map_or(b',', |(delimiter, _)| *delimiter)
}

#[cfg(test)]
mod tests;

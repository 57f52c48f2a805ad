//! A table of any format, as sheets of rows. The format is determined by the bytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use agent_tool::{input, output};
use agent_tool_bounded::{Failure, open};
use serde_json::Value;

use crate::delimited::Delimited;
use crate::xlsx::Workbook;

/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;

/// A format of tables.
#[output]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Csv,
    Xlsx,
}

/// A separator of values.
#[input]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Delimiter {
    Comma,
    Semicolon,
    Tab,
    Pipe,
}

/// An encoding of text.
#[input]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "windows-1252")]
    Windows1252,
}

/// The settings of a CSV file. Without them they are found.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settings {
    pub(crate) delimiter: Option<Delimiter>,
    pub(crate) encoding: Option<Encoding>,
    /// Keeps all values as texts.
    pub(crate) raw: bool,
}

/// A row with its cells that are not empty, by column from 0 on.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// The number of the row, from 1 on.
    pub(crate) number: u64,
    pub(crate) cells: Vec<(usize, Value)>,
    /// The columns whose values are saved results of formulas.
    pub(crate) formulas: Vec<usize>,
    /// The columns with formulas whose results were not saved.
    pub(crate) unsaved: Vec<usize>,
}

/// The facts of a sheet that stand behind its rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SheetEnd {
    /// The merged ranges, such as `A1:B2`, at most [`MAX_MERGED`].
    pub(crate) merged: Vec<String>,
    pub(crate) total_merged: usize,
}

/// The most merged ranges that are kept.
pub(crate) const MAX_MERGED: usize = 1_000;

/// A visibility of sheets.
#[output]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Visibility {
    Visible,
    Hidden,
    VeryHidden,
}

/// A sheet by its name; a CSV file is one without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub(crate) name: String,
    pub(crate) visibility: Visibility,
}

/// An open table.
pub(crate) enum Table {
    Csv(Delimited),
    Xlsx(Box<Workbook>),
}

impl Table {
    pub(crate) fn open(path: &str, settings: Settings) -> Result<Self, Failure> {
        let (mut file, size) = open(path)?;
        if size > MAX_FILE_BYTES {
            return Err(Failure::new(format!(
                "`{path}` has {size} bytes; tables of at most {MAX_FILE_BYTES} bytes are read"
            )));
        }
        let start = start_of(&mut file).map_err(|error| Failure::io(&error, "read", path))?;
        if start.starts_with(b"PK\x03\x04") {
            return Workbook::open(path, file).map(|book| Self::Xlsx(Box::new(book)));
        }
        if start == OLE {
            return Err(Failure::new(format!(
                "`{path}` is an old Excel file (.xls) or an encrypted one, which this tool does not read; save it as .xlsx without a password"
            )));
        }
        Delimited::open(path, file, settings).map(Self::Csv)
    }

    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Csv(_) => Format::Csv,
            Self::Xlsx(_) => Format::Xlsx,
        }
    }

    pub(crate) fn sheets(&self) -> Vec<Sheet> {
        match self {
            Self::Csv(_) => vec![Sheet {
                name: String::new(),
                visibility: Visibility::Visible,
            }],
            Self::Xlsx(book) => book.sheets(),
        }
    }

    /// Shows all rows that are not empty to `visit`, in their order.
    pub(crate) fn rows(
        &mut self,
        sheet: usize,
        visit: &mut dyn FnMut(Row) -> Result<(), Failure>,
    ) -> Result<SheetEnd, Failure> {
        match self {
            Self::Csv(file) => file.rows(visit),
            Self::Xlsx(book) => book.rows(sheet, visit),
        }
    }
}

/// The signature of OLE files.
const OLE: [u8; 8] = *b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

fn start_of(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start)
}

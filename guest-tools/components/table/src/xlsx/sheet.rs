//! The rows of one sheet.

use std::fs::File;

use agent_tool_bounded::Failure;
use agent_tool_bounded::zip::Zip;
use serde_json::Value;

use super::strings::{Rich, unescape};
use super::styles::Styles;
use super::xml::{Element, Node, Xml, XmlError};
use crate::cell::{self, MAX_COLUMNS, place_of};
use crate::table::{MAX_MERGED, Row, SheetEnd};

/// The last row of a workbook.
const MAX_ROWS: u64 = 1_048_576;

/// The parts of a workbook that its cells refer to.
pub(super) struct Book<'a> {
    pub(super) strings: &'a [String],
    pub(super) styles: &'a Styles,
    pub(super) from_1904: bool,
}

/// A cell that is being read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    /// The text of `<v>`.
    value: String,
    /// The text of `<is>`.
    inline: Rich,
    has_formula: bool,
    is_value: bool,
}

/// Shows all rows that are not empty to `visit`.
pub(super) fn read(
    zip: &mut Zip<File>,
    part: &str,
    book: &Book<'_>,
    visit: &mut dyn FnMut(Row) -> Result<(), Failure>,
) -> Result<SheetEnd, XmlError> {
    let mut xml = Xml::open(zip, part)?;
    let mut end = SheetEnd::default();
    let mut row = Row::default();
    let mut cell: Option<Cell> = None;
    let mut last_column = None;
    loop {
        match xml.next()? {
            Node::Start(element) => match (element.name(), &mut cell) {
                ("row", None) => {
                    row = started_row(&element, row.number)?;
                    last_column = None;
                }
                ("c", None) => {
                    let started = started_cell(&element, row.number, last_column)?;
                    last_column = Some(started.column);
                    cell = Some(started);
                }
                ("v", Some(cell)) => cell.is_value = true,
                ("f", Some(cell)) => cell.has_formula = true,
                ("mergeCell", None) => add_merged(&element, &mut end)?,
                (name, Some(cell)) => cell.inline.open(name),
                (_, None) => {}
            },
            Node::Text(text) => {
                if let Some(cell) = &mut cell {
                    if cell.is_value {
                        cell.value.push_str(&text);
                    } else {
                        cell.inline.add(&text);
                    }
                }
            }
            Node::Close(element) => match element.name() {
                "row" => {
                    let number = row.number;
                    visit(std::mem::take(&mut row))?;
                    row.number = number;
                }
                "c" => {
                    if let Some(cell) = cell.take() {
                        finish(cell, book, &mut row)?;
                    }
                }
                "v" => {
                    if let Some(cell) = &mut cell {
                        cell.is_value = false;
                    }
                }
                name => {
                    if let Some(cell) = &mut cell {
                        cell.inline.close(name);
                    }
                }
            },
            Node::End => return Ok(end),
        }
    }
}

/// A row, whose number is the next one where it has none.
fn started_row(element: &Element<'_>, last: u64) -> Result<Row, XmlError> {
    let number = match element.attribute("r")? {
        Some(number) => number.parse().ok(),
        None => Some(last + 1),
    };
    // Rows in another order would be read by some programs and overwritten by others.
    match number.filter(|number| (last + 1..=MAX_ROWS).contains(number)) {
        Some(number) => Ok(Row {
            number,
            ..Row::default()
        }),
        None => Err(XmlError::Form("the numbers of its rows are out of order")),
    }
}

/// A cell, whose column is the next one where it has none.
fn started_cell(element: &Element<'_>, row: u64, last: Option<usize>) -> Result<Cell, XmlError> {
    let column = match element.attribute("r")? {
        Some(reference) => place_of(&reference)
            .filter(|(number, _)| *number == row)
            .map(|(_, column)| column),
        None => Some(last.map_or(0, |column| column + 1)),
    };
    let in_order = |column: &usize| *column < MAX_COLUMNS && last.is_none_or(|last| last < *column);
    Ok(Cell {
        column: column
            .filter(in_order)
            .ok_or(XmlError::Form("the names of its cells are out of order"))?,
        kind: element.attribute("t")?.unwrap_or_default(),
        style: match element.attribute("s")? {
            Some(style) => style
                .parse()
                .map_err(|_| XmlError::Form("a cell has a format of no number"))?,
            None => 0,
        },
        ..Cell::default()
    })
}

fn add_merged(element: &Element<'_>, end: &mut SheetEnd) -> Result<(), XmlError> {
    let Some(range) = element.attribute("ref")? else {
        return Ok(());
    };
    let is_range = range
        .split_once(':')
        .is_some_and(|(from, to)| place_of(from).is_some() && place_of(to).is_some());
    if !is_range {
        return Err(XmlError::Form("a merged range has no corners"));
    }
    end.total_merged += 1;
    if end.merged.len() < MAX_MERGED {
        end.merged.push(range);
    }
    Ok(())
}

fn finish(mut cell: Cell, book: &Book<'_>, row: &mut Row) -> Result<(), XmlError> {
    let value = value(&mut cell, book)?;
    match (cell.has_formula, value.is_null()) {
        (true, true) => row.unsaved.push(cell.column),
        (true, false) => row.formulas.push(cell.column),
        (false, _) => {}
    }
    if !value.is_null() {
        row.cells.push((cell.column, value));
    }
    Ok(())
}

/// The value by the cell's type (ECMA-376 18.18.11).
fn value(cell: &mut Cell, book: &Book<'_>) -> Result<Value, XmlError> {
    let text = std::mem::take(&mut cell.value);
    if cell.kind == "inlineStr" {
        return Ok(text_or_null(cell.inline.take()));
    }
    if text.is_empty() {
        return Ok(Value::Null);
    }
    Ok(match cell.kind.as_str() {
        "s" => {
            let string = text
                .trim()
                .parse()
                .ok()
                .and_then(|index: usize| book.strings.get(index));
            let string = string.ok_or(XmlError::Form("a cell names a text that is not there"))?;
            text_or_null(string.clone())
        }
        "b" => match text.trim() {
            "1" | "true" => Value::Bool(true),
            "0" | "false" => Value::Bool(false),
            _ => return Err(XmlError::Form("a truth value is neither true nor false")),
        },
        "str" => text_or_null(unescape(&text)),
        // Errors such as #DIV/0!, and dates of the strict format, which are ISO 8601.
        "e" | "d" => Value::String(text),
        "" | "n" => {
            let text = text.trim();
            let date = book.styles.date_kind(cell.style).and_then(|kind| {
                let serial = text.parse().ok()?;
                kind.text(serial, book.from_1904)
            });
            date.map_or_else(|| cell::of_number(text), Value::String)
        }
        _ => return Err(XmlError::Form("a cell has an unknown type")),
    })
}

fn text_or_null(text: String) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        Value::String(text)
    }
}

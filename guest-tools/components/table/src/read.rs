//! `read_table`.

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};
use serde_json::Value;

use crate::cell::{MAX_COLUMNS, column_of, letters, place_of};
use crate::table::{Delimiter, Encoding, Format, Row, Settings, Sheet, SheetEnd, Table};

/// The default number of rows of a result.
const DEFAULT_ROWS: usize = 200;

/// The most rows of a result.
const MAX_ROWS: usize = 5_000;

/// The longest text of a cell that is shown, in bytes; the rest is left out.
const MAX_CELL_BYTES: usize = 4 * 1024;

/// The bytes of a result besides rows and names of columns.
const OVERHEAD_BYTES: usize = 4 * 1024;

/// The most places that a note lists.
const MAX_NOTED: usize = 20;

/// The size of a row in JSON besides its values, in bytes.
const ROW_OVERHEAD_BYTES: usize = 32;

/// The longest name of a column that is looked at, in bytes.
const MAX_NAME_BYTES: usize = 200;

#[input]
pub(crate) struct ReadTable {
    /// The CSV or xlsx file, relative to the workspace or absolute.
    path: String,
    /// The name of the sheet, of a workbook. The default is the first visible one.
    sheet: Option<String>,
    /// The number of the row with the names of the columns, from 1 on; 0 if there is none, and the
    /// columns are called A, B and so on.
    #[serde(default = "first")]
    header_row: u64,
    /// The number of the first row to read. The default is the row after the header.
    from_row: Option<u64>,
    /// The most rows to read.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1, max = 5000))]
    max_rows: usize,
    /// The columns to read, by name or by letters such as `C`, in this order. The default is all.
    columns: Option<Vec<String>>,
    /// The separator of a CSV file. The default is the one that its first rows show.
    delimiter: Option<Delimiter>,
    /// The encoding of a CSV file. The default is UTF-8.
    encoding: Option<Encoding>,
    /// Keep all values of a CSV file as texts, also those that are numbers.
    #[serde(default)]
    raw: bool,
}

fn first() -> u64 {
    1
}

fn default_rows() -> usize {
    DEFAULT_ROWS
}

#[output]
#[derive(Debug, PartialEq)]
pub(crate) struct Rows {
    /// The requested path.
    path: String,
    format: Format,
    /// The name of the sheet, of a workbook.
    #[serde(skip_serializing_if = "String::is_empty")]
    sheet: String,
    /// The names of the columns.
    columns: Vec<String>,
    /// The rows that are not empty, in their order.
    rows: Vec<ShownRow>,
    /// The number of the last row of the sheet that is not empty.
    last_row: u64,
    /// Notes on what was left out and how to get it, and on what the values do not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[output]
#[derive(Debug, PartialEq)]
pub(crate) struct ShownRow {
    /// The number of the row in the sheet.
    row: u64,
    /// The values, one for each column: numbers, texts, truth values, null where it is empty.
    values: Vec<Value>,
}

/// Reads rows of a CSV or Excel (xlsx) file as typed values. Dates are texts in ISO 8601, numbers
/// that JSON does not keep exactly are texts, formulas give their saved results. Long tables are
/// read in parts (`from_row`, `columns`).
#[tool(effect = "read-only", title = "Read a table", output = Rows)]
pub(crate) fn read_table(input: ReadTable) -> Result<Json<Rows>, Failure> {
    let settings = Settings {
        delimiter: input.delimiter,
        encoding: input.encoding,
        raw: input.raw,
    };
    let mut table = Table::open(&input.path, settings)?;
    let (index, sheet) = chosen_sheet(&table.sheets(), input.sheet.as_deref())?;
    let from = input.from_row.unwrap_or(input.header_row + 1).max(1);
    let mut taken = Taken::default();
    let most = input.max_rows.clamp(1, MAX_ROWS);
    let end = table.rows(index, &mut |row| {
        taken.add(row, input.header_row, from, most);
        Ok(())
    })?;
    let picked = taken.pick(input.columns.as_deref())?;
    let Filled {
        columns,
        rows,
        mut notes,
    } = taken.fill(&picked)?;
    notes.extend(merged_note(&end, &rows));
    Ok(Json(Rows {
        path: input.path,
        format: table.format(),
        sheet,
        columns,
        rows,
        last_row: taken.last_row,
        notes,
    }))
}

fn chosen_sheet(sheets: &[Sheet], name: Option<&str>) -> Result<(usize, String), Failure> {
    let is_visible = |sheet: &Sheet| sheet.visibility == crate::table::Visibility::Visible;
    let found = match name {
        Some(name) => sheets.iter().position(|sheet| sheet.name == name),
        None => sheets
            .iter()
            .position(is_visible)
            .or((!sheets.is_empty()).then_some(0)),
    };
    let chosen = found.and_then(|index| Some((index, sheets.get(index)?.name.clone())));
    chosen.ok_or_else(|| {
        let names: Vec<String> = sheets
            .iter()
            .take(MAX_NOTED)
            .map(|sheet| format!("`{}`", sheet.name))
            .collect();
        match name {
            Some(name) => Failure::new(format!(
                "there is no sheet `{name}`; there are {}",
                names.join(", ")
            )),
            None => Failure::new("the workbook has no sheet with cells"),
        }
    })
}

/// The rows of a range, before their columns are known.
#[derive(Default)]
struct Taken {
    header: Vec<(usize, Value)>,
    rows: Vec<Row>,
    /// The number of columns up to the last one with a value in the header or in these rows.
    width: usize,
    /// The bytes of the values of these rows, as JSON.
    bytes: usize,
    last_row: u64,
    /// The number of the first row after them that is not empty.
    next: Option<u64>,
}

impl Taken {
    fn add(&mut self, row: Row, header_row: u64, from: u64, most: usize) {
        let Some((last, _)) = row.cells.last() else {
            if row.unsaved.is_empty() {
                return;
            }
            return self.take(row, from, most, 0);
        };
        let width = last + 1;
        self.last_row = row.number;
        if row.number == header_row {
            self.width = self.width.max(width);
            self.header.clone_from(&row.cells);
        }
        self.take(row, from, most, width);
    }

    fn take(&mut self, row: Row, from: u64, most: usize, width: usize) {
        if row.number < from {
            return;
        }
        // Beyond a whole result no row fits, whatever columns are chosen of these.
        if self.next.is_some() || self.rows.len() >= most || self.bytes > MAX_TAKEN_BYTES {
            self.next = self.next.or(Some(row.number));
            return;
        }
        self.width = self.width.max(width);
        self.bytes += row
            .cells
            .iter()
            .map(|(_, value)| size_of(value))
            .sum::<usize>();
        self.rows.push(row);
    }

    /// The name of a column: that of the header, or its letters.
    fn name(&self, column: usize) -> String {
        let named = self.header.iter().find(|(at, _)| *at == column);
        match named.map(|(_, value)| value) {
            Some(Value::String(text)) => cut(text.trim(), MAX_NAME_BYTES).0,
            Some(value) => value.to_string(),
            None => letters(column),
        }
    }

    /// The columns that were asked for, or all.
    fn pick(&self, wanted: Option<&[String]>) -> Result<Vec<usize>, Failure> {
        let Some(wanted) = wanted else {
            return Ok((0..self.width).collect());
        };
        if wanted.len() > MAX_COLUMNS {
            return Err(Failure::new(format!(
                "more than {MAX_COLUMNS} columns are asked for"
            )));
        }
        let names: Vec<(usize, String)> = self
            .header
            .iter()
            .map(|(column, _)| (*column, self.name(*column)))
            .collect();
        let find = |name: &String| {
            let named = names.iter().find(|(_, other)| other == name.trim());
            let column = named.map(|(column, _)| *column).or_else(|| column_of(name));
            column.ok_or_else(|| {
                let known: Vec<String> = names
                    .iter()
                    .take(MAX_NOTED)
                    .map(|(_, name)| format!("`{name}`"))
                    .collect();
                Failure::new(format!(
                    "there is no column `{name}`; the first are {}, and letters such as `A` name columns, too",
                    known.join(", ")
                ))
            })
        };
        wanted.iter().map(find).collect()
    }

    /// The names, and as many rows as fit, with notes.
    fn fill(&self, columns: &[usize]) -> Result<Filled, Failure> {
        let mut budget = Budget::new(MAX_RESULT_BYTES - OVERHEAD_BYTES);
        let names: Vec<String> = columns.iter().map(|&column| self.name(column)).collect();
        let too_wide = || {
            Failure::new(format!(
                "the table has {} columns, too many for one result; choose some in `columns`",
                names.len()
            ))
        };
        if !names.iter().all(|name| budget.take(name, 3)) {
            return Err(too_wide());
        }
        let mut rows = Vec::new();
        let mut notes = Notes::default();
        let mut next = self.next;
        for row in &self.rows {
            let (values, cut) = values_of(row, columns);
            let bytes = values.iter().map(size_of).sum::<usize>() + ROW_OVERHEAD_BYTES;
            if !budget.take_bytes(bytes) {
                if rows.is_empty() {
                    return Err(too_wide());
                }
                next = Some(row.number);
                break;
            }
            notes.add(row, columns, cut);
            let row = row.number;
            rows.push(ShownRow { row, values });
        }
        let more =
            next.map(|next| format!("{} rows are shown; from_row {next} continues", rows.len()));
        let notes = more.into_iter().chain(notes.texts()).collect();
        Ok(Filled {
            columns: names,
            rows,
            notes,
        })
    }
}

/// The part of a range that fits a result.
struct Filled {
    columns: Vec<String>,
    rows: Vec<ShownRow>,
    notes: Vec<String>,
}

/// The most bytes of rows that are kept to be shown: a result, and the columns that are left out.
const MAX_TAKEN_BYTES: usize = 16 * 1024 * 1024;

/// The size of a value in JSON with its comma.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => cut_len(text) + 3,
        other => other.to_string().len() + 1,
    }
}

fn cut_len(text: &str) -> usize {
    serde_json::to_string(cut(text, MAX_CELL_BYTES).0.as_str()).map_or(0, |json| json.len())
}

/// A text of at most `most` bytes, and true if some of it was left out.
fn cut(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let kept = text
        .get(..text.floor_char_boundary(most))
        .unwrap_or_default();
    (format!("{kept}…"), true)
}

/// A value as it is shown, and true if some of it was left out.
pub(crate) fn shown(value: Value) -> (Value, bool) {
    match value {
        Value::String(text) => {
            let (text, is_cut) = cut(&text, MAX_CELL_BYTES);
            (Value::String(text), is_cut)
        }
        other => (other, false),
    }
}

/// The values of the columns, and the columns of which some was left out.
fn values_of(row: &Row, columns: &[usize]) -> (Vec<Value>, Vec<usize>) {
    let mut cut = Vec::new();
    let values = columns
        .iter()
        .map(|column| {
            let Ok(at) = row
                .cells
                .binary_search_by_key(column, |(column, _)| *column)
            else {
                return Value::Null;
            };
            let value = row.cells.get(at).map(|(_, value)| value.clone());
            let (value, is_cut) = shown(value.unwrap_or(Value::Null));
            if is_cut {
                cut.push(*column);
            }
            value
        })
        .collect();
    (values, cut)
}

/// The cells about which something is to be said.
#[derive(Default)]
struct Notes {
    cut: Places,
    formulas: Places,
    unsaved: Places,
}

#[derive(Default)]
struct Places {
    shown: Vec<String>,
    total: usize,
}

impl Notes {
    fn add(&mut self, row: &Row, columns: &[usize], cut: Vec<usize>) {
        let is_shown = |column: &usize| columns.contains(column);
        self.cut.add(row.number, cut.into_iter());
        self.formulas
            .add(row.number, row.formulas.iter().copied().filter(is_shown));
        self.unsaved
            .add(row.number, row.unsaved.iter().copied().filter(is_shown));
    }

    fn texts(self) -> impl Iterator<Item = String> {
        let cut = self.cut.text(&format!("cut after {MAX_CELL_BYTES} bytes"));
        let formulas = self.formulas.text("formulas, shown by their saved results");
        let unsaved = self
            .unsaved
            .text("formulas without saved results, shown as null until a spreadsheet program saves the file");
        cut.into_iter().chain(formulas).chain(unsaved)
    }
}

impl Places {
    fn add(&mut self, row: u64, columns: impl Iterator<Item = usize>) {
        for column in columns {
            self.total += 1;
            if self.shown.len() < MAX_NOTED {
                self.shown.push(format!("{}{row}", letters(column)));
            }
        }
    }

    fn text(self, what: &str) -> Option<String> {
        if self.total == 0 {
            return None;
        }
        let more = match self.total - self.shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("{what}: {}{more}", self.shown.join(", ")))
    }
}

/// The merged ranges that touch the shown rows.
fn merged_note(end: &SheetEnd, rows: &[ShownRow]) -> Option<String> {
    let (first, last) = (rows.first()?.row, rows.last()?.row);
    let touches = |range: &&String| {
        let corners = range.split_once(':');
        let corners = corners.and_then(|(from, to)| Some((place_of(from)?.0, place_of(to)?.0)));
        corners.is_some_and(|(from, to)| from <= last && first <= to)
    };
    let mut places = Places::default();
    for range in end.merged.iter().filter(touches) {
        places.total += 1;
        if places.shown.len() < MAX_NOTED {
            places.shown.push(range.clone());
        }
    }
    places.total += end.total_merged - end.merged.len();
    places.text("merged, with the value in the first cell and null in the others")
}

#[cfg(test)]
pub(crate) mod tests;

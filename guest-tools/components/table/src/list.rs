//! `list_sheets`.

use agent_tool::{Json, input, output, tool};
use agent_tool_bounded::{Budget, Failure, MAX_RESULT_BYTES};
use serde_json::Value;

use crate::cell::letters;
use crate::read::shown;
use crate::table::{Delimiter, Encoding, Format, Settings, Sheet, SheetEnd, Table, Visibility};

/// The most columns whose names are shown of a sheet.
const MAX_SHOWN_COLUMNS: usize = 100;

/// The most merged ranges that are shown of a sheet.
const MAX_SHOWN_MERGED: usize = 20;

/// The size of a sheet in JSON besides its texts, in bytes.
const SHEET_OVERHEAD_BYTES: usize = 160;

/// The bytes of a list besides its sheets.
const LIST_OVERHEAD_BYTES: usize = 512;

#[input]
pub(crate) struct ListSheets {
    /// The CSV or xlsx file, relative to the workspace or absolute.
    path: String,
    /// The separator of a CSV file. The default is the one that its first rows show.
    delimiter: Option<Delimiter>,
    /// The encoding of a CSV file. The default is UTF-8.
    encoding: Option<Encoding>,
}

#[output]
#[derive(Debug, PartialEq)]
pub(crate) struct Sheets {
    /// The requested path.
    path: String,
    format: Format,
    sheets: Vec<SheetInfo>,
    /// A note on what was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[output]
#[derive(Debug, PartialEq)]
pub(crate) struct SheetInfo {
    /// The name; empty for a CSV file.
    name: String,
    visibility: Visibility,
    /// The number of the last row that is not empty.
    rows: u64,
    /// The letters of the last column that is not empty; empty if there is none.
    last_column: String,
    /// The values of the first row that is not empty, by column.
    first_row: Vec<Value>,
    /// Merged ranges, whose value is that of the first cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    merged: Vec<String>,
    /// The number of merged ranges, if not all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_merged: Option<usize>,
}

/// Lists the sheets of a CSV or Excel (xlsx) file: for each its name, size, first row (often the
/// names of the columns) and merged ranges.
#[tool(effect = "read-only", title = "List sheets", output = Sheets)]
pub(crate) fn list_sheets(input: ListSheets) -> Result<Json<Sheets>, Failure> {
    let ListSheets {
        path,
        delimiter,
        encoding,
    } = input;
    let settings = Settings {
        delimiter,
        encoding,
        raw: false,
    };
    let mut table = Table::open(&path, settings)?;
    let mut budget = Budget::new(MAX_RESULT_BYTES - LIST_OVERHEAD_BYTES);
    let mut sheets = Vec::new();
    let all = table.sheets();
    let total = all.len();
    for (index, sheet) in all.into_iter().enumerate() {
        let info = info(&mut table, index, sheet)?;
        if !fits(&mut budget, &info) {
            break;
        }
        sheets.push(info);
    }
    let note =
        (sheets.len() < total).then(|| format!("{} of {total} sheets are shown", sheets.len()));
    Ok(Json(Sheets {
        path,
        format: table.format(),
        sheets,
        note,
    }))
}

fn info(table: &mut Table, index: usize, sheet: Sheet) -> Result<SheetInfo, Failure> {
    let (mut rows, mut last, mut first_row) = (0, None, None);
    let end = table.rows(index, &mut |row| {
        let Some((column, _)) = row.cells.last() else {
            return Ok(());
        };
        rows = row.number;
        last = last.max(Some(*column));
        if first_row.is_none() {
            let mut values = vec![Value::Null; (column + 1).min(MAX_SHOWN_COLUMNS)];
            for (column, value) in row.cells {
                if let Some(place) = values.get_mut(column) {
                    *place = shown(value).0;
                }
            }
            first_row = Some(values);
        }
        Ok(())
    })?;
    let SheetEnd {
        mut merged,
        total_merged,
    } = end;
    merged.truncate(MAX_SHOWN_MERGED);
    Ok(SheetInfo {
        name: sheet.name,
        visibility: sheet.visibility,
        rows,
        last_column: last.map(letters).unwrap_or_default(),
        first_row: first_row.unwrap_or_default(),
        total_merged: (total_merged > merged.len()).then_some(total_merged),
        merged,
    })
}

fn fits(budget: &mut Budget, info: &SheetInfo) -> bool {
    let values: usize = info
        .first_row
        .iter()
        .map(|value| value.to_string().len() + 1)
        .sum();
    let merged: usize = info.merged.iter().map(|range| range.len() + 3).sum();
    budget.take(&info.name, SHEET_OVERHEAD_BYTES) && budget.take_bytes(values + merged)
}

#[cfg(test)]
mod tests;

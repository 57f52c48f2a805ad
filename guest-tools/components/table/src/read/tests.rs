use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{ReadTable, read_table};
use agent_tool_bounded::MAX_RESULT_BYTES;

pub(crate) fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// An expectation that Python wrote.
pub(crate) fn expected(name: &str) -> Value {
    let text = fs::read_to_string(fixture(name)).expect("a fixture");
    serde_json::from_str(&text).expect("JSON")
}

fn all_of(path: &str) -> ReadTable {
    ReadTable {
        path: path.to_owned(),
        sheet: None,
        header_row: 1,
        from_row: None,
        max_rows: 200,
        columns: None,
        delimiter: None,
        encoding: None,
        raw: false,
    }
}

fn read(input: ReadTable) -> Result<Value, String> {
    let path = input.path.clone();
    read_table(input)
        .map(|rows| {
            let mut value = serde_json::to_value(rows.0).expect("JSON");
            value["path"] = Value::Null;
            value
        })
        .map_err(|failure| failure.to_string().replace(&path, "PATH"))
}

fn of_text(text: &str, change: impl FnOnce(&mut ReadTable)) -> Result<Value, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), text).expect("a file");
    let mut input = all_of(file.path().to_str().expect("UTF-8"));
    change(&mut input);
    read(input)
}

#[test]
fn workbook_is_read_as_openpyxl_reads_it() {
    let sheets = expected("book.json");
    let sheet = &sheets["Größen & <Data>"]["rows"];
    let rows: Vec<Value> = ["2", "3", "4", "7"]
        .iter()
        .map(|number| json!({ "row": number.parse::<u64>().expect("a number"), "values": sheet[number] }))
        .collect();
    let mut columns = sheet["1"].as_array().expect("names").clone();
    for (column, name) in columns.iter_mut().enumerate().skip(9) {
        *name = json!(super::letters(column));
    }
    let expected = json!({
        "path": null, "format": "xlsx", "sheet": "Größen & <Data>", "columns": columns, "rows": rows, "last_row": 7,
        "notes": [
            "formulas, shown by their saved results: I2",
            "formulas without saved results, shown as null until a spreadsheet program saves the file: I3, I4",
            "merged, with the value in the first cell and null in the others: A7:C8",
        ],
    });
    assert_eq!(read(all_of(&fixture("book.xlsx"))), Ok(expected));
}

#[test]
fn csv_is_read_as_python_reads_it() {
    let read_by_python = expected("orders.json");
    let rows = read_by_python.as_array().expect("rows");
    let null_for_empty = |row: &Value| -> Vec<Value> {
        let values = row.as_array().expect("a row").iter();
        values
            .map(|value| {
                if value == "" {
                    Value::Null
                } else {
                    value.clone()
                }
            })
            .collect()
    };
    let raw_rows: Vec<Value> = (2..)
        .zip(&rows[1..])
        .map(|(number, row)| json!({ "row": number, "values": null_for_empty(row) }))
        .collect();
    let mut expected = json!({
        "path": null, "format": "csv", "columns": rows[0], "rows": raw_rows, "last_row": 4,
    });
    let raw = ReadTable {
        raw: true,
        ..all_of(&fixture("orders.csv"))
    };
    assert_eq!(read(raw), Ok(expected.clone()));
    expected["rows"][0]["values"][2] = json!(2.5);
    expected["rows"][1]["values"][2] = json!(-0.1);
    expected["rows"][2]["values"][0] = json!(1);
    assert_eq!(read(all_of(&fixture("orders.csv"))), Ok(expected));
}

#[test]
fn range_and_columns_are_chosen() {
    let text = "title\nname,n\na,1\nb,2\nc,3\n";
    let result = of_text(text, |input| {
        input.header_row = 2;
        input.from_row = Some(4);
        input.max_rows = 1;
        input.columns = Some(vec!["n".to_owned(), "A".to_owned(), "C".to_owned()]);
    });
    let expected = json!({
        "path": null, "format": "csv", "columns": ["n", "name", "C"], "last_row": 5,
        "rows": [{ "row": 4, "values": [2, "b", null] }],
        "notes": ["1 rows are shown; from_row 5 continues"],
    });
    assert_eq!(result, Ok(expected));
    let none = of_text("1,2\n3\n", |input| input.header_row = 0);
    let expected = json!({
        "path": null, "format": "csv", "columns": ["A", "B"], "last_row": 2,
        "rows": [{ "row": 1, "values": [1, 2] }, { "row": 2, "values": [3, null] }],
    });
    assert_eq!(none, Ok(expected));
}

#[test]
fn choice_that_is_not_there_is_an_error() {
    let columns = |input: &mut ReadTable| input.columns = Some(vec!["other name".to_owned()]);
    assert_eq!(
        of_text("a,b\n1,2\n", columns),
        Err("there is no column `other name`; the first are `a`, `b`, and letters such as `A` name columns, too".to_owned())
    );
    let sheet = ReadTable {
        sheet: Some("other".to_owned()),
        ..all_of(&fixture("book.xlsx"))
    };
    assert_eq!(
        read(sheet),
        Err("there is no sheet `other`; there are `Größen & <Data>`, `empty`".to_owned())
    );
}

#[test]
fn long_table_is_read_in_parts() {
    let rows: Vec<String> = (0..3_000)
        .map(|number| format!("{number},{}", "\"\"\"\"".repeat(20)))
        .collect();
    let text = format!("n,text\n{}\n", rows.join("\n"));
    let (mut from, mut seen) = (None, Vec::new());
    loop {
        let part = of_text(&text, |input| {
            input.from_row = from;
            input.max_rows = 5_000;
        })
        .expect("rows");
        assert!(
            part.to_string().len() <= MAX_RESULT_BYTES,
            "{}",
            part.to_string().len()
        );
        let rows = part["rows"].as_array().expect("rows");
        seen.extend(
            rows.iter()
                .map(|row| row["values"][0].as_u64().expect("a number")),
        );
        let Some(note) = part["notes"].get(0) else {
            break;
        };
        let next = rows.last().expect("a row")["row"]
            .as_u64()
            .expect("a number")
            + 1;
        assert_eq!(
            note,
            &json!(format!(
                "{} rows are shown; from_row {next} continues",
                rows.len()
            ))
        );
        from = Some(next);
    }
    assert_eq!(seen, (0..3_000).collect::<Vec<_>>());
}

#[test]
fn wide_table_asks_for_columns() {
    let wide = (0..9_000)
        .map(|number| format!("name{number}"))
        .collect::<Vec<_>>()
        .join(",");
    assert_eq!(
        of_text(&wide, |_| {}),
        Err(
            "the table has 9000 columns, too many for one result; choose some in `columns`"
                .to_owned()
        )
    );
    let few = of_text(&format!("{wide}\n1,2\n"), |input| {
        input.columns = Some(vec!["name1".to_owned()])
    });
    assert_eq!(
        few.expect("rows")["rows"],
        json!([{ "row": 2, "values": [2] }])
    );
}

#[test]
fn long_cell_is_cut_with_a_note() {
    let long = "ä".repeat(5_000);
    let result = of_text(&format!("a\n{long}\n"), |_| {}).expect("rows");
    assert_eq!(
        result["rows"][0]["values"],
        json!(["ä".repeat(2_048) + "…"])
    );
    assert_eq!(result["notes"], json!(["cut after 4096 bytes: A2"]));
}

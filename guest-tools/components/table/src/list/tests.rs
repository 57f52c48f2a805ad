use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{ListSheets, list_sheets};
use crate::read::tests::{expected, fixture};
use crate::table::Encoding;

fn list(name: &str, encoding: Option<Encoding>) -> Value {
    let input = ListSheets {
        path: fixture(name),
        delimiter: None,
        encoding,
    };
    let mut value = list_sheets(input)
        .map(|sheets| serde_json::to_value(sheets.0).expect("JSON"))
        .expect("sheets");
    value["path"] = Value::Null;
    value
}

#[test]
fn workbook_is_listed_as_openpyxl_lists_it() {
    let book = expected("book.json");
    let data = &book["Größen & <Data>"];
    let first_row = &data["rows"]["1"].as_array().expect("names")[..9];
    let expected = json!({
        "path": null, "format": "xlsx", "sheets": [
            { "name": "Größen & <Data>", "visibility": data["state"], "rows": 7, "last_column": "AB",
              "first_row": first_row, "merged": data["merged"] },
            { "name": "empty", "visibility": book["empty"]["state"], "rows": 0, "last_column": "", "first_row": [] },
        ],
    });
    assert_eq!(list("book.xlsx", None), expected);
}

#[test]
fn csv_is_one_sheet() {
    let expected = json!({
        "path": null, "format": "csv", "sheets": [
            { "name": "", "visibility": "visible", "rows": 2, "last_column": "B", "first_row": ["name", "price"] },
        ],
    });
    assert_eq!(list("latin.csv", Some(Encoding::Windows1252)), expected);
}

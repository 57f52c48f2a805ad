use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::{resolve, strings::unescape};
use crate::table::{Row, Settings, Table};

/// A ZIP archive of these parts, by deflate.
pub(crate) fn archive(parts: &[(&str, String)]) -> Vec<u8> {
    let (mut members, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in parts {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).expect("a buffer");
        let data = encoder.finish().expect("a buffer");
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let offset = u32::try_from(members.len()).expect("small");
        let sizes = [crc.sum(), data.len() as u32, text.len() as u32];
        let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        let name_len = u16::try_from(name.len()).expect("short").to_le_bytes();
        members.extend_from_slice(b"PK\x03\x04\x14\0\0\x08\x08\0\0\0\0\0");
        members.extend([sizes.as_slice(), &name_len, &[0, 0], name.as_bytes(), &data].concat());
        directory.extend_from_slice(b"PK\x01\x02\x14\0\x14\0\0\x08\x08\0\0\0\0\0");
        directory.extend(
            [
                sizes.as_slice(),
                &name_len,
                &[0; 12],
                &offset.to_le_bytes(),
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let count = u16::try_from(parts.len()).expect("few").to_le_bytes();
    let end = [
        b"PK\x05\x06\0\0\0\0".as_slice(),
        &count,
        &count,
        &u32::try_from(directory.len()).expect("small").to_le_bytes(),
        &u32::try_from(members.len()).expect("small").to_le_bytes(),
        &[0, 0],
    ]
    .concat();
    [members, directory, end].concat()
}

/// A workbook whose sheet has this XML within `<worksheet>`, and shared strings with this one.
fn book(sheet: &str, strings: &str) -> Vec<u8> {
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"http://x/{kind}\" Target=\"{target}\"/>")
    };
    archive(&[
        (
            "_rels/.rels",
            format!(
                "<R>{}</R>",
                relation("a", "officeDocument", "/xl/workbook.xml")
            ),
        ),
        (
            "xl/workbook.xml",
            "<workbook xmlns:r=\"r\"><sheets><sheet name=\"S\" r:id=\"b\"/></sheets></workbook>"
                .to_owned(),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "<R>{}{}</R>",
                relation("b", "worksheet", "sheet.xml"),
                relation("c", "sharedStrings", "../xl/strings.xml")
            ),
        ),
        (
            "xl/sheet.xml",
            format!("<x:worksheet xmlns:x=\"y\">{sheet}</x:worksheet>"),
        ),
        ("xl/strings.xml", format!("<sst>{strings}</sst>")),
    ])
}

fn rows_of(bytes: &[u8]) -> Result<Vec<Row>, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), bytes).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let mut rows = Vec::new();
    Table::open(path, Settings::default())
        .and_then(|mut table| {
            table.rows(0, &mut |row| {
                rows.push(row);
                Ok(())
            })
        })
        .map_err(|failure| failure.to_string().replace(path, "PATH"))?;
    Ok(rows)
}

#[test]
fn cell_is_read_by_its_type() {
    let sheet = "<sheetData>\
        <x:row><x:c t=\"s\"><x:v>0</x:v></x:c><c/><c t=\"b\"><v>1</v></c></x:row>\
        <row r=\"5\"><c r=\"B5\" t=\"inlineStr\"><is><r><t>in</t></r><t xml:space=\"preserve\"> line</t><rPh><t>hint</t></rPh></is></c>\
        <c r=\"D5\" t=\"str\"><f>A1</f><v>_x0041_&amp;&#66;<![CDATA[<]]></v></c><c r=\"E5\" t=\"d\"><v>2024-01-01</v></c>\
        <c r=\"F5\"><f>1/0</f></c></row></sheetData>";
    let expected = vec![
        Row {
            number: 1,
            cells: vec![(0, json!("shared")), (2, json!(true))],
            ..Row::default()
        },
        Row {
            number: 5,
            cells: vec![
                (1, json!("in line")),
                (3, json!("A&B<")),
                (4, json!("2024-01-01")),
            ],
            formulas: vec![3],
            unsaved: vec![5],
        },
    ];
    let strings = "<si><r><t>sha</t></r><r><t>red</t></r><rPh><t>no</t></rPh></si>";
    assert_eq!(rows_of(&book(sheet, strings)), Ok(expected));
}

#[test]
fn workbook_that_misleads_is_an_error() {
    let row = |cells: &str| format!("<row r=\"2\">{cells}</row>");
    let damaged = |how: &str| format!("`PATH` cannot be read: {how}");
    let cases = [
        (
            row("<c t=\"s\"><v>7</v></c>"),
            damaged("a cell names a text that is not there"),
        ),
        (
            row("<c t=\"s\"><v>-1</v></c>"),
            damaged("a cell names a text that is not there"),
        ),
        (
            row("<c t=\"b\"><v>2</v></c>"),
            damaged("a truth value is neither true nor false"),
        ),
        (
            row("<c t=\"q\"><v>2</v></c>"),
            damaged("a cell has an unknown type"),
        ),
        (
            row("<c s=\"x\"><v>2</v></c>"),
            damaged("a cell has a format of no number"),
        ),
        (
            row("<c r=\"A1\"><v>2</v></c>"),
            damaged("the names of its cells are out of order"),
        ),
        (
            row("<c r=\"XFE2\"><v>2</v></c>"),
            damaged("the names of its cells are out of order"),
        ),
        (
            row("<c r=\"B2\"/><c r=\"B2\"/>"),
            damaged("the names of its cells are out of order"),
        ),
        (
            row("<c r=\"XFD2\"/><c/>"),
            damaged("the names of its cells are out of order"),
        ),
        (
            row("") + &row(""),
            damaged("the numbers of its rows are out of order"),
        ),
        (
            "<row r=\"0\"/>".to_owned(),
            damaged("the numbers of its rows are out of order"),
        ),
        (
            "<row r=\"1048577\"/>".to_owned(),
            damaged("the numbers of its rows are out of order"),
        ),
        (
            "<mergeCell ref=\"A1\"/>".to_owned(),
            damaged("a merged range has no corners"),
        ),
        ("<a>".repeat(70), damaged("its XML is too deep")),
        (
            "<!DOCTYPE a>".to_owned(),
            damaged("its XML defines a document type"),
        ),
        (
            "&bomb;".to_owned(),
            damaged("its XML uses an entity that it cannot have"),
        ),
        (
            format!("<row r=\"1\"><c><v>{}</v></c></row>", "1".repeat(3 << 20)),
            damaged("a value has more than 1048576 bytes"),
        ),
    ];
    for (sheet, expected) in cases {
        assert_eq!(rows_of(&book(&sheet, "")), Err(expected), "{:.60}", sheet);
    }
    assert_eq!(
        rows_of(&archive(&[("a.txt", String::new())])),
        Err("`PATH` is an archive and no xlsx workbook; this tool reads CSV and xlsx".to_owned())
    );
    let twice = [
        ("_rels/.rels", "<R/>".to_owned()),
        ("_rels/.rels", "<R/>".to_owned()),
    ];
    assert_eq!(
        rows_of(&archive(&twice)),
        Err(damaged("its part `_rels/.rels` is not there once"))
    );
}

#[test]
fn part_is_found_from_its_relation() {
    for (base, target, expected) in [
        ("xl", "sheet.xml", "xl/sheet.xml"),
        ("xl", "/xl/sheet.xml", "xl/sheet.xml"),
        ("xl", "../a/./b.xml", "a/b.xml"),
        ("", "../../../a", "a"),
    ] {
        assert_eq!(resolve(base, target), expected);
    }
}

#[test]
fn escape_in_a_text_is_replaced() {
    for (text, expected) in [
        ("a_x000D_b", "a\rb"),
        ("_x005F_x000D_", "_x000D_"),
        ("_x00ZZ_ _x0041", "_x00ZZ_ _x0041"),
        ("_xD800_", "_xD800_"),
        ("_x_x0041_", "_xA"),
        ("_xäöü_", "_xäöü_"),
    ] {
        assert_eq!(unescape(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn changed_sheet_is_no_panic_fuzz(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[<>/&;\"=a-z0-9 ]{0,3}"), 0..6),
    ) {
        let mut sheet = "<sheetData><row r=\"1\" spans=\"1:2\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" s=\"1\"><f>A1</f><v>2.5</v></c></row></sheetData><mergeCells><mergeCell ref=\"A1:B1\"/></mergeCells>".to_owned();
        for (at, text) in changes {
            let at = at.index(sheet.len());
            sheet.replace_range(at..=at, &text);
            if sheet.is_empty() { sheet.push('x'); }
        }
        let _ = rows_of(&book(&sheet, "<si><t>a</t></si>"));
    }
}

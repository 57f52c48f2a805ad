use std::fs;

use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;

use super::page::page_of;
use super::{Lines, MAX_FILE_BYTES, MAX_PART_BYTES, ReadFile, read_file};
use crate::budget::MAX_RESULT_BYTES;
use crate::failure::Failure;
use crate::text::Encoding;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn read_bytes(name: &str, bytes: &[u8]) -> Result<Output, String> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    fs::write(&path, bytes).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    read_file(ReadFile {
        path: path.clone(),
        offset_line: 1,
        max_lines: 2_000,
        offset_column: 1,
    })
    .map_err(|failure| failure.to_string().replace(&path, "PATH"))
}

fn part(media_type: &str, bytes: &[u8], name: &str) -> Output {
    Output::content([Part::bytes(media_type, bytes.to_vec()).named(name)])
}

#[test]
fn file_format_is_decided_by_its_bytes() {
    let cases: &[(&str, &[u8], Output)] = &[
        ("a.txt", b"one\ntwo\n", Output::text("one\ntwo\n")),
        ("empty", b"", Output::text("")),
        (
            "bm.txt",
            b"BM is not a bitmap",
            Output::text("BM is not a bitmap"),
        ),
        (
            "page.html",
            b"<!DOCTYPE html><p>x",
            Output::text("<!DOCTYPE html><p>x"),
        ),
        ("photo.txt", PNG, part("image/png", PNG, "photo.txt")),
        (
            "a.jpg",
            b"\xff\xd8\xff\xe0",
            part("image/jpeg", b"\xff\xd8\xff\xe0", "a.jpg"),
        ),
        (
            "a.pdf",
            b"%PDF-1.7 all ASCII",
            part("application/pdf", b"%PDF-1.7 all ASCII", "a.pdf"),
        ),
        (
            "a.bin",
            b"a\0b",
            part("application/octet-stream", b"a\0b", "a.bin"),
        ),
        (
            "latin1.txt",
            b"caf\xe9",
            Output::text("caf\u{e9}\n[the file is Windows-1252 (Latin-1) text]"),
        ),
        (
            "wide.txt",
            b"\xff\xfea\0\n\0",
            Output::text("a\n[the file is UTF-16LE text]"),
        ),
        (
            "control.bin",
            b"\xff\x01",
            part("application/octet-stream", b"\xff\x01", "control.bin"),
        ),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(read_bytes(name, bytes), Ok(expected.clone()), "{name}");
    }
}

#[test]
fn large_files_are_read_in_ranges() {
    let mut image = PNG.to_vec();
    image.resize(MAX_PART_BYTES + 1, 0);
    let size = usize::try_from(MAX_FILE_BYTES).expect("a small number") + 1;
    let mut text = b"one\ntwo\n".repeat(size / 8 + 1);
    text.truncate(size);
    // Sparse, with text at its end.
    let mut sparse = vec![0; MAX_PART_BYTES];
    sparse.extend_from_slice(b"\nlast\n");
    let page = |bytes: &[u8], offset_line, max_lines| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("f");
        fs::write(&path, bytes).expect("a file");
        let path = path.to_str().expect("UTF-8").to_owned();
        let output = read_file(ReadFile {
            path: path.clone(),
            offset_line,
            max_lines,
            offset_column: 1,
        });
        output.map_err(|failure| failure.to_string().replace(&path, "PATH"))
    };
    let cases = [
        (
            &image,
            (1, 1),
            Err(
                "`PATH` is image/png of 5242881 bytes; at most 5242880 can be returned; use image_thumbnail to get a smaller one",
            ),
        ),
        (
            &text,
            (2_000_001, 2),
            Ok(
                "one\ntwo\n[lines 2000001 to 2000002 of a file of 8388609 bytes; offset_line 2000003 continues]",
            ),
        ),
        (
            &text,
            (-1, 1),
            Ok("o\n[lines -1 to -1 of a file of 8388609 bytes]"),
        ),
        (
            &sparse,
            (-1, 1),
            Ok("last\n[lines -1 to -1 of a file of 5242886 bytes]"),
        ),
    ];
    for (bytes, (offset_line, max_lines), expected) in cases {
        assert_eq!(
            page(bytes, offset_line, max_lines),
            expected.map(Output::text).map_err(str::to_owned)
        );
    }
}

/// A page of a text in UTF-8.
fn page(text: &str, offset_line: i64, max_lines: usize, column: usize) -> Result<String, Failure> {
    let lines = Lines {
        offset_line,
        max_lines,
        offset_column: column,
    };
    page_of(text, lines, Encoding::Utf8)
}

#[test]
fn directory_is_not_readable_as_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8").to_owned();
    let result = read_file(ReadFile {
        path: path.clone(),
        offset_line: 1,
        max_lines: 1,
        offset_column: 1,
    });
    assert_eq!(
        result.map_err(|failure| failure.to_string()),
        Err(format!(
            "`{path}` is a directory and cannot be read as a file; use list_directory to see what it has"
        ))
    );
}

#[test]
fn pages_report_their_position() {
    let text = "a\nb\nc\nd";
    let cases = [
        (1, 9, Ok("a\nb\nc\nd")),
        (
            1,
            2,
            Ok("a\nb\n[lines 1 to 2 of 4; offset_line 3 continues]"),
        ),
        (3, 9, Ok("c\nd\n[lines 3 to 4 of 4]")),
        (4, 1, Ok("d\n[lines 4 to 4 of 4]")),
        (-1, 9, Ok("d\n[lines 4 to 4 of 4]")),
        (
            -3,
            2,
            Ok("b\nc\n[lines 2 to 3 of 4; offset_line 4 continues]"),
        ),
        (-9, 9, Ok("a\nb\nc\nd")),
        (
            5,
            1,
            Err("the file has 4 lines, so there is none from line 5 on"),
        ),
    ];
    for (offset, max, expected) in cases {
        assert_eq!(
            page(text, offset, max, 1).map_err(|failure| failure.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{offset} {max}"
        );
    }
}

#[test]
fn page_is_bounded_in_bytes() {
    let line = format!("{}\n", "x".repeat(999));
    let page = page(&line.repeat(100), 1, 2_000, 1).expect("a page");
    assert!(page.len() <= MAX_RESULT_BYTES + 100);
    assert!(page.ends_with("\n[lines 1 to 45 of 100; offset_line 46 continues]"));
}

#[test]
fn line_longer_than_a_page_is_read_by_columns() {
    let text = format!("{}\nnext\n", "é".repeat(MAX_RESULT_BYTES));
    let cases = [
        (
            (1, 1),
            "é\n[line 1 of 2, columns 1 to 22528 of 45056; offset_column 22529 continues; offset_line 2 is the next line]",
        ),
        (
            (1, 22_529),
            "é\n[line 1 of 2, columns 22529 to 45056 of 45056; offset_line 2 is the next line]",
        ),
        (
            (1, 45_056),
            "é\n[line 1 of 2, columns 45056 to 45056 of 45056; offset_line 2 is the next line]",
        ),
        ((2, 1), "next\n[lines 2 to 2 of 2]"),
        ((2, 3), "xt\n[line 2 of 2, columns 3 to 4 of 4]"),
    ];
    for ((line, column), expected) in cases {
        let shown = page(&text, line, 10, column).expect("a page");
        assert!(
            shown.ends_with(expected) && shown.len() < MAX_RESULT_BYTES + 200,
            "{line} {column} {}",
            shown.trim_start_matches('é')
        );
    }
    assert_eq!(
        page(&text, 2, 1, 5).map_err(|failure| failure.to_string()),
        Err("line 2 has 4 characters, so there is none from column 5 on".to_owned())
    );
}

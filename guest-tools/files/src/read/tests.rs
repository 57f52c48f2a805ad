use std::fs;

use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;

use super::{MAX_FILE_BYTES, MAX_PART_BYTES, ReadFile, page_of, read_file};
use crate::budget::MAX_RESULT_BYTES;

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
            part("application/octet-stream", b"caf\xe9", "latin1.txt"),
        ),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(read_bytes(name, bytes), Ok(expected.clone()), "{name}");
    }
}

#[test]
fn large_files_are_refused_with_an_alternative() {
    let mut image = PNG.to_vec();
    image.resize(MAX_PART_BYTES + 1, 0);
    let too_long = vec![b'x'; usize::try_from(MAX_FILE_BYTES).expect("a small number") + 1];
    let cases = [
        (
            "a.png",
            &image,
            "`PATH` is image/png of 5242881 bytes; at most 5242880 can be returned; use image_thumbnail to get a smaller one",
        ),
        (
            "a.txt",
            &too_long,
            "`PATH` has 8388609 bytes; at most 8388608 can be read; use search_files to find the part you need",
        ),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(read_bytes(name, bytes), Err(expected.to_owned()));
    }
}

#[test]
fn directory_is_not_readable_as_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8").to_owned();
    let result = read_file(ReadFile {
        path: path.clone(),
        offset_line: 1,
        max_lines: 1,
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
        (
            5,
            1,
            Err("the file has 4 lines, so there is none from line 5 on"),
        ),
    ];
    for (offset, max, expected) in cases {
        assert_eq!(
            page_of(text, offset, max).map_err(|failure| failure.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{offset} {max}"
        );
    }
}

#[test]
fn page_is_bounded_in_bytes() {
    let line = format!("{}\n", "x".repeat(999));
    let page = page_of(&line.repeat(100), 1, 2_000).expect("a page");
    assert!(page.len() <= MAX_RESULT_BYTES + 100);
    assert!(page.ends_with("\n[lines 1 to 45 of 100; offset_line 46 continues]"));
}

#[test]
fn line_longer_than_a_page_is_cut_at_a_character() {
    let text = format!("{}\nnext\n", "é".repeat(MAX_RESULT_BYTES));
    let page = page_of(&text, 1, 10).expect("a page");
    assert!(page.ends_with(
        "é\n[line 1 of 2 is cut: it has 90113 bytes; search_files shows what is around a match in it, offset_line 2 is the next line]"
    ));
    assert_eq!(
        page_of(&text, 2, 10),
        Ok("next\n[lines 2 to 2 of 2]".to_owned())
    );
}

use std::io::Cursor;

use pretty_assertions::assert_eq;

use super::super::Lines;
use super::super::page::page_of;
use super::{CHUNK_BYTES, read_range};
use crate::text::{Text, decode};

fn lines(offset_line: i64, max_lines: usize, offset_column: usize) -> Lines {
    Lines {
        offset_line,
        max_lines,
        offset_column,
    }
}

fn range(bytes: &[u8], lines: Lines) -> Result<String, String> {
    let size = bytes.len() as u64;
    read_range(&mut Cursor::new(bytes), size, lines, "F").map_err(|failure| failure.to_string())
}

#[test]
fn lines_are_found_from_both_ends() {
    let cases = [
        (
            lines(1, 2, 1),
            "a\nb\n[lines 1 to 2 of a file of 8 bytes; offset_line 3 continues]",
        ),
        (lines(3, 9, 1), "c\nd\n[lines 3 to 4 of a file of 8 bytes]"),
        (lines(-1, 9, 1), "d\n[lines -1 to -1 of a file of 8 bytes]"),
        (
            lines(-3, 2, 1),
            "b\nc\n[lines -3 to -2 of a file of 8 bytes; offset_line -1 continues]",
        ),
        (
            lines(-9, 9, 1),
            "a\nb\nc\nd\n[lines -4 to -1 of a file of 8 bytes]",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(range(b"a\nb\nc\nd\n", lines).as_deref(), Ok(expected));
    }
    for (bytes, number, total) in [
        (&b"a\nb\n"[..], 3, 2),
        (b"a\nb\n", 4, 2),
        (b"a\nb", 3, 2),
        (b"a\nb", 9, 2),
        (b"\n", 2, 1),
    ] {
        let expected =
            format!("the file has {total} lines, so there is none from line {number} on");
        assert_eq!(range(bytes, lines(number, 1, 1)), Err(expected));
    }
}

#[test]
fn encodings_and_zeros_are_shown() {
    let cases: &[(&[u8], Lines, &str)] = &[
        (
            b"\xff\xfea\0\n\0\xe9\0\n\0",
            lines(2, 1, 1),
            "\u{e9}\n[lines 2 to 2 of a file of 10 bytes; the file is UTF-16LE text]",
        ),
        (
            b"\xff\xfea\0\n\0",
            lines(-1, 1, 1),
            "a\n[lines -1 to -1 of a file of 6 bytes; the file is UTF-16LE text]",
        ),
        (
            b"\xfe\xff\0a\0\n\0b",
            lines(-1, 1, 1),
            "b\n[lines -1 to -1 of a file of 8 bytes; the file is UTF-16BE text]",
        ),
        (
            b"caf\xe9\nb\n",
            lines(1, 1, 1),
            "caf\u{e9}\n[lines 1 to 1 of a file of 7 bytes; offset_line 2 continues; the file is Windows-1252 (Latin-1) text]",
        ),
        // Sparse.
        (
            b"a\n\0\0\0\0last\n",
            lines(-1, 1, 1),
            "[4 zero bytes]last\n[lines -1 to -1 of a file of 11 bytes]",
        ),
    ];
    for (bytes, lines, expected) in cases {
        assert_eq!(range(bytes, *lines).as_deref(), Ok(*expected));
    }
    assert_eq!(
        range(b"a\n\0\x01\xff\n", lines(2, 1, 1)),
        Err("`F` is application/octet-stream of 6 bytes, and has no text there".to_owned())
    );
}

#[test]
fn parts_of_long_lines_are_shown() {
    let bytes = format!("{}end\nnext\n", "é".repeat(100_000)).into_bytes();
    let cases = [
        (
            lines(1, 9, 1),
            format!(
                "{}\n[line 1, columns 1 to 22528; offset_column 22529 continues; offset_line 2 is the next line]",
                "é".repeat(22_528)
            ),
        ),
        (
            lines(1, 9, 99_999),
            "ééend\n[line 1, columns 99999 to 100003 of 100003; offset_line 2 is the next line]"
                .to_owned(),
        ),
        (
            lines(-2, 9, 100_001),
            "end\n[line -2, columns 100001 to 100003 of 100003; offset_line -1 is the next line]"
                .to_owned(),
        ),
        (
            lines(-2, 9, 1),
            format!(
                "{}end\n[line -2 is cut: only its end is shown]",
                "é".repeat(11_262)
            ),
        ),
    ];
    for (lines, expected) in cases {
        let shown = range(&bytes, lines).expect("a page");
        assert!(
            shown == expected,
            "{} {}",
            shown.len(),
            shown.trim_matches('é')
        );
    }
    assert_eq!(
        range(&bytes, lines(1, 1, 100_004)),
        Err("line 1 has 100003 characters, so there is none from column 100004 on".to_owned())
    );
}

/// The pages of many texts are the same as those of the whole text, whatever falls on the border of
/// a chunk.
#[test]
fn range_is_the_page_of_the_whole_text() {
    let mut state = 3_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    let plain = |page: &str| page.split("\n[line").next().map(str::to_owned);
    for _ in 0..20 {
        let mut text = "x\n".repeat(CHUNK_BYTES / 2 - 10);
        for _ in 0..random(40) {
            text.push_str(["a", "é", "\n", "😀", "\r\n"][random(5)]);
        }
        text.push('z');
        let bytes = text.clone().into_bytes();
        let Ok(Text { encoding, .. }) = decode(bytes.clone()) else {
            panic!("no text");
        };
        let total = text.lines().count();
        for number in [1, total, total - random(10)] {
            let number = i64::try_from(number).expect("small");
            let last = i64::try_from(total).expect("small") + 1 - number;
            let whole = page_of(&text, lines(number, 5, 1), encoding).expect("a page");
            for number in [number, -last] {
                let ranged = range(&bytes, lines(number, 5, 1)).expect("a page");
                assert_eq!(plain(&ranged), plain(&whole), "{number}");
            }
        }
    }
}

use std::ops::ControlFlow;

use pretty_assertions::assert_eq;
use regex_lite::Regex;

use super::{MAX_LINE_BYTES, Matcher, Searched};
use crate::disk::{CHUNK_BYTES, Dir};

/// The lines of a file that match: number, text, offset and characters before.
fn search(bytes: &[u8], pattern: &str) -> (Searched, Vec<(usize, String, usize, usize)>) {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("f"), bytes).expect("a file");
    let (mounted, rest) = Dir::mounted(directory.path()).expect("a directory");
    let file = mounted
        .open(&rest)
        .and_then(|dir| dir.file("f"))
        .expect("a file");
    let mut matcher = Matcher::new(pattern, Regex::new(pattern).expect("an expression"));
    let mut lines = Vec::new();
    let searched = matcher.search(&file, &mut |found| {
        lines.push((
            found.number,
            found.text.to_owned(),
            found.start,
            found.before,
        ));
        ControlFlow::Continue(())
    });
    (searched.expect("a search"), lines)
}

#[test]
fn lines_of_each_encoding_are_found() {
    type Case<'a> = (&'a [u8], &'a str, &'a [(usize, &'a str, usize)]);
    let cases: &[Case<'_>] = &[
        (
            b"a needle\r\nb\nneedle",
            "needle",
            &[(1, "a needle", 2), (3, "needle", 0)],
        ),
        (b"a needle\r\nb\nneedle", "^needle$", &[(3, "needle", 0)]),
        (b"one\ntwo\r\n", "[a-z]o$", &[(2, "two", 1)]),
        (b"caf\xe9\n", "caf\u{e9}", &[(1, "caf\u{e9}", 0)]),
        (b"caf\xe9 x\n", "x", &[(1, "caf\u{e9} x", 6)]),
        (b"\xff\xfex\0\n\0a\0\xe9\0", "\u{e9}", &[(2, "a\u{e9}", 1)]),
        (b"\xfe\xff\0x\0\n\0a", "a", &[(2, "a", 0)]),
        (b"\xef\xbb\xbfx", "^x", &[(1, "x", 0)]),
        (b"", "a", &[]),
        (b"\n\n", "^$", &[(1, "", 0), (2, "", 0)]),
    ];
    for (bytes, pattern, expected) in cases {
        let expected = expected
            .iter()
            .map(|(number, text, start)| (*number, (*text).to_owned(), *start, 0))
            .collect();
        assert_eq!(
            search(bytes, pattern),
            (Searched::Whole, expected),
            "{pattern}"
        );
    }
    for bytes in [&b"a\0needle"[..], b"%PDF-1.7 needle"] {
        assert_eq!(search(bytes, "needle"), (Searched::NotText, vec![]));
    }
}

/// Matches around the borders of chunks, in files of several.
#[test]
fn large_files_are_searched_as_a_whole() {
    for shift in 0..12 {
        let mut text = "x\n".repeat(CHUNK_BYTES / 2 - 6 + shift / 2);
        text.push_str(&"y".repeat(shift % 2));
        text.push_str("the needle é\n");
        text.push_str(&"z\n".repeat(CHUNK_BYTES));
        text.push_str("needle");
        let expected: Vec<_> = text
            .lines()
            .enumerate()
            .filter_map(|(index, line)| Some((index + 1, line.to_owned(), line.find("needle")?, 0)))
            .collect();
        assert_eq!(expected.len(), 2);
        for pattern in ["needle", "n[e]edle"] {
            assert_eq!(
                search(text.as_bytes(), pattern),
                (Searched::Whole, expected.clone())
            );
        }
        let wide: Vec<u8> = std::iter::once(0xfeff)
            .chain(text.replace('é', "😀").encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        let found = search(&wide, "needle").1.len();
        assert_eq!(found, 2);
    }
}

#[test]
fn line_that_is_too_long_is_searched_in_pieces() {
    let before = "é".repeat(MAX_LINE_BYTES);
    let text = format!(
        "a\n{before}needle needle{}\nneedle\n",
        "x".repeat(MAX_LINE_BYTES * 2)
    );
    let (searched, found) = search(text.as_bytes(), "needle");
    let places: Vec<(usize, usize)> = found
        .iter()
        .map(|(number, text, start, before)| {
            (*number, before + text.split_at(*start).0.chars().count())
        })
        .collect();
    // Each line is found once.
    assert_eq!(
        (searched, places),
        (Searched::Whole, vec![(2, MAX_LINE_BYTES), (3, 0)])
    );
}

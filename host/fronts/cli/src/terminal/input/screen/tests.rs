//! Frames on the screen of a terminal emulator are tested from outside, in
//! `tests/it/conversation_screen.rs`; here are their rows.

use super::{Frame, Rows, Screen, Size, lay_out, window};
use pretty_assertions::assert_eq;

fn frame(text: &str, cursor: usize, columns: usize, rows: usize) -> Frame<'_> {
    Frame {
        text,
        cursor,
        below: &[],
        size: Size { columns, rows },
    }
}

/// A text, its cursor, the rows and the place of the cursor in them.
type Case = (&'static str, usize, &'static [&'static str], (usize, usize));

#[test]
fn text_breaks_into_rows() {
    let cases: [Case; 9] = [
        ("", 0, &["> "], (0, 2)),
        ("abc", 3, &["> abc"], (0, 5)),
        ("abc", 1, &["> abc"], (0, 3)),
        ("a\nbc", 2, &["> a", "  bc"], (1, 2)),
        ("a\n", 2, &["> a", "  "], (1, 2)),
        ("abcdefghij", 10, &["> abcdefg", "  hij"], (1, 5)),
        // A wide character does not stand in the last column.
        ("abcdef日本", 9, &["> abcdef", "  日本"], (1, 4)),
        ("a\u{1b}b", 1, &["> a\\u{1b}", "  b"], (0, 3)),
        ("\t.", 2, &[">     ."], (0, 7)),
    ];
    for (text, cursor, rows, place) in cases {
        let expected = Rows {
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
            cursor: place,
        };
        assert_eq!(
            lay_out(&frame(text, cursor, 10, 24), 10),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn window_keeps_the_cursor_in_sight() {
    let rows = |cursor| Rows {
        rows: ["a", "b", "c", "d"].map(str::to_owned).into(),
        cursor: (cursor, 1),
    };
    let cases: [(usize, usize, &[&str], usize); 4] = [
        (0, 2, &["a", "b"], 0),
        (1, 2, &["a", "b"], 1),
        (3, 2, &["c", "d"], 1),
        (3, 4, &["a", "b", "c", "d"], 3),
    ];
    for (cursor, height, shown, row) in cases {
        let expected = Rows {
            rows: shown.iter().map(|row| (*row).to_owned()).collect(),
            cursor: (row, 1),
        };
        assert_eq!(window(rows(cursor), height), expected, "{cursor} {height}");
    }
}

#[test]
fn frames_are_drawn_over_each_other() {
    let mut screen = Screen::default();
    let first = screen.draw(&frame("a\nb", 3, 20, 24));
    assert_eq!(first, "> a\r\n  b\r\x1b[3C");
    let second = screen.draw(&frame("a\nb", 0, 20, 24));
    assert_eq!(second, "\x1b[1A\r\x1b[J> a\r\n  b\x1b[1A\r\x1b[2C");
    assert_eq!(screen.leave(), "\x1b[1B\r\n");
    assert_eq!(screen.leave(), "\r\n");
}

//! Tests of what stands on a screen, drawn by a terminal emulator.

mod fuzz;
mod hostile;

use super::{MarkdownStream, Size, markdown};
use pretty_assertions::assert_eq;
use std::num::NonZero;

/// Rows of a screen that has more than any text here needs.
const ROWS: u16 = 200;

/// Every kind of block.
const REPORT: &str = include_str!("tests/report.txt");

fn side(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap_or(NonZero::<u16>::MIN)
}

/// Draws updates on a terminal that breaks lines as in cooked mode.
fn drawn(updates: &[String], rows: u16, columns: u16) -> vt100::Parser {
    let mut terminal = vt100::Parser::new(side(rows), side(columns), 10_000);
    for update in updates {
        terminal.process(update.replace('\n', "\r\n").as_bytes());
    }
    terminal
}

/// Returns the rows with their colours, those that scrolled out of the screen first.
fn screen(updates: &[String], rows: u16, columns: u16) -> Vec<String> {
    let mut terminal = drawn(updates, rows, columns);
    terminal.screen_mut().set_scrollback(usize::MAX);
    let scrolled = terminal.screen().scrollback();
    let mut all = Vec::new();
    for offset in (0..=scrolled).rev() {
        terminal.screen_mut().set_scrollback(offset);
        let page = terminal.screen().rows_formatted(0, columns);
        let count = if offset == 0 { usize::from(rows) } else { 1 };
        all.extend(page.take(count));
    }
    // An unfinished block may have been higher than its final form.
    all.truncate(
        all.iter()
            .rposition(|row| !row.is_empty())
            .map_or(0, |last| last + 1),
    );
    all
}

/// Returns the updates of a text that arrives in parts.
fn updates<'t>(parts: impl IntoIterator<Item = &'t str>, rows: u16, columns: u16) -> Vec<String> {
    let size = Size {
        columns: columns.into(),
        rows: rows.into(),
    };
    let mut stream = MarkdownStream::default();
    let parts = parts.into_iter();
    let mut updates: Vec<String> = parts.map(|part| stream.push(part, size)).collect();
    updates.push(stream.finish(size));
    updates
}

/// Returns the text of the screen after a text that arrived at once.
fn shown(text: &str, columns: u16) -> String {
    let updates = updates([text], ROWS, columns);
    drawn(&updates, ROWS, columns).screen().contents()
}

#[test]
fn report_is_wrapped_to_the_screen() {
    let screens = [
        (60, include_str!("tests/report_60.txt")),
        (80, include_str!("tests/report_80.txt")),
        (200, include_str!("tests/report_200.txt")),
    ];
    for (columns, expected) in screens {
        assert_eq!(
            shown(REPORT, columns),
            expected.trim_end(),
            "{columns} columns"
        );
    }
}

#[test]
fn blocks_have_colours_without_backgrounds() {
    let bold = |text: &str| format!("\u{1b}[1m{text}\u{1b}[0m");
    let cases = [
        ("# One", "\u{1b}[1m\u{1b}[4mOne\u{1b}[0m\n".to_owned()),
        ("## Two", format!("{}\n", bold("Two"))),
        ("**a** *b* ~~c~~", format!("{} \u{1b}[3mb\u{1b}[0m \u{1b}[9mc\u{1b}[0m\n", bold("a"))),
        ("`x`", "\u{1b}[36mx\u{1b}[0m\n".to_owned()),
        (
            "[a](http://b)",
            "\u{1b}[4ma\u{1b}[0m\u{1b}[2m (http://b)\u{1b}[0m\n".to_owned(),
        ),
        ("<http://b>", "\u{1b}[4mhttp://b\u{1b}[0m\n".to_owned()),
        ("> q", "\u{1b}[2m▎ \u{1b}[0mq\n".to_owned()),
        (
            "```py\nif x: # no\n    return 'a\\'b' + 12\n```",
            "\u{1b}[2m```py\u{1b}[0m\n\u{1b}[35mif\u{1b}[0m x: \u{1b}[2m# no\u{1b}[0m\n    \u{1b}[35mreturn\u{1b}[0m \
             \u{1b}[32m'a\\'b'\u{1b}[0m + \u{1b}[36m12\u{1b}[0m\n\u{1b}[2m```\u{1b}[0m\n"
                .to_owned(),
        ),
        (
            "```diff\n-a\n+b\n```",
            "\u{1b}[2m```diff\u{1b}[0m\n\u{1b}[1m\u{1b}[31m-a\u{1b}[0m\n\u{1b}[32m+b\u{1b}[0m\n\u{1b}[2m```\u{1b}[0m\n"
                .to_owned(),
        ),
        (
            "```rs\n/* one\ntwo */ let\n```",
            "\u{1b}[2m```rs\u{1b}[0m\n\u{1b}[2m/* one\u{1b}[0m\n\u{1b}[2mtwo */\u{1b}[0m \u{1b}[35mlet\u{1b}[0m\n\u{1b}[2m```\
             \u{1b}[0m\n"
                .to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(markdown(text, 80), expected, "{text}");
    }
}

#[test]
fn blocks_of_any_form_keep_their_text() {
    let cases = [
        ("plain words", "plain words"),
        ("one\ntwo", "one\ntwo"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("- a\n- b\n\n- c", "• a\n• b\n\n• c"),
        ("7. a\n7. b\n\ntext\n\n1. c", "7. a\n8. b\n\ntext\n\n1. c"),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n  ```\n  x\n  ```\n• b"),
        ("-\n- b", "•\n• b"),
        (
            "[a]: http://b\n[a]: http://c",
            "[a]: http://b\n[a]: http://c",
        ),
        ("- [a]: http://b\n- c", "• [a]: http://b\n• c"),
        ("<b>x</b>\n\n<!-- y -->", "<b>x</b>\n\n<!-- y -->"),
        ("a &amp; b &lt;", "a & b <"),
        ("![lamp](lamp.png)", "lamp (lamp.png)"),
        ("~~~\n```\n~~~\nx", "~~~\n```\n~~~\nx"),
        ("```\nopen", "```\nopen"),
        ("    code\n\n    more\nx", "code\n\nmore\nx"),
        ("    x\ty", "x   y"),
        ("> - a\n>   - b\n> c", "▎ • a\n▎   ◦ b\n▎     c"),
        ("Title\n=====\nx", "Title\nx"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text, 60), expected, "{text:?}");
    }
}

#[test]
fn wide_characters_are_not_cut() {
    assert_eq!(
        shown("一二三四五六七八九十一二三", 12),
        "一二三四五\n六七八九十\n一二三"
    );
    assert_eq!(
        shown("```\n一二三四五六\n```", 12),
        "```\n一二三四五\n六\n```"
    );
}

#[test]
fn wide_table_is_shown_as_a_list() {
    let header = "| a | b | c | d | e | f | g | h |\n|-|-|-|-|-|-|-|-|\n";
    let row = "| one | two words | three | four | five | six | seven | eight and nine |\n";
    let expected = "a: one\nb: two words\nc: three\nd: four\ne: five\nf: six\ng: seven\nh: eight and nine\n──────\n";
    let list = expected.repeat(2);
    let list = list.trim_end_matches("──────\n").trim_end();
    assert_eq!(shown(&[header, row, row].concat(), 60), list);
}

/// The unfinished block is shown as it is written, and its final form takes its place.
#[test]
fn unfinished_block_is_shown_plainly() {
    let size = Size {
        columns: 20,
        rows: 24,
    };
    let mut stream = MarkdownStream::default();
    let mut sent = Vec::new();
    let steps = [
        ("A **bo", "A **bo"),
        ("ld** word and", "A **bold** word and"),
        (" more", "A **bold** word and\nmore"),
        ("\n", "A **bold** word and\nmore"),
        ("\n", "A bold word and\nmore"),
        ("```\nx", "A bold word and\nmore\n\n```\nx"),
        ("y\n```", "A bold word and\nmore\n\n```\nxy\n```"),
        ("\n- `a", "A bold word and\nmore\n\n```\nxy\n```\n- `a"),
    ];
    for (part, expected) in steps {
        sent.push(stream.push(part, size));
        assert_eq!(
            drawn(&sent, 24, 20).screen().contents(),
            expected,
            "{part:?}"
        );
    }
    sent.push(stream.finish(size));
    let expected = "A bold word and\nmore\n\n```\nxy\n```\n• `a";
    assert_eq!(drawn(&sent, 24, 20).screen().contents(), expected);
}

/// Text that is appended to a row is written alone: nothing is drawn again.
#[test]
fn appended_text_is_written_alone() {
    let parts = ["Some ", "words", " and\nmore", "."];
    let sent = updates(parts, 24, 80);
    assert_eq!(
        sent,
        ["Some", " words", " and\nmore", ".", "\n"].map(str::to_owned)
    );
}

/// A block that is higher than the screen is shown by its end, and printed whole when it is
/// finished: what has scrolled away is never drawn again.
#[test]
fn high_block_is_printed_once() {
    let lines: Vec<String> = (0..50).map(|number| format!("line {number}")).collect();
    let text = lines.join("\n");
    let parts = text.split_inclusive(' ');
    let all = screen(&updates(parts, 10, 30), 10, 30);
    let all = all.iter().filter(|row| !row.is_empty());
    assert_eq!(all.collect::<Vec<_>>(), lines.iter().collect::<Vec<_>>());
}

/// A narrower terminal between two blocks: the next block has its width, and nothing that was
/// printed is lost.
#[test]
fn resize_between_blocks_takes_effect() {
    let size = |columns| Size { columns, rows: 24 };
    let mut stream = MarkdownStream::default();
    let mut terminal = vt100::Parser::new(side(24), side(40), 0);
    let write = |terminal: &mut vt100::Parser, update: String| {
        terminal.process(update.replace('\n', "\r\n").as_bytes());
    };
    write(
        &mut terminal,
        stream.push("one two three four\n\n", size(40)),
    );
    terminal.screen_mut().set_size(side(24), side(12));
    write(&mut terminal, stream.push("five six seven", size(12)));
    write(&mut terminal, stream.finish(size(12)));
    let shown = terminal.screen().contents();
    assert!(shown.ends_with("\n\nfive six\nseven"), "{shown:?}");
}

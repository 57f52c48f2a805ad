use super::*;
use pretty_assertions::assert_eq;

#[test]
fn sanitize_replaces_deceptive_characters_and_cuts() {
    let cases = [
        ("plain\ttext\n", 80, "plain\ttext\n"),
        ("\u{1b}[31mred", 80, "\u{FFFD}[31mred"),
        ("nul\0", 80, "nul\u{FFFD}"),
        ("abc\u{202E}fed", 80, "abc\u{FFFD}fed"),
        ("iso\u{2066}late\u{2069}", 80, "iso\u{FFFD}late\u{FFFD}"),
        ("0123456789", 10, "0123456789"),
        ("0123456789a", 10, "0123456..."),
        ("éééééé", 7, "éé..."),
    ];
    for (text, max_bytes, expected) in cases {
        assert_eq!(sanitize(text, max_bytes), expected, "{text:?}");
    }
}

#[test]
fn escape_covers_what_a_terminal_obeys() {
    let cases = [
        ("plain", "plain"),
        ("two\nlines\tkept", "two\nlines\tkept"),
        ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("back\u{8}space\r", "back\\u{8}space\\u{d}"),
        ("abc\u{202e}fed", "abc\\u{202e}fed"),
        ("\u{2066}isolated\u{2069}", "\\u{2066}isolated\\u{2069}"),
        ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("line\u{2028}break", "line\\u{2028}break"),
        (
            "naïve 日本 👍 ❤\u{fe0f} 👨\u{200d}👩",
            "naïve 日本 👍 ❤\u{fe0f} 👨\u{200d}👩",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(escape(input), expected, "{input:?}");
    }
}

/// Emoji, Persian and Hindi keep what shapes them; nothing else hides in a line.
#[test]
fn escape_line_keeps_joiners_only_where_they_shape() {
    let same = [
        "a b",
        "naïve 日本 👍 ❤\u{fe0f} ❤\u{fe0f}\u{200d}🔥 👨\u{200d}👩 1\u{fe0f}\u{20e3}",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
    ];
    for text in same {
        assert_eq!(escape_line(text), text, "{text:?}");
    }
    let cases = [
        ("a\nb\tc", "a b c"),
        ("pay\u{200d}ment", "pay\\u{200d}ment"),
        ("a\u{200c}", "a\\u{200c}"),
        ("\u{fe0f}a\u{fe0f}", "\\u{fe0f}a\\u{fe0f}"),
        ("می\u{200c}\u{200c}خ", "می\\u{200c}\\u{200c}خ"),
        (
            "\u{3164}\u{34f}\u{115f}\u{2800}",
            "\\u{3164}\\u{34f}\\u{115f}\\u{2800}",
        ),
        ("\u{1b}[2J\u{ad}", "\\u{1b}[2J\\u{ad}"),
    ];
    for (text, expected) in cases {
        assert_eq!(escape_line(text), expected, "{text:?}");
    }
}

/// Every default-ignorable character that Unicode has, besides the joiners, is escaped in prose, and
/// all of them are in a line and in a frame.
#[test]
fn invisible_characters_are_escaped_at_each_level() {
    let ranges = [
        0xad..=0xad,
        0x34f..=0x34f,
        0x61c..=0x61c,
        0x115f..=0x1160,
        0x17b4..=0x17b5,
        0x180b..=0x180f,
        0x200b..=0x200f,
        0x202a..=0x202e,
        0x2060..=0x206f,
        0x3164..=0x3164,
        0xfe00..=0xfe0f,
        0xfeff..=0xfeff,
        0xffa0..=0xffa0,
        0xfff0..=0xfff8,
        0x1bca0..=0x1bca3,
        0x1d173..=0x1d17a,
        0xe0000..=0xe0fff,
        0..=8,
        0xb..=0x1f,
        0x7f..=0x9f,
    ];
    for code in ranges.into_iter().flatten() {
        let character = char::from_u32(code).unwrap();
        let (text, escaped) = (format!("a{character}b"), character.escape_unicode());
        let escaped = format!("a{escaped}b");
        assert_eq!(escape_line(&text), escaped);
        assert_eq!(escape_ambiguous(&text), escaped);
        if !is_joiner(character) {
            assert_eq!(escape(&text), escaped);
        }
    }
}

#[test]
fn escape_values_leaves_verbatim_keys() {
    let hostile = "\u{1b}[2J\u{202e}";
    let mut message = serde_json::json!({
        "title": hostile, "data": hostile, "n": 1, hostile: [{"path": hostile}, true, null],
    });
    escape_values(&mut message, &["data"]);
    let shown = "\\u{1b}[2J\\u{202e}";
    let expected = serde_json::json!({
        "title": shown, "data": hostile, "n": 1, shown: [{"path": shown}, true, null],
    });
    assert_eq!(message, expected);
}

#[test]
fn escape_ambiguous_makes_different_texts_look_different() {
    let cases = [
        ("naïve 日本 👍\n\tkept", "naïve 日本 👍\n\tkept"),
        (
            "no\u{a0}break, em\u{2003}space",
            "no\\u{a0}break, em\\u{2003}space",
        ),
        (
            "a\u{200d}b\u{200c}c\u{fe0f}",
            "a\\u{200d}b\\u{200c}c\\u{fe0f}",
        ),
        ("\u{3164}\u{2800}\u{e0100}", "\\u{3164}\\u{2800}\\u{e0100}"),
        ("\u{1b}[2J\u{202e}", "\\u{1b}[2J\\u{202e}"),
    ];
    for (input, expected) in cases {
        assert_eq!(escape_ambiguous(input), expected, "{input:?}");
    }
}

#[test]
fn escape_json_keeps_the_value() {
    let steering = "\u{7f}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{2028}\u{ad}\u{e0041}\u{fe0f}\u{fff9}";
    let value = serde_json::json!({ steering: [steering, "naïve 日本 👍\n\t\u{1b}[2J"] });
    for json in [value.to_string(), format!("{value:#}")] {
        let shown = escape_json(&json);
        let found: Vec<char> = shown.chars().filter(|c| steering.contains(*c)).collect();
        let own = ['3', '1', 'm'];
        assert!(found.iter().all(|c| own.contains(c)), "{found:?}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
    assert_eq!(
        escape_json("\"\u{9b}\u{e0041}\""),
        r#""\u009b\udb40\udc41""#
    );
    assert!(matches!(
        escape_json("{\n \"a\": \"日本\"}"),
        Cow::Borrowed(_)
    ));
}

/// Every row begins with the bar and none is too wide, wherever the text breaks.
#[test]
fn framed_text_stays_in_its_frame() {
    let cases = [
        ("one line", 80, "│ one line"),
        ("two\nlines\n", 80, "│ two\n│ lines\n│ "),
        ("", 80, "│ "),
        ("a\tb\r\u{1b}[2J", 80, "│ a b\\u{d}\\u{1b}[2J"),
        ("│ y", 80, "│ \\u{2502} y"),
        (
            "0123456789012345678901234567890",
            23,
            "│ 01234567890123456789\n│ 01234567890",
        ),
        // Characters of two columns, and a width that is too small.
        (
            "日本日本日本日本日本日本",
            3,
            "│ 日本日本日本日本日本\n│ 日本",
        ),
        ("e\u{301}\u{301}\u{301}", 80, "│ e\u{301}\u{301}\\u{301}"),
    ];
    for (text, columns, expected) in cases {
        assert_eq!(framed(text, columns, 100), expected, "{text:?}");
    }
    assert_eq!(
        framed("a\nb\nc\nd", 80, 2),
        "│ a\n│ b\n(2 more rows of this text are not shown)"
    );
}

#[test]
fn one_line_truncates_long_text() {
    assert_eq!(one_line("日本語テキスト", 3), "日本語…");
    assert_eq!(one_line("日本語", 3), "日本語");
    assert_eq!(one_line("a\nb\u{1b}c", 3), "a b…");
}

#[test]
fn sizes_have_readable_units() {
    let sizes = [0, 1023, 1024, 12_595, 1 << 20, u64::MAX].map(bytes);
    assert_eq!(
        sizes,
        [
            "0 B",
            "1023 B",
            "1.0 KiB",
            "12.2 KiB",
            "1.0 MiB",
            "1717986918.3 GiB"
        ]
    );
}

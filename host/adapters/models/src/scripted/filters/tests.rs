use super::*;
use pretty_assertions::assert_eq;

#[test]
fn filesize_is_readable() {
    for (bytes, expected) in [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1_048_524, "1023.9 KiB"),
        (1_048_575, "1.0 MiB"),
        (1_048_576, "1.0 MiB"),
        (5 * 1024 * 1024 * 1024, "5.0 GiB"),
        (u64::MAX, "16.0 EiB"),
    ] {
        assert_eq!(file_size(bytes), expected, "{bytes}");
    }
}

#[test]
fn counted_takes_plural() {
    for (number, many, expected) in [
        (0, None, "0 files"),
        (1, None, "1 file"),
        (2, None, "2 files"),
        (1, Some("x"), "1 file"),
        (2, Some("x"), "2 x"),
    ] {
        assert_eq!(counted(number, "file", many), expected);
    }
}

#[test]
fn heading_is_first_of_level_one_outside_code() {
    for (text, expected) in [
        ("# Title\ntext\n# Other", Some("Title")),
        ("\u{feff}# Title #\n", Some("Title")),
        ("intro\n## Sub\n#hash\n#  Late  \n", Some("Late")),
        ("```sh\n# comment\n```\n# Real", Some("Real")),
        ("~~~\n```\n# a\n~~~\n# b", Some("b")),
        ("# \n# b", Some("b")),
        ("no title", None),
        ("", None),
    ] {
        assert_eq!(heading(text).as_deref(), expected, "{text:?}");
    }
}

#[test]
fn patterns_match_whole_names() {
    for (name, patterns, expected) in [
        ("a.PNG", &["*.png"][..], true),
        ("a.png.txt", &["*.png"], false),
        ("README.md", &["readme", "readme.*"], true),
        ("readme", &["readme"], true),
        ("my-readme", &["readme"], false),
        ("a/b/c", &["*/*"], true),
        ("abc", &["*/*"], false),
        ("abcabc", &["a*b*c"], true),
        ("ab", &["a*b*c"], false),
        ("aba", &["ab*ba"], false),
        ("abba", &["ab*ba"], true),
        ("x", &["*"], true),
        ("", &["**"], true),
        ("x", &[], false),
    ] {
        let owned = patterns
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect();
        assert_eq!(like(name, Rest(owned)), expected, "{name:?} {patterns:?}");
    }
}

#[test]
fn oneline_escapes_and_truncates() {
    let long = "é".repeat(MAX_ONELINE_CHARS);
    assert_eq!(one_line("a\nb\u{1b}[0m\t"), "a\\nb\\u{1b}[0m");
    assert_eq!(one_line(&long), long);
    assert_eq!(one_line(&format!("{long}x")), format!("{long}…"));
    assert_eq!(base_name("a/b/c.png"), "c.png");
    assert_eq!(base_name("c.png"), "c.png");
    assert_eq!(
        from_json("{").unwrap_err().kind(),
        ErrorKind::InvalidOperation
    );
    assert_eq!(from_json("[1]").unwrap(), Value::from(vec![1]));
}

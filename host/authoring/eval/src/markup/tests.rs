use super::*;
use pretty_assertions::assert_eq;

#[test]
fn hostile_text_stays_text() {
    for (text, escaped) in [
        (
            "<script>alert('x')</script>",
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
        ),
        ("\" onload=\"x", "&quot; onload=&quot;x"),
        ("&amp; ]]>", "&amp;amp; ]]&gt;"),
        (
            "a\u{0}b\u{1b}[2J\u{7f}\u{85}",
            "a\\u{0}b\\u{1b}[2J\\u{7f}\\u{85}",
        ),
        (
            "\u{202e}txt\u{feff}\u{ffff}\u{fffe}",
            "\\u{202e}txt\\u{feff}\\u{ffff}\\u{fffe}",
        ),
        ("a\r\nb\tc", "a\\u{d}\nb\tc"),
    ] {
        assert_eq!(escape(text), escaped);
    }
    assert_eq!(escape_attribute("a\nb\t<"), "a b &lt;");
}

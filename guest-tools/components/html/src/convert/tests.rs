use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::convert;
use crate::link::Base;
use crate::tree::Tree;

fn markdown(html: &str) -> String {
    convert(&Tree::parse(html), Base::default()).0
}

#[test]
fn element_becomes_its_markdown() {
    let cases = [
        ("", ""),
        ("a  b\n c", "a b c\n"),
        (
            "<h1>One</h1><h3>Two <i>three</i></h3>text",
            "# One\n\n### Two *three*\n\ntext\n",
        ),
        ("<h2></h2>x", "x\n"),
        ("<title> A  page </title>x", "# A page\n\nx\n"),
        ("<title>A</title><h1>B</h1>", "# B\n"),
        ("<p>a<p>b", "a\n\nb\n"),
        ("a<br>b", "a\\\nb\n"),
        ("<b>a</b> <em> b </em>c", "**a** *b* c\n"),
        ("<b>a<p>b</b>", "**a**\n\n**b**\n"),
        ("<b> </b>x", "x\n"),
        ("<del>a</del>", "~~a~~\n"),
        ("<hr>", "---\n"),
        (
            "<ul><li>a<li>b<ul><li>c</ul></ul>d",
            "- a\n- b\n  - c\n\nd\n",
        ),
        ("<ol start=9><li>a<li>b</ol>", "9. a\n10. b\n"),
        ("<ol start=x><li>a</ol>", "1. a\n"),
        ("<ul><li><p>a</p><p>b</p></ul>", "- a\n\n  b\n"),
        ("<ul><li></li><li>b</ul>", "- \n- b\n"),
        ("<li>alone", "- alone\n"),
        ("<dl><dt>a<dd>b</dl>", "**a**\n- b\n"),
        ("<blockquote>a<p>b</blockquote>c", "> a\n>\n> b\n\nc\n"),
        ("<code>a</code>", "`a`\n"),
        ("<code>a``b`</code>", "``` a``b` ```\n"),
        ("<pre>a\n  b</pre>c", "```\na\n  b\n```\n\nc\n"),
        ("<pre class='x lang-c'>```</pre>", "````c\n```\n````\n"),
        (
            "<pre><code class='language-a\"b'>x</code></pre>",
            "```\nx\n```\n",
        ),
        ("<a href='x y'>a</a>", "[a](x%20y)\n"),
        ("<a href='x'></a>b", "b\n"),
        (
            "<a>a</a> <a href='javascript:x'>b</a> <a href=' JAVA\nSCRIPT:x'>c</a>",
            "a b c\n",
        ),
        ("<img src=i alt='a [b]'>", "![a \\[b\\]](i)\n"),
        ("<img src='data:image/png;base64,xx' alt=a>", "a\n"),
        ("<a href=x><img src=i></a>", "[![](i)](x)\n"),
        ("<input type=checkbox checked> done", "[x] done\n"),
    ];
    for (html, expected) in cases {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn table_of_data_is_a_table() {
    let cases = [
        (
            "<table><caption>c</caption><tr><th>a<th>b<tr><td>1|2<td><p>x</p><p>y</table>z",
            "c\n\n| a | b |\n| --- | --- |\n| 1\\|2 | x y |\n\nz\n",
        ),
        (
            "<table><tr><td colspan=2>a<tr><td>b<td>c<td>d</table>",
            "| a |  |  |\n| --- | --- | --- |\n| b | c | d |\n",
        ),
        (
            "<table><tr><td>a<br>b<td><code>c|d</code><td><pre>e\nf</pre></table>",
            "| a b | `c\\|d` | e f |\n| --- | --- | --- |\n",
        ),
        (
            "<table><tr><td><ul><li>a<li>b</ul></table>",
            "| a b |\n| --- |\n",
        ),
        ("<table></table>x", "x\n"),
        ("<table role=presentation><tr><td>a<td>b</table>", "a\nb\n"),
        (
            "<table><tr><td>a<table><tr><td>b</table><td>c</table>",
            "a\n\n| b |\n| --- |\n\nc\n",
        ),
    ];
    for (html, expected) in cases {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn hidden_element_is_left_out() {
    let cases = [
        "<script>x</script>",
        "<style>x</style>",
        "<noscript>x</noscript>",
        "<template>x</template>",
        "<p hidden>x</p>",
        "<p aria-hidden=true>x</p>",
        "<p style='color:red; Display : NONE'>x</p>",
        "<p style=visibility:hidden>x</p>",
        "<dialog>x</dialog>",
        "<svg><text>x</text></svg>",
        "<!-- x -->",
        "<iframe>x</iframe>",
        "<select><option>x</select>",
        "<pre hidden>x</pre>",
        "<code hidden>x</code>",
        "<table hidden><tr><td>x</table>",
        "<ul hidden><li>x</ul>",
    ];
    for html in cases {
        assert_eq!(markdown(&format!("a{html}<p>b")), "a\n\nb\n", "{html}");
    }
    assert_eq!(markdown("<dialog open>x</dialog>"), "x\n");
    assert_eq!(markdown("<code>a<b hidden>x</b></code>"), "`a`\n");
}

#[test]
fn text_that_looks_like_markdown_is_escaped() {
    let cases = [
        ("<p># a", "\\# a\n"),
        ("<p>1. a", "1\\. a\n"),
        ("<p>2) a", "2\\) a\n"),
        ("<p>- a", "\\- a\n"),
        ("<p>&gt; a", "\\> a\n"),
        ("<p>--- a", "\\--- a\n"),
        ("<p>a - b 1. c # d", "a - b 1. c # d\n"),
        (
            "<p>*a* _b_ c_d `e` [f](g)",
            "\\*a\\* \\_b\\_ c_d \\`e\\` \\[f\\](g)\n",
        ),
        (
            "<p>a &lt;b> 1 &lt; 2 \\* c\\d",
            "a \\<b> 1 < 2 \\\\\\* c\\d\n",
        ),
        ("<p>a|b", "a|b\n"),
        ("<li>- a", "- \\- a\n"),
    ];
    for (html, expected) in cases {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn page_that_is_too_deep_is_cut() {
    for (unit, count) in [
        ("<div>", 200_000),
        ("<b><p>", 100_000),
        ("<table><tr><td>", 50_000),
        ("<ul><li>", 100_000),
        ("<blockquote>", 100_000),
    ] {
        let (_, cut) = convert(&Tree::parse(&unit.repeat(count)), Base::default());
        assert!(cut, "{unit}");
    }
    let flat = convert(&Tree::parse(&"<i>x</i>".repeat(400_000)), Base::default());
    assert!(flat.1, "too many nodes");
    let quotes = "<blockquote>".repeat(100) + "x";
    assert_eq!(markdown(&quotes), format!("{}x\n", "> ".repeat(12)));
}

proptest! {
    #[test]
    fn random_page_is_no_panic_fuzz(parts in proptest::collection::vec(
        prop::sample::select(vec![
            "<p>", "</p>", "<b>", "</b>", "<a href=x>", "</a>", "<table>", "</table>", "<tr>", "<td>", "</td>", "<caption>", "<ul>", "</ul>",
            "<li>", "<ol start=-1>", "<pre>", "</pre>", "<code>", "</code>", "<blockquote>", "</blockquote>", "<h1>", "</h1>", "<br>", "<hr>",
            "<img src=a>", "<template>", "</template>", "<svg>", "<select>", "<option>", "<dl>", "<dt>", "<dd>", "<td colspan=9>", "<title>",
            "<form>", "<frameset>", "</body>", "<math>", "text ", "|`*", "\n", "<!--", "-->", "<base href=/>", "<th hidden>", "\0", "&amp",
        ]), 0..60)) {
        let html = parts.concat();
        let _ = markdown(&html);
    }

    #[test]
    fn plain_text_keeps_its_words_fuzz(text in "[a-z ]{0,60}") {
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = if words.is_empty() { String::new() } else { words.join(" ") + "\n" };
        prop_assert_eq!(markdown(&text), expected);
    }
}

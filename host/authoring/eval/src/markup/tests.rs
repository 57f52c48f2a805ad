use super::*;
use crate::report::tests::{case, report};
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
}

#[test]
fn hostile_text_is_no_markup_on_the_page() {
    let page = html(&report(
        &case(""),
        &[(
            "<img src=x>",
            &[Some("<script>alert(1)</script>\u{202e}"), None],
        )],
    ))
    .unwrap();
    for shown in [
        "&lt;img src=x&gt;",
        "&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}",
        "&lt;/pre&gt;&lt;script&gt;\\u{1b}",
        "it is &lt;broken&gt;",
        "<h1>Evaluation: <span class=\"failed\">failed</span></h1>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    for absent in [
        "<script", "<img", "\u{1b}", "\u{202e}", "http://", "https://", "href", "src=",
    ] {
        assert!(
            !page.replace("&lt;img src=x&gt;", "").contains(absent),
            "{absent}"
        );
    }
}

#[test]
fn report_as_junit_has_each_run() {
    let report = report(
        &case("pass = 0"),
        &[
            ("m<\u{1b}", &[Some("yes"), Some("<no>\n\u{0}&")]),
            ("n", &[None]),
        ],
    );
    assert_eq!(
        junit(&report).unwrap(),
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="agent-host eval" tests="3" failures="1" errors="1" time="4.500">
  <testsuite name="m&lt;\u{1b}" tests="2" failures="1" errors="0" time="3.000">
    <testcase classname="a" name="a run 1" time="1.500"/>
    <testcase classname="a" name="a run 2" time="1.500">
      <failure message="the answer does not match `yes`: &quot;&lt;no&gt; \u{0}&amp;&quot;">the answer does not match `yes`: &quot;&lt;no&gt;
\u{0}&amp;&quot;</failure>
    </testcase>
  </testsuite>
  <testsuite name="n" tests="1" failures="0" errors="1" time="1.500">
    <testcase classname="a" name="a run 1" time="1.500">
      <error message="it is &lt;broken&gt;">it is &lt;broken&gt;</error>
    </testcase>
  </testsuite>
</testsuites>
"#
    );
}

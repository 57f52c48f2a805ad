use super::*;
use crate::report::tests::{case, report};

#[test]
fn hostile_text_is_no_markup_on_the_page() {
    let page = html(&report(
        &case(""),
        &[(
            "<img src=x>",
            &[Some("<script>alert(1)</script>\u{202e}"), None],
        )],
    ));
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

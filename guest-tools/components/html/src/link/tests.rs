use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::Base;

#[test]
fn address_is_resolved_against_the_base() {
    let base = Base::parse("https://example.com/a/b.html?q#f").expect("a base");
    let cases = [
        ("c", Some("https://example.com/a/c")),
        ("/c", Some("https://example.com/c")),
        ("../../../c", Some("https://example.com/c")),
        ("?x=1", Some("https://example.com/a/b.html?x=1")),
        ("#top", Some("https://example.com/a/b.html?q#top")),
        ("//other.org/x", Some("https://other.org/x")),
        (" HTTP://X.org/ ", Some("HTTP://X.org/")),
        ("mailto:a@b.org", Some("mailto:a@b.org")),
        (
            "a b(c)<d>\"e\\f",
            Some("https://example.com/a/a%20b%28c%29%3Cd%3E%22e%5Cf"),
        ),
        (
            "größe?ü",
            Some("https://example.com/a/gr%C3%B6%C3%9Fe?%C3%BC"),
        ),
        ("a\n b", Some("https://example.com/a/a%20b")),
        ("", None),
        ("javascript:x", None),
        ("java\tscript:x", None),
        ("data:text/html,x", None),
        ("file:///etc/passwd", None),
        ("http://[::1", None),
        ("%zz", None),
    ];
    for (href, expected) in cases {
        assert_eq!(base.resolve(href).as_deref(), expected, "{href}");
    }
    assert_eq!(Base::default().resolve("../c").as_deref(), Some("../c"));
    assert_eq!(base.resolve(&"x".repeat(3_000)), None);
}

#[test]
fn base_is_an_address_of_the_web() {
    for address in ["", "/a", "example.com", "ftp://a/", "javascript:x"] {
        assert_eq!(Base::parse(address), None, "{address}");
    }
    let base = Base::parse("https://example.com/a/").expect("a base");
    assert_eq!(
        base.join("b/")
            .and_then(|base| base.resolve("c"))
            .as_deref(),
        Some("https://example.com/a/b/c")
    );
    assert_eq!(base.join("data:x"), None);
}

proptest! {
    #[test]
    fn address_ends_no_link_fuzz(href in "\\PC{0,40}") {
        if let Some(address) = Base::default().resolve(&href) {
            prop_assert!(address.chars().all(|letter| letter.is_ascii_graphic() && !"()<>\\\"`".contains(letter)), "{}", address);
        }
    }
}

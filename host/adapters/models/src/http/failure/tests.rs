use super::*;
use pretty_assertions::assert_eq;

#[test]
fn quoted_text_is_cut_escaped_and_redacted() {
    let long = "é".repeat(MAX_QUOTE_CHARS + 1);
    let cut = format!("{} [cut]", "é".repeat(MAX_QUOTE_CHARS));
    let whole = "é".repeat(MAX_QUOTE_CHARS);
    for (text, key, expected) in [
        ("plain", None, "plain"),
        (" a\r\n\tb \n", None, "a  b"),
        ("\u{1b}[31mred\u{7}", None, "\\u{1b}[31mred\\u{7}"),
        ("abc\u{202e}def", None, "abc\\u{202e}def"),
        (
            "key sk-1 is sk-1",
            Some("sk-1"),
            "key [the key] is [the key]",
        ),
        ("an empty key", Some(""), "an empty key"),
        (long.as_str(), None, cut.as_str()),
        (whole.as_str(), None, whole.as_str()),
    ] {
        assert_eq!(quote(text, key), expected);
    }
}

#[test]
fn statuses_are_classified() {
    use ModelErrorKind as Kind;
    for (status, expected) in [
        (302, (Kind::Protocol, Retry::Never)),
        (400, (Kind::InvalidRequest, Retry::Never)),
        (401, (Kind::Unauthorized, Retry::Never)),
        (403, (Kind::Unauthorized, Retry::Never)),
        (404, (Kind::NotFound, Retry::Never)),
        (408, (Kind::Timeout, Retry::Backoff)),
        (409, (Kind::InvalidRequest, Retry::Backoff)),
        (413, (Kind::ContextWindow, Retry::Never)),
        (422, (Kind::InvalidRequest, Retry::Never)),
        (429, (Kind::RateLimited, Retry::Backoff)),
        (500, (Kind::Server, Retry::Backoff)),
        (503, (Kind::Server, Retry::Backoff)),
        (529, (Kind::Server, Retry::Backoff)),
    ] {
        assert_eq!(classify(status), expected, "{status}");
    }
}

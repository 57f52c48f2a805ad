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

/// As the servers say it, and what only sounds like it.
#[test]
fn context_overflow_is_recognized() {
    let table = [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            true,
        ),
        (
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            true,
        ),
        ("prompt is too long: 208310 tokens > 200000 maximum", true),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            true,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            true,
        ),
        (
            "the request exceeds the available context size. try increasing the context size",
            true,
        ),
        ("the input length exceeds the context length", true),
        ("error code: context_length_exceeded", true),
        (
            "messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            true,
        ),
        (
            "messages.1.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
            false,
        ),
        ("Too many images and documents: 102 + 0 > 100", true),
        ("Too much media: 0 document pages + 101 images > 100", true),
        ("max_tokens is too large: 200000", false),
        ("tools: the name is too long", false),
        ("unknown field `context`", false),
        ("", false),
    ];
    for (text, expected) in table {
        assert_eq!(is_context_overflow(text), expected, "{text}");
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

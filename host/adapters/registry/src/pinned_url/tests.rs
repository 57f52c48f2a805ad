use super::{INVALID_DIGEST, NO_DIGEST, NOT_AN_ADDRESS, PinnedUrl};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

#[test]
fn address_has_a_digest_and_is_encrypted_or_local() {
    let hex = "a".repeat(64);
    let with = |address: &str| format!("{address}#sha256={hex}");
    let good = [
        "https://example.com/a.wasm",
        "https://example.com:8443/x/a%20b.wasm?version=1",
        "http://127.0.0.1:5000/a.wasm",
        "http://localhost/a",
        "http://[::1]:1/a",
    ];
    for address in good {
        let text = with(address);
        let parsed: PinnedUrl = text.parse().unwrap();
        assert_eq!(parsed.to_string(), text);
        assert_eq!(parsed.url().as_str(), address);
        assert_eq!(parsed.digest().hex(), hex);
    }
    let bad = [
        ("https://example.com/a.wasm".to_owned(), NO_DIGEST),
        ("https://example.com/a.wasm#".to_owned(), NO_DIGEST),
        ("https://example.com/a#sha256=ab".to_owned(), INVALID_DIGEST),
        (
            format!("https://example.com/a#sha256={}", "A".repeat(64)),
            INVALID_DIGEST,
        ),
        (
            format!("https://example.com/a#sha512={hex}"),
            INVALID_DIGEST,
        ),
        (
            with("http://example.com/a"),
            "is neither https nor on this machine",
        ),
        (
            with("http://10.0.0.1/a"),
            "is neither https nor on this machine",
        ),
        (
            with("ftp://example.com/a"),
            "is neither https nor on this machine",
        ),
        (
            with("file:///etc/passwd"),
            "is neither https nor on this machine",
        ),
        (
            with("https://ann@example.com/a"),
            "contains a user name; files that need credentials are not loaded",
        ),
        (
            with("https://:x@example.com/a"),
            "contains a user name; files that need credentials are not loaded",
        ),
        (with("https:///"), NOT_AN_ADDRESS),
        (with("example.com/a"), NOT_AN_ADDRESS),
        (
            with("https://ex\u{430}mple.com/a"),
            "contains the character \u{430} (U+0430), which may look like another one; write the address in plain ASCII letters",
        ),
        (
            with("https://example.com/\u{1b}"),
            "contains the character \\u{1b} (U+001B), which may look like another one; write the address in plain ASCII letters",
        ),
        (
            with(&format!("https://example.com/{}", "a".repeat(2048))),
            "is longer than 2048 bytes",
        ),
    ];
    for (text, expected) in bad {
        assert_eq!(text.parse::<PinnedUrl>(), Err(expected.into()), "{text}");
    }
}

proptest! {
    #[test]
    fn fuzz_parsed_address_is_read_again(text in "https?://[ -~]{0,40}#sha256=[0-9a-f]{64}") {
        if let Ok(parsed) = text.parse::<PinnedUrl>() {
            prop_assert_eq!(parsed.to_string().parse::<PinnedUrl>(), Ok(parsed));
        }
    }
}

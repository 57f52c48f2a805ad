use super::{PinnedUrl, PinnedUrlError};
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
        (
            "https://example.com/a.wasm".to_owned(),
            PinnedUrlError::NoDigest,
        ),
        (
            "https://example.com/a.wasm#".to_owned(),
            PinnedUrlError::NoDigest,
        ),
        (
            "https://example.com/a#sha256=ab".to_owned(),
            PinnedUrlError::Digest,
        ),
        (
            format!("https://example.com/a#sha256={}", "A".repeat(64)),
            PinnedUrlError::Digest,
        ),
        (
            format!("https://example.com/a#sha512={hex}"),
            PinnedUrlError::Digest,
        ),
        (with("http://example.com/a"), PinnedUrlError::Scheme),
        (with("http://10.0.0.1/a"), PinnedUrlError::Scheme),
        (with("ftp://example.com/a"), PinnedUrlError::Scheme),
        (with("file:///etc/passwd"), PinnedUrlError::Scheme),
        (with("https://ann@example.com/a"), PinnedUrlError::UserName),
        (with("https://:x@example.com/a"), PinnedUrlError::UserName),
        (with("https:///"), PinnedUrlError::Form),
        (with("example.com/a"), PinnedUrlError::Form),
        (
            with("https://ex\u{430}mple.com/a"),
            PinnedUrlError::Character('\u{430}'),
        ),
        (
            with("https://example.com/\u{1b}"),
            PinnedUrlError::Character('\u{1b}'),
        ),
        (
            with(&format!("https://example.com/{}", "a".repeat(2048))),
            PinnedUrlError::TooLong,
        ),
    ];
    for (text, expected) in bad {
        assert_eq!(text.parse::<PinnedUrl>(), Err(expected), "{text}");
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

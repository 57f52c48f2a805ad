use crate::Reference;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn reference_is_parsed_and_printed_in_canonical_form() {
    let pinned = format!("oci://ghcr.io/acme/resize:1.2.0@sha256:{HEX}");
    let only_digest = format!("oci://ghcr.io/a@sha256:{HEX}");
    let cases = [
        ("oci://ghcr.io/acme/resize:1.2.0", "", "https://ghcr.io"),
        (
            "oci://GHCR.io/acme/re_size/x__y-z.w:V1",
            "oci://ghcr.io/acme/re_size/x__y-z.w:V1",
            "https://ghcr.io",
        ),
        (
            "oci://ghcr.io/a",
            "oci://ghcr.io/a:latest",
            "https://ghcr.io",
        ),
        (
            "oci://docker.io/acme/a:1",
            "",
            "https://registry-1.docker.io",
        ),
        ("oci://localhost:5000/a:1", "", "http://localhost:5000"),
        ("oci://127.0.0.1:5000/a:1", "", "http://127.0.0.1:5000"),
        ("oci://[::1]:5000/a:1", "", "http://[::1]:5000"),
        ("oci://[0:0::1]/a:1", "oci://[::1]/a:1", "http://[::1]"),
        ("oci://10.0.0.1/a:1", "", "https://10.0.0.1"),
        (&pinned, "", "https://ghcr.io"),
        (&only_digest, "", "https://ghcr.io"),
    ];
    for (text, canonical, origin) in cases {
        let reference: Reference = text.parse().unwrap();
        let canonical = if canonical.is_empty() {
            text
        } else {
            canonical
        };
        assert_eq!(reference.to_string(), canonical);
        assert_eq!(reference.origin(), origin, "{text}");
        assert_eq!(
            canonical.parse::<Reference>().unwrap().to_string(),
            canonical
        );
    }
}

#[test]
fn reference_of_another_form_is_refused_with_its_reason() {
    let scheme = || {
        "does not begin with `oci://`; write `oci://HOST/NAME:TAG`, such as `oci://ghcr.io/acme/resize:1.2.0`".to_owned()
    };
    let no_name = || "has no name after the host; write `oci://HOST/NAME:TAG`".to_owned();
    let character = |c: char, code: &str| {
        format!(
            "contains the character {} (U+{code}), which may look like another one; write the address in plain ASCII letters",
            c.escape_debug()
        )
    };
    let host = |text: &str| format!("has no valid host: `{text}`");
    let port = |text: &str| format!("has no valid port: `{text}`; ports are 1 to 65535");
    let name = |text: &str| {
        format!(
            "has no valid name: `{text}`; names are lower-case letters, digits, `.`, `_` and `-` between `/`"
        )
    };
    let of_tag = |text: &str| {
        format!("has no valid tag: `{text}`; tags are 1 to 128 letters, digits, `_`, `.` and `-`")
    };
    let digest =
        || "has no valid digest; write `@sha256:` and 64 lower-case hexadecimal digits".to_owned();
    let tag = "x".repeat(129);
    let upper = HEX.to_uppercase();
    let cases: Vec<(String, String)> = vec![
        ("ghcr.io/a:1".to_owned(), scheme()),
        ("https://ghcr.io/a:1".to_owned(), scheme()),
        ("oci://ghcr.io".to_owned(), no_name()),
        ("oci://ghcr.io/".to_owned(), no_name()),
        ("oci://ghcr.io/:1".to_owned(), no_name()),
        // Cyrillic, a zero-width space, a right-to-left override, an escape sequence.
        ("oci://ghсr.io/a:1".to_owned(), character('с', "0441")),
        (
            "oci://ghcr.io/a\u{200b}b:1".to_owned(),
            character('\u{200b}', "200B"),
        ),
        (
            "oci://ghcr.io/a:1\u{202e}".to_owned(),
            character('\u{202e}', "202E"),
        ),
        (
            "oci://ghcr.io/a\u{1b}[2J:1".to_owned(),
            character('\u{1b}', "001B"),
        ),
        ("oci://ghcr.io/a b:1".to_owned(), character(' ', "0020")),
        ("oci:///a:1".to_owned(), host("")),
        (
            "oci://user:secret@ghcr.io/a:1".to_owned(),
            "contains a user name; credentials are read from Docker's configuration".to_owned(),
        ),
        ("oci://-a.io/b:1".to_owned(), host("-a.io")),
        ("oci://a..io/b:1".to_owned(), host("a..io")),
        ("oci://0x7f.1/b:1".to_owned(), host("0x7f.1")),
        ("oci://a.0x7f/b:1".to_owned(), host("a.0x7f")),
        ("oci://2130706433/b:1".to_owned(), host("2130706433")),
        ("oci://127.1/b:1".to_owned(), host("127.1")),
        ("oci://[::1/b:1".to_owned(), host("[::1")),
        ("oci://[::g]/b:1".to_owned(), host("[::g]")),
        ("oci://a.io:0/b:1".to_owned(), port("0")),
        ("oci://a.io:65536/b:1".to_owned(), port("65536")),
        ("oci://a.io:+80/b:1".to_owned(), port("+80")),
        ("oci://[::1]x80/b:1".to_owned(), port("x80")),
        ("oci://a.io/A:1".to_owned(), name("A")),
        ("oci://a.io/a//b:1".to_owned(), name("a//b")),
        ("oci://a.io/../b:1".to_owned(), name("../b")),
        ("oci://a.io/a..b:1".to_owned(), name("a..b")),
        ("oci://a.io/a___b:1".to_owned(), name("a___b")),
        ("oci://a.io/a?x=1:1".to_owned(), name("a?x=1")),
        ("oci://a.io/a:".to_owned(), of_tag("")),
        ("oci://a.io/a:.1".to_owned(), of_tag(".1")),
        ("oci://a.io/a:1/b".to_owned(), of_tag("1/b")),
        (format!("oci://a.io/a:{tag}"), of_tag(&tag)),
        ("oci://a.io/a@sha256:12".to_owned(), digest()),
        (format!("oci://a.io/a@sha256:{upper}"), digest()),
        (
            format!("oci://a.io/a@sha512:{HEX}{HEX}"),
            "has a digest of `sha512`; only sha256 is supported".to_owned(),
        ),
        (
            format!("oci://a.io/{}:1", "a".repeat(255)),
            "is longer than 255 bytes before its tag".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Reference>(), Err(expected.into()), "{text:?}");
    }
}

proptest! {
    /// An accepted text has one canonical form, plain characters, and a URL with that host.
    #[test]
    fn reference_fuzz(text in r"oci://[a-z0-9.:\[\]/_@-]{0,40}|.{0,60}") {
        if let Ok(reference) = text.parse::<Reference>() {
            let printed = reference.to_string();
            prop_assert!(printed.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(&printed.parse::<Reference>().unwrap().to_string(), &printed);
            let url = reqwest::Url::parse(&format!("{}/v2/", reference.origin())).unwrap();
            prop_assert_eq!(url.path(), "/v2/");
            prop_assert_eq!(url.username(), "");
            let host = url.host_str().unwrap().to_owned();
            prop_assert!(reference.origin().contains(&host), "{} {}", reference, host);
        }
    }
}

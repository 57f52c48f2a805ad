use crate::{Reference, ReferenceError};
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
    use ReferenceError::{
        Algorithm, Character, Digest, Host, Name, NoName, Port, Scheme, Tag, TooLong, UserName,
    };
    let tag = "x".repeat(129);
    let upper = HEX.to_uppercase();
    let cases: Vec<(String, ReferenceError)> = vec![
        ("ghcr.io/a:1".to_owned(), Scheme),
        ("https://ghcr.io/a:1".to_owned(), Scheme),
        ("oci://ghcr.io".to_owned(), NoName),
        ("oci://ghcr.io/".to_owned(), NoName),
        ("oci://ghcr.io/:1".to_owned(), NoName),
        // Cyrillic, a zero-width space, a right-to-left override, an escape sequence.
        ("oci://ghсr.io/a:1".to_owned(), Character('с')),
        (
            "oci://ghcr.io/a\u{200b}b:1".to_owned(),
            Character('\u{200b}'),
        ),
        (
            "oci://ghcr.io/a:1\u{202e}".to_owned(),
            Character('\u{202e}'),
        ),
        ("oci://ghcr.io/a\u{1b}[2J:1".to_owned(), Character('\u{1b}')),
        ("oci://ghcr.io/a b:1".to_owned(), Character(' ')),
        ("oci:///a:1".to_owned(), Host(String::new())),
        ("oci://user:secret@ghcr.io/a:1".to_owned(), UserName),
        ("oci://-a.io/b:1".to_owned(), Host("-a.io".to_owned())),
        ("oci://a..io/b:1".to_owned(), Host("a..io".to_owned())),
        ("oci://0x7f.1/b:1".to_owned(), Host("0x7f.1".to_owned())),
        ("oci://a.0x7f/b:1".to_owned(), Host("a.0x7f".to_owned())),
        (
            "oci://2130706433/b:1".to_owned(),
            Host("2130706433".to_owned()),
        ),
        ("oci://127.1/b:1".to_owned(), Host("127.1".to_owned())),
        ("oci://[::1/b:1".to_owned(), Host("[::1".to_owned())),
        ("oci://[::g]/b:1".to_owned(), Host("[::g]".to_owned())),
        ("oci://a.io:0/b:1".to_owned(), Port("0".to_owned())),
        ("oci://a.io:65536/b:1".to_owned(), Port("65536".to_owned())),
        ("oci://a.io:+80/b:1".to_owned(), Port("+80".to_owned())),
        ("oci://[::1]x80/b:1".to_owned(), Port("x80".to_owned())),
        ("oci://a.io/A:1".to_owned(), Name("A".to_owned())),
        ("oci://a.io/a//b:1".to_owned(), Name("a//b".to_owned())),
        ("oci://a.io/../b:1".to_owned(), Name("../b".to_owned())),
        ("oci://a.io/a..b:1".to_owned(), Name("a..b".to_owned())),
        ("oci://a.io/a___b:1".to_owned(), Name("a___b".to_owned())),
        ("oci://a.io/a?x=1:1".to_owned(), Name("a?x=1".to_owned())),
        ("oci://a.io/a:".to_owned(), Tag(String::new())),
        ("oci://a.io/a:.1".to_owned(), Tag(".1".to_owned())),
        ("oci://a.io/a:1/b".to_owned(), Tag("1/b".to_owned())),
        (format!("oci://a.io/a:{tag}"), Tag(tag.clone())),
        ("oci://a.io/a@sha256:12".to_owned(), Digest),
        (format!("oci://a.io/a@sha256:{upper}"), Digest),
        (
            format!("oci://a.io/a@sha512:{HEX}{HEX}"),
            Algorithm("sha512".to_owned()),
        ),
        (format!("oci://a.io/{}:1", "a".repeat(255)), TooLong),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Reference>(), Err(expected), "{text:?}");
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

use pretty_assertions::assert_eq;

use super::Address;
use crate::http::error::HttpError;

fn bad(url: &str, why: &str) -> HttpError {
    HttpError::Address {
        url: url.to_owned(),
        why: why.to_owned(),
    }
}

#[test]
fn addresses_are_checked_and_cleaned() {
    let absolute = "it must be absolute, such as https://example.com/page";
    let cases = [
        ("https://example.com", Ok("https://example.com")),
        (
            " http://example.com:8080/a?b#c ",
            Ok("http://example.com:8080/a?b"),
        ),
        (
            "https://example.com/a b/ü?q=\"x\"",
            Ok("https://example.com/a%20b/%C3%BC?q=%22x%22"),
        ),
        ("http://[::1]:80/", Ok("http://[::1]:80/")),
        ("example.com/a", Err(bad("example.com/a", absolute))),
        ("", Err(bad("", absolute))),
        (
            "file:///etc/passwd",
            Err(HttpError::Scheme("file".to_owned())),
        ),
        (
            "https:///path",
            Err(bad("https:///path", "it names no host")),
        ),
        ("https:path", Err(bad("https:path", "it names no host"))),
        (
            "https://user:pass@example.com/",
            Err(bad(
                "https://user:pass@example.com/",
                "it has a user name or password in it; send those in a header field",
            )),
        ),
        (
            "https://bücher.example/",
            Err(bad(
                "https://bücher.example/",
                "write the host's name in its ASCII form (xn--...)",
            )),
        ),
    ];
    for (url, expected) in cases {
        assert_eq!(
            Address::parse(url).map(|address| address.as_str().to_owned()),
            expected.map(str::to_owned),
            "{url}"
        );
    }
}

#[test]
fn redirects_resolve_against_their_source() {
    let base = Address::parse("https://example.com/a/b?c").expect("an address");
    let cases = [
        ("/x", Ok("https://example.com/x")),
        ("x", Ok("https://example.com/a/x")),
        ("../x?y#z", Ok("https://example.com/x?y")),
        ("//other.example/x", Ok("https://other.example/x")),
        ("http://other.example/x y", Ok("http://other.example/x%20y")),
        ("gopher://x/", Err(HttpError::Scheme("gopher".to_owned()))),
        (
            "http://[",
            Err(bad("http://[", "the redirect that named it leads nowhere")),
        ),
    ];
    for (location, expected) in cases {
        assert_eq!(
            base.redirected(location)
                .map(|address| address.as_str().to_owned()),
            expected.map(str::to_owned),
            "{location}"
        );
    }
}

#[test]
fn request_parts_are_split_from_the_url() {
    let cases = [
        ("https://Example.com", ("Example.com", "/", None)),
        (
            "http://example.com:81/a/b.png?q=1",
            ("example.com:81", "/a/b.png?q=1", Some("b.png")),
        ),
        ("http://example.com/a/", ("example.com", "/a/", None)),
    ];
    for (url, (authority, path, name)) in cases {
        let address = Address::parse(url).expect("an address");
        assert_eq!(
            (
                address.authority(),
                address.path_and_query().as_str(),
                address.file_name()
            ),
            (authority, path, name),
            "{url}"
        );
    }
}

#[test]
fn origin_is_scheme_host_and_port() {
    let cases = [
        ("https://a.example/x", "https://A.example:443/y", true),
        ("http://a.example:/", "http://a.example:80/", true),
        ("https://a.example/", "http://a.example/", false),
        ("https://a.example/", "https://b.a.example/", false),
        ("https://a.example/", "https://a.example:444/", false),
    ];
    for (one, other, same) in cases {
        let [one, other] = [one, other].map(|url| Address::parse(url).expect("an address"));
        assert_eq!(
            one.same_origin(&other),
            same,
            "{} {}",
            one.as_str(),
            other.as_str()
        );
    }
}

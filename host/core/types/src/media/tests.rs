use super::*;
use pretty_assertions::assert_eq;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR";

fn part(media_type: &str, data: FileData) -> FilePart {
    FilePart {
        media_type: media_type.into(),
        data,
        filename: None,
    }
}

#[test]
fn media_type_is_sniffed_from_bytes() {
    let cases: [(&[u8], Option<&str>); 7] = [
        (PNG, Some("image/png")),
        (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
        (b"GIF89a", Some("image/gif")),
        (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
        (b"%PDF-1.7", Some("application/pdf")),
        (b"hello", None),
        (b"", None),
    ];
    for (bytes, expected) in cases {
        assert_eq!(sniff(bytes), expected, "{bytes:?}");
    }
}

/// Images and PDF are compared with their bytes in both directions; other types are not.
#[test]
fn media_type_that_contradicts_the_bytes_is_refused() {
    let cases: [(&str, &[u8], Result<(), &str>); 9] = [
        ("image/png", PNG, Ok(())),
        ("application/pdf", b"%PDF-1.7", Ok(())),
        ("image/svg+xml", b"<svg/>", Ok(())),
        ("text/plain", b"hello", Ok(())),
        ("application/zip", b"not a zip", Ok(())),
        (
            "image/jpeg",
            PNG,
            Err("is declared as `image/jpeg`, but its bytes are `image/png`"),
        ),
        (
            "text/plain",
            PNG,
            Err("is declared as `text/plain`, but its bytes are `image/png`"),
        ),
        (
            "image/png",
            b"hello",
            Err("is declared as `image/png`, but its bytes do not look like it"),
        ),
        (
            "application/pdf",
            b"",
            Err("is declared as `application/pdf`, but its bytes do not look like it"),
        ),
    ];
    for (declared, bytes, expected) in cases {
        let checked = check(&part(declared, FileData::Bytes(bytes.to_vec())));
        let checked = checked.map_err(|error| error.to_string());
        assert_eq!(checked, expected.map_err(str::to_owned), "{declared}");
    }
    assert_eq!(
        check(&part(
            "image/png",
            FileData::Url("https://example.com/x".into())
        )),
        Ok(())
    );
}

#[test]
fn media_type_that_is_malformed_is_refused() {
    let long = format!("a/{}", "b".repeat(128));
    for media_type in [
        "",
        "png",
        "/",
        "image/",
        "/png",
        "image/png; q=1",
        "a/b/c",
        "im age/png",
        "a/\n",
        &long,
    ] {
        let error = check(&part(media_type, FileData::Text(String::new())))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("which does not have the form type/subtype"),
            "{error}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
    let longest = format!("a/{}", "b".repeat(127));
    for media_type in [
        "text/plain",
        "image/svg+xml",
        "application/vnd.a-b_c.d",
        &longest,
    ] {
        assert_eq!(
            check(&part(media_type, FileData::Text(String::new()))),
            Ok(())
        );
    }
}

/// U12: the extension of a URL's path, whatever follows or surrounds it.
#[test]
fn media_type_of_a_url_comes_from_its_extension() {
    let table = [
        ("https://example.com/a/b.png", "image/png"),
        (
            "https://example.com/b.PDF?size=1.zip#x.gif",
            "application/pdf",
        ),
        ("file:///b.tar.gz", "application/gzip"),
        ("https://example.com/a.b/c", OCTET_STREAM),
        ("https://example.com/a.unknown", OCTET_STREAM),
        ("https://example.zip", OCTET_STREAM),
        ("https://example.com/png", OCTET_STREAM),
        ("", OCTET_STREAM),
        ("data:image/webp;base64,AAAA", "image/webp"),
        ("data:text/plain,a.png", "text/plain"),
        ("data:;base64,AA/a.png", OCTET_STREAM),
    ];
    for (url, expected) in table {
        assert_eq!(of_url(url), expected, "{url}");
    }
}

/// A corrected type always passes the check.
#[test]
fn media_type_is_corrected_from_names_and_bytes() {
    let bytes = |bytes: &[u8]| FileData::Bytes(bytes.to_vec());
    let cases = [
        ("image/png", bytes(PNG), "image/png"),
        ("IMAGE/PNG; q=1", bytes(PNG), "image/png"),
        ("image/jpg", bytes(b"\xff\xd8\xff\xe0"), "image/jpeg"),
        ("image/jpeg", bytes(PNG), "image/png"),
        ("text/plain", bytes(PNG), "image/png"),
        ("image/png", bytes(b"hello"), OCTET_STREAM),
        ("application/pdf", bytes(b""), OCTET_STREAM),
        ("picture", bytes(PNG), "image/png"),
        ("", bytes(b"hello"), OCTET_STREAM),
        ("text/csv", bytes(b"a,b"), "text/csv"),
        (
            "text/html;profile=x",
            FileData::Text("a".into()),
            "text/html",
        ),
        ("words", FileData::Text("a".into()), "text/plain"),
        (
            "?",
            FileData::Url("https://a/b.pdf".into()),
            "application/pdf",
        ),
    ];
    for (declared, data, expected) in cases {
        let mut file = part(declared, data);
        correct(&mut file);
        assert_eq!(file.media_type, expected, "{declared}");
        assert_eq!(check(&file), Ok(()), "{declared}");
    }
}

//! The page: three files that hold no secret, so that they are served without the token. The token
//! is in the fragment of the page's address, which a browser does not send.
//!
//! `web/` has the sources, and `web/build` makes `web/dist/`.

use agent_host_types::id::Digest;
use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use std::{io::Write as _, sync::LazyLock};

/// A file of the page: its address, its media type, and its bytes.
type PageFile = (&'static str, &'static str, &'static [u8]);

const FILES: [PageFile; 3] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("../web/src/index.html"),
    ),
    (
        "/app.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../web/dist/app.js"),
    ),
    (
        "/app.css",
        "text/css; charset=utf-8",
        include_bytes!("../web/dist/app.css"),
    ),
];

/// The policy of the page: it loads its own files, the API, and pictures, sounds and PDFs that it
/// makes of blobs. No text can become a script: strings are no code, and no sink takes them as HTML.
/// A document of a blob has this policy, too.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
                      media-src blob:; frame-src blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The files as gzip, in their order; made at the first request of a client that reads it. The page
/// is a third of its size then, which a browser far away waits for.
static COMPRESSED: LazyLock<Vec<Option<Bytes>>> =
    LazyLock::new(|| FILES.iter().map(|(.., bytes)| gzip(bytes)).collect());

/// Returns a file of the page; `None` for any other address or method.
pub(crate) fn file(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    if ![Method::GET, Method::HEAD].contains(method) {
        return None;
    }
    let index = FILES.iter().position(|(path, ..)| *path == uri.path())?;
    let (_, media_type, bytes) = FILES.get(index)?;
    let compressed = match accepts_gzip(headers) {
        true => COMPRESSED.get(index).cloned().flatten(),
        false => None,
    };
    // Each encoding is a representation of its own, with a tag of its own.
    let suffix = if compressed.is_some() { "-gzip" } else { "" };
    let tag = format!("\"{}{suffix}\"", Digest::of(bytes).hex());
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let fields = [
        (header::CONTENT_TYPE, *media_type),
        (header::ETAG, &tag),
        (header::VARY, "accept-encoding"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let response = match compressed {
        _ if is_known => (StatusCode::NOT_MODIFIED, fields, Body::empty()).into_response(),
        Some(compressed) => {
            let mut response = (fields, compressed).into_response();
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        None => (fields, *bytes).into_response(),
    };
    Some(response)
}

/// Whether a client reads gzip: it names it, and not with the weight 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = accepted.filter_map(|value| value.to_str().ok());
    codings.flat_map(|text| text.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let mut weights = parts.filter_map(|part| part.strip_prefix("q="));
        is_gzip && weights.all(|weight| weight.contains(|digit| !matches!(digit, '0' | '.')))
    })
}

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::{FILES, file, gzip};
    use axum::body::to_bytes;
    use flate2::read::GzDecoder;
    use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
    use pretty_assertions::assert_eq;
    use std::io::Read as _;

    fn request(fields: &[(header::HeaderName, &str)]) -> axum::response::Response {
        let headers: HeaderMap = fields
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect();
        file(&Method::GET, &Uri::from_static("/app.js"), &headers).unwrap()
    }

    #[tokio::test]
    async fn page_is_compressed_if_the_client_reads_gzip() {
        let (.., bytes) = FILES[1];
        for accepted in ["gzip", "deflate, gzip;q=0.5, br", "GZIP"] {
            let response = request(&[(header::ACCEPT_ENCODING, accepted)]);
            assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
            assert_eq!(response.headers()[header::VARY], "accept-encoding");
            let sent = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let mut read = Vec::new();
            GzDecoder::new(&*sent).read_to_end(&mut read).unwrap();
            assert!(read == bytes);
            assert!(sent.len() * 2 < bytes.len());
        }
        for refused in ["", "br", "gzip;q=0", "gzip; q=0.0"] {
            let response = request(&[(header::ACCEPT_ENCODING, refused)]);
            assert_eq!(response.headers().get(header::CONTENT_ENCODING), None);
            let sent = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(sent == bytes);
        }
    }

    #[test]
    fn page_encodings_have_tags_of_their_own() {
        let tag = |fields: &[_]| request(fields).headers()[header::ETAG].clone();
        let plain = tag(&[]);
        let gzip = tag(&[(header::ACCEPT_ENCODING, "gzip")]);
        assert_ne!(plain, gzip);
        let status = |known: &HeaderValue| {
            let known = known.to_str().unwrap();
            request(&[
                (header::ACCEPT_ENCODING, "gzip"),
                (header::IF_NONE_MATCH, known),
            ])
            .status()
        };
        assert_eq!(status(&gzip), StatusCode::NOT_MODIFIED);
        assert_eq!(status(&plain), StatusCode::OK);
    }

    #[test]
    fn page_files_fit_their_budget_compressed() {
        let sizes = FILES.iter().map(|(.., bytes)| gzip(bytes).unwrap().len());
        assert!(sizes.sum::<usize>() <= 200_000);
    }
}

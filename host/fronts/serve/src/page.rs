//! The page: three files that hold no secret, so that they are served without the token. The token
//! is in the fragment of the page's address, which a browser does not send.
//!
//! `web/` has the sources, and `web/build` makes `web/dist/`.

use agent_host_types::id::Digest;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, Uri, header};

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

/// The policy of the page: it loads its own files, the API, and pictures and sounds that it makes of
/// blobs. No text can become a script: strings are no code, and no sink takes them as HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
                      media-src blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns a file of the page; `None` for any other address or method.
pub(crate) fn file(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    if ![Method::GET, Method::HEAD].contains(method) {
        return None;
    }
    let (_, media_type, bytes) = FILES.iter().find(|(path, ..)| *path == uri.path())?;
    let tag = format!("\"{}\"", Digest::of(bytes).hex());
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let fields = [
        (header::CONTENT_TYPE, *media_type),
        (header::ETAG, &tag),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let response = match is_known {
        true => (StatusCode::NOT_MODIFIED, fields, Body::empty()).into_response(),
        false => (fields, *bytes).into_response(),
    };
    Some(response)
}

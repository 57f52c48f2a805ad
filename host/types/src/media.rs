//! Media types, read from the bytes and not from anybody's word; of a URL, whose bytes are not here, from its extension.

#[cfg(test)]
mod tests;

use crate::output::{FileData, FilePart};

/// What a file is when nothing else is known (RFC 2046, section 4.5.1).
pub const OCTET_STREAM: &str = "application/octet-stream";

/// The media type that the bytes themselves show, where they show one.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Option<&'static str> {
    infer::get(bytes).map(|kind| kind.mime_type())
}

/// The extensions that mean one thing to everybody, with the types that IANA registered for them.
const EXTENSIONS: [(&str, &str); 24] = [
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tiff", "image/tiff"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// The media type that a URL shows: the one that a `data:` URL names, else what its path's extension means, else
/// [`OCTET_STREAM`].
#[must_use]
pub fn of_url(url: &str) -> String {
    if let Some(rest) = url.strip_prefix("data:") {
        let named = rest.split([';', ',']).next();
        let named = named.filter(|named| is_well_formed(named));
        return named.unwrap_or(OCTET_STREAM).to_owned();
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let file = path.rsplit_once('/').map_or("", |(_, file)| file);
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    let known = extension.and_then(|extension| {
        EXTENSIONS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(extension))
    });
    known.map_or(OCTET_STREAM, |(_, media)| media).to_owned()
}

/// Checks that a part's media type is well-formed and agrees with its bytes. Only images and PDF are held to their bytes:
/// they are what providers decode; many other types (text, JSON, Office files) have no signature of their own.
///
/// # Errors
/// A fragment that follows "part 0 of the result".
pub(crate) fn check(file: &FilePart) -> Result<(), String> {
    let declared = file.media_type.as_str();
    if !is_well_formed(declared) {
        return Err(format!(
            "has the media type `{}`, which is not of the form type/subtype",
            declared.escape_debug()
        ));
    }
    let FileData::Bytes(bytes) = &file.data else {
        return Ok(());
    };
    let seen = sniff(bytes);
    let held = |media: &str| {
        media == "application/pdf" || (media.starts_with("image/") && media != "image/svg+xml")
    };
    match seen {
        Some(seen) if seen != declared && (held(seen) || held(declared)) => Err(format!(
            "is declared as `{declared}`, but its bytes are `{seen}`"
        )),
        None if held(declared) => Err(format!(
            "is declared as `{declared}`, but its bytes do not look like it"
        )),
        Some(_) | None => Ok(()),
    }
}

/// RFC 6838, section 4.2: restricted names on both sides of one slash; parameters are not kept.
fn is_well_formed(media_type: &str) -> bool {
    const MAX_NAME: usize = 127;
    let name = |part: &str| {
        !part.is_empty()
            && part.len() <= MAX_NAME
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    media_type
        .split_once('/')
        .is_some_and(|(kind, subtype)| name(kind) && name(subtype))
}

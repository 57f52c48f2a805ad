//! Media types: of bytes by their signature, of URLs by their extension.

#[cfg(test)]
mod tests;

use crate::{
    output::{FileData, FilePart},
    reason::Reason,
};

/// The media type of arbitrary bytes ([RFC 2046, section
/// 4.5.1](https://www.rfc-editor.org/rfc/rfc2046#section-4.5.1)).
pub const OCTET_STREAM: &str = "application/octet-stream";

/// Returns the media type of a known signature at the start of the bytes.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Option<&'static str> {
    infer::get(bytes).map(|kind| kind.mime_type())
}

/// Extensions with one common meaning, and the media types that IANA registered for them.
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

/// Returns the media type that a `data:` URL names, or that of the extension of another URL's path,
/// or [`OCTET_STREAM`].
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

/// Returns the common extension of a media type, such as `png`, if one is known.
#[must_use]
pub fn extension(media_type: &str) -> Option<&'static str> {
    let mut known = EXTENSIONS.iter().rev();
    let found = known.find(|(_, media)| *media == media_type);
    found.map(|(extension, _)| *extension)
}

/// Common names of media types that have another one at IANA.
const ALIASES: [(&str, &str); 8] = [
    ("application/x-pdf", "application/pdf"),
    ("audio/mp3", "audio/mpeg"),
    ("audio/x-wav", "audio/wav"),
    ("image/jpg", "image/jpeg"),
    ("image/pjpeg", "image/jpeg"),
    ("image/svg", "image/svg+xml"),
    ("image/tif", "image/tiff"),
    ("image/x-png", "image/png"),
];

/// Corrects a file's media type so that it can be used: parameters are removed, aliases are
/// replaced, and a type that the bytes contradict becomes that of the bytes.
pub fn correct(file: &mut FilePart) {
    let declared = file.media_type.split(';').next().unwrap_or_default();
    let declared = declared.trim().to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == declared);
    file.media_type = alias.map_or(declared, |(_, media_type)| (*media_type).to_owned());
    if check(file).is_err() {
        file.media_type = match &file.data {
            FileData::Bytes(bytes) => sniff(bytes).unwrap_or(OCTET_STREAM).to_owned(),
            FileData::Url(url) => of_url(url),
            FileData::Text(_) => "text/plain".to_owned(),
            FileData::Blob(_) => OCTET_STREAM.to_owned(),
        };
    }
}

/// Checks that a file's media type is well-formed and agrees with its bytes. Bytes are compared
/// only for images and PDF, which providers decode; many other types (text, JSON, Office files)
/// have no signature.
pub(crate) fn check(file: &FilePart) -> Result<(), Reason> {
    let media_type = file.media_type.as_str();
    if !is_well_formed(media_type) {
        let shown = media_type.escape_debug();
        return Err(Reason::from(format!(
            "has the media type `{shown}`, which does not have the form type/subtype"
        )));
    }
    let FileData::Bytes(bytes) = &file.data else {
        return Ok(());
    };
    let has_signature = |media: &str| {
        media == "application/pdf" || (media.starts_with("image/") && media != "image/svg+xml")
    };
    match sniff(bytes) {
        Some(sniffed)
            if sniffed != media_type && (has_signature(sniffed) || has_signature(media_type)) =>
        {
            Err(Reason::from(format!(
                "is declared as `{media_type}`, but its bytes are `{sniffed}`"
            )))
        }
        None if has_signature(media_type) => Err(Reason::from(format!(
            "is declared as `{media_type}`, but its bytes do not look like it"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Whether the text is two restricted names around one slash, without parameters
/// ([RFC 6838, section 4.2](https://www.rfc-editor.org/rfc/rfc6838#section-4.2)).
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

//! Media types, read from the bytes and not from anybody's word.

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

//! The URIs of resources: `file:///workspace/a.txt` with a path of guests, `artifact:///a.txt` with
//! the name of an artifact.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;

/// The template of files; `path` has no slash at its beginning.
pub(crate) const FILE_TEMPLATE: &str = "file:///{+path}";

pub(crate) const ARTIFACT_TEMPLATE: &str = "artifact:///{+name}";

const FILE: &str = "file://";
const ARTIFACT: &str = "artifact:///";

/// Characters of a path that are escaped.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_')
    .remove(b'~');

/// The URI of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    /// An absolute path of guests.
    File(String),
    /// The name of an artifact.
    Artifact(String),
}

/// Returns the URI of a file of a skill.
pub(crate) fn of_skill(skill: &str, path: &str) -> String {
    let (skill, path) = (
        utf8_percent_encode(skill, PATH),
        utf8_percent_encode(path, PATH),
    );
    format!("skill://{skill}/{path}")
}

impl ResourceUri {
    /// Parses a URI. It has neither a host nor a query nor a fragment, and its path is UTF-8.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.contains(['?', '#']) {
            return None;
        }
        let decoded = |escaped: &str| {
            let path = percent_decode_str(escaped).decode_utf8().ok()?;
            (!path.contains('\0')).then(|| path.into_owned())
        };
        if let Some(name) = text.strip_prefix(ARTIFACT) {
            return decoded(name).map(Self::Artifact);
        }
        let path = text.strip_prefix(FILE).filter(|path| path.starts_with('/'));
        decoded(path?).map(Self::File)
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, path) = match self {
            Self::File(path) => (FILE, path),
            Self::Artifact(name) => (ARTIFACT, name),
        };
        write!(f, "{prefix}{}", utf8_percent_encode(path, PATH))
    }
}

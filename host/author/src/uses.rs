//! What a tool declares to ask of the host. A compiler of Rust, C or Go drops what is not called; the others cannot know, so their
//! projects say it.

use serde::Deserialize;

/// Something that a tool may ask of the host, by the name that a project's `uses` has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Use {
    /// Telling how far it is.
    Progress,
    /// The state that the session's tools share.
    State,
    /// Asking the person.
    Ask,
    /// HTTP requests.
    Http,
}

impl Use {
    /// The contract's interface for it. HTTP has none: it is an interface of WASI, which each language's own library imports.
    pub(crate) fn interface(self) -> Option<&'static str> {
        match self {
            Self::Progress => Some("progress"),
            Self::State => Some("state"),
            Self::Ask => Some("human"),
            Self::Http => None,
        }
    }
}

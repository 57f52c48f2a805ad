//! What the operator granted to one tool component.

use super::PathRules;
use serde::{Deserialize, Serialize};

/// Everything that a component may reach. The default grants nothing.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Folders.
    pub dirs: Vec<DirGrant>,
    /// Where HTTP requests may go.
    pub http: Vec<HttpGrant>,
}

/// What may be done in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirMode {
    /// Look and read.
    ReadOnly,
    /// Change, too.
    ReadWrite,
}

/// One granted folder.
#[derive(Clone, Debug)]
pub struct DirGrant {
    /// The folder on the host, absolute.
    pub host: std::path::PathBuf,
    /// Where the guest finds it, such as `/workspace`.
    pub guest: String,
    /// What may be done in it.
    pub mode: DirMode,
    /// If not empty, only paths that one of these matches may be opened. Relative to the folder.
    pub allow: PathRules,
    /// Paths that are refused although they are in the folder. Relative to the folder; denial wins over `allow`.
    pub deny: PathRules,
    /// Paths that a guest does not see at all. Relative to the folder.
    pub mask: PathRules,
}

/// Why a grant cannot be used. The text says what, why and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GrantError(pub String);

/// Where HTTP requests may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGrant {
    /// `http` or `https`; absent for both.
    pub scheme: Option<String>,
    /// A host name, `*.example.com` for every name below one, `*` for every public host, or an address literal. Only a
    /// literal opens a private address.
    pub host: String,
    /// The port; absent for the scheme's own (80 or 443).
    pub port: Option<u16>,
}

//! What the operator granted to one tool component.

use globset::{Glob, GlobSet, GlobSetBuilder};
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

/// A list of globs over paths relative to a grant, with the text of each for messages.
#[derive(Clone, Debug, Default)]
pub struct PathRules {
    patterns: Vec<String>,
    set: GlobSet,
}

/// Why a grant cannot be used. The text says what, why and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GrantError(pub String);

impl PathRules {
    /// Compiles globs: `*` stays within one name, `**` crosses folders, a pattern without `/` matches the name at any depth,
    /// and a pattern that matches a folder covers everything in it.
    ///
    /// # Errors
    /// The first pattern that is not a glob.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, GrantError> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let rooted = if pattern.contains('/') {
                pattern.trim_start_matches('/').to_owned()
            } else {
                format!("**/{pattern}")
            };
            for variant in [rooted.clone(), format!("{rooted}/**")] {
                let glob = globset::GlobBuilder::new(&variant)
                    .literal_separator(true)
                    .build();
                let glob: Glob = glob.map_err(|error| {
                    GrantError(format!(
                        "the path pattern `{pattern}` is not a glob: {}",
                        error.kind()
                    ))
                })?;
                set.add(glob);
            }
        }
        let set = set.build().map_err(|error| {
            GrantError(format!("the path patterns cannot be compiled: {error}"))
        })?;
        Ok(Self {
            patterns: patterns
                .iter()
                .map(|pattern| pattern.as_ref().to_owned())
                .collect(),
            set,
        })
    }

    /// Whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The patterns as they were written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// The first pattern that matches a path relative to the grant, written with `/` and without `.` or `..`.
    #[must_use]
    pub fn first_match(&self, path: &str) -> Option<&str> {
        let index = self.set.matches(path).first().copied()? / 2;
        self.patterns.get(index).map(String::as_str)
    }
}

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

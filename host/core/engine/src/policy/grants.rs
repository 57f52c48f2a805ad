//! The operator's grants to one tool component.

use super::PathRules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The grants of a component. The default grants nothing.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// The directories.
    pub dirs: Vec<DirGrant>,
    /// The targets of HTTP requests.
    pub http: Vec<HttpGrant>,
    /// The environment variables that guests see.
    pub env: Vec<EnvGrant>,
    /// The secrets that the host adds to requests of guests.
    pub secrets: Vec<SecretGrant>,
    /// The access to the artifacts of the session; absent for none.
    pub artifacts: Option<ArtifactAccess>,
    /// The grants of the agent whose calls these are for ([`Self::below`]): a request needs both.
    pub ceiling: Option<Arc<Self>>,
}

/// The access to the artifacts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactAccess {
    /// List and read.
    ReadOnly,
    /// List, read, store and delete.
    ReadWrite,
}

impl Grants {
    /// Returns whether a call with these grants can change anything outside itself. A request of
    /// any method counts as one that can, since servers act on `GET`, too.
    #[must_use]
    pub fn may_change(&self) -> bool {
        let is_writable = |dir: &DirGrant| dir.mode == DirMode::ReadWrite;
        self.dirs.iter().any(is_writable)
            || !self.http.is_empty()
            || self.artifacts == Some(ArtifactAccess::ReadWrite)
    }

    /// Returns whether a call with these grants reaches nothing outside itself.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.dirs.is_empty()
            && self.http.is_empty()
            && self.env.is_empty()
            && self.secrets.is_empty()
            && self.artifacts.is_none()
    }

    /// Returns the index of the granted directory that a tool's path starts in, and the rest of the
    /// path; a relative one starts in the first directory. By the text alone: `..` and links of the
    /// rest may lead elsewhere.
    #[must_use]
    pub fn dir_of<'p>(&self, path: &'p str) -> Option<(usize, &'p str)> {
        if !path.starts_with('/') {
            return (!self.dirs.is_empty()).then_some((0, path));
        }
        let rests = self.dirs.iter().enumerate().filter_map(|(index, dir)| {
            let rest = Path::new(path).strip_prefix(&dir.guest).ok()?;
            Some((index, rest.to_str()?))
        });
        rests.min_by_key(|(_, rest)| rest.len())
    }

    /// Returns the grants with the keys of `agent.toml`; variables and secrets without values.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let dirs = self.dirs.iter().map(|dir| {
            json!({
                "host": dir.host.to_string_lossy(),
                "guest": dir.guest,
                "mode": dir.mode,
                "allow": dir.allow.patterns(),
                "deny": dir.deny.patterns(),
                "mask": dir.mask.patterns(),
                "allow-run-later": dir.allow_run_later.patterns(),
                "quota": dir.quota,
            })
        });
        let secrets = self.secrets.iter().map(|secret| {
            json!({
                "name": secret.name,
                "audience": secret.audience(),
                "in-query": secret.in_query,
            })
        });
        let env = self.env.iter().map(|env| &env.name);
        let mut grants = json!({
            "dir": dirs.collect::<Vec<_>>(),
            "http": self.http,
            "env": env.collect::<Vec<_>>(),
            "secrets": secrets.collect::<Vec<_>>(),
        });
        if let (Some(access), Value::Object(fields)) = (self.artifacts, &mut grants) {
            fields.insert("artifacts".to_owned(), json!(access));
        }
        grants
    }
}

/// The access to a granted directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DirMode {
    /// List and read.
    ReadOnly,
    /// List, read and write.
    ReadWrite,
}

/// A granted directory.
#[derive(Clone, Debug)]
pub struct DirGrant {
    /// The absolute path on the host.
    pub host: PathBuf,
    /// The path for the guest, such as `/workspace`.
    pub guest: String,
    /// The access.
    pub mode: DirMode,
    /// If not empty, only paths that match may be opened. Relative to the directory, as all
    /// patterns here.
    pub allow: PathRules,
    /// Paths that are refused; takes precedence over `allow`.
    pub deny: PathRules,
    /// Paths that do not exist for the guest.
    pub mask: PathRules,
    /// Paths that may be written although programs of the user run them later (see
    /// [`decide_file`](super::decide_file)).
    pub allow_run_later: PathRules,
    /// The quota of one call in the directory.
    pub quota: DirQuota,
}

impl DirGrant {
    /// Grants a directory without rules about its files, and with the default quota.
    #[must_use]
    pub fn new(host: impl Into<PathBuf>, guest: impl Into<String>, mode: DirMode) -> Self {
        Self {
            host: host.into(),
            guest: guest.into(),
            mode,
            allow: PathRules::default(),
            deny: PathRules::default(),
            mask: PathRules::default(),
            allow_run_later: PathRules::default(),
            quota: DirQuota::default(),
        }
    }
}

/// The quota of one call in a granted directory, in addition to
/// [`agent_host_types::limits::Limits`] over all directories. The names are those of `quota` in
/// `agent.toml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DirQuota {
    /// The bytes written; absent for the call's limit.
    pub write_bytes: Option<u64>,
    /// The files, directories and links created; absent for the call's limit.
    pub creates: Option<u64>,
}

/// An environment variable for guests. The operator sets the value; variables of the host are not
/// inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvGrant {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A secret that guests name and never see: the sandbox replaces `secret://NAME` in a header of a
/// request to the audience by the value, which is not part of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretGrant {
    /// The name in the placeholder.
    pub name: String,
    /// The audience: `http` or `https`.
    pub scheme: String,
    /// The audience: a host name without wildcards, or an address.
    pub host: String,
    /// The audience: the port.
    pub port: u16,
    /// Whether query values may contain it, too. Servers log queries, so this is off by default.
    pub in_query: bool,
}

/// A grant that cannot be used. The text says what, why and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// A path pattern that matches nothing in the directory.
    #[error(
        "the path pattern `{pattern}` {reason}; write it relative to the granted directory, such as `docs/*.md`"
    )]
    Pattern {
        /// The pattern as written.
        pattern: String,
        /// The reason.
        reason: &'static str,
    },
    /// A path pattern that is not a glob.
    #[error("the path pattern `{pattern}` is not a glob: {}", source.kind())]
    Glob {
        /// The pattern as written.
        pattern: String,
        /// The parser's error.
        source: globset::Error,
    },
    /// Path patterns that exceed the bounds of the matcher.
    #[error("cannot compile the path patterns: {0}")]
    Globs(#[source] globset::Error),
}

/// A target of HTTP requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpGrant {
    /// `http` or `https`; absent for both.
    pub scheme: Option<String>,
    /// A host name, `*.example.com` for every name below one, `*` for every public host, or an
    /// address literal. Only a literal opens a private address.
    pub host: String,
    /// The port; absent for the scheme's own (80 or 443).
    pub port: Option<u16>,
    /// The methods, upper case; empty for every method.
    pub methods: Vec<String>,
    /// The path and its descendants by whole segments: `/v1` covers `/v1/a` and not `/v1a`, and
    /// `/v1/` does not cover `/v1`. Compared as sent; no prefix covers a path that servers could
    /// read in two ways. Absent for every path.
    #[serde(rename = "path")]
    pub path_prefix: Option<String>,
}

//! The forms of grants and secrets.

use agent_host_engine::policy::{ArtifactAccess, DirMode, DirQuota};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[grants]`, and the lists of a `[[tool]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct GrantsSection {
    /// Directories.
    pub(in crate::config) dir: Option<Vec<RawDirGrant>>,
    /// Hosts.
    pub(in crate::config) http: Option<Vec<RawHttpGrant>>,
    /// Environment variables.
    pub(in crate::config) env: Option<Vec<RawEnvGrant>>,
    /// Names of secrets.
    pub(in crate::config) secrets: Option<Vec<String>>,
    /// The artifacts of the session.
    pub(in crate::config) artifacts: Option<RawArtifacts>,
}

/// `artifacts` in `[grants]` and in a `[[tool]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::config) enum RawArtifacts {
    /// No access.
    None,
    /// List and read.
    ReadOnly,
    /// List, read, store and delete.
    ReadWrite,
}

impl RawArtifacts {
    /// Returns the grant.
    pub(in crate::config) fn access(self) -> Option<ArtifactAccess> {
        match self {
            Self::None => None,
            Self::ReadOnly => Some(ArtifactAccess::ReadOnly),
            Self::ReadWrite => Some(ArtifactAccess::ReadWrite),
        }
    }
}

/// `[[grants.dir]]` and `[[tool.dir]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::config) struct RawDirGrant {
    /// The directory on the host.
    pub(in crate::config) host: String,
    /// Its path for guests; absent for `/workspace`.
    pub(in crate::config) guest: Option<String>,
    /// The mode; absent for read-only.
    pub(in crate::config) mode: Option<DirMode>,
    /// Globs of files that may be opened; none for all.
    #[serde(default)]
    pub(in crate::config) allow: Vec<String>,
    /// Globs of files that are refused.
    #[serde(default)]
    pub(in crate::config) deny: Vec<String>,
    /// Globs of files that guests do not see; absent for [`super::DEFAULT_MASK`].
    pub(in crate::config) mask: Option<Vec<String>>,
    /// Globs of files that may be written although programs of the user run them later, such as
    /// `.github/workflows`.
    #[serde(default)]
    pub(in crate::config) allow_run_later: Vec<String>,
    /// The quota of one call; absent for the limits of the call.
    #[serde(default)]
    pub(in crate::config) quota: DirQuota,
}

/// `[[grants.http]]` and `[[tool.http]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::config) struct RawHttpGrant {
    /// A name, `*.` and a name, `*`, or an address.
    pub(in crate::config) host: String,
    /// `http` or `https`; absent for both.
    #[schemars(schema_with = "crate::config::schema::http_scheme")]
    pub(in crate::config) scheme: Option<String>,
    /// The port; absent for the scheme's default.
    pub(in crate::config) port: Option<u16>,
    /// The methods; absent for every method.
    pub(in crate::config) methods: Option<Vec<String>>,
    /// The path, with all paths below it; absent for every path.
    pub(in crate::config) path: Option<String>,
}

/// `[[grants.env]]` and `[[tool.env]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::config) struct RawEnvGrant {
    /// The name.
    pub(in crate::config) name: String,
    /// The value.
    pub(in crate::config) value: Option<String>,
    /// True to take the value of the host's variable of this name.
    #[serde(default)]
    pub(in crate::config) from_host: bool,
}

/// `[[secret]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SecretSection {
    /// The name in `secret://NAME`.
    pub(in crate::config) name: String,
    /// `env:NAME`, `file:PATH` or `cmd:COMMAND`.
    pub(in crate::config) from: String,
    /// `SCHEME://HOST[:PORT]`, the only server that gets it.
    pub(in crate::config) audience: String,
    /// True if it may also be in a query.
    #[serde(default)]
    pub(in crate::config) in_query: bool,
}

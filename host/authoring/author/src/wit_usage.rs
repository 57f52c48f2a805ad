//! The host imports that a project declares. Compilers of Rust, C and Go drop unused imports;
//! projects in the other languages declare theirs as `uses`.

#[cfg(test)]
mod tests;

use crate::{
    error::AuthorError,
    project::{Language, Project, read_json, read_toml},
};
use serde::Deserialize;

/// The interface of WASI that sends requests, at the version of `guest-tools/sdk-wit`.
pub(crate) const WASI_HTTP: &str = "wasi:http/outgoing-handler@0.2.1";

/// A host import, by its name in `uses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostImport {
    /// Progress reports.
    Progress,
    /// The result of a call, piece by piece.
    Partial,
    /// The state shared by the session's tools.
    State,
    /// Questions to the user.
    Ask,
    /// The custom context of the session.
    Context,
    /// The end of the whole run.
    Control,
    /// The artifacts of the session.
    Artifacts,
    /// HTTP requests.
    Http,
}

impl HostImport {
    /// Returns the interface that the project's world imports. For HTTP in TypeScript and
    /// JavaScript it imports none: componentize-js brings that of WASI.
    pub(crate) fn interface(self, language: Language) -> Option<&'static str> {
        match self {
            Self::Progress => Some("progress"),
            Self::Partial => Some("partial"),
            Self::State => Some("state"),
            Self::Ask => Some("human"),
            Self::Context => Some("context"),
            Self::Control => Some("control"),
            Self::Artifacts => Some("artifacts"),
            Self::Http => (language == Language::Python).then_some(WASI_HTTP),
        }
    }
}

/// Returns the declared imports without duplicates; none for languages that do not declare any.
pub(crate) fn declared(project: &Project) -> Result<Vec<HostImport>, AuthorError> {
    let mut uses = match project.language {
        Language::Python => {
            let manifest: PythonManifest = read_toml(&project.dir.join("pyproject.toml"))?;
            manifest.tool.agent_host.uses
        }
        Language::TypeScript | Language::JavaScript => {
            let manifest: NodeManifest = read_json(&project.dir.join("package.json"))?;
            manifest.agent_host.uses
        }
        Language::Rust | Language::C | Language::Go => Vec::new(),
    };
    uses.sort_unstable();
    uses.dedup();
    Ok(uses)
}

/// The used part of a `pyproject.toml`.
#[derive(Deserialize)]
struct PythonManifest {
    #[serde(default)]
    tool: Tables,
}

/// The `[tool]` tables of a `pyproject.toml`.
#[derive(Default, Deserialize)]
struct Tables {
    #[serde(default, rename = "agent-host")]
    agent_host: Settings,
}

/// The used part of a `package.json`.
#[derive(Deserialize)]
struct NodeManifest {
    #[serde(default, rename = "agent-host")]
    agent_host: Settings,
}

/// The agent-host settings in a manifest.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    uses: Vec<HostImport>,
}

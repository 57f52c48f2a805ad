//! The host imports that a project declares. Compilers of Rust, C and Go drop unused imports;
//! projects in the other languages declare theirs as `uses`.

#[cfg(test)]
mod tests;

use crate::{
    error::AuthorError,
    project::{Language, Project, read_json, read_toml},
};
use serde::Deserialize;

/// A host import, by its name in `uses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostImport {
    /// Progress reports.
    Progress,
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
    /// Returns the contract's interface. HTTP has none: componentize-js brings the WASI interface.
    pub(crate) fn interface(self) -> Option<&'static str> {
        match self {
            Self::Progress => Some("progress"),
            Self::State => Some("state"),
            Self::Ask => Some("human"),
            Self::Context => Some("context"),
            Self::Control => Some("control"),
            Self::Artifacts => Some("artifacts"),
            Self::Http => None,
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
    if project.language == Language::Python && uses.contains(&HostImport::Http) {
        return Err(AuthorError::Usage(format!(
            "`uses` in {} names `http`, and there is no HTTP for tools in Python. Remove it, and write what needs HTTP in another language",
            project.dir.join("pyproject.toml").display()
        )));
    }
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

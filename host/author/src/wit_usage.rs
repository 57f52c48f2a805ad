//! What a tool declares to ask of the host. A compiler of Rust, C or Go drops what is not called; the others cannot know, so their
//! projects say it.

#[cfg(test)]
mod tests;

use crate::{
    error::AuthorError,
    project::{Language, Project, read_json, read_toml},
};
use serde::Deserialize;

/// Something that a tool may ask of the host, by the name that a project's `uses` has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
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
    /// The contract's interface for it. HTTP has none there: it is an interface of WASI, which componentize-js brings along.
    pub(crate) fn interface(self) -> Option<&'static str> {
        match self {
            Self::Progress => Some("progress"),
            Self::State => Some("state"),
            Self::Ask => Some("human"),
            Self::Http => None,
        }
    }
}

/// What a project declares, each once; nothing in the languages that need not.
pub(crate) fn declared(project: &Project) -> Result<Vec<Use>, AuthorError> {
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
    if project.language == Language::Python && uses.contains(&Use::Http) {
        return Err(AuthorError::usage(format!(
            "`uses` in {} names `http`, and there is no HTTP for tools in Python. Remove it, and write what needs HTTP in another language",
            project.dir.join("pyproject.toml").display()
        )));
    }
    uses.sort_unstable();
    uses.dedup();
    Ok(uses)
}

/// What is read of a `pyproject.toml`.
#[derive(Deserialize)]
struct PythonManifest {
    #[serde(default)]
    tool: Tables,
}

/// The tables of the tools that a `pyproject.toml` configures.
#[derive(Default, Deserialize)]
struct Tables {
    #[serde(default, rename = "agent-host")]
    agent_host: Settings,
}

/// What is read of a `package.json`.
#[derive(Deserialize)]
struct NodeManifest {
    #[serde(default, rename = "agent-host")]
    agent_host: Settings,
}

/// The settings for agent-host in a project's manifest.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    uses: Vec<Use>,
}

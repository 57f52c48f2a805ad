//! Brings a language's SDK into a project, where its compiler finds it.

#[cfg(test)]
mod tests;

use crate::{carried, error::AuthorError, project::Language};
use std::{borrow::Cow, path::Path};

/// The manifest of the workspace that the Rust SDK's crates take their versions and lints from.
const WORKSPACE: &str = "guest-tools/Cargo.toml";

/// Unpacks the SDK into a folder, which then holds it and nothing else.
pub(crate) fn unpack(language: Language, dir: &Path) -> Result<(), AuthorError> {
    let files = match language {
        Language::Rust => {
            let mut files = vec![("Cargo.toml".to_owned(), workspace()?.into())];
            for name in ["sdk", "sdk-macros"] {
                let own = parts(&format!("guest-tools/{name}"));
                files.extend(own.map(|(path, content)| (format!("{name}/{path}"), content)));
            }
            files
        }
        Language::Python => parts("guest-tools/sdk-python").collect(),
        Language::TypeScript | Language::JavaScript => parts("guest-tools/sdk-js").collect(),
        Language::C => parts("guest-tools/sdk-c").collect(),
        Language::Go => parts("guest-tools/sdk-go").collect(),
    };
    carried::unpack(dir, &files)
}

/// The files of an SDK but its own tests.
fn parts(folder: &str) -> impl Iterator<Item = (String, Cow<'static, [u8]>)> + use<> {
    let files = carried::below(folder).into_iter();
    files
        .filter(|(path, _)| !path.starts_with("tests/"))
        .map(|(path, content)| (path.to_owned(), content.into()))
}

/// The workspace's manifest with no members but the SDK's.
fn workspace() -> Result<Vec<u8>, AuthorError> {
    let own_fault = |why: String| {
        AuthorError::failed(format!(
            "cannot unpack the Rust SDK: {why}. This is a fault of agent-host; please report it"
        ))
    };
    let text =
        carried::file(WORKSPACE).ok_or_else(|| own_fault("it has no manifest".to_owned()))?;
    let mut manifest: toml::Table =
        toml::from_slice(text).map_err(|error| own_fault(error.to_string()))?;
    let workspace = manifest
        .get_mut("workspace")
        .and_then(toml::Value::as_table_mut)
        .ok_or_else(|| own_fault("its manifest has no workspace".to_owned()))?;
    workspace.insert(
        "members".to_owned(),
        ["sdk", "sdk-macros"].map(toml::Value::from).to_vec().into(),
    );
    Ok(manifest.to_string().into_bytes())
}

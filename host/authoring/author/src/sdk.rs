//! Unpacks a language's SDK into a project, where its compiler finds it.

#[cfg(test)]
mod tests;

use crate::{embedded, error::AuthorError, project::Language};
use std::{borrow::Cow, path::Path};

/// The workspace manifest with the versions and lints of the Rust SDK's crates.
const WORKSPACE: &str = "guest-tools/Cargo.toml";

/// Unpacks the SDK into a directory and removes everything else there.
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
    embedded::unpack(dir, &files)
}

/// Returns the files of an SDK except its tests.
fn parts(dir: &str) -> impl Iterator<Item = (String, Cow<'static, [u8]>)> + use<> {
    let files = embedded::below(dir).into_iter();
    files
        .filter(|(path, _)| !path.starts_with("tests/"))
        .map(|(path, content)| (path.to_owned(), content.into()))
}

/// Returns the workspace manifest with the SDK's crates as its only members.
fn workspace() -> Result<Vec<u8>, AuthorError> {
    let fault = |why: &str| AuthorError::internal("unpack the Rust SDK", why);
    let text = embedded::file(WORKSPACE).ok_or_else(|| fault("it has no manifest"))?;
    let mut manifest: toml::Table =
        toml::from_slice(text).map_err(|error| fault(&error.to_string()))?;
    let workspace = manifest
        .get_mut("workspace")
        .and_then(toml::Value::as_table_mut)
        .ok_or_else(|| fault("its manifest has no workspace"))?;
    let members = ["sdk", "sdk-macros"].map(toml::Value::from).to_vec();
    workspace.insert("members".to_owned(), members.into());
    Ok(manifest.to_string().into_bytes())
}

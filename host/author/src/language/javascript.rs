//! TypeScript and JavaScript: esbuild bundles the project with the SDK, and componentize-js puts the bundle into a JavaScript
//! engine. Both are packages of the project, and a script of the SDK calls them.

#[cfg(test)]
mod tests;

use super::{Compiled, Job, made_by};
use crate::{
    error::AuthorError,
    project::read_json,
    toolchain::{Needed, Program, Version, way},
};
use serde::Deserialize;
use std::path::Path;

/// The oldest Node.js that componentize-js runs on.
const NODE: Version = Version(20, 0);

/// The packages that the SDK's script calls, in the versions that it is written for. The template's `package.json` pins them.
const PACKAGES: [(&str, Version); 2] = [
    ("@bytecodealliance/componentize-js", Version(0, 23)),
    ("esbuild", Version(0, 28)),
];

/// What is typed once before the first build.
pub(super) const SET_UP: &str = "npm install";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let node = Program {
        name: "Node.js",
        ways: vec![way([&"node"])],
        says_version: &["--version"],
        needed: Needed::AtLeast(NODE),
        install: "Install it with your system's packages, or from its own site".to_owned(),
    }
    .find(job.dir())?;
    let packages = PACKAGES
        .into_iter()
        .map(|(name, needed)| {
            let version = package(job.dir(), name, needed)?;
            let name = name.rsplit('/').next().unwrap_or(name);
            Ok((name.to_owned(), version))
        })
        .collect::<Result<Vec<_>, AuthorError>>()?;
    job.tell_compiling(&node);
    let form = job.run_script(&node, "build.mjs", "to make a component of the project")?;
    let mut compilers = vec![made_by(&node)];
    compilers.extend(packages);
    Ok(Compiled { form, compilers })
}

/// What is read of a package's manifest.
#[derive(Deserialize)]
struct Package {
    version: String,
}

/// The version of a package, where Node.js finds it for a file in `dir`: there, or in a folder above.
fn package(dir: &Path, name: &str, needed: Version) -> Result<String, AuthorError> {
    let mut manifests = dir
        .ancestors()
        .map(|above| above.join("node_modules").join(name).join("package.json"));
    let why = match manifests.find(|manifest| manifest.is_file()) {
        None => "it is not in node_modules".to_owned(),
        Some(manifest) => {
            let Package { version } = read_json(&manifest)?;
            match Version::first_in(&version) {
                Some((found, _)) if found == needed => return Ok(version),
                Some(_) | None => format!("{} is {version}", manifest.display()),
            }
        }
    };
    Err(AuthorError::usage(format!(
        "this build needs the package {name} {needed}, and {why}. In the project, type `npm install --save-dev {name}@{needed}`"
    )))
}

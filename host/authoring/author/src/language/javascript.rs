//! TypeScript and JavaScript: esbuild bundles the project with the SDK, and componentize-js
//! combines the bundle with a JavaScript engine. Both are npm packages of the project, called by a
//! script of the SDK.

#[cfg(test)]
mod tests;

use super::{Compiled, INSTALLED_SDK, Job, producer};
use crate::{
    error::AuthorError,
    project::read_json,
    toolchain::{Program, Version, VersionReq, invocation},
};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The minimum Node.js version of componentize-js.
const NODE: Version = Version(20, 0);

/// The packages of the SDK's script in supported versions, pinned by the template's `package.json`.
const PACKAGES: [(&str, Version); 2] = [
    ("@bytecodealliance/componentize-js", Version(0, 23)),
    ("esbuild", Version(0, 28)),
];

pub(super) const SET_UP: &str = "npm install";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let node = Program {
        name: "Node.js",
        invocations: vec![invocation([&"node"])],
        version_args: &["--version"],
        needed: VersionReq::AtLeast(NODE),
        install: "Install it from your system's packages or its website".to_owned(),
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
    let mut compilers = vec![producer(&node)];
    compilers.extend(packages);
    let sdk = match installed(job.dir(), INSTALLED_SDK) {
        Some(dir) => {
            let Package { version } = read_json(&dir.join("package.json"))?;
            job.tell_installed_sdk(&version);
            compilers.push((INSTALLED_SDK.to_owned(), version));
            dir
        }
        None => job.sdk.clone(),
    };
    let script = invocation([&sdk.join("build.mjs")]);
    let artifact = job.run_script(&node, &script, "to build a component from the project")?;
    Ok((artifact, compilers))
}

/// The used part of a package's manifest.
#[derive(Deserialize)]
struct Package {
    version: String,
}

/// Returns the directory of a package as Node.js resolves it: in `dir` or the nearest parent.
fn installed(dir: &Path, name: &str) -> Option<PathBuf> {
    dir.ancestors()
        .map(|above| above.join("node_modules").join(name))
        .find(|package| package.join("package.json").is_file())
}

/// Returns the version of an installed package.
fn package(dir: &Path, name: &str, needed: Version) -> Result<String, AuthorError> {
    let why = match installed(dir, name) {
        None => "it is not in node_modules".to_owned(),
        Some(package) => {
            let manifest = package.join("package.json");
            let Package { version } = read_json(&manifest)?;
            match Version::first_in(&version) {
                Some((found, _)) if found == needed => return Ok(version),
                Some(_) | None => format!("{} is {version}", manifest.display()),
            }
        }
    };
    Err(AuthorError::Usage(format!(
        "this build needs the package {name} {needed}, but {why}. In the project, run `npm install --save-dev \
         {name}@{needed}`"
    )))
}

//! Python: componentize-py combines the interpreter, the project and the SDK into a component.

#[cfg(test)]
mod tests;

use super::{Compiled, INSTALLED_SDK, Job, OWN_ENVIRONMENT, producer};
use crate::{
    error::AuthorError,
    toolchain::{InstalledProgram, Program, Version, VersionReq, invocation},
};
use std::{ffi::OsStr, path::Path};

/// The series that the SDK supports, pinned by the template's `requirements.txt`.
const COMPONENTIZE_PY: Version = Version(0, 25);

/// Prints the version of componentize-py.
const VERSION_ARGS: [&str; 2] = [
    "-c",
    "from importlib.metadata import version; print(version('componentize-py'))",
];

/// Prints the version of an installed SDK. With `-P` a directory of the project is not taken for
/// it.
const SDK_VERSION_ARGS: [&str; 3] = [
    "-P",
    "-c",
    "from importlib.metadata import version; print(version('agent-tool'))",
];

/// Starts the build script of an installed SDK.
const INSTALLED_SCRIPT: [&dyn AsRef<OsStr>; 3] = [&"-P", &"-m", &"agent_tool.build"];

pub(super) const SET_UP: &str =
    "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let own = job.dir().join(OWN_ENVIRONMENT).join("python3");
    let python = Program {
        name: "componentize-py",
        invocations: vec![invocation([&own]), invocation([&"python3"])],
        version_args: &VERSION_ARGS,
        needed: VersionReq::Series(COMPONENTIZE_PY),
        install: format!(
            "In the project, run `python3 -m venv .venv && .venv/bin/pip install \
             'componentize-py=={COMPONENTIZE_PY}.*'`"
        ),
    }
    .find(job.dir())?;
    job.tell_compiling(&python);
    let mut compilers = vec![producer(&python)];
    let script = match installed_sdk(&python, job.dir()) {
        Some(version) => {
            job.tell_installed_sdk(&version);
            compilers.push((INSTALLED_SDK.to_owned(), version));
            invocation(INSTALLED_SCRIPT)
        }
        None => invocation([&job.sdk.join("build.py")]),
    };
    let artifact = job.run_script(&python, &script, "to build a component from tool.py")?;
    Ok((artifact, compilers))
}

/// Returns the version of the SDK that is installed beside componentize-py.
fn installed_sdk(python: &InstalledProgram, dir: &Path) -> Option<String> {
    let printed = python.output(&SDK_VERSION_ARGS, dir)?;
    Version::first_in(&printed).map(|(_, text)| text.to_owned())
}

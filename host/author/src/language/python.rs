//! Python: componentize-py combines the interpreter, the project and the SDK into a component.

#[cfg(test)]
mod tests;

use super::{Compiled, Job, OWN_ENVIRONMENT, producer};
use crate::{
    error::AuthorError,
    toolchain::{Program, Version, VersionReq, invocation},
};

/// The series that the SDK supports, pinned by the template's `requirements.txt`.
const COMPONENTIZE_PY: Version = Version(0, 25);

/// Prints the version of componentize-py.
const VERSION_ARGS: [&str; 2] = [
    "-c",
    "from importlib.metadata import version; print(version('componentize-py'))",
];

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
            "In the project, type `python3 -m venv .venv && .venv/bin/pip install 'componentize-py=={COMPONENTIZE_PY}.*'`"
        ),
    }
    .find(job.dir())?;
    job.tell_compiling(&python);
    let artifact = job.run_script(&python, "build.py", "to make a component of tool.py")?;
    Ok((artifact, vec![producer(&python)]))
}

//! Python: componentize-py puts the interpreter, the project and the SDK into one component.

#[cfg(test)]
mod tests;

use super::{Compiled, Job, OWN_ENVIRONMENT, made_by};
use crate::{
    error::AuthorError,
    toolchain::{Needed, Program, Version, way},
};

/// The componentize-py that the SDK is written for. The template's `requirements.txt` pins it.
const COMPONENTIZE_PY: Version = Version(0, 25);

/// Makes a Python say which componentize-py it has.
const SAYS_VERSION: [&str; 2] = [
    "-c",
    "from importlib.metadata import version; print(version('componentize-py'))",
];

/// What is typed once before the first build.
pub(super) const SET_UP: &str =
    "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let own = job.dir().join(OWN_ENVIRONMENT).join("python3");
    let python = Program {
        name: "componentize-py",
        ways: vec![way([&own]), way([&"python3"])],
        says_version: &SAYS_VERSION,
        needed: Needed::Series(COMPONENTIZE_PY),
        install: format!(
            "In the project, type `python3 -m venv .venv && .venv/bin/pip install 'componentize-py=={COMPONENTIZE_PY}.*'`"
        ),
    }
    .find(job.dir())?;
    job.tell_compiling(&python);
    let form = job.run_script(&python, "build.py", "to make a component of tool.py")?;
    Ok(Compiled {
        form,
        compilers: vec![made_by(&python)],
    })
}

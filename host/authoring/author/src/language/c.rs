//! C: zig, which includes WASI's C library, or the clang of a wasi-sdk compiles the project's and
//! the SDK's files to a core module.

use super::{Artifact, Compiled, Job, OWN_ENVIRONMENT, producer, read};
use crate::{
    error::AuthorError,
    toolchain::{Program, Version, VersionReq, invocation, run},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const ZIG: Version = Version(0, 13);

/// The clang of wasi-sdk 22, the first with the target `wasm32-wasip1`.
const CLANG: Version = Version(18, 0);

pub(super) const SET_UP: &str = "python3 -m venv .venv && .venv/bin/pip install ziglang";

/// The flags of both compilers: a small reactor module, with warnings. The stack has 1 MiB as in
/// Rust; zig's default of 16 MiB would count against the memory of each instance.
const FLAGS: [&str; 8] = [
    "-mexec-model=reactor",
    "-std=c11",
    "-Os",
    // zig defines it with optimization, and the author would not know that no `assert` runs.
    "-UNDEBUG",
    // Keeps function names. The build strips the rest.
    "-g",
    "-Wall",
    "-Wextra",
    "-Wl,-z,stack-size=1048576",
];

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let (program, target) = match &job.options.wasi_sdk {
        // With the stack first, an overflow traps instead of overwriting data; zig always does so.
        Some(wasi_sdk) => (
            clang(wasi_sdk),
            ["--target=wasm32-wasip1", "-Wl,--stack-first"].as_slice(),
        ),
        None => (zig(job.dir()), ["cc", "-target", "wasm32-wasi"].as_slice()),
    };
    let compiler = program.find(job.dir())?;
    job.tell_compiling(&compiler);
    let wasm = job.output();
    let mut compile = compiler.command();
    compile
        .args(target)
        .args(FLAGS)
        .arg("-I")
        .arg(in_project(job, &job.sdk))
        .args(sources(job, job.dir())?)
        .args(sources(job, &job.sdk)?)
        .arg("-o")
        .arg(&wasm)
        .current_dir(job.dir());
    run("to compile the C files", &mut compile)?;
    Ok((Artifact::Module(read(&wasm)?), vec![producer(&compiler)]))
}

fn zig(dir: &Path) -> Program {
    let own = dir.join(OWN_ENVIRONMENT).join("python3");
    Program {
        name: "zig",
        invocations: vec![
            invocation([&"zig"]),
            invocation([&own, &"-m", &"ziglang"]),
            invocation([&"python3", &"-m", &"ziglang"]),
        ],
        version_args: &["version"],
        needed: VersionReq::AtLeast(ZIG),
        install: format!(
            "In the project, run `{SET_UP}`; or set WASI_SDK_PATH to a wasi-sdk to use its clang"
        ),
    }
}

fn clang(wasi_sdk: &Path) -> Program {
    Program {
        name: "clang",
        invocations: vec![invocation([&wasi_sdk.join("bin/clang")])],
        version_args: &["--version"],
        needed: VersionReq::AtLeast(CLANG),
        install:
            "WASI_SDK_PATH must be the directory of a wasi-sdk: correct it, or unset it to use zig"
                .to_owned(),
    }
}

/// Returns the C files of a directory of the project, sorted by name.
fn sources(job: &Job<'_>, dir: &Path) -> Result<Vec<PathBuf>, AuthorError> {
    let entries = fs::read_dir(dir).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>, _>>()
    });
    let mut files = entries.map_err(|error| AuthorError::disk("list", dir, &error))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    Ok(files.iter().map(|file| in_project(job, file)).collect())
}

/// Returns a path as seen from the project, where the compiler runs. `__FILE__` is such a path, and
/// names no directory of the machine.
fn in_project(job: &Job<'_>, path: &Path) -> PathBuf {
    let relative = path.strip_prefix(job.dir());
    relative.map_or_else(|_| path.to_owned(), |path| Path::new(".").join(path))
}

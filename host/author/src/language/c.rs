//! C: zig, which has a C compiler and WASI's C library, or the clang of a wasi-sdk makes a core module of the project's files and
//! the SDK's.

use super::{Compiled, Form, Job, OWN_ENVIRONMENT, made_by, read};
use crate::{
    error::AuthorError,
    toolchain::{Needed, Program, Version, run, way},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The oldest zig that the SDK was compiled with.
const ZIG: Version = Version(0, 13);

/// The clang of wasi-sdk 22, the first that calls the target `wasm32-wasip1`.
const CLANG: Version = Version(18, 0);

/// What is typed once before the first build.
pub(super) const SET_UP: &str = "python3 -m venv .venv && .venv/bin/pip install ziglang";

/// How both compile: a module without `main` that stays ready for calls, small, with the warnings that find mistakes. The stack is
/// as large as Rust gives a tool; zig's default is 16 MiB, which every instance would count against its memory.
const FLAGS: [&str; 7] = [
    "-mexec-model=reactor",
    "-std=c11",
    "-Os",
    // The linker leaves the names of functions in. The build takes out what else comes with it.
    "-g",
    "-Wall",
    "-Wextra",
    "-Wl,-z,stack-size=1048576",
];

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let (program, target) = match &job.options.wasi_sdk {
        // Below the stack there is nothing that an overflow could write over; zig has it there always.
        Some(wasi_sdk) => (
            clang(wasi_sdk),
            ["--target=wasm32-wasip1", "-Wl,--stack-first"].as_slice(),
        ),
        None => (zig(job.dir()), ["cc", "-target", "wasm32-wasi"].as_slice()),
    };
    let compiler = program.find(job.dir())?;
    job.tell_compiling(&compiler);
    let made = job.output();
    let mut compile = compiler.command();
    compile
        .args(target)
        .args(FLAGS)
        .arg("-I")
        .arg(&job.sdk)
        .args(sources(job.dir())?)
        .args(sources(&job.sdk)?)
        .arg("-o")
        .arg(&made)
        .current_dir(job.dir());
    run("to compile the C files", &mut compile)?;
    Ok(Compiled {
        form: Form::Module(read(&made)?),
        compilers: vec![made_by(&compiler)],
    })
}

fn zig(dir: &Path) -> Program {
    let own = dir.join(OWN_ENVIRONMENT).join("python3");
    Program {
        name: "zig",
        ways: vec![
            way([&"zig"]),
            way([&own, &"-m", &"ziglang"]),
            way([&"python3", &"-m", &"ziglang"]),
        ],
        says_version: &["version"],
        needed: Needed::AtLeast(ZIG),
        install: format!(
            "In the project, type `{SET_UP}`; or set WASI_SDK_PATH to a wasi-sdk, whose clang is used then"
        ),
    }
}

fn clang(wasi_sdk: &Path) -> Program {
    Program {
        name: "clang",
        ways: vec![way([&wasi_sdk.join("bin/clang")])],
        says_version: &["--version"],
        needed: Needed::AtLeast(CLANG),
        install:
            "WASI_SDK_PATH is the folder of a wasi-sdk: correct it, or unset it and zig is used"
                .to_owned(),
    }
}

/// The C files of a folder, in the order of their names.
fn sources(dir: &Path) -> Result<Vec<PathBuf>, AuthorError> {
    let entries = fs::read_dir(dir).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>, _>>()
    });
    let mut files = entries.map_err(|error| AuthorError::disk("list", dir, &error))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    Ok(files)
}

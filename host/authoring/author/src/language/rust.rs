//! Rust: cargo makes the component itself.

#[cfg(test)]
mod tests;

use super::{Artifact, Compiled, Job, producer, read};
use crate::{
    error::AuthorError,
    toolchain::{Program, Version, VersionReq, invocation, output, run_for},
};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

/// The `rust-version` of the SDK's workspace.
const RUSTC: Version = Version(1, 95);

const TARGET: &str = "wasm32-wasip2";

pub(super) const SET_UP: &str = "rustup target add wasm32-wasip2";

pub(super) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    let rustc = Program {
        name: "rustc",
        invocations: vec![invocation([&"rustc"])],
        version_args: &["--version"],
        needed: VersionReq::AtLeast(RUSTC),
        install: "Install Rust with rustup, or update it with `rustup update stable`".to_owned(),
    }
    .find(job.dir())?;
    check_target(job.dir())?;
    job.tell_compiling(&rustc);
    let mut cargo = std::process::Command::new("cargo");
    cargo
        .args(["build", "--release", "--target", TARGET, "--message-format"])
        .arg("json-render-diagnostics")
        // Compiles the SDK's dependencies once for all projects, which saves a minute each.
        .env("CARGO_BUILD_BUILD_DIR", job.options.shared.join("cargo"))
        .current_dir(job.dir())
        .stdout(Stdio::piped());
    let messages = run_for("to compile the crate", &mut cargo)?;
    let manifest = job.dir().join("Cargo.toml");
    let component = component_among(&messages, &manifest).ok_or_else(|| {
        AuthorError::Usage(format!(
            "cargo built no component from {}; set `crate-type = [\"cdylib\"]` under [lib]",
            manifest.display()
        ))
    })?;
    let component = Artifact::Component(read(&component)?);
    Ok((component, vec![producer(&rustc)]))
}

/// Checks that the target's standard library is installed.
fn check_target(dir: &Path) -> Result<(), AuthorError> {
    let args = ["--print", "target-libdir", "--target", TARGET];
    let library = output(&invocation([&"rustc"]), &args, dir);
    if library.is_some_and(|library| Path::new(library.trim()).is_dir()) {
        return Ok(());
    }
    Err(AuthorError::Usage(format!(
        "this build needs Rust's target {TARGET}, which is not installed. Install it with `{SET_UP}`"
    )))
}

/// The used part of cargo's messages, one JSON object per line.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact {
        manifest_path: PathBuf,
        filenames: Vec<PathBuf>,
    },
    #[serde(other)]
    Other,
}

/// Returns the component of the crate with this manifest.
fn component_among(messages: &[u8], manifest: &Path) -> Option<PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice(line).ok());
    messages
        .filter_map(|message| match message {
            Message::CompilerArtifact {
                manifest_path,
                filenames,
            } if manifest_path == manifest => Some(filenames),
            Message::CompilerArtifact { .. } | Message::Other => None,
        })
        .flatten()
        .find(|file| file.extension() == Some("wasm".as_ref()))
}

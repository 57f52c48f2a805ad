//! Compilation per language. Each module finds its compiler and runs it.

mod c;
mod go;
mod javascript;
mod python;
mod rust;

use crate::{
    build::BuildOptions,
    error::AuthorError,
    project::{Language, Project},
    toolchain::{InstalledProgram, run},
    wit::WORLD,
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// The inputs of a compilation.
pub(crate) struct Job<'a> {
    pub(crate) project: &'a Project,
    pub(crate) options: &'a BuildOptions,
    /// The directory of the language's SDK.
    pub(crate) sdk: PathBuf,
    /// The directory of the contract and the project's world.
    pub(crate) wit: PathBuf,
    /// The directory for intermediate files.
    pub(crate) build: PathBuf,
    /// Reports the current step to the user.
    pub(crate) tell: &'a dyn Fn(&str),
}

/// The output of a compilation, and the compilers, each with its version.
pub(crate) type Compiled = (Artifact, Vec<(String, String)>);

/// The kind of a compiler's output.
pub(crate) enum Artifact {
    /// A core module, to be converted into a component.
    Module(Vec<u8>),
    Component(Vec<u8>),
}

pub(crate) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    match job.project.language {
        Language::Rust => rust::compile(job),
        Language::Python => python::compile(job),
        Language::TypeScript | Language::JavaScript => javascript::compile(job),
        Language::C => c::compile(job),
        Language::Go => go::compile(job),
    }
}

/// Returns the command to run once in a new project before its first build.
#[must_use]
pub fn set_up(language: Language) -> &'static str {
    match language {
        Language::Rust => rust::SET_UP,
        Language::Python => python::SET_UP,
        Language::TypeScript | Language::JavaScript => javascript::SET_UP,
        Language::C => c::SET_UP,
        Language::Go => go::SET_UP,
    }
}

impl Job<'_> {
    fn dir(&self) -> &Path {
        &self.project.dir
    }

    /// Returns the path for the compiler's output.
    fn output(&self) -> PathBuf {
        self.build.join("compiled.wasm")
    }

    /// Runs an SDK's build script in the language's interpreter, whose arguments `script` start it;
    /// `step` is for the error message.
    fn run_script(
        &self,
        interpreter: &InstalledProgram,
        script: &[OsString],
        step: &str,
    ) -> Result<Artifact, AuthorError> {
        let wasm = self.output();
        let mut build = interpreter.command();
        build
            .args(script)
            .arg("--project")
            .arg(self.dir())
            .arg("--wit")
            .arg(&self.wit)
            .args(["--world", WORLD])
            .arg("--out")
            .arg(&wasm)
            .current_dir(self.dir());
        run(step, &mut build)?;
        Ok(Artifact::Component(read(&wasm)?))
    }

    fn tell_compiling(&self, found: &InstalledProgram) {
        let InstalledProgram { name, version, .. } = found;
        (self.tell)(&format!(
            "compiling {} with {name} {version}",
            self.project.name
        ));
    }

    fn tell_installed_sdk(&self, version: &str) {
        (self.tell)(&format!(
            "using the installed {INSTALLED_SDK} {version}, not this program's"
        ));
    }
}

/// The package of the SDK in the registries of Python and npm. A project that installs it is built
/// with it: it may pin a version, and its modules import that one.
const INSTALLED_SDK: &str = "agent-tool";

/// The programs of a project's Python environment.
const OWN_ENVIRONMENT: &str = ".venv/bin";

fn producer(found: &InstalledProgram) -> (String, String) {
    (found.name.to_owned(), found.version.clone())
}

fn read(path: &Path) -> Result<Vec<u8>, AuthorError> {
    fs::read(path).map_err(|error| AuthorError::disk("read", path, &error))
}

//! How each language is compiled. A language's file says what its compiler needs, starts it, and leaves the rest to the build.

mod c;
mod go;
mod javascript;
mod python;
mod rust;

use crate::{
    build::BuildOptions,
    error::AuthorError,
    project::{Language, Project},
    toolchain::{Found, run},
    wit::WORLD,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What is compiled, and where its parts are.
pub(crate) struct Job<'a> {
    pub(crate) project: &'a Project,
    pub(crate) options: &'a BuildOptions,
    /// The language's SDK.
    pub(crate) sdk: PathBuf,
    /// The contract, with the project's own world.
    pub(crate) wit: PathBuf,
    /// The folder for what a compiler leaves on the way.
    pub(crate) build: PathBuf,
    /// Tells the person who waits what happens now.
    pub(crate) tell: &'a dyn Fn(&str),
}

/// What a compiler made.
pub(crate) struct Compiled {
    pub(crate) form: Form,
    /// What made it, each with its version.
    pub(crate) compilers: Vec<(String, String)>,
}

/// The form that a compiler's output has.
pub(crate) enum Form {
    /// A core module, of which a component has to be made.
    Module(Vec<u8>),
    /// A component.
    Component(Vec<u8>),
}

/// Compiles the project.
pub(crate) fn compile(job: &Job<'_>) -> Result<Compiled, AuthorError> {
    match job.project.language {
        Language::Rust => rust::compile(job),
        Language::Python => python::compile(job),
        Language::TypeScript | Language::JavaScript => javascript::compile(job),
        Language::C => c::compile(job),
        Language::Go => go::compile(job),
    }
}

/// What is typed once in a new project before its first build.
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

    /// Where a compiler is told to write.
    fn output(&self) -> PathBuf {
        self.build.join("compiled.wasm")
    }

    /// Runs the script of the SDK that makes a component of the project, in the language's own interpreter; `step` is for the
    /// message if it fails.
    fn run_script(
        &self,
        interpreter: &Found,
        script: &str,
        step: &str,
    ) -> Result<Form, AuthorError> {
        let made = self.output();
        let mut build = interpreter.command();
        build
            .arg(self.sdk.join(script))
            .arg("--project")
            .arg(self.dir())
            .arg("--wit")
            .arg(&self.wit)
            .args(["--world", WORLD])
            .arg("--out")
            .arg(&made)
            .current_dir(self.dir());
        run(step, &mut build)?;
        Ok(Form::Component(read(&made)?))
    }

    /// Says that compiling begins, and with what.
    fn tell_compiling(&self, found: &Found) {
        let Found { name, version, .. } = found;
        (self.tell)(&format!(
            "compiling {} with {name} {version}",
            self.project.name
        ));
    }
}

/// Where Python keeps the programs of an environment that a project has for itself.
const OWN_ENVIRONMENT: &str = ".venv/bin";

fn made_by(found: &Found) -> (String, String) {
    (found.name.to_owned(), found.version.clone())
}

fn read(path: &Path) -> Result<Vec<u8>, AuthorError> {
    fs::read(path).map_err(|error| AuthorError::disk("read", path, &error))
}

//! From a project to the component that a host loads: compiled, made smaller, marked with what made it, and checked by the same
//! sandbox that will run it. `dist/` changes only when all of that went well.

#[cfg(test)]
mod tests;

use crate::{
    componentize::componentize,
    error::AuthorError,
    language::{self, Compiled, Form, Job},
    project::{Language, Project},
    sdk,
    strip::{Names, strip},
    uses, wit,
};
use agent_host_app::{Config, Registry};
use agent_host_types::{id::Digest, tool::ToolDefinition};
use std::{
    fs,
    path::{Path, PathBuf},
};
use wasm_metadata::Producers;

/// How to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// A folder for what the builds of all projects have in common. It may be removed at any time; then it is made again.
    pub shared: PathBuf,
    /// Take the names of functions out, of Rust and C, too. They are what the stack of a trap is told in.
    pub strip_names: bool,
    /// The wasi-sdk whose clang compiles C, instead of zig.
    pub wasi_sdk: Option<PathBuf>,
}

/// A component that was made and not yet checked.
#[derive(Debug)]
pub struct Candidate {
    project: Project,
    path: PathBuf,
    compilers: Vec<(String, String)>,
}

/// A finished build.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// The project.
    pub project: Project,
    /// Where the component is.
    pub component: PathBuf,
    /// What made it, each with its version.
    pub compilers: Vec<(String, String)>,
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// Its digest.
    pub digest: Digest,
    /// What it imports.
    pub imports: Vec<String>,
    /// Its tools.
    pub tools: Vec<ToolDefinition>,
}

/// Compiles a project and makes a component of it. It runs compilers, which say what they say on stderr; `tell` is told each step.
///
/// # Errors
/// When a compiler is missing, is of another version or fails, what it made is no tool, or the disk fails.
pub fn compile(
    project: &Project,
    options: &BuildOptions,
    tell: &dyn Fn(&str),
) -> Result<Candidate, AuthorError> {
    let own = project.own_dir();
    unpack(project)?;
    let build = own.join("build");
    fs::create_dir_all(&build).map_err(|error| AuthorError::disk("make", &build, &error))?;
    let job = Job {
        project,
        options,
        sdk: own.join("sdk"),
        wit: own.join("wit"),
        build,
        tell,
    };
    let Compiled { form, compilers } = language::compile(&job)?;
    let component = match form {
        Form::Module(module) => componentize(module)?,
        Form::Component(component) => component,
    };
    let component = finish(
        &component,
        names(project.language, options),
        project,
        &compilers,
    )?;
    let path = job.build.join(format!("{}.wasm", project.name));
    write(&path, &component)?;
    Ok(Candidate {
        project: project.clone(),
        path,
        compilers,
    })
}

/// Brings what a project is compiled with into its folder: the SDK and the contract.
pub(crate) fn unpack(project: &Project) -> Result<(), AuthorError> {
    let own = project.own_dir();
    sdk::unpack(project.language, &own.join("sdk"))?;
    wit::unpack(&own.join("wit"), &uses::declared(project)?)
}

impl Candidate {
    /// Has the sandbox load it as any component, which holds it against the contract and asks it for its tools; then it becomes the
    /// project's component.
    ///
    /// # Errors
    /// When it does not fit the contract, or the disk fails.
    pub async fn check(self, config: &Config) -> Result<Built, AuthorError> {
        let path = self.path.to_str().ok_or_else(|| {
            AuthorError::usage(format!(
                "the path of the project, {}, is not UTF-8; move it",
                self.project.dir.display()
            ))
        })?;
        let registry = Registry::open_one_unlocked(config, path).await?;
        let entry = registry.components().first().ok_or_else(|| {
            AuthorError::failed(format!("the sandbox loaded nothing from {path}"))
        })?;
        let component = self.project.component();
        publish(&self.path, &component)?;
        Ok(Built {
            component,
            compilers: self.compilers,
            size_bytes: entry.component.size_bytes(),
            digest: entry.component.digest(),
            imports: entry.component.imports().to_vec(),
            tools: entry.component.definitions().to_vec(),
            project: self.project,
        })
    }
}

/// The functions of a Python or JavaScript component are the interpreter's: their names say nothing to the author, and take more
/// than a megabyte. Go tells a stack by tables of its own.
fn names(language: Language, options: &BuildOptions) -> Names {
    match language {
        Language::Rust | Language::C if !options.strip_names => Names::Keep,
        Language::Rust
        | Language::Python
        | Language::TypeScript
        | Language::JavaScript
        | Language::C
        | Language::Go => Names::Strip,
    }
}

/// Takes out what a component does not need, and puts in what it was made of and with.
fn finish(
    component: &[u8],
    names: Names,
    project: &Project,
    compilers: &[(String, String)],
) -> Result<Vec<u8>, AuthorError> {
    let no_component = |error: &dyn std::fmt::Display| {
        AuthorError::failed(format!("what was compiled is no component: {error:#}"))
    };
    let stripped = strip(component, names).map_err(|error| no_component(&error))?;
    let said = Producers::from_wasm(component).map_err(|error| no_component(&error))?;
    producers(said.as_ref(), project, compilers)
        .add_to_wasm(&stripped)
        .map_err(|error| no_component(&error))
}

/// What made a component: what its compilers say of it themselves, but for the languages of the runtime in it, and what is known.
fn producers(
    said: Option<&Producers>,
    project: &Project,
    compilers: &[(String, String)],
) -> Producers {
    const LANGUAGE: &str = "language";
    const PROCESSED_BY: &str = "processed-by";
    let mut producers = Producers::empty();
    producers.add(LANGUAGE, &project.language.to_string(), "");
    for (field, values) in said.into_iter().flat_map(Producers::iter) {
        if field == LANGUAGE {
            continue;
        }
        for (name, version) in values.iter() {
            producers.add(field, name, version);
        }
    }
    for (name, version) in compilers {
        producers.add(PROCESSED_BY, name, version);
    }
    producers.add(PROCESSED_BY, "agent-host", env!("CARGO_PKG_VERSION"));
    producers
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), AuthorError> {
    fs::write(path, bytes).map_err(|error| AuthorError::disk("write", path, &error))
}

/// Puts the file in its place in one step, so that nobody reads half a component.
fn publish(from: &Path, to: &Path) -> Result<(), AuthorError> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
    }
    fs::rename(from, to).map_err(|error| AuthorError::disk("write", to, &error))
}

//! Builds a project into a component: compiles, strips, adds producers, and checks it in the same
//! sandbox that will run it. `dist/` changes only on success.

#[cfg(test)]
mod tests;

use crate::{
    componentize::componentize,
    describe::Description,
    embedded,
    error::AuthorError,
    inputs,
    language::{self, Artifact, Job},
    package::PackageInfo,
    parts::TOOL,
    project::{Language, Project},
    sdk,
    strip::{NameMode, strip},
    wit, wit_usage,
};
use agent_host_app::{Config, Registry, Skill};
use agent_host_sandbox::SKILL_SECTION;
use agent_host_types::{id::Digest, tool::ToolDefinition};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use wasm_encoder::{ComponentSection as _, CustomSection};
use wasm_metadata::Producers;

/// Options of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// A cache directory shared by the builds of all projects. It may be removed at any time.
    pub shared: PathBuf,
    /// Strips function names from Rust and C, too. The stack of a trap needs them.
    pub strip_names: bool,
    /// The wasi-sdk whose clang compiles C, instead of zig.
    pub wasi_sdk: Option<PathBuf>,
}

/// A compiled component that is not yet checked.
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
    /// The path of the component.
    pub component: PathBuf,
    /// The compilers, each with its version.
    pub compilers: Vec<(String, String)>,
    /// The size in bytes.
    pub size_bytes: u64,
    /// The digest.
    pub digest: Digest,
    /// The imports.
    pub imports: Vec<String>,
    /// The tools; none of a filter, which has those of the tool behind it.
    pub tools: Vec<ToolDefinition>,
    /// True for a filter.
    pub is_filter: bool,
    /// The skill that it carries.
    pub skill: Option<Arc<Skill>>,
}

/// Compiles a project into a component. The compilers write to stderr; `tell` receives each step.
///
/// # Errors
/// A compiler is missing, has another version or fails, its output is no tool, or the disk fails.
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
    let (artifact, compilers) = language::compile(&job)?;
    let component = match artifact {
        Artifact::Module(module) => componentize(module)?,
        Artifact::Component(component) => component,
    };
    let names = names(project.language, options);
    let component = finish(&component, names, project, &compilers)?;
    for warning in Description::from_component(&component).warnings {
        tell(&format!("warning: {warning}"));
    }
    let path = job.build.join(format!("{}.wasm", project.name));
    embedded::write(&path, &component)?;
    Ok(Candidate {
        project: project.clone(),
        path,
        compilers,
    })
}

/// Unpacks the SDK and the contract into the project.
pub(crate) fn unpack(project: &Project) -> Result<(), AuthorError> {
    let own = project.own_dir();
    sdk::unpack(project.language, &own.join("sdk"))?;
    let uses = wit_usage::declared(project)?;
    wit::unpack(&own.join("wit"), project.language, &uses)
}

impl Candidate {
    /// Loads the component in the sandbox, which validates it against the contract and lists its
    /// tools; then moves it to `dist/`. A filter is loaded only in front of a tool.
    ///
    /// # Errors
    /// The component does not fit the contract, or the disk fails.
    pub async fn check(self, config: &Config) -> Result<Built, AuthorError> {
        let built = match self.filter()? {
            Some(built) => built,
            None => self.load(config).await?,
        };
        publish(&self.path, &built.component)?;
        inputs::record(&self.project)?;
        Ok(built)
    }

    /// Loads the component, and describes it.
    async fn load(&self, config: &Config) -> Result<Built, AuthorError> {
        let path = self.path.to_str().ok_or_else(|| {
            AuthorError::Usage(format!(
                "the project's path, {}, is not UTF-8; move it",
                self.project.dir.display()
            ))
        })?;
        let registry = Registry::open_one_unlocked(config, path).await?;
        let entry = registry.components().next().ok_or_else(|| {
            AuthorError::Failed(format!("the sandbox loaded nothing from {path}"))
        })?;
        if let [first, ..] = entry.component.notes() {
            return Err(AuthorError::Usage(format!(
                "some of the component's tools are invalid: {first}. Correct its source"
            )));
        }
        Ok(Built {
            project: self.project.clone(),
            component: self.project.component(),
            compilers: self.compilers.clone(),
            size_bytes: entry.component.size_bytes(),
            digest: entry.component.digest(),
            imports: entry.component.imports().to_vec(),
            tools: entry.component.definitions().to_vec(),
            is_filter: false,
            skill: registry.skills().first().cloned(),
        })
    }

    /// Describes the component if it is a filter.
    fn filter(&self) -> Result<Option<Built>, AuthorError> {
        let bytes = fs::read(&self.path);
        let bytes = bytes.map_err(|error| AuthorError::disk("read", &self.path, &error))?;
        // The sandbox says why other bytes are not a component.
        let Ok(mut info) = PackageInfo::from_component(&bytes) else {
            return Ok(None);
        };
        if !info.imports.iter().any(|name| name == TOOL) {
            return Ok(None);
        }
        info.imports.retain(|name| name != TOOL);
        Ok(Some(Built {
            project: self.project.clone(),
            component: self.project.component(),
            compilers: self.compilers.clone(),
            size_bytes: bytes.len() as u64,
            digest: Digest::of(&bytes),
            imports: info.imports,
            tools: Vec::new(),
            is_filter: true,
            skill: None,
        }))
    }
}

/// Returns whether to keep function names. Those of Python and JavaScript components are the
/// interpreter's and take more than 1 MB; Go prints stacks from its own tables.
fn names(language: Language, options: &BuildOptions) -> NameMode {
    match language {
        Language::Rust | Language::C if !options.strip_names => NameMode::Keep,
        _ => NameMode::Strip,
    }
}

/// Strips a component and adds its producers.
fn finish(
    component: &[u8],
    names: NameMode,
    project: &Project,
    compilers: &[(String, String)],
) -> Result<Vec<u8>, AuthorError> {
    let finished = Producers::from_wasm(component).and_then(|recorded| {
        let stripped = strip(component, names)?;
        producers(recorded.as_ref(), project, compilers).add_to_wasm(&stripped)
    });
    let mut finished = finished.map_err(|error| {
        AuthorError::Failed(format!("the build result is not a component: {error:#}"))
    })?;
    let skill = Skill::pack(&project.dir).map_err(|error| {
        let dir = project.dir.display();
        AuthorError::Usage(format!("cannot use the skill in {dir}: {error}"))
    })?;
    if let Some(archive) = skill {
        let section = CustomSection {
            name: SKILL_SECTION.into(),
            data: archive.into(),
        };
        section.append_to_component(&mut finished);
    }
    Ok(finished)
}

/// Merges the producers that compilers recorded, except the languages of an embedded runtime, with
/// the known ones.
fn producers(
    recorded: Option<&Producers>,
    project: &Project,
    compilers: &[(String, String)],
) -> Producers {
    const LANGUAGE: &str = "language";
    const PROCESSED_BY: &str = "processed-by";
    let mut producers = Producers::empty();
    producers.add(LANGUAGE, &project.language.to_string(), "");
    for (field, values) in recorded.into_iter().flat_map(Producers::iter) {
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

/// Replaces the file atomically, so that no reader sees half a component.
fn publish(from: &Path, to: &Path) -> Result<(), AuthorError> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
    }
    fs::rename(from, to).map_err(|error| AuthorError::disk("write", to, &error))
}

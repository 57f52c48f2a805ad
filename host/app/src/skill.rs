//! Agent skills: directories of instructions for a kind of task, which the model reads when it
//! needs them (<https://agentskills.io/specification>). A skill is text: nothing in it runs, and
//! nothing that it says grants anything.

mod archive;
mod files;
mod front_matter;
mod runner;
#[cfg(test)]
mod tests;

pub use runner::READ_SKILL;
pub(crate) use runner::skill_reader;

use agent_host_types::{id::Digest, lock::LockedSkill};
use files::SkillFiles;
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The file with the front matter and the instructions.
pub const SKILL_FILE: &str = "SKILL.md";

/// The maximum of skills: the model reads in every request for what each is.
pub(crate) const MAX_SKILLS: usize = 64;

/// A skill as it was when the configuration was read, or its component was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its directory; of one in a component after the component's name
    /// and a slash.
    pub name: String,
    /// For which tasks it is.
    pub description: String,
    /// Its license, or the name of a file with it.
    pub license: Option<String>,
    /// Its needs, such as programs and a network.
    pub compatibility: Option<String>,
    /// Anything else that its author noted.
    pub metadata: Map<String, Value>,
    /// The tools that its author names as allowed. They allow nothing.
    pub allowed_tools: Vec<String>,
    /// Its directory, without links; absent for one in a component.
    pub directory: Option<PathBuf>,
    /// The text after the front matter.
    pub instructions: String,
    /// The content of all its files, by their paths in it.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Why a skill cannot be used: the reason, and the next step.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {fix}")]
pub struct SkillError {
    /// The reason, as a clause.
    pub reason: String,
    /// The next step, as a clause.
    pub fix: String,
}

impl SkillError {
    pub(crate) fn new(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fix: fix.into(),
        }
    }
}

impl Skill {
    /// Reads the skill in a directory without links in its path. Hidden files are not part of it.
    ///
    /// # Errors
    /// It has no valid `SKILL.md`, is too large, or has a link or a file that another user controls.
    pub fn read(directory: &Path) -> Result<Self, SkillError> {
        let mut skill = Self::of_files(files::read(directory)?)?;
        let last = directory.file_name().unwrap_or_default().to_string_lossy();
        if skill.name != last {
            return Err(SkillError::new(
                format!(
                    "its name is `{}`, and its directory is {last:?}",
                    skill.name
                ),
                "give both the same name",
            ));
        }
        skill.directory = Some(directory.to_owned());
        Ok(skill)
    }

    /// Reads the skill in a component, whose name begins its own, from an uncompressed tar of its
    /// directory.
    ///
    /// # Errors
    /// The bytes are no such archive, or it is no skill.
    pub(crate) fn in_component(component: &str, archive: &[u8]) -> Result<Self, SkillError> {
        let mut skill = Self::of_files(archive::unpack(archive)?)?;
        skill.name = format!("{component}/{}", skill.name);
        Ok(skill)
    }

    /// Packs the skill of a project for its component, as an uncompressed tar: `SKILL.md`, and
    /// `assets`, `references` and `scripts` beside it. Returns none if the project has none. Equal
    /// files make equal bytes.
    ///
    /// # Errors
    /// Those of [`Self::read`], except that the directory may have another name.
    pub fn pack(project: &Path) -> Result<Option<Vec<u8>>, SkillError> {
        let Some(files) = files::read_layout(project)? else {
            return Ok(None);
        };
        let archive = archive::pack(&files)?;
        Self::of_files(files)?;
        Ok(Some(archive))
    }

    fn of_files(files: SkillFiles) -> Result<Self, SkillError> {
        let content = files.get(SKILL_FILE).ok_or_else(|| {
            SkillError::new(
                format!("it has no {SKILL_FILE}"),
                "write one, or name another directory",
            )
        })?;
        let text = str::from_utf8(content).map_err(|_| {
            SkillError::new(
                format!("{SKILL_FILE} is not UTF-8 text"),
                "save it as UTF-8",
            )
        })?;
        let (front_matter, instructions) = front_matter::parse(text)?;
        Ok(Self {
            name: front_matter.name,
            description: front_matter.description,
            license: front_matter.license,
            compatibility: front_matter.compatibility,
            metadata: front_matter.metadata,
            allowed_tools: front_matter.allowed_tools,
            directory: None,
            instructions: instructions.trim().to_owned(),
            files,
        })
    }

    /// Returns the instructions for the model, after what they need.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.compatibility {
            Some(needs) => format!("[What this needs: {needs}]\n\n{}", self.instructions).into(),
            None => self.instructions.as_str().into(),
        }
    }

    /// Returns the state to pin in `agent.lock`.
    #[must_use]
    pub fn locked(&self) -> LockedSkill {
        let files = self.files.iter();
        LockedSkill {
            description: self.description.clone(),
            files: files
                .map(|(path, bytes)| (path.clone(), Digest::of(bytes)))
                .collect(),
        }
    }

    /// Returns the size of all files, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).sum()
    }
}

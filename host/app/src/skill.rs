//! Agent skills: directories of instructions for a kind of task, which the model reads when it needs
//! them (<https://agentskills.io/specification>). A skill is text: nothing in it runs, and nothing
//! that it says grants anything.

mod runner;
#[cfg(test)]
mod tests;

pub use runner::READ_SKILL;
pub(crate) use runner::SkillTools;

use crate::trusted_file;
use agent_host_engine::text::is_deceptive;
use agent_host_types::{id::Digest, lock::LockedSkill};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{self, FileType},
    path::{Path, PathBuf},
};

/// The file with the front matter and the instructions.
pub const SKILL_FILE: &str = "SKILL.md";

/// The maximum of skills: the model reads in every request for what each is.
pub(crate) const MAX_SKILLS: usize = 64;

/// The maximum of files in a skill.
const MAX_FILES: usize = 256;

/// The maximum size of a skill, in bytes: it is in memory, so that what is read is what was
/// accepted.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The maximum size of the front matter, in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 16 * 1024;

/// The maximum of entries of all its directories, hidden ones included.
const MAX_ENTRIES: usize = 4_096;

/// The deepest directory below a skill's.
const MAX_DEPTH: usize = 8;

/// The longest name and the longest description, in characters ("Frontmatter" in the
/// specification).
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;

/// A skill as it was when the configuration was read, or its component was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its directory; of one in a component after the component's name
    /// and a slash.
    pub name: String,
    /// For which tasks it is.
    pub description: String,
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
    fn new(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fix: fix.into(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct FrontMatter {
    name: String,
    description: String,
    allowed_tools: Option<AllowedTools>,
}

/// The specification has a text; several programs write a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum AllowedTools {
    Text(String),
    List(Vec<String>),
}

impl Skill {
    /// Reads the skill in a directory without links in its path. Hidden files are not part of it.
    ///
    /// # Errors
    /// It has no valid `SKILL.md`, is too large, or has a link or a file that another user controls.
    pub fn read(directory: &Path) -> Result<Self, SkillError> {
        let mut reader = Reader {
            bytes_left: MAX_BYTES,
            entries_left: MAX_ENTRIES,
            files: BTreeMap::new(),
        };
        reader.take(directory, "", 0)?;
        let files = reader.files;
        let content = files.get(SKILL_FILE).ok_or_else(|| {
            SkillError::new(
                format!("it has no {SKILL_FILE}"),
                "write one, or name another directory",
            )
        })?;
        let text = std::str::from_utf8(content).map_err(|_| {
            SkillError::new(
                format!("{SKILL_FILE} is not UTF-8 text"),
                "save it as UTF-8",
            )
        })?;
        let mut skill = Self::parse(text)?;
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
        skill.files = files;
        Ok(skill)
    }

    /// Reads the skill in a component, whose name begins its own.
    ///
    /// # Errors
    /// The text is no valid `SKILL.md`.
    pub(crate) fn in_component(component: &str, text: &str) -> Result<Self, SkillError> {
        let mut skill = Self::parse(text)?;
        skill.name = format!("{component}/{}", skill.name);
        let file = (SKILL_FILE.to_owned(), text.as_bytes().to_vec());
        skill.files = BTreeMap::from([file]);
        Ok(skill)
    }

    /// Parses the text of a `SKILL.md`, for a skill without a place and files.
    ///
    /// # Errors
    /// The front matter is invalid.
    pub fn parse(text: &str) -> Result<Self, SkillError> {
        let (front_matter, instructions) = parse(text)?;
        check(&front_matter)?;
        let allowed_tools = match front_matter.allowed_tools {
            None => Vec::new(),
            Some(AllowedTools::Text(text)) => text.split_whitespace().map(str::to_owned).collect(),
            Some(AllowedTools::List(list)) => list,
        };
        Ok(Self {
            name: front_matter.name,
            description: front_matter.description.trim().to_owned(),
            allowed_tools,
            directory: None,
            instructions: instructions.trim().to_owned(),
            files: BTreeMap::new(),
        })
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

/// The files that were read, and the bytes that more may have.
struct Reader {
    bytes_left: u64,
    entries_left: usize,
    files: BTreeMap<String, Vec<u8>>,
}

impl Reader {
    /// Reads a directory of the skill; `prefix` is its path in it, which is empty or ends with a
    /// slash.
    fn take(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<(), SkillError> {
        let fault = |path: &str, error: &dyn std::fmt::Display| {
            SkillError::new(
                format!("cannot read {path:?} in it: {error}"),
                "check its permissions",
            )
        };
        let entries = fs::read_dir(directory).map_err(|error| fault(prefix, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| fault(prefix, &error))?;
            self.entries_left = self.entries_left.checked_sub(1).ok_or_else(|| {
                let reason = format!("it has more than {MAX_ENTRIES} files and directories");
                SkillError::new(reason, "keep what the model needs")
            })?;
            let name = entry.file_name();
            let name = name.to_str().filter(|name| !name.chars().any(is_deceptive));
            let Some(name) = name else {
                return Err(SkillError::new(
                    "the name of a file in it is not readable text",
                    "rename it",
                ));
            };
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(|error| fault(&path, &error))?;
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    let reason = format!("{path:?} in it is deeper than {MAX_DEPTH} directories");
                    return Err(SkillError::new(reason, "move it up"));
                }
                self.take(&entry.path(), &format!("{path}/"), depth + 1)?;
            } else {
                self.take_file(&entry.path(), path, kind)?;
            }
        }
        Ok(())
    }

    fn take_file(&mut self, file: &Path, path: String, kind: FileType) -> Result<(), SkillError> {
        if !kind.is_file() {
            return Err(SkillError::new(
                format!("{path:?} in it is a link or no regular file"),
                "put a copy in its place",
            ));
        }
        if self.files.len() == MAX_FILES {
            let reason = format!("it has more than {MAX_FILES} files");
            return Err(SkillError::new(reason, "keep what the model needs"));
        }
        let bytes = trusted_file::read_bytes(file, self.bytes_left).map_err(|error| {
            SkillError::new(format!("{path:?} in it: {}", error.reason), error.fix)
        })?;
        self.bytes_left -= bytes.len() as u64;
        self.files.insert(path, bytes);
        Ok(())
    }
}

/// Splits `SKILL.md` into its front matter and its instructions.
fn parse(text: &str) -> Result<(FrontMatter, &str), SkillError> {
    let example =
        "begin it with `---`, `name: ...`, `description: ...` and `---`, each on a line of its own";
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let missing = || SkillError::new(format!("{SKILL_FILE} has no front matter"), example);
    let (first, rest) = text.split_once('\n').ok_or_else(missing)?;
    if first.trim_end() != "---" {
        return Err(missing());
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let front_matter = rest.get(..end).unwrap_or_default();
            let instructions = rest.get(end + line.len()..).unwrap_or_default();
            let parsed = serde_saphyr::from_str(front_matter).map_err(|error| {
                let error = agent_host_engine::text::sanitize(&error.to_string(), 300);
                SkillError::new(
                    format!("the front matter of {SKILL_FILE}: {error}"),
                    "correct it",
                )
            });
            return Ok((parsed?, instructions));
        }
        end += line.len();
        if end > MAX_FRONT_MATTER_BYTES {
            let reason = format!(
                "the front matter of {SKILL_FILE} has more than {MAX_FRONT_MATTER_BYTES} bytes"
            );
            return Err(SkillError::new(reason, "shorten it, or end it with `---`"));
        }
    }
    Err(missing())
}

/// Checks the name and the description by the rules of the specification.
fn check(front_matter: &FrontMatter) -> Result<(), SkillError> {
    let name = &front_matter.name;
    let is_word = |part: &str| {
        let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        !part.is_empty() && part.chars().all(is_good)
    };
    let shown = agent_host_engine::text::sanitize(name, 80);
    if name.len() > MAX_NAME || !name.split('-').all(is_word) {
        return Err(SkillError::new(
            format!(
                "its name {shown:?} is not 1 to {MAX_NAME} small letters and digits, in words with a `-` between"
            ),
            "correct `name` in its front matter",
        ));
    }
    let description = &front_matter.description;
    let count = description.trim().chars().count();
    if count == 0 || count > MAX_DESCRIPTION || description.chars().any(is_deceptive) {
        return Err(SkillError::new(
            format!("its description has {count} characters, or control characters"),
            format!("write 1 to {MAX_DESCRIPTION} that say what it is for and when to use it"),
        ));
    }
    Ok(())
}

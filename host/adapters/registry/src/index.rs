//! Indexes of components, which can be searched: a JSON file in a directory, or an artifact of a
//! registry. Everything in one is untrusted text; what it names is verified when it is added.

#[cfg(test)]
mod tests;

use crate::{Remote, manifest::shown};
use agent_host_types::reason::Reason;
use serde::{Deserialize, Serialize};

/// The name of the file of an index in a directory.
pub const INDEX_FILE: &str = "index.json";

/// The largest index, in bytes: about 10,000 components.
pub const MAX_INDEX_BYTES: u64 = 4 * 1024 * 1024;

/// The version of the format.
const VERSION: u64 = 1;

/// The maximum of components in an index.
const MAX_ENTRIES: usize = 10_000;

/// The longest text of an entry that is kept, in characters.
const MAX_TEXT_CHARS: usize = 300;

/// The maximum of tools of an entry that are kept.
const MAX_TOOLS: usize = 64;

/// An index of components.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// 1, always.
    version: u64,
    /// The components, sorted by their references.
    components: Vec<IndexEntry>,
}

/// A component in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Where it is, as `component` of `agent.toml` has it.
    pub reference: String,
    /// Its version, such as `1.2.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The names of its tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            version: VERSION,
            components: Vec::new(),
        }
    }
}

impl Index {
    /// Parses an index. Entries that name no component are left out; long texts are shortened.
    ///
    /// # Errors
    /// It is none, of another version, or too large.
    pub fn parse(bytes: &[u8]) -> Result<Self, Reason> {
        if bytes.len() as u64 > MAX_INDEX_BYTES {
            return Err(too_large());
        }
        let parsed: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("is not a component index: {}", shown(&error.to_string())))?;
        if parsed.version != VERSION {
            let found = parsed.version;
            let why = format!("has version {found}, and this program reads version {VERSION}");
            return Err(why.into());
        }
        if parsed.components.len() > MAX_ENTRIES {
            return Err(too_large());
        }
        let components = parsed.components.into_iter();
        Ok(Self {
            version: VERSION,
            components: components.filter_map(IndexEntry::checked).collect(),
        })
    }

    /// Adds a component, in place of one of the same repository.
    ///
    /// # Errors
    /// The index would be too large to be read.
    pub fn add(&mut self, entry: IndexEntry) -> Result<(), Reason> {
        let place = entry.place();
        self.components.retain(|other| other.place() != place);
        self.components.extend(entry.checked());
        self.components
            .sort_by(|a, b| a.reference.cmp(&b.reference));
        match self.components.len() <= MAX_ENTRIES && self.to_json().len() as u64 <= MAX_INDEX_BYTES
        {
            true => Ok(()),
            false => Err(too_large()),
        }
    }

    /// Returns the JSON of the index, an entry a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let entries: Vec<String> = self
            .components
            .iter()
            .filter_map(|entry| serde_json::to_string(entry).ok())
            .collect();
        let entries = entries.join(",\n");
        format!("{{\"version\":{VERSION},\"components\":[\n{entries}\n]}}\n")
    }

    /// Returns the components that have every word of `term`, in any case, in their reference,
    /// description or tools.
    #[must_use]
    pub fn search(&self, term: &str) -> Vec<&IndexEntry> {
        let term = term.to_lowercase();
        let words: Vec<&str> = term.split_whitespace().collect();
        let has_all = |entry: &&IndexEntry| {
            let text = entry.text().to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.components.iter().filter(has_all).collect()
    }
}

impl IndexEntry {
    /// Returns the entry within its bounds; absent if it names no component.
    fn checked(mut self) -> Option<Self> {
        self.reference.parse::<Remote>().ok()?;
        for text in [&mut self.version, &mut self.description] {
            *text = text.take().map(|text| shortened(&text));
        }
        self.tools.truncate(MAX_TOOLS);
        for tool in &mut self.tools {
            *tool = shortened(tool);
        }
        Some(self)
    }

    /// Returns host and name, of which an index has one entry.
    fn place(&self) -> Option<String> {
        let remote = self.reference.parse::<Remote>().ok()?;
        Some(remote.repository())
    }

    fn text(&self) -> String {
        let description = self.description.as_deref().unwrap_or_default();
        format!("{} {description} {}", self.reference, self.tools.join(" "))
    }
}

/// Returns why an index is not used, as the end of a sentence that begins with it.
fn too_large() -> Reason {
    let why =
        format!("is longer than {MAX_INDEX_BYTES} bytes or has more than {MAX_ENTRIES} components");
    why.into()
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

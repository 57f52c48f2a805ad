//! `agent.lock`: what the operator accepted. Of a component it pins the code, the imports and the
//! definitions of its tools; of an MCP server the address, the command line or the digest of its
//! component, and the definitions of its tools; of a skill its files. A difference blocks what differs until it is accepted. The app
//! crate reads, writes and shows the file.

#[cfg(test)]
mod tests;

use crate::{
    id::{Digest, json_digest},
    tool::{Effect, ToolDefinition},
    words,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The version of the file format.
pub const LOCK_VERSION: u32 = 1;

/// The longest schema kept as text, in bytes: about 1,000 lines, more than anyone reads in a
/// review.
const MAX_SCHEMA_TEXT_BYTES: usize = 32 * 1024;

/// The content of `agent.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// [`LOCK_VERSION`].
    pub version: u32,
    /// The components by their name in the configuration.
    #[serde(default)]
    pub tool: BTreeMap<String, LockedComponent>,
    /// The MCP servers by their name in the configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, LockedServer>,
    /// The skills by their name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skill: BTreeMap<String, LockedSkill>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: LOCK_VERSION,
            tool: BTreeMap::new(),
            mcp: BTreeMap::new(),
            skill: BTreeMap::new(),
        }
    }
}

/// The accepted state of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedComponent {
    /// The digest of the component's bytes.
    pub component: Digest,
    /// The interfaces that it imports.
    pub imports: BTreeSet<String>,
    /// Where it was pulled from; absent for a component of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<LockedOrigin>,
    /// Its tools by name.
    pub tools: BTreeMap<String, LockedTool>,
}

/// The accepted origin of a component in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedOrigin {
    /// The reference, as `agent.toml` has it in canonical form.
    pub reference: String,
    /// The digest of the manifest, which a moved tag does not change.
    pub manifest: Digest,
    /// The digest of the public key that signed the manifest; absent if no signature was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<Digest>,
}

/// The accepted state of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedServer {
    /// Its address, its command line as a JSON array, or the digest of its component.
    pub server: String,
    /// Its tools by the names that the model uses.
    pub tools: BTreeMap<String, LockedTool>,
}

/// The accepted state of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedSkill {
    /// The text that the model is told before it reads the skill.
    pub description: String,
    /// The digests of its files, by their paths in it.
    pub files: BTreeMap<String, Digest>,
}

/// An entry of the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockEntry {
    /// A component.
    Component(LockedComponent),
    /// An MCP server.
    Server(LockedServer),
    /// A skill.
    Skill(LockedSkill),
}

/// The accepted definition of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedTool {
    /// [`ToolDefinition::title`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// [`ToolDefinition::effect`].
    pub effect: Effect,
    /// [`ToolDefinition::description`].
    pub description: String,
    /// [`ToolDefinition::input_schema`], pretty-printed with sorted keys; its digest if that is
    /// longer than 32 KiB.
    pub input_schema: String,
    /// [`ToolDefinition::output_schema`], written like the input schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
}

/// The comparison of a component or server with the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockStatus {
    /// The entry equals the accepted state.
    Same,
    /// The entry was never accepted.
    New,
    /// The entry differs in at least one place.
    Changed(Vec<Change>),
}

/// A difference between the accepted and the current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The tool; absent for the component or server itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The changed part.
    pub aspect: Aspect,
    /// The accepted value, if any.
    pub before: Option<String>,
    /// The current value, if any.
    pub after: Option<String>,
}

words! {
    /// A part of a component, a server or a tool that is compared.
    pub enum Aspect {
        /// The digest of the component's bytes.
        Code,
        /// [`LockedOrigin::reference`].
        Reference,
        /// [`LockedOrigin::manifest`].
        Manifest,
        /// [`LockedOrigin::signer`].
        Signer,
        /// [`LockedServer::server`].
        Server,
        /// One imported interface.
        Import,
        /// One file of a skill, with its digest.
        File,
        /// [`LockedTool::title`].
        Title,
        /// [`LockedTool::effect`].
        Effect,
        /// [`LockedTool::description`].
        Description,
        /// [`LockedTool::input_schema`].
        #[strum(serialize = "input schema")]
        InputSchema,
        /// [`LockedTool::output_schema`].
        #[strum(serialize = "output schema")]
        OutputSchema,
    }
}

/// The compared values of an entry: by the tool, if it is of one, the aspect, and the import, if it
/// is one.
type Facts = BTreeMap<(Option<String>, Aspect, String), String>;

impl Lock {
    /// Compares a component or server with the accepted state under this name.
    #[must_use]
    pub fn status(&self, name: &str, current: &LockEntry) -> LockStatus {
        let accepted = match current {
            LockEntry::Component(_) => self.tool.get(name).map(LockedComponent::facts),
            LockEntry::Server(_) => self.mcp.get(name).map(LockedServer::facts),
            LockEntry::Skill(_) => self.skill.get(name).map(LockedSkill::facts),
        };
        let Some(accepted) = accepted else {
            return LockStatus::New;
        };
        let changes = changes(&accepted, &current.facts());
        match changes.is_empty() {
            true => LockStatus::Same,
            false => LockStatus::Changed(changes),
        }
    }

    /// Returns all entries with their names: components, servers and skills.
    pub fn entries(&self) -> impl Iterator<Item = (&String, LockEntry)> {
        let components = self.tool.iter();
        let components = components.map(|(name, of)| (name, LockEntry::Component(of.clone())));
        let servers = self.mcp.iter();
        let servers = servers.map(|(name, of)| (name, LockEntry::Server(of.clone())));
        let skills = self.skill.iter();
        let skills = skills.map(|(name, of)| (name, LockEntry::Skill(of.clone())));
        components.chain(servers).chain(skills)
    }

    /// Pins the current state under this name.
    pub fn accept(&mut self, name: String, current: LockEntry) {
        match current {
            LockEntry::Component(current) => drop(self.tool.insert(name, current)),
            LockEntry::Server(current) => drop(self.mcp.insert(name, current)),
            LockEntry::Skill(current) => drop(self.skill.insert(name, current)),
        }
    }

    /// Removes what is pinned under this name.
    pub fn remove(&mut self, name: &str) {
        self.tool.remove(name);
        self.mcp.remove(name);
        self.skill.remove(name);
    }
}

impl LockEntry {
    fn facts(&self) -> Facts {
        match self {
            Self::Component(component) => component.facts(),
            Self::Server(server) => server.facts(),
            Self::Skill(skill) => skill.facts(),
        }
    }

    /// Names the kind of the entry, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Component(_) => "component",
            Self::Server(_) => "MCP server",
            Self::Skill(_) => "skill",
        }
    }
}

impl LockedSkill {
    /// Returns the digest of the skill: of its files' paths and digests, a line of `sha256sum`
    /// each.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let files = self.files.iter();
        let lines: String = files
            .map(|(path, of)| format!("{}  {path}\n", of.hex()))
            .collect();
        Digest::of(lines.as_bytes())
    }

    fn facts(&self) -> Facts {
        let description = (None, Aspect::Description, String::new());
        let files = self.files.iter().map(|(path, digest)| {
            let key = (None, Aspect::File, path.clone());
            (key, format!("{path}, {digest}"))
        });
        let description = (description, self.description.clone());
        files.chain([description]).collect()
    }
}

/// Returns the differences in the order of the facts.
fn changes(before: &Facts, after: &Facts) -> Vec<Change> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let different = keys
        .into_iter()
        .filter(|key| before.get(key) != after.get(key));
    let change = |key: &(Option<String>, Aspect, String)| Change {
        tool: key.0.clone(),
        aspect: key.1,
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    different.map(change).collect()
}

impl LockedComponent {
    /// Returns the state to pin.
    #[must_use]
    pub fn new(component: Digest, imports: &[String], definitions: &[ToolDefinition]) -> Self {
        Self {
            component,
            imports: imports.iter().cloned().collect(),
            registry: None,
            tools: locked_tools(definitions),
        }
    }

    /// Adds where it was pulled from.
    #[must_use]
    pub fn pulled_from(self, registry: Option<LockedOrigin>) -> Self {
        Self { registry, ..self }
    }

    fn facts(&self) -> Facts {
        let mut facts = tool_facts(&self.tools);
        let code = self.component.to_string();
        facts.insert((None, Aspect::Code, String::new()), code);
        if let Some(origin) = &self.registry {
            let signer = origin.signer.as_ref().map(Digest::to_string);
            let values = [
                (Aspect::Reference, Some(origin.reference.clone())),
                (Aspect::Manifest, Some(origin.manifest.to_string())),
                (Aspect::Signer, signer),
            ];
            for (aspect, value) in values {
                facts.extend(value.map(|value| ((None, aspect, String::new()), value)));
            }
        }
        for import in &self.imports {
            facts.insert((None, Aspect::Import, import.clone()), import.clone());
        }
        facts
    }
}

impl LockedServer {
    /// Returns the state to pin.
    #[must_use]
    pub fn new(server: String, definitions: &[ToolDefinition]) -> Self {
        Self {
            server,
            tools: locked_tools(definitions),
        }
    }

    fn facts(&self) -> Facts {
        let mut facts = tool_facts(&self.tools);
        let server = self.server.clone();
        facts.insert((None, Aspect::Server, String::new()), server);
        facts
    }
}

fn tool_facts(tools: &BTreeMap<String, LockedTool>) -> Facts {
    let mut facts = Facts::new();
    for (name, tool) in tools {
        let values = [
            (Aspect::Title, tool.title.as_deref()),
            (Aspect::Effect, Some(tool.effect.as_str())),
            (Aspect::Description, Some(&*tool.description)),
            (Aspect::InputSchema, Some(&*tool.input_schema)),
            (Aspect::OutputSchema, tool.output_schema.as_deref()),
        ];
        for (aspect, value) in values {
            let key = (Some(name.clone()), aspect, String::new());
            facts.extend(value.map(|value| (key, value.to_owned())));
        }
    }
    facts
}

fn locked_tools(definitions: &[ToolDefinition]) -> BTreeMap<String, LockedTool> {
    let tool = |definition: &ToolDefinition| (definition.name.clone(), definition.into());
    definitions.iter().map(tool).collect()
}

impl From<&ToolDefinition> for LockedTool {
    fn from(definition: &ToolDefinition) -> Self {
        Self {
            title: definition.title.clone(),
            effect: definition.effect,
            description: definition.description.clone(),
            input_schema: schema_text(&definition.input_schema),
            output_schema: definition.output_schema.as_ref().map(schema_text),
        }
    }
}

/// Returns the pinned form of a schema.
fn schema_text(schema: &Value) -> String {
    let text = format!("{schema:#}");
    if text.len() <= MAX_SCHEMA_TEXT_BYTES {
        return text;
    }
    format!(
        "{}, {} bytes, too long to keep here",
        json_digest(schema),
        text.len()
    )
}

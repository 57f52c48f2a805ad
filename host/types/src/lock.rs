//! `agent.lock`: what the operator accepted. Of a component it pins the code, the imports and the
//! definitions of its tools; of an MCP server the address or command line and the definitions of
//! its tools. A difference blocks the component or server until it is accepted. The app crate
//! reads, writes and shows the file.

#[cfg(test)]
mod tests;

use crate::{
    id::{Digest, json_digest},
    tool::{Effect, ToolDefinition},
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
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: LOCK_VERSION,
            tool: BTreeMap::new(),
            mcp: BTreeMap::new(),
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
    /// Its tools by name.
    pub tools: BTreeMap<String, LockedTool>,
}

/// The accepted state of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedServer {
    /// Its address, or its command line as a JSON array.
    pub server: String,
    /// Its tools by the names that the model uses.
    pub tools: BTreeMap<String, LockedTool>,
}

/// An entry of the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockEntry {
    /// A component.
    Component(LockedComponent),
    /// An MCP server.
    Server(LockedServer),
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

/// A part of a component, a server or a tool that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum Aspect {
    /// The digest of the component's bytes.
    Code,
    /// [`LockedServer::server`].
    Server,
    /// One imported interface.
    Import,
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

impl Aspect {
    /// Returns the name for display.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Returns a compared part of a tool.
type ToolField = fn(&LockedTool) -> Option<&str>;

const TOOL_ASPECTS: [(Aspect, ToolField); 5] = [
    (Aspect::Title, |tool| tool.title.as_deref()),
    (Aspect::Effect, |tool| Some(tool.effect.as_str())),
    (Aspect::Description, |tool| Some(&tool.description)),
    (Aspect::InputSchema, |tool| Some(&tool.input_schema)),
    (Aspect::OutputSchema, |tool| tool.output_schema.as_deref()),
];

impl Lock {
    /// Compares a component or server with the accepted state under this name.
    #[must_use]
    pub fn status(&self, name: &str, current: &LockEntry) -> LockStatus {
        let changes = match current {
            LockEntry::Component(current) => {
                self.tool.get(name).map(|before| before.changes(current))
            }
            LockEntry::Server(current) => self.mcp.get(name).map(|before| before.changes(current)),
        };
        match changes {
            None => LockStatus::New,
            Some(changes) if changes.is_empty() => LockStatus::Same,
            Some(changes) => LockStatus::Changed(changes),
        }
    }

    /// Returns all entries with their names, components before servers.
    pub fn entries(&self) -> impl Iterator<Item = (&String, LockEntry)> {
        let components = self.tool.iter();
        let components = components.map(|(name, of)| (name, LockEntry::Component(of.clone())));
        let servers = self.mcp.iter();
        components.chain(servers.map(|(name, of)| (name, LockEntry::Server(of.clone()))))
    }

    /// Pins the current state under this name.
    pub fn accept(&mut self, name: String, current: LockEntry) {
        match current {
            LockEntry::Component(current) => drop(self.tool.insert(name, current)),
            LockEntry::Server(current) => drop(self.mcp.insert(name, current)),
        }
    }

    /// Removes what is pinned under this name.
    pub fn remove(&mut self, name: &str) {
        self.tool.remove(name);
        self.mcp.remove(name);
    }
}

/// Collects differences.
#[derive(Default)]
struct Changes(Vec<Change>);

impl Changes {
    fn compare(
        &mut self,
        tool: Option<&str>,
        aspect: Aspect,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        if before != after {
            self.0.push(Change {
                tool: tool.map(str::to_owned),
                aspect,
                before: before.map(str::to_owned),
                after: after.map(str::to_owned),
            });
        }
    }

    fn compare_tools(
        &mut self,
        before: &BTreeMap<String, LockedTool>,
        after: &BTreeMap<String, LockedTool>,
    ) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (before, after) = (before.get(name), after.get(name));
            for (aspect, value) in TOOL_ASPECTS {
                let (before, after) = (before.and_then(value), after.and_then(value));
                self.compare(Some(name), aspect, before, after);
            }
        }
    }
}

impl LockedComponent {
    /// Returns the state to pin.
    #[must_use]
    pub fn new(component: Digest, imports: &[String], definitions: &[ToolDefinition]) -> Self {
        Self {
            component,
            imports: imports.iter().cloned().collect(),
            tools: locked_tools(definitions),
        }
    }

    /// Returns the differences; none exactly if the two are equal.
    fn changes(&self, current: &Self) -> Vec<Change> {
        let mut changes = Changes::default();
        let (before, after) = (self.component.to_string(), current.component.to_string());
        changes.compare(None, Aspect::Code, Some(&before), Some(&after));
        for import in self.imports.union(&current.imports) {
            let of = |side: &Self| side.imports.contains(import).then_some(import.as_str());
            changes.compare(None, Aspect::Import, of(self), of(current));
        }
        changes.compare_tools(&self.tools, &current.tools);
        changes.0
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

    /// Returns the differences; none exactly if the two are equal.
    fn changes(&self, current: &Self) -> Vec<Change> {
        let mut changes = Changes::default();
        changes.compare(
            None,
            Aspect::Server,
            Some(&self.server),
            Some(&current.server),
        );
        changes.compare_tools(&self.tools, &current.tools);
        changes.0
    }
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
        "{}, {} bytes, too long to be kept here",
        json_digest(schema),
        text.len()
    )
}

//! `agent.lock`: what the operator accepted of each component: its code, what it may ask for, and every word that it tells
//! the model about its tools; and of each MCP server: how it is reached, and the same of its tools. What differs is not run
//! until it is accepted anew, and is told change by change. Reading, writing and showing are the app's business.

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

/// The longest schema that is kept as text, in bytes: about a thousand lines, and nobody reads more in a review.
const MAX_SCHEMA_TEXT_BYTES: usize = 32 * 1024;

/// The content of `agent.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the form, [`LOCK_VERSION`].
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

/// What was accepted of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedComponent {
    /// The digest of the component's bytes.
    pub component: Digest,
    /// The interfaces that it imports: what it may ask for.
    pub imports: BTreeSet<String>,
    /// Its tools by their name.
    pub tools: BTreeMap<String, LockedTool>,
}

/// What was accepted of one MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedServer {
    /// How it is reached: its address, or its command line as a JSON array.
    pub server: String,
    /// Its tools by the name under which the model calls them.
    pub tools: BTreeMap<String, LockedTool>,
}

/// What is pinned under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// A component.
    Component(LockedComponent),
    /// An MCP server.
    Server(LockedServer),
}

/// What was accepted of one tool: everything that the model is told, and what a call may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedTool {
    /// Its short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a call may change, as the tool declares it.
    pub effect: Effect,
    /// What the model is told of it.
    pub description: String,
    /// The schema of its input, in the form in which a difference can be read: pretty-printed, keys sorted; a very long one
    /// as its digest.
    pub input_schema: String,
    /// The schema of its result in the same form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
}

/// How a component stands to what was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is exactly what was accepted.
    Same,
    /// It was never accepted.
    New,
    /// It differs in these places, at least one.
    Changed(Vec<Change>),
}

/// One difference between what was accepted and what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The tool; absent where it is the component itself that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What of it.
    pub aspect: Aspect,
    /// What was accepted; absent where there was nothing.
    pub before: Option<String>,
    /// What is there now; absent where there is nothing.
    pub after: Option<String>,
}

/// What can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
    InputSchema,
    /// [`LockedTool::output_schema`].
    OutputSchema,
}

impl Aspect {
    /// The name, for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Server => "server",
            Self::Import => "import",
            Self::Title => "title",
            Self::Effect => "effect",
            Self::Description => "description",
            Self::InputSchema => "input schema",
            Self::OutputSchema => "output schema",
        }
    }
}

/// What is compared of a tool, and where it is found.
type Part = (Aspect, fn(&LockedTool) -> Option<&str>);

const PARTS: [Part; 5] = [
    (Aspect::Title, |tool| tool.title.as_deref()),
    (Aspect::Effect, |tool| Some(tool.effect.as_str())),
    (Aspect::Description, |tool| Some(&tool.description)),
    (Aspect::InputSchema, |tool| Some(&tool.input_schema)),
    (Aspect::OutputSchema, |tool| tool.output_schema.as_deref()),
];

impl Lock {
    /// Compares what is there now with what was accepted under this name.
    #[must_use]
    pub fn standing(&self, name: &str, current: &Pin) -> Standing {
        let changes = match current {
            Pin::Component(current) => self.tool.get(name).map(|before| before.changes(current)),
            Pin::Server(current) => self.mcp.get(name).map(|before| before.changes(current)),
        };
        match changes {
            None => Standing::New,
            Some(changes) if changes.is_empty() => Standing::Same,
            Some(changes) => Standing::Changed(changes),
        }
    }

    /// What was accepted, by its names; a component before a server of the same name.
    pub fn pins(&self) -> impl Iterator<Item = (&String, Pin)> {
        let components = self.tool.iter();
        let components = components.map(|(name, of)| (name, Pin::Component(of.clone())));
        let servers = self.mcp.iter();
        components.chain(servers.map(|(name, of)| (name, Pin::Server(of.clone()))))
    }

    /// Takes over what is there now.
    pub fn accept(&mut self, name: String, current: Pin) {
        match current {
            Pin::Component(current) => drop(self.tool.insert(name, current)),
            Pin::Server(current) => drop(self.mcp.insert(name, current)),
        }
    }

    /// Forgets what was accepted under this name.
    pub fn forget(&mut self, name: &str) {
        self.tool.remove(name);
        self.mcp.remove(name);
    }
}

/// The differences that were found so far.
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
            for (aspect, part) in PARTS {
                let (before, after) = (before.and_then(part), after.and_then(part));
                self.compare(Some(name), aspect, before, after);
            }
        }
    }
}

impl LockedComponent {
    /// What is pinned of a component.
    #[must_use]
    pub fn new(component: Digest, imports: &[String], definitions: &[ToolDefinition]) -> Self {
        Self {
            component,
            imports: imports.iter().cloned().collect(),
            tools: locked_tools(definitions),
        }
    }

    /// What has changed since this was accepted: nothing exactly where the two are equal.
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
    /// What is pinned of a server.
    #[must_use]
    pub fn new(server: String, definitions: &[ToolDefinition]) -> Self {
        Self {
            server,
            tools: locked_tools(definitions),
        }
    }

    /// What has changed since this was accepted: nothing exactly where the two are equal.
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

/// A schema as it is pinned.
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

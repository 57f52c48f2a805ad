//! Collects the pages of `tools/list`, and selects and validates the offered tools.

use crate::{
    config::ServerConfig,
    features::{FeatureTool, Features},
    names::offered_name,
};
use agent_host_engine::{
    definitions::{Definitions, InputChecks, MAX_TOOLS, RawDefinition, ToolNote},
    text,
};
use agent_host_types::{reason::Reason, tool::Effect};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

pub(crate) const MAX_PAGES: usize = 64;

/// The maximum of tools per list. Fewer may be offered: as many as a component may define.
const MAX_LISTED: usize = 1024;

/// The maximum size of all pages of a list, in bytes of JSON.
const MAX_LISTED_BYTES: usize = 4 * 1024 * 1024;

/// The reason why a tool that requires a task is left out.
const TASK_ONLY: &str = "it runs only as a task, and agent-host does not run tasks yet";

/// A page of `tools/list`. Tools are deserialized one by one, so that an error names its tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Value>,
    next_cursor: Option<String>,
}

/// A listed tool; the other fields of the protocol are unused.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Value,
    output_schema: Option<Value>,
    execution: Option<Value>,
}

impl ListedTool {
    /// Whether it runs only as a task
    /// (<https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>).
    fn requires_task(&self) -> bool {
        let support = |execution: &Value| execution.get("taskSupport") == Some(&"required".into());
        self.execution.as_ref().is_some_and(support)
    }
}

#[derive(Default)]
pub(crate) struct ToolPages {
    tools: Vec<Value>,
    bytes: usize,
    pages: usize,
}

impl ToolPages {
    /// Adds a page and returns the cursor of the next one.
    ///
    /// # Errors
    /// The defect, as a fragment.
    pub(crate) fn take(&mut self, page: Value) -> Result<Option<String>, Reason> {
        self.bytes += page.to_string().len();
        self.pages += 1;
        if self.bytes > MAX_LISTED_BYTES {
            return Err(format!("its list of tools has more than {MAX_LISTED_BYTES} bytes").into());
        }
        let page: Page = serde_json::from_value(page).map_err(|error| {
            let error = text::sanitize(&error.to_string(), 200);
            format!("cannot read its list of tools: {error}")
        })?;
        self.tools.extend(page.tools);
        if self.tools.len() > MAX_LISTED {
            return Err(format!("it lists more than {MAX_LISTED} tools").into());
        }
        if page.next_cursor.is_some() && self.pages == MAX_PAGES {
            return Err(format!("its list of tools has more than {MAX_PAGES} pages").into());
        }
        Ok(page.next_cursor)
    }
}

pub(crate) struct ToolOffer {
    /// The definitions, under the names for models.
    pub(crate) definitions: Definitions,
    /// The server's own names, by the names for models, also of tools that are left out.
    pub(crate) own_names: HashMap<String, String>,
    /// The tools of this host for the resources and prompts, by the names for models.
    pub(crate) feature_tools: HashMap<String, FeatureTool>,
    pub(crate) features: Features,
    /// The tools that are left out, or offered in part.
    pub(crate) notes: Vec<ToolNote>,
}

impl ToolOffer {
    /// Selects and validates the configured tools, and adds those for resources and prompts.
    ///
    /// # Errors
    /// The tool and its defect, as a fragment.
    pub(crate) fn from_listing(
        config: &ServerConfig,
        listing: ToolPages,
        features: Features,
    ) -> Result<Self, Reason> {
        let mut raw = Vec::new();
        let mut notes = Vec::new();
        let mut own_names = HashMap::new();
        for tool in listing.tools {
            let name = tool.get("name").and_then(Value::as_str);
            let name = name.unwrap_or_default().to_owned();
            let name = name.as_str();
            if !config
                .tools
                .as_ref()
                .is_none_or(|tools| tools.contains(name))
            {
                continue;
            }
            let shown = text::sanitize(name, 80);
            let offered_as = offered_name(&config.name, name);
            // The first of two tools of one name is offered.
            own_names
                .entry(offered_as)
                .or_insert_with(|| name.to_owned());
            match serde_json::from_value::<ListedTool>(tool) {
                Ok(listed) if listed.requires_task() => {
                    notes.push(ToolNote::left_out(&shown, &TASK_ONLY));
                }
                Ok(listed) => raw.push(offered(config, &listed)),
                Err(error) => {
                    let why = text::sanitize(&error.to_string(), 200);
                    notes.push(ToolNote::left_out(&shown, &why));
                }
            }
        }
        let mut feature_tools = HashMap::new();
        let mut feature_definitions = Vec::new();
        for (tool, is_offered) in FeatureTool::for_features(config, features) {
            let name = offered_name(&config.name, tool.own_name());
            // A tool of the server with this name is the server's.
            if own_names.contains_key(&name) {
                continue;
            }
            own_names.insert(name.clone(), tool.own_name().to_owned());
            if is_offered {
                feature_definitions.push(tool.definition(config));
                feature_tools.insert(name, tool);
            }
        }
        check_names(config, &own_names)?;
        if let (true, Some(note)) = (raw.is_empty(), notes.first()) {
            return Err(note.to_string().into());
        }
        // A server with as many tools as there may be keeps its own.
        if raw.len() + feature_definitions.len() <= MAX_TOOLS {
            raw.extend(feature_definitions);
        }
        let selected = Definitions::select(raw, InputChecks::Source);
        let (definitions, more) = selected.map_err(|error| error.to_string())?;
        notes.extend(more);
        Ok(Self {
            definitions,
            own_names,
            feature_tools,
            features,
            notes,
        })
    }
}

/// Checks that the server has each tool that its settings name.
fn check_names(config: &ServerConfig, own_names: &HashMap<String, String>) -> Result<(), Reason> {
    let own: BTreeSet<&str> = own_names.values().map(String::as_str).collect();
    for (setting, wanted) in [
        ("tools", config.tools.as_ref()),
        ("read-only", Some(&config.read_only)),
    ] {
        let mut wanted = wanted.into_iter().flatten();
        if let Some(missing) = wanted.find(|name| !own.contains(name.as_str())) {
            let own: Vec<String> = own.iter().map(|name| text::sanitize(name, 80)).collect();
            return Err(Reason::from(format!(
                "`{setting}` names `{}`, which is not a tool of the server; its tools are {}",
                text::sanitize(missing, 80),
                text::sanitize(&own.join(", "), 2_000)
            )));
        }
    }
    Ok(())
}

fn offered(config: &ServerConfig, listed: &ListedTool) -> RawDefinition {
    let effect = if config.read_only.contains(&listed.name) {
        Effect::ReadOnly
    } else {
        Effect::Effectful
    };
    RawDefinition {
        title: listed.title.clone(),
        ..RawDefinition::new(
            offered_name(&config.name, &listed.name),
            listed.description.clone().unwrap_or_default(),
            &listed.input_schema,
            listed.output_schema.as_ref(),
            effect,
        )
    }
}

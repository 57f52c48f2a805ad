//! What a server says of its tools, page by page, and what is offered of that under which names.

use crate::{config::ServerConfig, names::offered_name};
use agent_host_engine::{
    definitions::{Definitions, RawDefinition},
    text,
};
use agent_host_types::tool::Effect;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The pages of one list.
pub(crate) const MAX_PAGES: usize = 64;

/// The tools of one list. Only as many as a component may have are offered.
const MAX_LISTED: usize = 1024;

/// All pages of one list, in bytes of JSON text.
const MAX_LISTED_BYTES: usize = 4 * 1024 * 1024;

/// A page of `tools/list`. What a tool is is looked at one by one, so that what is wrong with one can be told by its name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Value>,
    next_cursor: Option<String>,
}

/// What a tool says of itself; the other fields of the protocol are for nobody here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Value,
    output_schema: Option<Value>,
}

/// The pages of a list that were read so far.
#[derive(Default)]
pub(crate) struct Listing {
    tools: Vec<Value>,
    bytes: usize,
    pages: usize,
}

impl Listing {
    /// Takes the next page, and says with which cursor the one after it is asked for.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub(crate) fn take(&mut self, page: Value) -> Result<Option<String>, String> {
        self.bytes += page.to_string().len();
        self.pages += 1;
        if self.bytes > MAX_LISTED_BYTES {
            return Err(format!(
                "its list of tools has more than {MAX_LISTED_BYTES} bytes"
            ));
        }
        let page: Page = serde_json::from_value(page).map_err(|error| {
            let error = text::sanitize(&error.to_string(), 200);
            format!("its list of tools cannot be read: {error}")
        })?;
        self.tools.extend(page.tools);
        if self.tools.len() > MAX_LISTED {
            return Err(format!("it lists more than {MAX_LISTED} tools"));
        }
        if page.next_cursor.is_some() && self.pages == MAX_PAGES {
            return Err(format!("its list of tools has more than {MAX_PAGES} pages"));
        }
        Ok(page.next_cursor)
    }
}

/// The tools of a server that are offered.
pub(crate) struct Offer {
    /// Under the names that models call.
    pub(crate) definitions: Definitions,
    /// From those names to the server's own.
    pub(crate) own_names: HashMap<String, String>,
}

impl Offer {
    /// Chooses and checks the tools that the configuration wants.
    ///
    /// # Errors
    /// The tool and what is wrong with it, as a fragment.
    pub(crate) fn of(config: &ServerConfig, listing: Listing) -> Result<Self, String> {
        let mut raw = Vec::new();
        let mut own_names = HashMap::new();
        for tool in listing.tools {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            if !config
                .tools
                .as_ref()
                .is_none_or(|tools| tools.contains(name))
            {
                continue;
            }
            let shown = text::sanitize(name, 80);
            let listed: Listed = serde_json::from_value(tool).map_err(|error| {
                let error = text::sanitize(&error.to_string(), 200);
                format!("tool `{shown}`: {error}")
            })?;
            let definition = offered(config, &listed);
            own_names.insert(definition.name.clone(), listed.name);
            raw.push(definition);
        }
        let own: BTreeSet<&str> = own_names.values().map(String::as_str).collect();
        for (setting, wanted) in [
            ("tools", config.tools.as_ref()),
            ("read-only", Some(&config.read_only)),
        ] {
            let mut wanted = wanted.into_iter().flatten();
            if let Some(missing) = wanted.find(|name| !own.contains(name.as_str())) {
                let own: Vec<String> = own.iter().map(|name| text::sanitize(name, 80)).collect();
                return Err(format!(
                    "`{setting}` names `{}`, and the server has no such tool; it has {}",
                    text::sanitize(missing, 80),
                    text::sanitize(&own.join(", "), 2_000)
                ));
            }
        }
        Ok(Self {
            definitions: Definitions::check(raw).map_err(|error| error.to_string())?,
            own_names,
        })
    }
}

fn offered(config: &ServerConfig, listed: &Listed) -> RawDefinition {
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

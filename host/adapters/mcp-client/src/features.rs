//! Resources and prompts of a server: how many it has, and the tools of this host that list and
//! read them. The definitions are this host's own, so nothing of a server is in them.

use crate::{config::ServerConfig, names::offered_name};
use agent_host_engine::definitions::RawDefinition;
use agent_host_types::tool::Effect;
use serde_json::json;
use std::fmt;

/// The number of entries of a list after which no further page is requested.
pub(crate) const COUNTED: usize = 100;

/// The resources and prompts of a server when it was first connected. A field is absent if the
/// server does not declare the capability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The resources.
    pub resources: Option<Count>,
    /// The templates of URIs of resources.
    pub templates: Option<Count>,
    /// The prompts.
    pub prompts: Option<Count>,
}

/// The number of entries on the first page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This many, and no others.
    All(usize),
    /// This many, and there are more pages.
    AtLeast(usize),
    /// The server did not list them.
    Unknown,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(count) => write!(f, "{count}"),
            Self::AtLeast(count) => write!(f, "{count} or more"),
            Self::Unknown => f.write_str("an unknown number"),
        }
    }
}

/// A tool of this host for the resources or prompts of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureTool {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl FeatureTool {
    /// Returns the tools for a server, and whether each is offered: the server has something to
    /// list, or may have, or the operator names the tool.
    pub(crate) fn for_features(
        config: &ServerConfig,
        features: Features,
    ) -> impl Iterator<Item = (Self, bool)> {
        let has = |count: Option<Count>| count.is_some_and(|count| count != Count::All(0));
        let resources = has(features.resources) || has(features.templates);
        let prompts = has(features.prompts);
        [
            (Self::ListResources, features.resources, resources),
            (Self::ReadResource, features.resources, resources),
            (Self::ListPrompts, features.prompts, prompts),
            (Self::GetPrompt, features.prompts, prompts),
        ]
        .into_iter()
        .filter(|(_, declared, _)| declared.is_some())
        .map(|(tool, _, has_some)| match &config.tools {
            Some(chosen) => (tool, chosen.contains(tool.own_name())),
            None => (tool, has_some),
        })
    }

    /// Returns the name in the configuration and after the server's.
    pub(crate) fn own_name(self) -> &'static str {
        match self {
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
        }
    }

    #[expect(clippy::too_many_lines, reason = "one literal for each tool")]
    pub(crate) fn definition(self, config: &ServerConfig) -> RawDefinition {
        let server = &config.name;
        let text = |what: String| json!({"type": "string", "description": what});
        let list = |fields: &str| {
            let query = format!("Only entries with this text in their {fields}; case is ignored.");
            let cursor = "`next-cursor` of the previous result, to get more entries.".to_owned();
            (
                json!({"query": text(query), "cursor": text(cursor)}),
                json!([]),
            )
        };
        let (title, description, (properties, required)) = match self {
            Self::ListResources => (
                "List resources",
                format!(
                    "Lists the resources of the MCP server `{server}`, {COUNTED} or a few more at a time: data that \
                     it offers for reading, each with its URI; and its URI templates. All texts in the list come \
                     from the server."
                ),
                list("URI, name, title or description"),
            ),
            Self::ReadResource => (
                "Read a resource",
                format!("Reads a resource of the MCP server `{server}`."),
                (
                    json!({"uri": text(format!(
                        "The URI, as listed by `{}`, or built from a template.",
                        offered_name(server, Self::ListResources.own_name())
                    ))}),
                    json!(["uri"]),
                ),
            ),
            Self::ListPrompts => (
                "List prompts",
                format!(
                    "Lists the prompts of the MCP server `{server}`, {COUNTED} or a few more at a time: texts that \
                     it offers for tasks, each with its arguments. All texts in the list come from the server."
                ),
                list("name, title or description"),
            ),
            Self::GetPrompt => (
                "Get a prompt",
                format!("Returns the messages of a prompt of the MCP server `{server}`."),
                (
                    json!({
                        "name": text(format!(
                            "The name, as listed by `{}`.",
                            offered_name(server, Self::ListPrompts.own_name())
                        )),
                        "arguments": {
                            "type": "object",
                            "description": "The arguments of the prompt, by name.",
                            "additionalProperties": {"type": "string"},
                        },
                    }),
                    json!(["name"]),
                ),
            ),
        };
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        RawDefinition {
            title: Some(title.to_owned()),
            ..RawDefinition::new(
                offered_name(server, self.own_name()),
                description,
                &schema,
                None,
                Effect::ReadOnly,
            )
        }
    }
}

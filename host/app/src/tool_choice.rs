//! Checks `tool-choice`: a tool that a model has to call is one that it is offered.

use crate::config::{ConfigError, ModelConfig, ModelsConfig, advice};
use agent_host_engine::{
    artifact::READ_ARTIFACT, text, tool_search::SEARCH_TOOL, tool_set::ToolSet,
};
use agent_host_models::ToolChoice;
use std::collections::BTreeSet;

/// The maximum of bytes shown of the names of all tools.
const NAMES_BYTES: usize = 1_000;

/// Checks the settings of the models that may be asked.
///
/// # Errors
/// One has to call a tool that is absent, or offered only after a search. The provider would refuse
/// the first request.
pub(crate) fn check(models: &ModelsConfig, tools: &ToolSet) -> Result<(), ConfigError> {
    let known = tools.tools().map(|tool| tool.definition.name.as_str());
    // It is not offered before the session has an artifact.
    let known: Vec<&str> = known.filter(|name| *name != READ_ARTIFACT).collect();
    for model in models.all().chain(&models.choices) {
        let ModelConfig::Served { settings, .. } = model else {
            continue;
        };
        let Some(ToolChoice::Tool(name)) = &settings.tool_choice else {
            continue;
        };
        let (why, fix) = if known.is_empty() {
            ("but it has no tools", "remove it".to_owned())
        } else if !known.contains(&name.as_str()) {
            let fix = advice(name, &known, "its tools are");
            ("which is not one of its tools", fix)
        } else if !tools.is_offered(name, &BTreeSet::new()) {
            let fix =
                format!("set `search-tools-from = 0` to offer all tools without `{SEARCH_TOOL}`");
            ("which the model can call only after searching for it", fix)
        } else {
            continue;
        };
        let reason = format!(
            "`tool-choice` makes the model `{}` call `{}`, {why}",
            model.to_string().escape_debug(),
            name.escape_debug()
        );
        return Err(ConfigError::new(
            "",
            reason,
            text::sanitize(&fix, NAMES_BYTES),
        ));
    }
    Ok(())
}

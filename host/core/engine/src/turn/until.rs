//! Runs that must end through a tool, whose result is the answer.

use super::Agent;
use agent_host_types::{message::ToolResult, turn::TurnError};
use serde::{Deserialize, Serialize};

/// The tools that end a run: a call of any of them does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UntilTool {
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The call that ends the run.
    pub end: UntilEnd,
}

/// The call of a tool that ends the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UntilEnd {
    /// The first successful call.
    #[default]
    FirstSuccess,
    /// The first call with a result, also a failed one.
    AnyCall,
}

impl UntilTool {
    /// Returns the result that ends the run, if the batch has one.
    pub(super) fn ended_by<'a>(&self, results: &'a [ToolResult]) -> Option<&'a ToolResult> {
        results.iter().find(|result| {
            self.tools.contains(&result.name)
                && match self.end {
                    UntilEnd::FirstSuccess => result.output.is_success(),
                    UntilEnd::AnyCall => true,
                }
        })
    }
}

impl Agent {
    /// Refuses a run that cannot end because a tool is missing.
    pub(super) fn check_until_tool(&self) -> Result<(), TurnError> {
        let Some(until) = &self.settings.until_tool else {
            return Ok(());
        };
        let missing = until.tools.iter().find(|name| self.tool(name).is_none());
        let message = match (missing, until.tools.is_empty()) {
            (None, false) => return Ok(()),
            (None, true) => {
                "the run should end through a tool, but none is named; list one in `until-tool`"
                    .to_owned()
            }
            (Some(name), _) => format!(
                "the run should end through `{}`, which does not exist; correct `until-tool`, or add the tool",
                name.escape_debug()
            ),
        };
        Err(TurnError::Input { message })
    }
}

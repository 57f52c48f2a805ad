//! Runs that have to end through a tool: the answer is that tool's result.

use super::Agent;
use agent_host_types::{message::ToolResult, turn::TurnError};

/// The tools of which one ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntilTool {
    /// Their names.
    pub tools: Vec<String>,
    /// Which of their calls ends it.
    pub end: UntilEnd,
}

/// Which call of a tool ends the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UntilEnd {
    /// The first that succeeds.
    #[default]
    FirstSuccess,
    /// The first that is answered, however it ended.
    AnyCall,
}

impl UntilTool {
    /// The result of a batch that ends the run.
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
    /// Refuses a run that could never end: none of its tools may be missing.
    pub(super) fn check_until_tool(&self) -> Result<(), TurnError> {
        let Some(until) = &self.settings.until_tool else {
            return Ok(());
        };
        let missing = until.tools.iter().find(|name| self.tool(name).is_none());
        let message = match (missing, until.tools.is_empty()) {
            (None, false) => return Ok(()),
            (None, true) => {
                "the run is to end through a tool and none is named; name one in `until-tool`"
                    .to_owned()
            }
            (Some(name), _) => format!(
                "the run is to end through `{}`, and there is no such tool; correct `until-tool`, or add the tool",
                name.escape_debug()
            ),
        };
        Err(TurnError::Input { message })
    }
}

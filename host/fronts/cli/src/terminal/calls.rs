//! Calls in words: the line of one that ended, and those that run at once in one message.

use super::{DIM, micros, one_line, outcome_style};
use agent_host_engine::call_summary::CallSummary;
use agent_host_types::{id::CallId, output::ToolResultOutput};

/// The least duration that is shown behind a call, in microseconds.
const SHOWN_DURATION_US: u64 = 1_000_000;

/// The maximum length of a running call in a message, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// Formats a call that ended: mark, words, the name of a tool that is not the host's, and a
/// duration that the user noticed.
pub(crate) fn call_line(
    told: &CallSummary,
    output: &ToolResultOutput,
    wall_us: Option<u64>,
) -> String {
    let (style, mark) = outcome_style(output);
    let tool = told.tool.as_ref();
    let tool = tool.map_or_else(String::new, |tool| format!("  {DIM}({tool}){DIM:#}"));
    let duration = match wall_us {
        Some(wall_us) if wall_us >= SHOWN_DURATION_US => {
            format!("  {DIM}{}{DIM:#}", micros(wall_us))
        }
        _ => String::new(),
    };
    format!("{style}{mark}{style:#} {}{tool}{duration}", told.words)
}

/// The calls that run at once.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Vec<(CallId, String)>);

impl RunningCalls {
    /// Adds a call that starts.
    pub(super) fn start(&mut self, call_id: &CallId, words: &str) {
        self.end(call_id);
        let words = one_line(words, SHOWN_CHARACTERS);
        self.0.push((call_id.clone(), words));
    }

    /// Removes a call that ended.
    pub(super) fn end(&mut self, call_id: &CallId) {
        self.0.retain(|(running, _)| running != call_id);
    }

    /// Returns the message about all of them; `None` if none runs.
    pub(super) fn message(&self) -> Option<String> {
        match self.0.as_slice() {
            [] => None,
            [(_, words)] => Some(words.clone()),
            several => {
                let words: Vec<&str> = several.iter().map(|(_, words)| words.as_str()).collect();
                Some(format!("{} calls: {}", several.len(), words.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallId, RunningCalls};
    use pretty_assertions::assert_eq;

    #[test]
    fn running_calls_are_one_message() {
        let (one, two) = (CallId("1".to_owned()), CallId("2".to_owned()));
        let mut running = RunningCalls::default();
        assert_eq!(running.message(), None);
        running.start(&one, "read_file a.txt");
        assert_eq!(running.message().unwrap(), "read_file a.txt");
        running.start(&two, "read_file b.txt");
        assert_eq!(
            running.message().unwrap(),
            "2 calls: read_file a.txt, read_file b.txt"
        );
        running.end(&one);
        running.end(&one);
        assert_eq!(running.message().unwrap(), "read_file b.txt");
    }
}

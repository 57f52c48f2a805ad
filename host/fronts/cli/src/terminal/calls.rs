//! Calls in words: the line of one that ended, and those that run at once in one message, above the
//! last lines that they told.

use super::{DIM, Size, fitted, micros, one_line, outcome_style};
use agent_host_engine::call_summary::CallSummary;
use agent_host_types::{id::CallId, output::ToolResultOutput};
use std::collections::VecDeque;

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

/// The maximum number of lines of a running call that are shown.
const LAST_LINES: usize = 3;

/// The maximum length of a line of a running call, in characters.
const MAX_LINE: usize = 500;

/// The calls that run at once.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Vec<RunningCall>);

/// A call that runs.
#[derive(Debug)]
struct RunningCall {
    id: CallId,
    words: String,
    /// The fraction that is done, in percent.
    percent: Option<u8>,
    /// The last lines that it told.
    lines: VecDeque<String>,
}

impl RunningCall {
    fn message(&self) -> String {
        match self.percent {
            Some(percent) => format!("{} {percent} %", self.words),
            None => self.words.clone(),
        }
    }
}

impl RunningCalls {
    /// Adds a call that starts.
    pub(super) fn start(&mut self, call_id: &CallId, words: &str) {
        self.end(call_id);
        self.0.push(RunningCall {
            id: call_id.clone(),
            words: one_line(words, SHOWN_CHARACTERS),
            percent: None,
            lines: VecDeque::new(),
        });
    }

    /// Adds a call unless it runs already.
    pub(super) fn find_or_start(&mut self, call_id: &CallId, words: &str) {
        if !self.0.iter().any(|call| call.id == *call_id) {
            self.start(call_id, words);
        }
    }

    /// Takes the progress of a call: the lines of its message, and the fraction that is done.
    pub(super) fn progress(&mut self, call_id: &CallId, message: &str, fraction: Option<f64>) {
        let Some(call) = self.0.iter_mut().find(|call| call.id == *call_id) else {
            return;
        };
        // A fraction that a tool made up, such as NaN, is 0.
        call.percent = fraction.map(|part| (part.clamp(0.0, 1.0) * 100.0).round() as u8);
        self.lines(call_id, message);
    }

    /// Takes lines that a call told or printed.
    pub(super) fn lines(&mut self, call_id: &CallId, text: &str) {
        let Some(call) = self.0.iter_mut().find(|call| call.id == *call_id) else {
            return;
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        for line in lines {
            let line = one_line(line, MAX_LINE);
            if call.lines.back() != Some(&line) {
                call.lines.push_back(line);
            }
            call.lines
                .drain(..call.lines.len().saturating_sub(LAST_LINES));
        }
    }

    /// Removes a call that ended.
    pub(super) fn end(&mut self, call_id: &CallId) {
        self.0.retain(|call| call.id != *call_id);
    }

    /// Returns the message about all of them; `None` if none runs.
    pub(super) fn message(&self) -> Option<String> {
        match self.0.as_slice() {
            [] => None,
            [call] => Some(call.message()),
            several => {
                let words: Vec<String> = several.iter().map(RunningCall::message).collect();
                Some(format!("{} calls: {}", several.len(), words.join(", ")))
            }
        }
    }

    /// Returns the last lines of each call below the words of each, or below the message of a single
    /// one: at most half the height of a terminal, and no wider than it.
    pub(super) fn last_lines(&self, size: Size) -> String {
        let telling = self.0.iter().filter(|call| !call.lines.is_empty());
        let has_words = self.0.len() > 1;
        let most = size.rows / 2 / telling.clone().count().max(1);
        let most = most.saturating_sub(usize::from(has_words)).min(LAST_LINES);
        if most == 0 {
            return String::new();
        }
        let mut out = String::new();
        for call in telling {
            let words = has_words.then_some(("  ", &call.words));
            let above = call.lines.len().saturating_sub(most);
            let indent = if has_words { "    " } else { "  " };
            let lines = call.lines.iter().skip(above).map(|line| (indent, line));
            for (indent, line) in words.into_iter().chain(lines) {
                let line = format!("{indent}{line}");
                let line = fitted(&line, size.columns.saturating_sub(1));
                out.push_str(&format!("\n{DIM}{}{DIM:#}", line.trim_end()));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{CallId, DIM, RunningCalls, Size};
    use pretty_assertions::assert_eq;

    #[test]
    fn running_calls_are_one_message() {
        let (one, two) = (CallId("1".to_owned()), CallId("2".to_owned()));
        let mut running = RunningCalls::default();
        assert_eq!(running.message(), None);
        running.start(&one, "read_file a.txt");
        assert_eq!(running.message().unwrap(), "read_file a.txt");
        running.start(&two, "read_file b.txt");
        running.progress(&two, "", Some(0.505));
        assert_eq!(
            running.message().unwrap(),
            "2 calls: read_file a.txt, read_file b.txt 51 %"
        );
        running.end(&one);
        running.end(&one);
        running.progress(&one, "late", Some(1.0));
        running.progress(&two, "", Some(f64::NAN));
        assert_eq!(running.message().unwrap(), "read_file b.txt 0 %");
    }

    fn shown(running: &RunningCalls, columns: usize, rows: usize) -> Vec<String> {
        let lines = running.last_lines(Size { columns, rows });
        let lines = lines.split('\n').skip(1);
        let (begin, end) = (format!("{DIM}"), format!("{DIM:#}"));
        let text = |line: &str| {
            let line = line.strip_prefix(&begin).unwrap();
            line.strip_suffix(&end).unwrap().to_owned()
        };
        lines.map(text).collect()
    }

    /// Three lines of a call, escaped and cut, of which a repeated one is one.
    #[test]
    fn last_lines_of_one_call_fit_the_terminal() {
        let call = CallId("1".to_owned());
        let mut running = RunningCalls::default();
        assert_eq!(
            running.last_lines(Size {
                columns: 80,
                rows: 24
            }),
            ""
        );
        running.start(&call, "build");
        assert_eq!(
            running.last_lines(Size {
                columns: 80,
                rows: 24
            }),
            ""
        );
        running.progress(&call, "one\n\n two\r\nthree\n", None);
        running.progress(&call, "three", Some(0.5));
        assert_eq!(shown(&running, 80, 24), ["  one", "   two", "  three"]);
        running.progress(&call, "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}", None);
        running.progress(&call, &"日".repeat(10_000), None);
        assert_eq!(
            shown(&running, 21, 24),
            ["  three", "  \\u{1b}[2J\\u{1b}]0…", "  日日日日日日日日…"]
        );
        assert_eq!(shown(&running, 21, 3), ["  日日日日日日日日…"]);
        assert_eq!(shown(&running, 21, 1), [""; 0]);
        running.end(&call);
        assert_eq!(shown(&running, 80, 24), [""; 0]);
    }

    #[test]
    fn last_lines_of_several_calls_share_the_height() {
        let mut running = RunningCalls::default();
        for number in 1..=4 {
            let call = CallId(number.to_string());
            running.start(&call, &format!("call {number}"));
            if number != 2 {
                running.progress(&call, &format!("a{number}\nb{number}\nc{number}"), None);
            }
        }
        let expected = [
            "  call 1", "    b1", "    c1", "  call 3", "    b3", "    c3", "  call 4", "    b4",
            "    c4",
        ];
        assert_eq!(shown(&running, 80, 18), expected);
        assert_eq!(shown(&running, 80, 24).len(), 12);
        assert_eq!(shown(&running, 80, 8), [""; 0]);
    }
}

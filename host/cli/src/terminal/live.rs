//! The live view of a turn, for users.

use super::{
    BOLD, DIM, Terminal, YELLOW, escape, escape_line, micros, one_line, outcome_style, size_change,
    summary, tool_name,
};
use crate::args::OutputFormat;
use agent_host_engine::{
    model::ModelDelta,
    observer::{Live, Observer},
};
use agent_host_types::{event::EventRecord, id::CallId, output::ToolResultOutput};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Handle;

/// The maximum length of a call's arguments and of its result on a line, in characters.
const SHOWN_CHARACTERS: usize = 100;

/// The indentation of an agent's steps below those of the one that started it.
const INDENT: &str = "  ";

/// The interval between frames of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// The spinner while work is under way; it owns its line of the terminal, of which there is one.
static SPINNER: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// True while a question is asked during work.
static IS_PAUSED: AtomicBool = AtomicBool::new(false);

/// Removes the spinner, and shows none until the value is dropped.
pub(super) fn pause_spinner() -> SpinnerPause {
    IS_PAUSED.store(true, Ordering::Relaxed);
    stop_spinner();
    SpinnerPause
}

/// The time without a spinner.
pub(super) struct SpinnerPause;

impl Drop for SpinnerPause {
    fn drop(&mut self) {
        IS_PAUSED.store(false, Ordering::Relaxed);
    }
}

fn spinner() -> MutexGuard<'static, Option<ProgressBar>> {
    SPINNER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stop_spinner() {
    if let Some(spinner) = spinner().take() {
        spinner.finish_and_clear();
    }
}

/// Shows a turn as it happens: steps on stderr, text on a terminal's stdout.
#[derive(Debug)]
pub(crate) struct LiveView {
    terminal: Terminal,
    format: OutputFormat,
    quiet: bool,
    /// True while the last text on stdout has no line break after it.
    line_open: AtomicBool,
    /// The calls that started the agent which is watched; none for the one that the user talks to.
    path: Vec<CallId>,
    /// True if the calls are nodes of a workflow, which are shown by their names.
    has_nodes: bool,
}

impl LiveView {
    pub(crate) fn new(terminal: Terminal, format: OutputFormat, quiet: bool) -> Self {
        Self {
            terminal,
            format,
            quiet,
            line_open: AtomicBool::new(false),
            path: Vec::new(),
            has_nodes: false,
        }
    }

    /// Shows calls as nodes of a workflow.
    pub(crate) fn with_nodes(self) -> Self {
        Self {
            has_nodes: true,
            ..self
        }
    }

    /// Returns what stands before a line about a call.
    fn node(&self, call_id: &CallId) -> String {
        match self.has_nodes {
            true => format!("{BOLD}{}{BOLD:#} ", escape_line(&call_id.0)),
            false => String::new(),
        }
    }

    /// True if the answer is streamed and must not be printed again at the end. That of a workflow is
    /// what its last nodes returned, and the texts of its agents are not.
    pub(crate) fn streams_text(&self) -> bool {
        let is_answer = self.path.is_empty() && !self.has_nodes;
        self.format == OutputFormat::Text && self.terminal.stdout && is_answer
    }

    /// Removes the spinner and ends an open line.
    pub(crate) fn end_output(&self) {
        stop_spinner();
        if self.line_open.swap(false, Ordering::Relaxed) {
            self.terminal.println("");
        }
    }

    /// Shows or updates the spinner, where stderr is a terminal.
    fn show_spinner(&self, message: String) {
        if !self.terminal.stderr || self.quiet || self.line_open.load(Ordering::Relaxed) {
            return;
        }
        let mut spinner = spinner();
        // Looked at under the lock, so that a pause that begins now ends the spinner.
        if IS_PAUSED.load(Ordering::Relaxed) {
            return;
        }
        match spinner.as_ref() {
            Some(spinner) => spinner.set_message(message),
            None => *spinner = Some(new_spinner(message)),
        }
    }

    fn step(&self, line: &str) {
        if self.quiet {
            return;
        }
        let line = format!("{}{line}", INDENT.repeat(self.path.len()));
        match spinner().as_ref() {
            Some(spinner) => spinner.suspend(|| self.terminal.note(&line)),
            None => self.terminal.note(&line),
        }
    }

    fn text(&self, text: &str) {
        if self.streams_text() {
            stop_spinner();
            self.terminal.print(&escape(text));
            self.line_open
                .store(!text.ends_with('\n'), Ordering::Relaxed);
        }
    }
}

impl Observer for LiveView {
    fn child<'a>(&'a self, call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        self.end_output();
        self.step(&match self.has_nodes {
            true => format!(
                "{}{DIM}{} begins{DIM:#}",
                self.node(call_id),
                tool_name(agent)
            ),
            false => format!("{DIM}the agent {} works{DIM:#}", escape_line(agent)),
        });
        let mut path = self.path.clone();
        path.push(call_id.clone());
        Some(Box::new(Self {
            path,
            ..Self::new(self.terminal, self.format, self.quiet)
        }))
    }

    fn recorded(&self, _record: &EventRecord) {}

    fn live(&self, live: Live<'_>) {
        match live {
            Live::ModelAsked => self.show_spinner("thinking".to_owned()),
            Live::Delta(ModelDelta::Reasoning(_)) => self.show_spinner("reasoning".to_owned()),
            Live::Delta(ModelDelta::Text(text)) => self.text(text),
            Live::Delta(ModelDelta::Restarted) => {
                self.end_output();
                self.step(&format!(
                    "{DIM}the model's answer broke off; it is asked again{DIM:#}"
                ));
            }
            Live::ResultsReferenced { count, size } => self.step(&format!(
                "{DIM}the conversation nears the end of the model's window: {count} old {} in the journal alone now \
                 ({}){DIM:#}",
                if count == 1 { "result is" } else { "results are" },
                size_change(size)
            )),
            Live::HistorySummarised { messages, size } => self.step(&format!(
                "{DIM}the conversation nears the end of the model's window: a summary stands for its first {messages} messages \
                 now ({}){DIM:#}",
                size_change(size)
            )),
            Live::Delta(ModelDelta::Note(text)) => {
                self.end_output();
                self.step(&format!("{YELLOW}note{YELLOW:#} {}", escape_line(text)));
            }
            Live::CallStarted { call_id, tool, .. } => {
                self.end_output();
                let node = match self.has_nodes {
                    true => format!("{}: ", escape_line(&call_id.0)),
                    false => String::new(),
                };
                self.show_spinner(format!("{node}{}", tool_name(tool)));
            }
            Live::CallProgress {
                message, fraction, ..
            } => {
                let percent = fraction
                    .map(|part| format!(" {:.0} %", part.clamp(0.0, 1.0) * 100.0))
                    .unwrap_or_default();
                self.show_spinner(format!("{}{percent}", one_line(message, SHOWN_CHARACTERS)));
            }
            Live::CallEnded {
                call_id,
                tool,
                input,
                output,
                wall_us,
            } => {
                self.end_output();
                let line = call_line(tool, input, output, wall_us);
                self.step(&format!("{}{line}", self.node(call_id)));
            }
        }
    }
}

fn new_spinner(message: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_message(message);
    // indicatif's own ticker is a thread, and panics if the system refuses one.
    let shown = spinner.downgrade();
    let clock = async move {
        let mut clock = tokio::time::interval(TICK);
        while let Some(spinner) = shown.upgrade().filter(|spinner| !spinner.is_finished()) {
            spinner.tick();
            drop(spinner);
            clock.tick().await;
        }
    };
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(clock);
    }
    spinner
}

/// Formats a call on a line: tool, arguments, result and duration.
fn call_line(
    tool: &str,
    input: Option<&Map<String, Value>>,
    output: &ToolResultOutput,
    wall_us: u64,
) -> String {
    let (style, mark) = outcome_style(output);
    let input = input
        .filter(|input| !input.is_empty())
        .map(|input| json!(input).to_string())
        .unwrap_or_default();
    format!(
        "{style}{mark}{style:#} {} {DIM}{}{DIM:#} → {} {DIM}{}{DIM:#}",
        tool_name(tool),
        one_line(&input, SHOWN_CHARACTERS),
        one_line(&summary(output), SHOWN_CHARACTERS),
        micros(wall_us),
    )
}

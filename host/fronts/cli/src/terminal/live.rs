//! The live view of a turn, for users.

mod calls;

use super::{
    BOLD, DIM, Terminal, YELLOW,
    calls::{RunningCalls, call_line},
    escape, escape_line, guarded,
    markdown::{MarkdownStream, markdown},
    reasoning::Reasoning,
    size_change,
    spinner::{show_spinner, spinner, stop_spinner},
    tool_name,
};
use crate::args::OutputFormat;
use agent_host_engine::{
    call_summary::CallSummary,
    model::ModelDelta,
    observer::{Live, Observer},
    program::PROGRAM_NAME,
    todo_list::WRITE_TODOS,
    tool_set::ToolSet,
};
use agent_host_types::{
    event::EventRecord,
    id::CallId,
    model::{ModelError, ModelErrorKind},
    output::ToolResultOutput,
    tool::RegisteredTool,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The maximum length of a message beside the spinner, in characters.
pub(super) const SHOWN_CHARACTERS: usize = 100;

/// The indentation of an agent's steps below those of the one that started it.
const INDENT: &str = "  ";

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
    /// True if pictures of results may be shown.
    has_pictures: bool,
    /// The text on stdout, where it is rendered.
    markdown: Option<Mutex<MarkdownStream>>,
    /// True if all of the model's reasoning is shown.
    verbose: bool,
    reasoning: Mutex<Reasoning>,
    /// The tools that are called.
    tools: ToolSet,
    /// The calls that run now.
    running: Mutex<RunningCalls>,
    first_text: Mutex<FirstText>,
}

/// The wait for the first text of an answer.
#[derive(Debug, Default)]
enum FirstText {
    #[default]
    NotAsked,
    Asked(Instant),
    Arrived(Duration),
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
            has_pictures: false,
            markdown: None,
            verbose: false,
            reasoning: Mutex::default(),
            first_text: Mutex::default(),
            tools: ToolSet::default(),
            running: Mutex::default(),
        }
    }

    /// Tells the calls of these tools in their words.
    pub(crate) fn with_tools(self, tools: ToolSet) -> Self {
        Self { tools, ..self }
    }

    /// Shows all of the model's reasoning.
    pub(crate) fn with_reasoning(self) -> Self {
        Self {
            verbose: true,
            ..self
        }
    }

    /// Renders the answer as Markdown and shows pictures, where stdout is a terminal that can show
    /// them.
    pub(crate) fn with_markdown(self) -> Self {
        let shown = self.terminal.shows_markdown();
        Self {
            has_pictures: shown,
            markdown: shown.then(Mutex::default),
            ..self
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

    /// True if the answer is streamed and must not be printed again at the end. That of a workflow
    /// is what its last nodes returned, and the texts of its agents are not.
    pub(crate) fn streams_text(&self) -> bool {
        let is_answer = self.path.is_empty() && !self.has_nodes;
        self.format == OutputFormat::Text && self.terminal.stdout && is_answer
    }

    /// Prints an answer that was not streamed.
    pub(crate) fn print_answer(&self, text: &str) {
        if self.markdown.is_some() {
            self.terminal.print(&self.rendered(text));
        } else {
            self.terminal.println_untrusted(text);
        }
    }

    /// Returns an answer as it is shown on the terminal.
    pub(crate) fn rendered(&self, text: &str) -> String {
        match &self.markdown {
            Some(_) => markdown(text, self.terminal.stdout_size().columns),
            None => escape(text),
        }
    }

    /// Writes a line to stderr, unless the view is quiet.
    pub(crate) fn note(&self, line: &str) {
        if !self.quiet {
            self.terminal.note(line);
        }
    }

    /// Returns the time from the first request of a turn to its first text, once.
    pub(crate) fn take_first_text(&self) -> Option<Duration> {
        match std::mem::take(&mut *self.first_text()) {
            FirstText::Arrived(time) => Some(time),
            FirstText::NotAsked | FirstText::Asked(_) => None,
        }
    }

    fn first_text(&self) -> MutexGuard<'_, FirstText> {
        self.first_text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the spinner and ends an open line.
    pub(crate) fn end_output(&self) {
        self.end_text();
        self.end_reasoning();
    }

    fn end_text(&self) {
        stop_spinner();
        if let Some(markdown) = &self.markdown {
            let mut markdown = markdown.lock().unwrap_or_else(PoisonError::into_inner);
            self.terminal
                .print_raw(&markdown.finish(self.terminal.stdout_size()));
            self.line_open.store(false, Ordering::Relaxed);
        } else if self.line_open.swap(false, Ordering::Relaxed) {
            self.terminal.println("");
        }
    }

    /// Shows a line below an answer, where stderr is a terminal.
    pub(crate) fn note_figures(&self, line: &str) {
        if self.terminal.stderr {
            self.step(&format!("{DIM}{line}{DIM:#}"));
        }
    }

    fn running(&self) -> MutexGuard<'_, RunningCalls> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tool(&self, name: &str) -> Option<&RegisteredTool> {
        Some(&self.tools.get(name)?.tool)
    }

    fn reasoning(&self) -> MutexGuard<'_, Reasoning> {
        self.reasoning
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lines of the reasoning that ended last.
    pub(crate) fn last_reasoning(&self) -> Vec<String> {
        self.reasoning().last()
    }

    /// Shows reasoning as it arrives: where stderr is no terminal, only if all of it is shown.
    fn reason(&self, text: &str) {
        self.end_text_if_open();
        if self.verbose {
            let lines = self.reasoning().push_shown(text);
            lines.iter().for_each(|line| self.step(line));
            self.show_spinner("reasoning", None);
        } else if self.terminal.stderr {
            let progress = {
                let mut reasoning = self.reasoning();
                reasoning.push(text);
                reasoning.progress(self.terminal.columns())
            };
            self.show_spinner(&progress, None);
        }
    }

    fn end_text_if_open(&self) {
        if self.line_open.load(Ordering::Relaxed) {
            self.end_text();
        }
    }

    fn end_reasoning(&self) {
        let line = self.reasoning().finish(self.terminal.columns());
        if let Some(line) = line {
            self.step(&line);
        }
    }

    /// Says why the model is not asked again at once, and for how long.
    fn wait(&self, error: &ModelError, wait: Duration) {
        if self.terminal.stderr {
            let until = Instant::now().checked_add(wait);
            let why = wait_reason(error.kind);
            self.show_spinner(&format!("{why}; retrying"), until);
        } else if wait >= Duration::from_secs(1) {
            self.step(&format!(
                "{DIM}{} Retrying in {} s.{DIM:#}",
                escape_line(&error.message),
                wait.as_secs()
            ));
        }
    }

    /// Shows or updates the spinner, where stderr is a terminal. Behind the message is the time
    /// since it appeared, or the time until `until`.
    fn show_spinner(&self, message: &str, until: Option<Instant>) {
        if self.has_spinner() {
            show_spinner(guarded(message).into_owned(), until, String::new());
        }
    }

    fn has_spinner(&self) -> bool {
        self.terminal.stderr && !self.quiet && !self.line_open.load(Ordering::Relaxed)
    }

    fn step(&self, line: &str) {
        let line = format!("{}{line}", INDENT.repeat(self.path.len()));
        self.step_with(|| self.terminal.note(&line));
    }

    /// Writes a step in the place of the spinner, unless the view is quiet.
    fn step_with(&self, write: impl FnOnce()) {
        match spinner().as_ref() {
            _ if self.quiet => {}
            Some(spinner) => spinner.suspend(write),
            None => write(),
        }
    }

    fn text(&self, text: &str) {
        {
            let mut first_text = self.first_text();
            if let FirstText::Asked(at) = *first_text {
                *first_text = FirstText::Arrived(at.elapsed());
            }
        }
        if self.streams_text() {
            stop_spinner();
            self.end_reasoning();
            let is_open = if let Some(markdown) = &self.markdown {
                let mut markdown = markdown.lock().unwrap_or_else(PoisonError::into_inner);
                let update = markdown.push(text, self.terminal.stdout_size());
                self.terminal.print_raw(&update);
                markdown.is_open()
            } else {
                self.terminal.print(&escape(text));
                !text.ends_with('\n')
            };
            self.line_open.store(is_open, Ordering::Relaxed);
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
            false if agent == PROGRAM_NAME => format!("{DIM}the program is running{DIM:#}"),
            false => format!("{DIM}the agent {} is working{DIM:#}", escape_line(agent)),
        });
        let mut path = self.path.clone();
        path.push(call_id.clone());
        Some(Box::new(Self {
            path,
            verbose: self.verbose,
            has_pictures: self.has_pictures,
            tools: self.tools.clone(),
            ..Self::new(self.terminal, self.format, self.quiet)
        }))
    }

    fn recorded(&self, _record: &Arc<EventRecord>) {}

    fn printed(&self, text: &str) {
        self.program_output(text);
    }

    fn live(&self, live: Live<'_>) {
        match live {
            Live::ModelAsked => {
                // A call that asked a question and got no answer has no end.
                *self.running() = RunningCalls::default();
                let mut first_text = self.first_text();
                if matches!(*first_text, FirstText::NotAsked) {
                    *first_text = FirstText::Asked(Instant::now());
                }
                drop(first_text);
                self.show_spinner("thinking", None);
            }
            Live::Delta(ModelDelta::Reasoning(text)) => self.reason(text),
            Live::Delta(ModelDelta::Waiting { error, wait }) => self.wait(error, wait),
            Live::Delta(ModelDelta::Text(text)) => self.text(text),
            Live::Delta(ModelDelta::Restarted) => {
                self.end_output();
                self.step(&format!(
                    "{DIM}the model's answer was interrupted; retrying{DIM:#}"
                ));
            }
            Live::ResultsReferenced { count, size } => self.step(&format!(
                "{DIM}the conversation is nearing the model's window: {count} old {} now only in the journal \
                 ({}){DIM:#}",
                if count == 1 { "result is" } else { "results are" },
                size_change(size)
            )),
            Live::HistorySummarised { messages, size } => self.step(&format!(
                "{DIM}the conversation is nearing the model's window: its first {messages} messages are now \
                 summarised ({}){DIM:#}",
                size_change(size)
            )),
            Live::Delta(ModelDelta::Note(text)) => {
                self.end_output();
                self.step(&format!("{YELLOW}note{YELLOW:#} {}", escape_line(text)));
            }
            Live::CallStarted {
                call_id,
                tool,
                input,
            } => {
                let words = CallSummary::pending(tool, self.tool(tool), Some(input));
                self.call_started(call_id, &words);
            }
            Live::CallProgress {
                call_id,
                message,
                fraction,
            } => {
                self.call_progress(call_id, message, fraction);
            }
            Live::CallOutput { call_id, text } => self.call_output(call_id, text),
            Live::CallEnded {
                call_id,
                tool,
                input,
                output,
                audit,
                wall_us,
            } => {
                self.call_ended(call_id);
                if let (WRITE_TODOS, ToolResultOutput::Text(list)) = (tool, output) {
                    self.tasks(list);
                } else {
                    let told = CallSummary::new(tool, self.tool(tool), input, output, None, audit);
                    let line = call_line(&told, output, Some(wall_us));
                    self.step(&format!("{}{line}", self.node(call_id)));
                    self.pictures(output);
                }
                self.show_running();
            }
        }
    }
}

/// Describes a failure of the model server in a few words.
fn wait_reason(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::RateLimited => "the model server is limiting requests",
        ModelErrorKind::Unreachable => "the model server cannot be reached",
        ModelErrorKind::Timeout => "the model server took too long",
        ModelErrorKind::Protocol => "the model's answer could not be used",
        ModelErrorKind::Unauthorized
        | ModelErrorKind::NotFound
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::ContextWindow
        | ModelErrorKind::Server
        | ModelErrorKind::Script => "the model server failed",
    }
}

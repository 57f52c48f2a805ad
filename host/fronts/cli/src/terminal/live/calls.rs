//! Calls in the live view: those that run, and the results that are more than a line.

use super::{INDENT, LiveView};
use crate::terminal::{
    DIM, GREEN, escape_line, guarded,
    pictures::{self, Canvas},
    result::file_summary,
    spinner::show_spinner,
};
use agent_host_engine::{program::PROGRAM_NAME, todo_list::WRITE_TODOS};
use agent_host_types::{id::CallId, output::ToolResultOutput};
use std::panic::catch_unwind;

impl LiveView {
    /// Adds a call to those that run.
    pub(super) fn call_started(&self, call_id: &CallId, words: &str) {
        // Of calls beside it, the spinner counts the time.
        if self.running().message().is_none() {
            self.end_output();
        }
        let node = match self.has_nodes {
            true => format!("{}: ", escape_line(&call_id.0)),
            false => String::new(),
        };
        self.running().start(call_id, &format!("{node}{words}"));
        self.show_running();
    }

    /// Shows the progress of a call that runs.
    pub(super) fn call_progress(&self, call_id: &CallId, message: &str, fraction: Option<f64>) {
        self.running().progress(call_id, message, fraction);
        self.show_running();
    }

    /// Shows lines that a call printed which runs.
    pub(super) fn call_output(&self, call_id: &CallId, text: &str) {
        self.running().lines(call_id, text);
        self.show_running();
    }

    /// Shows lines that the program of this agent printed. It is shown beside its calls from its
    /// first line on, and until its own call ends.
    pub(super) fn program_output(&self, text: &str) {
        let program = CallId(PROGRAM_NAME.to_owned());
        self.running().find_or_start(&program, "the program");
        self.call_output(&program, text);
    }

    /// Removes a call from those that run.
    pub(super) fn call_ended(&self, call_id: &CallId) {
        self.running().end(call_id);
        if self.running().message().is_none() {
            self.end_output();
        }
    }

    /// Shows the calls that run, in one message, above their last lines where those can be drawn over
    /// themselves.
    pub(super) fn show_running(&self) {
        let running = self.running();
        if let Some(message) = running.message().filter(|_| self.has_spinner()) {
            let last_lines = match self.terminal.shows_lists() {
                true => running.last_lines(self.terminal.size()),
                false => String::new(),
            };
            show_spinner(
                guarded(&message).into_owned(),
                None,
                guarded(&last_lines).into_owned(),
            );
        }
    }

    /// Shows the images of a result below its line, each below its name, where the terminal draws
    /// pictures.
    pub(super) fn pictures(&self, output: &ToolResultOutput) {
        let images = pictures::images(output);
        if self.quiet || images.is_empty() || !self.has_pictures {
            return;
        }
        // The answers of the terminal and the work of a picture take longer than an observer may.
        let drawn = tokio::task::block_in_place(|| {
            let canvas = Canvas::find(&self.terminal)?;
            // A decoder that panics at hostile bytes costs the picture and nothing else.
            let draw = |bytes| catch_unwind(|| canvas.draw(bytes)).ok().flatten();
            let drawn = images.into_iter().map(|(file, bytes)| (file, draw(bytes)));
            Some(drawn.collect::<Vec<_>>())
        });
        for (file, picture) in drawn.unwrap_or_default() {
            if let Some(picture) = picture {
                self.step(&format!("{DIM}{}{DIM:#}", escape_line(&file_summary(file))));
                self.step_with(|| self.terminal.note_picture(&picture));
            }
        }
    }

    /// Shows the list of tasks, in the place of the call that wrote it.
    pub(super) fn tasks(&self, list: &str) {
        let mut lines = list.lines().map(escape_line);
        let done = lines.next().unwrap_or_default();
        self.step(&format!("{GREEN}✓{GREEN:#} {WRITE_TODOS}: {done}"));
        for task in lines {
            self.step(&format!("{INDENT}{task}"));
        }
    }
}

//! The end of a run: what it prints, and its exit.

use super::{RunParts, budget, near_models::near_models, waiting};
use crate::{
    args::OutputFormat,
    exit::{Exit, Failure},
    terminal::{escape_line, full_text, json_text, one_line},
};
use agent_host_engine::session::Session;
use agent_host_types::{
    message::ToolResult,
    model::StopReason,
    turn::{TurnEnd, TurnError, TurnReport},
};
use serde_json::{Value, json};

/// The maximum length of a failure in a note, in characters.
const SHOWN_FAILURE: usize = 500;

impl RunParts<'_> {
    /// Prints the result of a run and returns its exit.
    pub(super) async fn finish(
        &self,
        session: &Session,
        mut report: TurnReport,
    ) -> Result<Exit, Failure> {
        if let TurnEnd::Done {
            result: Some(result),
            ..
        } = &mut report.end
        {
            *result = session.whole_result(result.clone()).await?;
        }
        let missing = match self.format {
            OutputFormat::Json => {
                self.print_document(&json!({ "session": session.id(), "outcome": report }))
            }
            OutputFormat::Text | OutputFormat::StreamJson => None,
        };
        let near = near_models(self.host.config(), &report.end).await;
        // With values in place of references, where the model saw none.
        let was_opened = matches!(
            &report.end,
            TurnEnd::Done { text, .. } if text != session.state().last_assistant_text()
        );
        self.print_end(&report, was_opened, &near)?;
        if report.end == TurnEnd::Cancelled {
            return Ok(self.stop.exit());
        }
        if let Some(line) = self.figures.line(self.agent.settings.context.as_ref()) {
            self.view.note_figures(&line);
        }
        if self.figures.took_long() {
            self.terminal.ring();
        }
        self.note_read_only();
        match (Exit::from(&report), self.stopped()) {
            // Stopped while awaiting the user: the request stays open, and a later run asks again.
            (Exit::Waiting, Some(stopped)) => Ok(stopped),
            (Exit::Done | Exit::NodesFailed, _) if self.note_denied() => Ok(Exit::Unapproved),
            (Exit::Done, _) if missing.is_some() => Err(Failure::failed(format!(
                "the run ended without `{}`; `--output-format json` shows what it has",
                escape_line(missing.unwrap_or_default())
            ))),
            (exit, _) => Ok(exit),
        }
    }

    /// Prints the JSON document of a run, or the value of it that was asked for. Returns the pointer
    /// of a value that it does not have.
    fn print_document(&self, document: &Value) -> Option<&str> {
        let Some(pointer) = &self.selected else {
            self.terminal.println(&json_text(document));
            return None;
        };
        match document.pointer(pointer) {
            Some(Value::String(text)) => self.terminal.println_untrusted(text),
            Some(value) => self.terminal.println(&json_text(value)),
            None => return Some(pointer),
        }
        None
    }

    /// Prints how a run ended. `was_opened` is whether the answer is another text than the model's;
    /// `near` is what helps after a missing model.
    fn print_end(&self, report: &TurnReport, was_opened: bool, near: &str) -> Result<(), Failure> {
        match &report.end {
            TurnEnd::Done {
                text,
                result,
                output,
            } => {
                if was_opened && result.is_none() && self.view.streams_text() {
                    self.terminal.note("With the values of the references:");
                    self.view.print_answer(text);
                }
                self.print_answer(text, result.as_ref(), output.as_ref());
                self.note_failed_nodes(report);
                self.note_cut(report.summary.stop_reason);
            }
            TurnEnd::Halted { message } => {
                self.answer(message);
                self.terminal.note("A tool ended the run.");
            }
            TurnEnd::Refusal { text, .. } => {
                if !self.view.streams_text() {
                    self.answer(text);
                }
                self.terminal.note("The model declined to answer.");
            }
            TurnEnd::BudgetExceeded { budget, .. } => {
                let text = budget::budget_text(budget, &self.resume);
                self.terminal.note(&text);
            }
            TurnEnd::AwaitingConfirmation { continuation, .. }
            | TurnEnd::AwaitingAnswer { continuation, .. }
            | TurnEnd::PendingToolCalls { continuation, .. }
            | TurnEnd::AwaitingChildren { continuation } => {
                let text = waiting::waiting_text(continuation, &self.resume, "");
                self.terminal.note(&text);
            }
            TurnEnd::NeedsMoreTurns => self.terminal.note(&format!(
                "Stopped before the next step; nothing is lost.\nTo resume: {}",
                self.resume
            )),
            TurnEnd::Cancelled if self.in_conversation => self.terminal.note("Stopped."),
            TurnEnd::Cancelled if self.terminal.stdout_is_closed() => {}
            TurnEnd::Cancelled => self
                .terminal
                .note(&format!("Stopped. The session is kept: {}", self.resume)),
            TurnEnd::Error { error } => {
                let kept = if self.in_conversation || matches!(error, TurnError::Journal { .. }) {
                    String::new()
                } else {
                    format!("\nThe session is kept: {}", self.resume)
                };
                // A line of a tool's text would be one of its own in the log of a pipeline.
                let error = escape_line(&error.to_string());
                let failure = Failure::new((&report.end).into(), format!("{error}{near}{kept}"));
                return Err(failure.documented());
            }
        }
        Ok(())
    }

    fn print_answer(&self, text: &str, result: Option<&ToolResult>, output: Option<&Value>) {
        match (result, output) {
            (Some(result), _) => self.answer(&full_text(&result.output)),
            (None, _) if self.view.streams_text() => {}
            // The value alone, whatever the model wrote around it.
            (None, Some(value)) => self.answer(&value.to_string()),
            (None, None) if self.format == OutputFormat::Text => self.view.print_answer(text),
            (None, None) => {}
        }
    }

    /// Says why an answer ends early.
    fn note_cut(&self, reason: Option<StopReason>) {
        let why = match reason {
            Some(StopReason::MaxTokens) => {
                "The answer is cut off: the model reached its token limit for one answer."
            }
            Some(StopReason::ContextWindow) => {
                "The answer is cut off: the conversation fills the model's window. Use a model with a larger window, \
                 or start a new session."
            }
            Some(StopReason::Unknown) => {
                "The answer may be cut off: the model server did not say why the model stopped."
            }
            _ => return,
        };
        self.terminal.note(why);
    }

    /// Says which nodes of a workflow failed although it went on.
    fn note_failed_nodes(&self, report: &TurnReport) {
        for (node, failure) in report.failed_nodes().into_iter().flatten() {
            self.terminal.note(&format!(
                "The node {} failed: {}",
                escape_line(node),
                one_line(&failure.to_string(), SHOWN_FAILURE)
            ));
        }
    }

    pub(super) fn answer(&self, text: &str) {
        if self.format == OutputFormat::Text {
            self.terminal.println_untrusted(text);
        }
    }
}

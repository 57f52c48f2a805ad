//! The conversation of `run` on a terminal: messages, answers, and commands in between. A failure,
//! a tool or the user ends an answer, and never the conversation.

mod commands;
mod slash;

use super::{RunParts, attachments, recall};
use crate::{
    args::RunArgs,
    exit::{Exit, Failure},
    signals,
    terminal::{
        Completer, Composed, Composer, Images, KeptModes, Opening, abandon_prompt, escape_line,
        resize_composer, watch_keyboard,
    },
};
use agent_host_app::{Effort, project};
use agent_host_engine::session::Session;
use agent_host_types::{
    context::ContextLimits,
    id::{SessionId, json_digest},
    message::Role,
    output::ContentPart,
    turn::{AgentInput, TurnEnd, TurnError},
};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::signal::unix::{SignalKind, signal};

/// The line above the first message.
const FIRST_QUESTION: &str = "\nWhat should the agent do? (/help for help, Ctrl-D to leave)";

/// The directory of histories, below that of the state.
const HISTORIES: &str = "history";

/// A conversation besides what every run has.
struct Conversation<'c, 'h> {
    run: &'c mut RunParts<'h>,
    session: &'c mut Session,
    args: &'c RunArgs,
    /// The model and the effort that the user chose instead of those of `args`.
    model: Option<String>,
    effort: Option<Effort>,
    /// The limits of the window, while the next answer has others.
    window: Option<ContextLimits>,
    /// The sessions that were listed last, by their numbers from 1.
    listed: Vec<SessionId>,
    composer: Arc<Mutex<Composer>>,
    /// The files of the next message.
    files: Vec<ContentPart>,
    /// The message without an answer, which the composer begins with.
    unanswered: Option<Unanswered>,
    /// The beginning of a command, which the composer begins with once.
    begun: Option<String>,
    /// True if the user stopped the last answer.
    was_stopped: bool,
}

/// The note about a message that begins like a shell command.
const NO_SHELL: &str = "`!` runs no command here: nothing of a conversation runs outside the sandbox, where your \
    rules would not apply. Run the command in another terminal, or let the agent do it with its tools. A space before \
    `!` sends the text as a message.";

/// A message that got no answer.
struct Unanswered {
    text: String,
    /// True if the session has it: it is answered by going on.
    is_recorded: bool,
}

/// Runs a conversation until the user leaves; the files go with its first message.
pub(super) async fn converse(
    run: &mut RunParts<'_>,
    session: &mut Session,
    files: Vec<ContentPart>,
    args: &RunArgs,
) -> Result<Exit, Failure> {
    let config = run.host.config();
    let name = json_digest(&json!(project(config))).to_string();
    let history = config
        .state_dir
        .join(HISTORIES)
        .join(name.replace(':', "-"));
    let completer = Completer {
        commands: Vec::new(),
        directory: config.working_dir.clone(),
    };
    let images = Images::new(
        config.working_dir.clone(),
        attachments::image,
        attachments::MAX_FILES_BYTES,
    );
    let composer = Composer::new(history, completer, images);
    let modes = KeptModes::enter(run.terminal);
    let directory = config.working_dir.file_name().unwrap_or_default();
    let _title = run
        .terminal
        .titled(&format!("agent-host: {}", directory.to_string_lossy()));
    listen(run);
    let mut conversation = Conversation {
        run,
        session,
        args,
        model: args.model.clone(),
        effort: args.effort,
        window: None,
        listed: Vec::new(),
        composer: Arc::new(Mutex::new(composer)),
        files,
        unanswered: None,
        begun: None,
        was_stopped: false,
    };
    let exit = conversation.converse().await;
    conversation.composer().keep_unsent();
    drop(modes);
    exit
}

/// Follows the size of the terminal, and ends the run when the terminal goes away.
fn listen(run: &RunParts<'_>) {
    let streams = (
        signal(SignalKind::window_change()),
        signal(SignalKind::hangup()),
    );
    let (Ok(mut resized), Ok(mut gone)) = streams else {
        return;
    };
    let stop = run.stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = resized.recv() => resize_composer(),
                _ = gone.recv() => stop.request(),
            }
        }
    });
}

impl Conversation<'_, '_> {
    async fn converse(&mut self) -> Result<Exit, Failure> {
        let mut question = FIRST_QUESTION;
        for line in recall::lines(self.session, &self.run.view) {
            self.run.view.note(&line);
        }
        if !self.session.state().is_unfinished() {
            self.offer_unanswered();
        } else if let Some(exit) = self.answer(AgentInput::Continue, None).await? {
            return Ok(exit);
        }
        loop {
            let text = match self.compose(question).await {
                Some(Composed::Message(text)) => text,
                Some(Composed::Left) => return Ok(self.run.stopped().unwrap_or(Exit::Done)),
                Some(Composed::Interrupted) => return Ok(Exit::Cancelled),
                None => return Ok(self.run.stop.exit()),
            };
            question = "";
            if let Some(exit) = self.take(text).await? {
                return Ok(exit);
            }
        }
    }

    /// Reads the next message; `None` if the run is stopped first.
    async fn compose(&mut self, question: &str) -> Option<Composed> {
        let words = slash::words(&self.arguments().await);
        let opening = Opening {
            question: question.to_owned(),
            text: self.begun.take().or_else(|| {
                let unanswered = self.unanswered.as_ref()?;
                Some(unanswered.text.clone())
            }),
            was_stopped: std::mem::take(&mut self.was_stopped),
            takes_nothing: false,
        };
        let (composer, terminal) = (Arc::clone(&self.composer), self.run.terminal.for_prompt());
        let compose = move || {
            let mut composer = composer.lock().unwrap_or_else(PoisonError::into_inner);
            composer.completer.commands = words;
            composer.read(&terminal, opening)
        };
        self.run.unless_stopped(compose).await
    }

    /// Returns what completes the arguments of commands.
    async fn arguments(&self) -> slash::ArgumentWords {
        let models = self.run.host.config().models.all();
        // Without a list, nothing completes.
        let sessions = self.sessions().await.unwrap_or_default();
        slash::ArgumentWords {
            models: models.map(ToString::to_string).collect(),
            sessions: sessions.iter().map(|row| row.id.to_string()).collect(),
        }
    }

    /// Takes what the user sent; returns the exit if it ends the conversation.
    async fn take(&mut self, text: String) -> Result<Option<Exit>, Failure> {
        match slash::parse(&text) {
            slash::UserLine::Message(message) => self.message(message.to_owned()).await,
            slash::UserLine::Command(command, argument) => self.command(command, argument).await,
            slash::UserLine::Unknown { name, near } => {
                let near = near.map(|near| format!(" Did you mean {near}?"));
                self.run.terminal.note(&format!(
                    "Unknown command {}.{} /help lists the commands; //{} sends it as a message.",
                    escape_line(name),
                    near.unwrap_or_default(),
                    escape_line(name.trim_start_matches('/')),
                ));
                self.begun = Some(text);
                Ok(None)
            }
            slash::UserLine::Shell => {
                self.run.terminal.note(NO_SHELL);
                self.begun = Some(text);
                Ok(None)
            }
        }
    }

    async fn message(&mut self, text: String) -> Result<Option<Exit>, Failure> {
        let is_again = self
            .unanswered
            .take()
            .is_some_and(|unanswered| unanswered.is_recorded && unanswered.text == text);
        if is_again {
            return self.answer(AgentInput::Continue, Some(text)).await;
        }
        let input = attachments::input(text.clone(), self.files_with(&text));
        self.answer(input, Some(text)).await
    }

    fn composer(&self) -> MutexGuard<'_, Composer> {
        let composer = self.composer.lock();
        composer.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the files of a message with this text, which may name images.
    fn files_with(&self, text: &str) -> Vec<ContentPart> {
        let composer = self.composer();
        let images = composer.images.iter();
        let images = images.flat_map(|images| images.named_in(text));
        self.files.iter().cloned().chain(images).collect()
    }

    /// Forgets the files of the next message, which the session has.
    fn clear_files(&mut self) {
        self.files.clear();
        if let Some(images) = &mut self.composer().images {
            images.clear();
        }
    }

    /// True if the last message, or its calls, or their results, have no answer.
    fn can_continue(&self) -> bool {
        let state = self.session.state();
        let last = state.messages().last();
        !state.batch().is_empty()
            || last.is_some_and(|last| matches!(last.role, Role::User | Role::ToolResult))
    }

    /// Runs an answer, which the user can stop; returns the exit if it ends the conversation.
    /// `text` is the message that it answers.
    async fn answer(
        &mut self,
        input: AgentInput,
        text: Option<String>,
    ) -> Result<Option<Exit>, Failure> {
        let stop = self.run.stop.clone();
        let answer = stop.begin_answer();
        self.run.stop = answer.stop.clone();
        let watch = watch_keyboard(self.run.terminal, signals::interrupt);
        let report = self.run.drive(self.session, input).await;
        drop(watch);
        // A question of a call that was stopped.
        abandon_prompt();
        let was_stopped = answer.stop.is_requested();
        self.run.stop = stop;
        drop(answer);
        if let Some(window) = self.window.take() {
            self.run.agent.settings.context = Some(window);
        }
        let report = match report {
            Ok(report) => report,
            Err(failure) => {
                failure.report(self.run.terminal);
                self.keep(text);
                return Ok(None);
            }
        };
        let end = report.end.clone();
        let finished = self.run.finish(self.session, report).await;
        if self.run.stop.is_requested() {
            return finished.map(Some);
        }
        match &end {
            TurnEnd::Error {
                error: TurnError::Journal { .. },
            } => finished.map(Some),
            TurnEnd::Error { .. } | TurnEnd::Cancelled => {
                if let Err(failure) = finished {
                    failure.report(self.run.terminal);
                }
                self.was_stopped = end == TurnEnd::Cancelled;
                self.keep(text);
                Ok(None)
            }
            _ => {
                self.clear_files();
                let exit = finished?;
                if exit == Exit::Waiting && was_stopped {
                    self.was_stopped = true;
                    self.run.terminal.note("Type /retry to try again.");
                    return Ok(None);
                }
                Ok((exit == Exit::Waiting).then_some(exit))
            }
        }
    }

    /// Offers the message without an answer that the session ends with, if there is one.
    fn offer_unanswered(&mut self) {
        if !self.can_continue() {
            return;
        }
        let last = self.session.state().messages().last();
        let text = last.and_then(|last| last.content.iter().rev().find_map(ContentPart::text));
        self.keep(text.map(str::to_owned));
    }

    /// Keeps a message without an answer for the composer, and says how it is sent again.
    fn keep(&mut self, text: Option<String>) {
        let last = self.session.state().messages().last();
        let is_recorded = match (last.map(|last| last.role), &text) {
            (Some(Role::ToolResult), _) => {
                self.clear_files();
                self.run.terminal.note("Type /retry to continue from here.");
                return;
            }
            (Some(Role::User), Some(text)) => {
                let own =
                    last.and_then(|last| last.content.iter().rev().find_map(ContentPart::text));
                own == Some(text)
            }
            (_, None) => return,
            (_, Some(_)) => false,
        };
        if is_recorded {
            self.clear_files();
        }
        self.run
            .terminal
            .note("Press Enter, or type /retry, to send the message again.");
        self.unanswered = text.map(|text| Unanswered { text, is_recorded });
    }
}

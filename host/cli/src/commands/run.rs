//! `agent-host run`: runs turns until the agent has its answer or needs the user.

mod approval;
mod arguments;
mod attachments;
mod budget;
mod context;
mod conversation;
mod denied;
mod figures;
mod intro;
mod keyed;
mod recall;
mod reply;
mod task;
mod waiting;

pub(super) use intro::UNTOLD;

use super::{configure, shell_quoted};
use crate::{
    args::{OutputFormat, PermissionPrompts, RunArgs},
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{
        LiveView, Terminal, TerminalUser, abandon_prompt, escape_line, full_text, json_text,
        one_line,
    },
};
use agent_host_app::{Host, Overrides, key_variable};
use agent_host_engine::{
    BoxFuture,
    observer::{Observer, Observers},
    schema::AnswerSchema,
    session::Session,
    stream::{StreamLine, StreamObserver, WriteLine},
    turn::{Agent, Prompts, TurnContext, UntilEnd, UntilTool},
};
use agent_host_journal::SessionName;
use agent_host_types::{
    id::Digest,
    model::{Provenance, StopReason},
    turn::{AgentInput, Durability, TurnEnd, TurnError, TurnReport},
};
use denied::DeniedCalls;
use figures::Figures;
use serde_json::json;
use std::{
    collections::HashSet,
    io::Read as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use task::Task;
use tokio_util::sync::CancellationToken;

/// The maximum length of a failure in a note, in characters.
const SHOWN_FAILURE: usize = 500;

/// The maximum size of an `--output-schema` file, in bytes.
const MAX_SCHEMA_BYTES: u64 = 1024 * 1024;

/// The state of a run besides its session.
struct Run<'a> {
    host: &'a Host,
    agent: Agent,
    view: LiveView,
    stop: Stop,
    terminal: &'a Terminal,
    format: OutputFormat,
    /// The command that resumes the session.
    resume: String,
    denied: DeniedCalls,
    /// The calls that the user left for later, by the digests of their arguments.
    postponed: Mutex<HashSet<Digest>>,
    /// True in a conversation, which outlives a failed answer.
    in_conversation: bool,
    /// Those of the last message.
    figures: Figures,
    /// The name that the session gets after its first turn.
    name: Option<SessionName>,
}

pub(super) async fn run(mut args: RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    if args.continues {
        args.resume = Some("latest".to_owned());
    }
    let name = args.name.as_deref().map(SessionName::parse).transpose();
    let name = name.map_err(Failure::usage)?;
    let args = arguments::take_over(args, terminal).await?;
    // An answer to a waiting session is checked against the session, below.
    let task = if reply::answers_session(&args) {
        None
    } else {
        Some(task::task(&args, terminal)?)
    };
    let context = context::custom_context(&args)?;
    let mut config = configure(args.config.clone(), overrides(&args))?;
    if terminal.can_ask() && prompts(&args, terminal) == Prompts::Ask {
        config.elicitor = Some(Arc::new(TerminalUser::new(*terminal)));
    }
    if let Some(task) = &task {
        attachments::check(task.parts(), &config)?;
    }
    let stop = Stop::draining(terminal, args.timeout.map(Duration::from_secs));
    // Opening may compile for seconds and wait a minute for a secret's command; dropping it ends
    // both.
    let host = tokio::select! {
        biased;
        () = stop.requested() => {
            terminal.note("Stopped before anything ran.");
            return Ok(stop.exit());
        }
        opened = Host::open(config) => opened?,
    };
    let prompts = prompts(&args, terminal);
    let (mut agent, mut session, began_before) = open(&args, &host, prompts).await?;
    if let Some(context) = context {
        session.set_context(context);
    }
    let directory = &host.config().working_dir;
    let resume = arguments::resume_command(&args, session.id(), directory);
    check_model(&args, &agent, &session, &resume)?;
    let recorded = arguments::recorded(&args, directory);
    session.configure_run(recorded).map_err(Failure::usage)?;
    if !args.quiet {
        intro::show(&host, &agent, &session, terminal);
    }
    let mut view = LiveView::new(*terminal, args.output_format, args.quiet);
    if !args.plain {
        view = view.with_markdown();
    }
    if args.verbose {
        view = view.with_reasoning();
    }
    if agent.workflow.is_some() {
        view = view.with_nodes();
    }
    agent.settings.accepts_changed_workflow = args.accept_changed;
    agent.settings.takes_some_decisions = true;
    if args.durable {
        agent.settings.durability = Durability::Strict;
    }
    agent.settings.until_tool = until_tool(&args).or(agent.settings.until_tool);
    agent.settings.output_schema = args
        .output_schema
        .as_deref()
        .map(output_schema)
        .transpose()?;
    let mut run = Run {
        host: &host,
        agent,
        view,
        stop,
        terminal,
        format: args.output_format,
        resume,
        denied: DeniedCalls::default(),
        postponed: Mutex::default(),
        figures: Figures::default(),
        name,
        in_conversation: matches!(task, Some(Task::Conversation(_))),
    };
    let Some(task) = task else {
        return run.reply(&mut session, &args).await;
    };
    run.begin_stream(&session);
    match task {
        Task::Once(input) if began_before => run.again(&mut session, &input).await,
        Task::Once(input) => run.once(&mut session, *input).await,
        Task::Conversation(files) => {
            conversation::converse(&mut run, &mut session, files, &args).await
        }
    }
}

/// Returns what the arguments change of the configuration, besides those of every command.
fn overrides(args: &RunArgs) -> Overrides {
    Overrides {
        model: args.model.clone(),
        effort: args.effort,
        record: args.record.clone(),
        system: args.system.clone(),
        tools: args.tools.clone(),
        max_turns: args.max_turns,
        max_total_tokens: args.max_total_tokens,
        max_usd: args.max_usd,
        max_tool_calls: args.max_tool_calls,
        allow: args.rules.allowed(),
        deny: args.rules.deny.clone(),
        ..Overrides::default()
    }
}

/// Opens the loop of a run and its session, and returns whether the same run began before, under its
/// key. A session of a workflow continues it.
async fn open(
    args: &RunArgs,
    host: &Host,
    prompts: Prompts,
) -> Result<(Agent, Session, bool), Failure> {
    let resumed = match &args.resume {
        Some(name) => Some(host.resume_session(name).await?),
        None => None,
    };
    let begun = resumed
        .as_ref()
        .and_then(|session| session.state().workflow());
    let begun = begun.filter(|_| args.agent.is_none()).map(|run| &run.name);
    let (agent, system) = match (args.workflow.as_ref().or(begun), &args.agent) {
        (Some(name), _) => (host.workflow_agent(name, prompts)?, None),
        (None, Some(name)) => host.named_agent(name, prompts)?,
        (None, None) => (host.agent(prompts), host.system_prompt(prompts)),
    };
    let (session, began_before) = match (resumed, &args.idempotency_key) {
        (Some(session), _) => (session, false),
        (None, Some(key)) => host.keyed_session(key, system).await?,
        (None, None) => (host.start_session_with(system).await?, false),
    };
    Ok((agent, session, began_before))
}

/// Refuses to play the built-in tour, which plays where no model is configured, over a session of
/// another model.
fn check_model(
    args: &RunArgs,
    agent: &Agent,
    session: &Session,
    resume: &str,
) -> Result<(), Failure> {
    let is_tour = |model: &Provenance| model.provider == "script" && model.model == "tour";
    let Some(then) = session.state().model().filter(|model| !is_tour(model)) else {
        return Ok(());
    };
    if args.model.is_some() || agent.workflow.is_some() || !is_tour(&agent.model.provenance()) {
        return Ok(());
    }
    let name = format!("{}:{}", then.provider, then.model);
    let key = key_variable(&then.provider).map_or_else(String::new, |variable| {
        format!("; its key is read from {variable}")
    });
    Err(Failure::usage(format!(
        "session {} was run with {name}, and no model is configured now, so that the built-in tour would go on with it. Name the \
         model{key}: {resume} --model {}",
        session.id(),
        shell_quoted(&name)
    )))
}

/// Returns whether calls that need approval are asked about or denied.
pub(super) fn prompts(args: &RunArgs, terminal: &Terminal) -> Prompts {
    match args.permission_prompts {
        Some(PermissionPrompts::None) => Prompts::Deny,
        Some(PermissionPrompts::Later) => Prompts::Ask,
        Some(PermissionPrompts::Ask) | None if terminal.can_ask() => Prompts::Ask,
        // A caller that answers from another process can do so again.
        None if reply::answers_session(args) => Prompts::Ask,
        Some(PermissionPrompts::Ask) | None => Prompts::Deny,
    }
}

fn until_tool(args: &RunArgs) -> Option<UntilTool> {
    (!args.until_tool.is_empty()).then(|| UntilTool {
        tools: args.until_tool.clone(),
        end: if args.until_any_call {
            UntilEnd::AnyCall
        } else {
            UntilEnd::FirstSuccess
        },
    })
}

fn output_schema(file: &Path) -> Result<Arc<AnswerSchema>, Failure> {
    let fault = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "cannot use the output schema {}: {why}; it is a file with one JSON Schema",
            file.display()
        ))
    };
    let text = read_bounded(file, MAX_SCHEMA_BYTES).map_err(|error| fault(&error))?;
    let schema: serde_json::Value = serde_json::from_str(&text).map_err(|error| fault(&error))?;
    let schema = AnswerSchema::compile(&schema).map_err(|error| fault(&error))?;
    Ok(Arc::new(schema))
}

/// Reads a UTF-8 file of at most `max_bytes`.
fn read_bounded(file: &Path, max_bytes: u64) -> std::io::Result<String> {
    let bytes = read_bytes(file, max_bytes)?;
    String::from_utf8(bytes)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a file of at most `max_bytes`.
fn read_bytes(file: &Path, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Bounded while it is read: a pipe has no size, and a file may grow.
    let mut bounded = std::fs::File::open(file)?.take(max_bytes + 1);
    bounded.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let why = format!("it has more than {max_bytes} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

impl Run<'_> {
    /// Gives the session what the command line answers. A session that is behind its agents, because
    /// the program ended meanwhile, is continued first.
    async fn reply(&mut self, session: &mut Session, args: &RunArgs) -> Result<Exit, Failure> {
        let is_behind = self.agent.is_behind_children(session).await;
        let is_behind = is_behind.map_err(Failure::failed)?;
        if is_behind {
            self.begin_stream(session);
            self.terminal.note("The program ended in the middle of an answer before; what it had taken continues first.");
            let report = self.drive(session, AgentInput::Continue).await?;
            if self.agent.continuation(session).is_none() {
                return self.finish(session, report).await;
            }
        }
        let open = self.agent.continuation(session);
        let input = reply::input(args, open, &self.resume)?;
        if !is_behind {
            self.begin_stream(session);
        }
        self.once(session, input).await
    }

    /// Prints the first line of `stream-json`.
    fn begin_stream(&self, session: &Session) {
        if self.format == OutputFormat::StreamJson {
            let write = |line: &StreamLine<'_>| self.terminal.println(&json_text(&json!(line)));
            StreamObserver::new(&write).begin(session.id(), env!("CARGO_PKG_VERSION"));
        }
    }

    async fn once(&mut self, session: &mut Session, input: AgentInput) -> Result<Exit, Failure> {
        let report = self.drive(session, input).await?;
        self.finish(session, report).await
    }

    /// Returns the exit of a run that a signal, the timeout or a failed write stopped.
    fn stopped(&self) -> Option<Exit> {
        self.stop.is_requested().then(|| self.stop.exit())
    }

    /// Runs a prompt off the runtime's threads; `None` if the run is stopped first.
    async fn unless_stopped<T: Send + 'static>(
        &self,
        prompt: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if self.stop.is_requested() {
            return None;
        }
        let answer = tokio::task::spawn_blocking(prompt);
        tokio::select! {
            biased;
            () = self.stop.requested() => {
                abandon_prompt();
                None
            }
            answer = answer => answer.ok(),
        }
    }

    /// Runs turns until one ends that the loop cannot continue.
    async fn drive(
        &mut self,
        session: &mut Session,
        mut input: AgentInput,
    ) -> Result<TurnReport, Failure> {
        self.figures = Figures::default();
        loop {
            let rules = self.project_rules(&input);
            // Runs nothing, and keeps what was decided before the run was stopped.
            let only_records = CancellationToken::new();
            let cancel = match approval::is_partial(&input) {
                true => &only_records,
                false => &self.stop.token,
            };
            let report = {
                let write = |line: &StreamLine<'_>| self.terminal.println(&json_text(&json!(line)));
                let observers = self.observers(&write);
                let cx = TurnContext {
                    observer: &observers,
                    approvals: &self.host.remembered().await?,
                    cancel,
                    drain: &self.stop.drain,
                };
                let turn = self.agent.run_turn(session, input, &cx);
                self.note_drain(turn).await
            };
            self.view.end_output();
            self.figures.add(&report);
            if let Some(name) = self.name.take()
                && let Err(error) = self.host.name_session(session.id(), name).await
            {
                // The answer is worth more than the name.
                self.terminal.error(&error.to_string());
            }
            self.remember(session, &report.end, rules).await;
            let next = match &report.end {
                TurnEnd::NeedsMoreTurns if self.stop.drain.is_cancelled() => None,
                TurnEnd::NeedsMoreTurns => Some(AgentInput::Continue),
                TurnEnd::AwaitingConfirmation { continuation, .. }
                | TurnEnd::AwaitingAnswer { continuation, .. }
                | TurnEnd::PendingToolCalls { continuation, .. }
                | TurnEnd::AwaitingChildren { continuation } => self.respond(continuation).await,
                TurnEnd::Done { .. }
                | TurnEnd::Halted { .. }
                | TurnEnd::BudgetExceeded { .. }
                | TurnEnd::Refusal { .. }
                | TurnEnd::Cancelled
                | TurnEnd::Error { .. } => None,
            };
            input = match next {
                Some(input) => input,
                None => return Ok(report),
            };
        }
    }

    /// Returns the observers of a turn: the view and, in `stream-json`, the lines on stdout.
    fn observers<'a>(&'a self, write: &'a WriteLine<'a>) -> Observers<'a> {
        let mut observers: Vec<Box<dyn Observer + 'a>> = vec![Box::new(&self.view)];
        if self.format == OutputFormat::StreamJson {
            observers.push(Box::new(StreamObserver::new(write)));
        }
        let rules = &self.agent.settings.rules;
        observers.push(Box::new(self.denied.observer(rules)));
        Observers(observers)
    }

    /// Runs a turn, and says so if it is drained meanwhile: what runs may take long.
    async fn note_drain(&self, turn: BoxFuture<'_, TurnReport>) -> TurnReport {
        let mut turn = turn;
        tokio::select! {
            biased;
            report = &mut turn => return report,
            () = self.stop.drain.cancelled() => {}
        }
        self.view.end_output();
        self.terminal.note(
            "Stopping after what runs now; nothing else starts. A second SIGTERM stops that, too.",
        );
        turn.await
    }

    /// Prints the result of a run and returns its exit.
    async fn finish(&self, session: &Session, mut report: TurnReport) -> Result<Exit, Failure> {
        if let TurnEnd::Done {
            result: Some(result),
            ..
        } = &mut report.end
        {
            *result = session.whole_result(result.clone()).await?;
        }
        if self.format == OutputFormat::Json {
            let document = json!({ "session": session.id(), "outcome": report });
            self.terminal.println(&json_text(&document));
        }
        match &report.end {
            TurnEnd::Done {
                text,
                result,
                output,
            } => {
                match (result, output) {
                    (Some(result), _) => self.answer(&full_text(&result.output)),
                    (None, _) if self.view.streams_text() => {}
                    // The value alone, whatever the model wrote around it.
                    (None, Some(value)) => self.answer(&value.to_string()),
                    (None, None) if self.format == OutputFormat::Text => {
                        self.view.print_answer(text);
                    }
                    (None, None) => {}
                }
                self.note_failed_nodes(&report);
                match report.summary.stop_reason {
                    Some(StopReason::MaxTokens) => self.terminal.note("The answer is cut off: the model reached its limit of tokens for one answer."),
                    Some(StopReason::ContextWindow) => self.terminal.note("The answer is cut off: the conversation fills the model's window. Use a model with a larger one, or begin a new session."),
                    _ => {}
                }
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
            TurnEnd::NeedsMoreTurns => {
                self.terminal.note(&format!(
                    "Stopped before the next step; nothing is lost.\nTo go on: {}",
                    self.resume
                ));
            }
            TurnEnd::Cancelled => {
                if self.in_conversation {
                    self.terminal.note("Stopped.");
                } else if !self.terminal.stdout_is_closed() {
                    self.terminal
                        .note(&format!("Stopped. The session is kept: {}", self.resume));
                }
                return Ok(self.stop.exit());
            }
            TurnEnd::Error { error } => {
                let kept = if self.in_conversation || matches!(error, TurnError::Journal { .. }) {
                    String::new()
                } else {
                    format!("\nThe session is kept: {}", self.resume)
                };
                let failure = Failure::new((&report.end).into(), format!("{error}{kept}"));
                return Err(failure.documented());
            }
        }
        if let Some(line) = self.figures.line(self.agent.settings.context.as_ref()) {
            self.view.note_figures(&line);
        }
        match (Exit::from(&report.end), self.stopped()) {
            // Stopped while awaiting the user: the request stays open, and a later run asks again.
            (Exit::Waiting, Some(stopped)) => Ok(stopped),
            (Exit::Done, _) if self.note_denied() => Ok(Exit::Unapproved),
            (exit, _) => Ok(exit),
        }
    }

    /// Says which nodes of a workflow failed although it went on.
    fn note_failed_nodes(&self, report: &TurnReport) {
        let workflow = report.summary.workflow.iter();
        for (node, failure) in workflow.flat_map(|workflow| &workflow.failed) {
            self.terminal.note(&format!(
                "The node {} failed: {}",
                escape_line(node),
                one_line(&failure.to_string(), SHOWN_FAILURE)
            ));
        }
    }

    fn answer(&self, text: &str) {
        if self.format == OutputFormat::Text {
            self.terminal.println_untrusted(text);
        }
    }
}

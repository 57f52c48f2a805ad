//! `agent-host run`: turns, until the agent has its answer or cannot go on by itself.

mod intro;

use super::configure;
use crate::{
    args::{OutputFormat, PermissionPrompts, RunArgs},
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{LiveView, Terminal, Verdict, ask, harmless},
};
use agent_host_app::{Host, Overrides};
use agent_host_core::{
    model::StopReason,
    session::Session,
    turn::{Agent, AgentInput, Continuation, Decision, Outcome, Prompts, TurnError},
};
use serde_json::json;
use std::{
    io::{BufRead as _, Read as _},
    sync::Arc,
    time::Duration,
};

/// The longest prompt that is read from standard input, in bytes.
const MAX_PROMPT_BYTES: u64 = 4 * 1024 * 1024;

/// Everything that one run needs besides its session.
struct Run<'a> {
    agent: Agent,
    view: Arc<LiveView>,
    stop: Stop,
    terminal: &'a Terminal,
    format: OutputFormat,
}

/// What the person wants of this run.
enum Task {
    /// One input, one answer.
    Once(AgentInput),
    /// A conversation on the terminal.
    Conversation,
}

pub(super) async fn run(args: RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let task = task(&args, terminal)?;
    let prompts = match args.permission_prompts {
        Some(PermissionPrompts::None) => Prompts::Deny,
        Some(PermissionPrompts::Ask) | None if terminal.stdin && terminal.stderr => Prompts::Ask,
        Some(PermissionPrompts::Ask) | None => Prompts::Deny,
    };
    let overrides = Overrides {
        model: args.model,
        tools: args.tools,
        max_turns: args.max_turns,
        ..Overrides::default()
    };
    let config = configure(args.config, overrides)?;
    let host = Host::open(config).await?;
    let mut session = match &args.resume {
        Some(name) => host.resume_session(name).await?,
        None => host.start_session()?,
    };
    if !args.quiet {
        intro::show(&host, &session, terminal);
    }
    let view = Arc::new(LiveView::new(*terminal, args.output_format, args.quiet));
    let stop = Stop::listen(args.timeout.map(Duration::from_secs)).map_err(Failure::failed)?;
    let agent = host.agent(view.clone(), prompts);
    let run = Run {
        agent,
        view,
        stop,
        terminal,
        format: args.output_format,
    };
    match task {
        Task::Once(input) => run.once(&mut session, input).await,
        Task::Conversation => run.conversation(&mut session).await,
    }
}

fn task(args: &RunArgs, terminal: &Terminal) -> Result<Task, Failure> {
    if let Some(prompt) = &args.prompt {
        return Ok(Task::Once(AgentInput::Text(prompt.clone())));
    }
    if terminal.stdin {
        return Ok(Task::Conversation);
    }
    let mut prompt = String::new();
    let mut stdin = std::io::stdin().take(MAX_PROMPT_BYTES);
    stdin.read_to_string(&mut prompt).map_err(|error| {
        Failure::usage(format!(
            "cannot read the prompt from standard input: {error}"
        ))
    })?;
    match (prompt.trim().is_empty(), &args.resume) {
        (false, _) => Ok(Task::Once(AgentInput::Text(prompt))),
        (true, Some(_)) => Ok(Task::Once(AgentInput::Continue)),
        (true, None) => Err(Failure::usage(
            "there is no prompt: give one as an argument, like agent-host run \"What is in this folder?\", or on standard input",
        )),
    }
}

impl Run<'_> {
    async fn once(&self, session: &mut Session, input: AgentInput) -> Result<Exit, Failure> {
        let outcome = self.drive(session, input).await;
        self.finish(session, &outcome)
    }

    async fn conversation(&self, session: &mut Session) -> Result<Exit, Failure> {
        if !session.state().batch().is_empty() {
            let outcome = self.drive(session, AgentInput::Continue).await;
            self.finish(session, &outcome)?;
        }
        loop {
            self.terminal
                .note("\nWhat do you want to know? (Ctrl-D ends)");
            let Some(line) = self.read_line().await else {
                return Ok(Exit::Done);
            };
            if line.trim().is_empty() {
                continue;
            }
            let outcome = self.drive(session, AgentInput::Text(line)).await;
            let exit = self.finish(session, &outcome)?;
            if self.stop.token.is_cancelled() || exit == Exit::Waiting {
                return Ok(exit);
            }
        }
    }

    async fn read_line(&self) -> Option<String> {
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            let count = std::io::stdin().lock().read_line(&mut line).ok()?;
            (count > 0).then_some(line)
        });
        tokio::select! {
            () = self.stop.token.cancelled() => None,
            line = read => line.ok().flatten(),
        }
    }

    /// Runs turns until one ends in something that the loop cannot go on from by itself.
    async fn drive(&self, session: &mut Session, mut input: AgentInput) -> Outcome {
        loop {
            let outcome = self.agent.run_turn(session, input, &self.stop.token).await;
            self.view.settle();
            input = match &outcome {
                Outcome::NeedsMoreTurns { .. } => AgentInput::Continue,
                Outcome::AwaitingConfirmation { continuation, .. } => {
                    match self.decide(continuation).await {
                        Some(decisions) => AgentInput::Resume {
                            continuation: continuation.clone(),
                            decisions,
                        },
                        None => return outcome,
                    }
                }
                Outcome::Done { .. }
                | Outcome::BudgetExceeded { .. }
                | Outcome::Refusal { .. }
                | Outcome::Cancelled { .. }
                | Outcome::Error { .. } => return outcome,
            };
        }
    }

    /// Asks about every call that waits; nothing when the person wants to decide later or cannot be asked.
    async fn decide(&self, continuation: &Continuation) -> Option<Vec<Decision>> {
        if self.agent.settings.prompts == Prompts::Deny {
            return None;
        }
        let mut decisions = Vec::with_capacity(continuation.calls.len());
        for call in &continuation.calls {
            let (terminal, call) = (*self.terminal, call.clone());
            let asked = tokio::task::spawn_blocking(move || ask(&terminal, &call));
            let verdict = tokio::select! {
                () = self.stop.token.cancelled() => return None,
                verdict = asked => verdict.ok()?,
            };
            match verdict {
                Verdict::Decided(decision) => decisions.push(decision),
                Verdict::Later => return None,
            }
        }
        Some(decisions)
    }

    /// Prints what a run came to.
    fn finish(&self, session: &Session, outcome: &Outcome) -> Result<Exit, Failure> {
        if self.format == OutputFormat::Json {
            let document = json!({ "session": session.id(), "outcome": outcome });
            self.terminal.println(&document.to_string());
        }
        let id = session.id();
        match outcome {
            Outcome::Done { text, summary } => {
                self.answer(text);
                if summary.stop_reason == Some(StopReason::MaxTokens) {
                    self.terminal.note("The answer is cut off: the model reached its limit of tokens for one answer.");
                }
            }
            Outcome::Refusal { text, .. } => {
                self.answer(text);
                self.terminal.note("The model declined to answer.");
            }
            Outcome::BudgetExceeded { budget, .. } => {
                self.terminal.note(&format!(
                    "{}\nTo go on: agent-host run --resume {id} --max-turns N",
                    budget_text(*budget)
                ));
            }
            Outcome::AwaitingConfirmation { continuation, .. } => self.terminal.note(&format!(
                "{} waiting for a decision. To decide: agent-host run --resume {id}",
                if continuation.calls.len() == 1 {
                    "1 call is"
                } else {
                    "Calls are"
                }
            )),
            Outcome::NeedsMoreTurns { .. } => self
                .terminal
                .note(&format!("To go on: agent-host run --resume {id}")),
            Outcome::Cancelled { .. } => {
                self.terminal.note(&format!(
                    "Stopped. The session is kept: agent-host run --resume {id}"
                ));
                return Ok(self.stop.exit());
            }
            Outcome::Error { error } => {
                let kept = match error {
                    TurnError::Model { .. } | TurnError::Input { .. } => {
                        format!("\nThe session is kept: agent-host run --resume {id}")
                    }
                    TurnError::Journal { .. } => String::new(),
                };
                return Err(Failure::new(outcome.into(), format!("{error}{kept}")));
            }
        }
        Ok(outcome.into())
    }

    fn answer(&self, text: &str) {
        if self.format != OutputFormat::Text || self.view.streams_text() {
            return;
        }
        // A program reads exactly what the model said; a terminal must not obey it.
        self.terminal.println(&if self.terminal.stdout {
            harmless(text)
        } else {
            text.to_owned()
        });
    }
}

fn budget_text(budget: agent_host_core::turn::Budget) -> String {
    match budget {
        agent_host_core::turn::Budget::Turns { limit } => {
            format!(
                "Stopped: {limit} model calls were made for this prompt, and that is the limit (max-turns)."
            )
        }
    }
}

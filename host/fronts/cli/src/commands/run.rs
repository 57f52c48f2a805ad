//! `agent-host run`: runs turns until the agent has its answer or needs the user.

mod approval;
mod arguments;
mod attachments;
mod budget;
mod context;
mod conversation;
mod denied;
mod end;
mod figures;
mod files;
mod intro;
mod keyed;
mod near_models;
mod recall;
mod reply;
mod settings;
mod task;
mod turns;
mod waiting;

pub(super) use intro::UNTOLD;
pub(super) use settings::prompts;

use super::{configure, flush_telemetry, shell_quoted};
use crate::{
    args::{OutputFormat, RunArgs},
    exit::{Exit, Failure},
    signals::Stop,
    terminal::{LiveView, Terminal, TerminalUser, abandon_prompt, json_text},
};
use agent_host_app::{Host, key_variable};
use agent_host_engine::{
    session::Session,
    stream::{StreamLine, StreamObserver},
    turn::{Agent, Prompts, drive},
};
use agent_host_journal::SessionName;
use agent_host_types::{
    id::Digest,
    model::Provenance,
    turn::{AgentInput, TurnReport},
};
use denied::DeniedCalls;
use figures::Figures;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use task::RunTask;
use turns::TerminalFront;

/// The state of a run besides its session.
struct RunParts<'a> {
    host: &'a Host,
    agent: Agent,
    view: LiveView,
    stop: Stop,
    terminal: &'a Terminal,
    format: OutputFormat,
    /// The JSON pointer of the only value of the document that is printed.
    selected: Option<String>,
    /// Whether any denied call fails the run.
    fails_on_denial: bool,
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
    if args.json_path.is_some() {
        args.output_format = OutputFormat::Json;
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
    let mut config = configure(args.config.clone(), settings::overrides(&args))?;
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
    let (mut agent, mut session, began_before) = open(&args, name.as_ref(), &host, prompts).await?;
    if let Some(context) = context {
        session.set_context(context);
    }
    let directory = &host.config().working_dir;
    let resume = arguments::resume_command(&args, session.id(), directory);
    check_model(args.model.is_some(), &agent, &session, &resume)?;
    let recorded = arguments::recorded(&args, directory);
    session.configure_run(recorded).map_err(Failure::usage)?;
    if !args.quiet {
        intro::show(host.agents(), &agent, &session, terminal);
    }
    settings::apply(&args, &mut agent.settings)?;
    let view = settings::view(&args, &host, &agent, terminal);
    let mut run = RunParts {
        host: &host,
        agent,
        view,
        stop,
        terminal,
        format: args.output_format,
        selected: args.json_path.clone(),
        fails_on_denial: args.fail_on_denial,
        resume,
        denied: DeniedCalls::default(),
        postponed: Mutex::default(),
        figures: Figures::default(),
        name,
        in_conversation: matches!(task, Some(RunTask::Conversation(_))),
    };
    let ran = run.task(&mut session, task, began_before, &args).await;
    flush_telemetry(&host, terminal).await;
    ran
}

/// Opens the loop of a run and its session, and returns whether the same run began before, under
/// its key. A session of a workflow continues it.
async fn open(
    args: &RunArgs,
    name: Option<&SessionName>,
    host: &Host,
    prompts: Prompts,
) -> Result<(Agent, Session, bool), Failure> {
    let (sessions, agents) = (host.sessions(), host.agents());
    let resumed = match &args.resume {
        Some(name) => Some(sessions.resume(name).await?),
        None => None,
    };
    let begun = resumed
        .as_ref()
        .and_then(|session| session.state().workflow());
    let begun = begun.filter(|_| args.agent.is_none()).map(|run| &run.name);
    let (agent, system) = match args.workflow.as_ref().or(begun) {
        Some(name) => (agents.workflow_agent(name, prompts)?, None),
        None => agents.named_agent(args.agent.as_deref(), prompts)?,
    };
    let agent = match args.runs_tools_outside() {
        true => agents.run_outside(agent),
        false => agent,
    };
    let keyed = args
        .idempotency_key
        .as_ref()
        .map(|key| sessions.keyed_id(key));
    if let Some(name) = name {
        let id = resumed.as_ref().map(Session::id).or(keyed);
        sessions.check_name(id, name).await?;
    }
    let (session, began_before) = match (resumed, keyed) {
        (Some(session), _) => (session, false),
        (None, Some(id)) => sessions.with_id(id, None, system).await?,
        (None, None) => (sessions.start(system).await?, false),
    };
    Ok((agent, session, began_before))
}

/// Refuses to play the built-in tour, which plays where no model is configured, over a session of
/// another model; `is_named` is true for a model that the user named.
fn check_model(
    is_named: bool,
    agent: &Agent,
    session: &Session,
    resume: &str,
) -> Result<(), Failure> {
    let is_tour = |model: &Provenance| model.provider == "script" && model.model == "tour";
    let Some(then) = session.state().model().filter(|model| !is_tour(model)) else {
        return Ok(());
    };
    if is_named || agent.workflow.is_some() || !is_tour(&agent.model.provenance()) {
        return Ok(());
    }
    let name = format!("{}:{}", then.provider, then.model);
    let key = key_variable(&then.provider).map_or_else(String::new, |variable| {
        format!("; its key is read from {variable}")
    });
    Err(Failure::usage(format!(
        "session {} was run with {name}, but no model is configured now, so the built-in tour would resume it. Pass \
         the model{key}: {resume} --model {}",
        session.id(),
        shell_quoted(&name)
    )))
}

impl RunParts<'_> {
    /// Runs the task; without one, gives the session what the command line answers.
    async fn task(
        &mut self,
        session: &mut Session,
        task: Option<RunTask>,
        began_before: bool,
        args: &RunArgs,
    ) -> Result<Exit, Failure> {
        let Some(task) = task else {
            return self.reply(session, args).await;
        };
        self.begin_stream(session);
        match task {
            RunTask::Once(input) if began_before => self.again(session, &input).await,
            RunTask::Once(input) => self.once(session, *input).await,
            RunTask::Conversation(files) => {
                conversation::converse(self, session, files, args).await
            }
        }
    }

    /// Gives the session what the command line answers. A session that is behind its agents,
    /// because the program ended meanwhile, is continued first.
    async fn reply(&mut self, session: &mut Session, args: &RunArgs) -> Result<Exit, Failure> {
        let is_behind = self.agent.is_behind_children(session).await;
        let is_behind = is_behind.map_err(Failure::failed)?;
        if is_behind {
            self.begin_stream(session);
            self.terminal.note(
                "The program ended in the middle of an answer; that turn is continued first.",
            );
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
            let write = |line: Arc<StreamLine>| self.terminal.println(&json_text(line.json()));
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

    /// Runs turns until one ends that neither the loop nor the user continues.
    async fn drive(
        &mut self,
        session: &mut Session,
        input: AgentInput,
    ) -> Result<TurnReport, Failure> {
        self.figures = Figures::default();
        let setup = self.agent.setup();
        let mut front = TerminalFront { run: self, setup };
        Ok(drive(&mut front, session, input).await?)
    }
}

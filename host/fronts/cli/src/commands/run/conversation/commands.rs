//! The commands of a conversation, run by the functions of the other commands.

use super::{
    Conversation,
    slash::{FORCE, SlashCommand},
};
use crate::{
    args::{ApprovalsArgs, ApprovalsCommand, ExplainArgs, MemoryArgs, MemoryCommand},
    commands::{
        approvals, configure, explain, memory,
        run::{arguments, attachments, check_model, recall, settings::overrides},
        sessions, undo,
    },
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, date, dollars, escape_line, one_line},
};
use agent_host_app::{Effort, Overrides, UndoRequest, model, reach, undo_answer};
use agent_host_engine::{
    journal::JournalError, observer::Unobserved, session::Session, turn::Agent,
};
use agent_host_journal::{ListPage, SessionInfo};
use agent_host_types::{id::SessionId, output::ContentPart, run::RunArguments, turn::AgentInput};
use std::path::{Path, PathBuf};

/// The maximum number of sessions that `/resume` lists.
const MAX_SESSIONS: usize = 20;

/// The maximum length of a description or a title in a list, in characters.
const SHOWN_CHARACTERS: usize = 60;

impl Conversation<'_, '_> {
    /// Runs a command; returns the exit if it ends the conversation. One that fails ends nothing.
    pub(super) async fn command(
        &mut self,
        command: SlashCommand,
        argument: &str,
    ) -> Result<Option<Exit>, Failure> {
        let done = match command {
            SlashCommand::Quit => return Ok(Some(Exit::Done)),
            SlashCommand::Retry if self.can_continue() => {
                let text = self.unanswered.take().map(|unanswered| unanswered.text);
                return self.answer(AgentInput::Continue, text).await;
            }
            SlashCommand::Resume if !argument.is_empty() => match self.resume(argument).await {
                Ok(()) if self.session.state().is_unfinished() => {
                    return self.answer(AgentInput::Continue, None).await;
                }
                resumed => resumed,
            },
            command => self.show_or_change(command, argument).await,
        };
        if let Err(failure) = done {
            failure.report(self.run.terminal);
        }
        Ok(None)
    }

    async fn show_or_change(
        &mut self,
        command: SlashCommand,
        argument: &str,
    ) -> Result<(), Failure> {
        match command {
            SlashCommand::Help => self.run.terminal.note_at_words(&super::slash::help()),
            SlashCommand::Retry => {
                self.note("There is nothing to retry: the last message was answered.");
            }
            SlashCommand::Model => return self.choose_model(argument).await,
            SlashCommand::Effort => return self.choose_effort(argument).await,
            SlashCommand::Tools => self.show_tools(),
            SlashCommand::Grants => {
                for line in reach(self.run.host.agents().registry()) {
                    self.note(&escape_line(&line));
                }
            }
            SlashCommand::Approvals => return self.show_approvals().await,
            SlashCommand::Memory => return self.show_memory(argument).await,
            SlashCommand::Cost => self.show_cost(),
            SlashCommand::Context => self.show_context(),
            SlashCommand::Reasoning => self.show_reasoning(),
            SlashCommand::Compact => self.compact(),
            SlashCommand::Clear => return self.clear().await,
            SlashCommand::Resume => return self.list_sessions().await,
            SlashCommand::Fork => return self.fork().await,
            SlashCommand::Image => return self.attach(argument, /* is_image */ true),
            SlashCommand::File => return self.attach(argument, /* is_image */ false),
            SlashCommand::Last => return self.show_last_call().await,
            SlashCommand::Explain => return self.explain().await,
            SlashCommand::Undo => return self.undo(argument).await,
            SlashCommand::Export => return self.export(argument).await,
            SlashCommand::Quit => {}
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        self.run.terminal.note(text);
    }

    /// Shows the model, or asks another one from the next message on. The record of each answer
    /// names its model.
    async fn choose_model(&mut self, name: &str) -> Result<(), Failure> {
        if name.is_empty() {
            let model = self.run.agent.model.provenance();
            let now = escape_line(&format!("{}:{}", model.provider, model.model));
            self.note(&format!(
                "The model is {BOLD}{now}{BOLD:#}; to change it: /model PROVIDER:NAME"
            ));
            return Ok(());
        }
        self.use_model(Some(name.to_owned()), self.effort).await
    }

    async fn choose_effort(&mut self, level: &str) -> Result<(), Failure> {
        if level.is_empty() {
            let now = self.effort.map_or("as configured", Effort::name);
            self.note(&format!(
                "The effort is {BOLD}{now}{BOLD:#}; to change it: /effort LEVEL"
            ));
            return Ok(());
        }
        let effort = level.parse().map_err(Failure::usage)?;
        self.use_model(self.model.clone(), Some(effort)).await
    }

    async fn use_model(
        &mut self,
        name: Option<String>,
        effort: Option<Effort>,
    ) -> Result<(), Failure> {
        self.run.agent = self.agent_with(name.clone(), effort).await?;
        (self.model, self.effort) = (name, effort);
        self.note_model();
        self.record_arguments()
    }

    fn note_model(&self) {
        let now = self.run.agent.model.provenance();
        self.note(&format!(
            "{BOLD}{}{BOLD:#} answers from the next message on.",
            escape_line(&format!("{}:{}", now.provider, now.model))
        ));
    }

    /// Returns the loop of this conversation with another model or effort.
    async fn agent_with(
        &self,
        name: Option<String>,
        effort: Option<Effort>,
    ) -> Result<Agent, Failure> {
        if self.run.agent.workflow.is_some() {
            return Err(Failure::usage(
                "the agents of a workflow use the models of its configuration; change them there",
            ));
        }
        let overrides = Overrides {
            model: name,
            effort,
            // The file of the recording exists, and is that of the first model.
            record: None,
            ..overrides(self.args)
        };
        let config = configure(self.args.config.clone(), overrides)?;
        let model = model(&config).await?;
        let mut agent = self.run.agent.clone();
        if self.args.agent.is_none() {
            // Agents without a model of their own have this one, too.
            let agents = self.run.host.agents();
            agent = agents.agent_with_model(&model, agent.settings.prompts);
            if self.args.runs_tools_outside() {
                agent = agents.run_outside(agent);
            }
            agent.settings = self.run.agent.settings.clone();
        }
        agent.model = model;
        agent.settings.context = config.context;
        Ok(agent)
    }

    fn show_tools(&self) {
        for tool in self.run.agent.tools.tools() {
            let tool = &tool.definition;
            let about = one_line(&tool.description, SHOWN_CHARACTERS);
            self.note(&format!(
                "{BOLD}{:<24}{BOLD:#} {DIM}{about}{DIM:#}",
                escape_line(&tool.name)
            ));
        }
    }

    async fn show_approvals(&self) -> Result<(), Failure> {
        let args = ApprovalsArgs {
            command: ApprovalsCommand::List { json: false },
            config: self.args.config.clone(),
        };
        approvals::approvals(args, self.run.terminal)
            .await
            .map(drop)
    }

    async fn show_memory(&self, words: &str) -> Result<(), Failure> {
        let args = MemoryArgs {
            command: MemoryCommand::List {
                words: words.split_whitespace().map(str::to_owned).collect(),
                json: false,
            },
            all: false,
            config: self.args.config.clone(),
        };
        memory::memory(args, self.run.terminal).await.map(drop)
    }

    fn show_cost(&self) {
        let usage = self.session.state().usage();
        let cost = match usage.cost_micros {
            Some(micros) => dollars(micros),
            None => "at unknown prices".to_owned(),
        };
        self.note(&format!(
            "{} tokens read ({} from the cache), {} written: {cost}",
            usage.input_tokens, usage.cached_input_tokens, usage.output_tokens
        ));
    }

    fn show_context(&self) {
        let size = self.run.agent.request_tokens(self.session);
        let Some(limits) = self.run.agent.settings.context else {
            return self.note(&format!("The next request has about {size} tokens."));
        };
        let percent = size.saturating_mul(100) / limits.window_tokens.max(1);
        self.note(&format!(
            "The next request has about {size} tokens, {percent} % of the window of {}; above {} tokens, old results \
             and messages are shortened.",
            limits.window_tokens,
            limits.threshold()
        ));
    }

    fn show_reasoning(&self) {
        let lines = self.run.view.last_reasoning();
        if lines.is_empty() {
            self.note("The model has shown no reasoning in this conversation.");
        }
        lines.iter().for_each(|line| self.note(line));
    }

    /// Has the next answer begin with a compaction, as if the window were as full as it is now.
    fn compact(&mut self) {
        let size = self.run.agent.request_tokens(self.session);
        match &mut self.run.agent.settings.context {
            Some(limits) => {
                self.window.get_or_insert(*limits);
                limits.window_tokens = limits.window_tokens.min(size);
                limits.is_known = false;
                self.note("The conversation will be shortened before the next answer.");
            }
            None => self.note("This model has no window limit, so nothing needs to be shortened."),
        }
    }

    async fn clear(&mut self) -> Result<(), Failure> {
        let host = self.run.host;
        let (name, prompts) = (&self.args.agent, self.run.agent.settings.prompts);
        let system = match (name, &self.run.agent.workflow) {
            (None, Some(_)) => None,
            _ => host.agents().named_agent(name.as_deref(), prompts)?.1,
        };
        let session = host.sessions().start(system).await?;
        self.enter(session)
    }

    /// Continues in another session.
    fn enter(&mut self, session: Session) -> Result<(), Failure> {
        let before = std::mem::replace(self.session, session);
        self.unanswered = None;
        self.clear_files();
        self.note(&format!(
            "This is session {}; the previous one is kept: /resume {}",
            self.session.id(),
            before.id()
        ));
        self.record_arguments()
    }

    /// Records what a later run of the session takes over.
    fn record_arguments(&mut self) -> Result<(), Failure> {
        let directory = &self.run.host.config().working_dir;
        self.run.resume = arguments::resume_command(self.args, self.session.id(), directory);
        let recorded = RunArguments {
            model: self.model.clone(),
            effort: self.effort.map(|effort| effort.name().to_owned()),
            ..arguments::recorded(self.args, directory)
        };
        let recorded = self.session.configure_run(recorded);
        recorded.map_err(Failure::usage)
    }

    /// Returns the sessions of this project, newest first.
    pub(super) async fn sessions(&self) -> Result<Vec<SessionInfo>, Failure> {
        let here = self.run.host.config().working_dir.display().to_string();
        let page = ListPage {
            limit: MAX_SESSIONS,
            directory: Some(here),
            ..ListPage::default()
        };
        Ok(self.run.host.sessions().store().list_page(page).await?)
    }

    /// Lists the sessions of this project, and leaves the choice to the composer.
    async fn list_sessions(&mut self) -> Result<(), Failure> {
        self.listed.clear();
        for (index, row) in self.sessions().await?.into_iter().enumerate() {
            self.note(&format!(
                "{BOLD}{:>3}{BOLD:#}  {}  {DIM}{}{DIM:#}",
                index + 1,
                one_line(row.title.as_deref().unwrap_or("(empty)"), SHOWN_CHARACTERS),
                date(row.last_ms)
            ));
            self.listed.push(row.id);
        }
        if self.listed.is_empty() {
            self.note("There are no other sessions of this project.");
            return Ok(());
        }
        self.note("Type the number of a session and press Enter.");
        self.begun = Some("/resume ".to_owned());
        Ok(())
    }

    /// Continues a session: by its number in the last list, or as `--resume` names it. It has the
    /// model of its last run, unless the user named one for this conversation.
    async fn resume(&mut self, name: &str) -> Result<(), Failure> {
        let listed = name.parse::<usize>().ok().and_then(|number| {
            let index = number.checked_sub(1)?;
            self.listed.get(index).map(SessionId::to_string)
        });
        let name = listed.unwrap_or_else(|| name.to_owned());
        if name == self.session.id().to_string() {
            return Err(Failure::usage("this session is already open"));
        }
        let session = self.run.host.sessions().resume(&name).await?;
        if session.state().workflow().is_some() {
            return Err(Failure::usage(format!(
                "session {name} belongs to a workflow; continue it with agent-host run --resume {name}"
            )));
        }
        let directory = &self.run.host.config().working_dir;
        arguments::check_given(self.args, &session, directory)?;
        let recorded = session.state().run_arguments();
        let effort = recorded.effort.and_then(|level| level.parse().ok());
        let (model, effort) = (
            self.model.clone().or(recorded.model),
            self.effort.or(effort),
        );
        let is_other = (&model, effort) != (&self.model, self.effort);
        let agent = match is_other {
            true => self.agent_with(model.clone(), effort).await?,
            false => self.run.agent.clone(),
        };
        let command = arguments::resume_command(self.args, session.id(), directory);
        check_model(model.is_some(), &agent, &session, &command)?;
        self.run.agent = agent;
        (self.model, self.effort) = (model, effort);
        self.enter(session)?;
        for line in recall::lines(self.session, &self.run.view) {
            self.note(&line);
        }
        if is_other {
            self.note_model();
        }
        if !self.session.state().is_unfinished() {
            self.offer_unanswered();
        }
        Ok(())
    }

    async fn fork(&mut self) -> Result<(), Failure> {
        let sessions = self.run.host.sessions();
        let copy = sessions.store().fork(self.session.id(), None, None);
        let session = sessions.resume(&copy.await?.to_string()).await?;
        self.enter(session)
    }

    /// Attaches a file to the next message.
    fn attach(&mut self, file: &str, is_image: bool) -> Result<(), Failure> {
        if file.is_empty() {
            return Err(Failure::usage("name the file, such as /file notes.txt"));
        }
        let file = [self.path(file)];
        let (images, files): (&[PathBuf], &[PathBuf]) = match is_image {
            true => (&file, &[]),
            false => (&[], &file),
        };
        let parts: Vec<ContentPart> = attachments::read(images, files)?;
        attachments::check(&parts, self.run.host.config())?;
        self.files.extend(parts);
        self.note("It will be sent with the next message.");
        Ok(())
    }

    fn path(&self, file: &str) -> PathBuf {
        match (file.strip_prefix("~/"), std::env::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new(file).to_owned(),
        }
    }

    async fn show_last_call(&self) -> Result<(), Failure> {
        let store = self.run.host.sessions().store();
        let (id, records) = (self.session.id(), self.session.record_count());
        let read = async |from| store.read(id, from).await;
        let last = match sessions::last_call(records, read).await {
            // It has no message yet.
            Err(JournalError::NotFound(_)) => None,
            last => last?,
        };
        match last {
            Some(text) => self.note(&text),
            None if records <= sessions::LOOKED_AT => {
                self.note("No tool was called in this conversation.");
            }
            None => self.note(&format!(
                "No tool was called for long; to see all calls: agent-host sessions show {id}"
            )),
        }
        Ok(())
    }

    async fn explain(&self) -> Result<(), Failure> {
        let args = ExplainArgs {
            session: self.session.id().to_string(),
            config: self.args.config.clone(),
            json: false,
        };
        explain::explain(args, self.run.terminal).await.map(drop)
    }

    async fn undo(&mut self, argument: &str) -> Result<(), Failure> {
        let force = match argument {
            "" => false,
            FORCE => true,
            _ => {
                return Err(Failure::usage(
                    "use /undo, or /undo --force to also restore files that have changed since",
                ));
            }
        };
        let host = self.run.host;
        let undone = undo_answer(
            host.sessions().store().as_ref(),
            self.session,
            UndoRequest {
                force,
                ..UndoRequest::default()
            },
            &Unobserved,
        )
        .await?;
        let force = format!("/undo {FORCE}");
        self.note(&undo::report(
            undone.as_ref(),
            &host.config().working_dir,
            &force,
        ));
        Ok(())
    }

    async fn export(&self, file: &str) -> Result<(), Failure> {
        if file.is_empty() {
            return Err(Failure::usage(
                "name the new file, such as /export talk.session",
            ));
        }
        let (store, id) = (self.run.host.sessions().store().as_ref(), self.session.id());
        let path = self.path(file);
        sessions::export(store, &id.to_string(), Some(&path), self.run.terminal).await?;
        self.note(&format!(
            "Written. To import it: agent-host sessions import {}",
            explain::shell_quoted(&escape_line(file))
        ));
        Ok(())
    }
}

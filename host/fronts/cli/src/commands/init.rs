//! `agent-host init`: asks for a provider, its key and a model, tries them, and writes the user's
//! configuration. A file that exists is never overwritten, and a key is neither shown nor an
//! argument.

mod found;

use crate::{
    args::{InitArgs, OutputFormat, RunArgs},
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, YELLOW, compose, escape_line, hidden, path_text, piped_input},
};
use agent_host_app::{
    Config, Environment, HostError, OnUntrusted, Overrides, Preset, config::Setup, list_models,
    model, nearest,
};
use agent_host_types::{
    message::{Message, Role},
    model::ModelRequest,
};
use found::{key_variable, offered_services};
use std::{
    fs::{DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The longest key, in bytes, as in a file of a key.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// The most models in a list to choose from.
const MAX_SHOWN_MODELS: usize = 40;

/// The test request.
const TEST_PROMPT: &str = "Answer with the one word OK.";

/// Commands to try afterwards. Nothing stands behind one, so that its line can be pasted.
const TRY: &str = "Try a question, a change that asks before each write, and the list of models:
  agent-host run \"What is in this directory?\"
  agent-host run --write \"Write a README.md for this directory\"
  agent-host models";

/// The questions of `init`, and what is known without asking.
struct Wizard<'a> {
    args: InitArgs,
    terminal: &'a Terminal,
    environment: Environment,
    /// The user's configuration.
    file: PathBuf,
    /// The file with the key that this run wrote.
    key_file: Option<PathBuf>,
}

/// Files of a project in which other clients keep MCP servers.
const OTHER_CLIENTS: [&str; 3] = [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"];

pub(super) async fn init(args: InitArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let environment = Environment::from_process()?;
    let file = environment.user_config().ok_or_else(|| {
        Failure::usage("cannot find a directory for your configuration: neither HOME nor XDG_CONFIG_HOME is set; set \
            one of them")
    })?;
    if file.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!(
            "{} already exists, and is not overwritten; edit it, or move it away and run `agent-host init` again",
            path_text(&file)
        )));
    }
    let mut wizard = Wizard {
        args,
        terminal,
        environment,
        file,
        key_file: None,
    };
    let ended = wizard.run().await;
    if !matches!(ended, Ok(Exit::Done))
        && let Some(key_file) = wizard.key_file
    {
        // Without a configuration that names it, it is of no use.
        let _ = std::fs::remove_file(key_file);
    }
    ended
}

/// A start on a terminal without a configuration of the user, and without a session before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstStart {
    /// No provider is known.
    WithoutModel,
    /// A key is set, but which of the models is meant is unknown.
    WithoutChoice,
}

impl FirstStart {
    /// Returns whether a run would be a first start; the answer holds until the run begins.
    pub(super) fn of_run(args: &RunArgs, terminal: &Terminal) -> Result<Option<Self>, Failure> {
        let chosen = args.model.is_some() || args.config.config.is_some() || args.quiet;
        if chosen || !terminal.can_ask() || args.output_format != OutputFormat::Text {
            return Ok(None);
        }
        let environment = Environment::from_process()?;
        let overrides = Overrides {
            state_dir: args.config.state_dir.clone(),
            on_untrusted: OnUntrusted::Use,
            ..Overrides::default()
        };
        // The run reports what is wrong with it.
        let Ok(config) = Config::load(None, &overrides, &environment) else {
            return Ok(None);
        };
        let has_file = environment.user_config().is_none_or(|file| file.exists());
        if has_file || config.models.first.is_some() || config.state_dir.exists() {
            return Ok(None);
        }
        Ok(Some(match config.models.selection_error {
            Some(_) => Self::WithoutChoice,
            None => Self::WithoutModel,
        }))
    }
}

/// Offers to set up a model. A failure is reported, and the run continues.
pub(super) async fn offer(question: &str, terminal: &Terminal) {
    let answer = compose(terminal, question).unwrap_or_default();
    if matches!(answer.trim(), "y" | "yes")
        && let Err(failure) = init(InitArgs::default(), terminal).await
    {
        failure.report(terminal);
    }
}

impl Wizard<'_> {
    async fn run(&mut self) -> Result<Exit, Failure> {
        let asks = self.args.provider.is_none() || self.args.model.is_none();
        let preset = self.provider().await?;
        let base_url = self.base_url(preset)?;
        let key = self.key(preset)?;
        let mut setup = Setup {
            preset,
            base_url,
            key,
            model: self.args.model.clone(),
        };
        if setup.model.is_none() {
            setup.model = Some(self.model(&setup).await?);
        }
        if !self.args.no_test {
            self.test(&setup).await?;
        }
        let text = setup.to_toml();
        let file = path_text(&self.file);
        self.terminal.note(&format!(
            "\n{BOLD}{file}:{BOLD:#}\n\n{}",
            escape_lines(&text)
        ));
        if asks && self.terminal.can_ask() {
            let answer = compose(self.terminal, "Write it? [y] yes  [n] no").unwrap_or_default();
            if !matches!(answer.trim(), "" | "y" | "yes") {
                self.terminal.note("Nothing was written.");
                return Ok(Exit::Refused);
            }
        }
        write_new(&self.file, &text)?;
        self.terminal.note(&format!("Written. {TRY}"));
        let known = OTHER_CLIENTS
            .iter()
            .find(|file| self.environment.cwd.join(file).is_file());
        if let Some(file) = known {
            self.terminal.note(&format!(
                "To use the MCP servers of {file} here: agent-host add --mcp {file}"
            ));
        }
        Ok(Exit::Done)
    }

    /// Asks a question on the terminal; `flag` answers it without one.
    fn ask(&self, question: &str, flag: &str) -> Result<String, Failure> {
        self.ask_or(question, None, flag)
    }

    /// Asks a question that Enter alone answers with `default`.
    fn ask_or(&self, question: &str, default: Option<&str>, flag: &str) -> Result<String, Failure> {
        if !self.terminal.can_ask() {
            return Err(Failure::usage(format!(
                "this question needs a terminal; pass `{flag}` instead"
            )));
        }
        let enter = default.map_or_else(String::new, |default| {
            format!(" (Enter for {})", escape_line(default))
        });
        let question = format!("{question}{enter}:");
        loop {
            let answer = compose(self.terminal, &question);
            let answer =
                answer.ok_or_else(|| Failure::new(Exit::Refused, "Nothing was written."))?;
            match (answer.trim(), default) {
                ("", None) => {}
                ("", Some(default)) => return Ok(default.to_owned()),
                (answer, _) => return Ok(answer.to_owned()),
            }
        }
    }

    async fn provider(&self) -> Result<Preset, Failure> {
        if let Some(name) = &self.args.provider {
            return preset(name);
        }
        let services = offered_services(&self.file, &self.environment).await;
        let rows = (1..).zip(&services).map(|(number, service)| {
            let (name, about) = (service.preset.name, &service.about);
            format!("  {number:>2}  {name:<14} {DIM}{about}{DIM:#}")
        });
        let rows = rows.collect::<Vec<_>>().join("\n");
        let first = services.first().filter(|service| service.is_found);
        let question = format!("Which provider has your model?\n{rows}\nIts number or name");
        loop {
            let default = first.map(|service| service.preset.name);
            let answer = self.ask_or(&question, default, "--provider NAME")?;
            let numbered = answer.parse::<usize>().ok();
            let numbered = numbered.and_then(|number| services.get(number.checked_sub(1)?));
            match numbered.map_or_else(|| preset(&answer), |service| Ok(service.preset)) {
                Ok(preset) => return Ok(preset),
                Err(refused) => self.terminal.error(refused.text()),
            }
        }
    }

    fn base_url(&self, preset: Preset) -> Result<Option<String>, Failure> {
        if self.args.base_url.is_some() || preset.base_url.is_some() {
            return Ok(self.args.base_url.clone());
        }
        let variable = preset.provider.base_url_variable();
        let set = self.environment.variables.get(variable);
        let set = set.filter(|value| !value.is_empty());
        let (question, flag) = ("The address of the server", "--base-url URL");
        let answer = match set {
            Some(url) => self.ask_or(question, Some(url), flag),
            None => self.ask(
                &format!("{question}, such as http://127.0.0.1:8000/v1"),
                flag,
            ),
        };
        answer.map(Some)
    }

    /// Returns the source of the key; absent for a server without one.
    fn key(&mut self, preset: Preset) -> Result<Option<String>, Failure> {
        let variable = key_variable(preset, &self.environment);
        match self.args.key.as_deref() {
            Some("-") => {
                let key = piped_input(MAX_KEY_BYTES, "the key")?;
                return self.keep(preset, &key).map(Some);
            }
            Some(source) if is_source(source) => return Ok(Some(source.to_owned())),
            Some(_) => {
                return Err(Failure::usage(
                    "`--key` takes the source of the key, not the key itself, which other users could see on the \
                     command line; write `env:NAME`, `file:PATH` or `cmd:COMMAND`, or `-` to read it from standard \
                     input",
                ));
            }
            None => {}
        }
        if !preset.wants_key {
            return Ok(variable.map(|name| format!("env:{name}")));
        }
        let own = preset.key_variables.first().copied().unwrap_or("API_KEY");
        if let Some(name) = variable
            && !self.terminal.can_ask()
        {
            return Ok(Some(format!("env:{name}")));
        }
        let is_set = variable.map_or(String::new(), |name| format!(" ({name} is set)"));
        let question = format!(
            "Where is the key?\n   1  in an environment variable{is_set}\n   2  type or paste it now: it is stored \
             in a file that only you can read\n   3  a command prints it, such as `pass show {name}` or `secret-tool \
             lookup service {name}`\nA number",
            name = preset.name
        );
        loop {
            match self.ask(&question, "--key env:NAME")?.as_str() {
                "1" => return self.variable_name(variable.unwrap_or(own)).map(Some),
                "2" => {
                    let key = hidden(self.terminal, "The key (it is not shown):");
                    return self.keep(preset, &key.unwrap_or_default()).map(Some);
                }
                "3" => {
                    let command = self.ask("The command", "--key cmd:COMMAND")?;
                    return Ok(Some(format!("cmd:{command}")));
                }
                _ => self.terminal.note("Please type 1, 2 or 3."),
            }
        }
    }

    fn variable_name(&self, default: &str) -> Result<String, Failure> {
        let name = self.ask_or("Its name", Some(default), "--key env:NAME")?;
        Ok(format!("env:{name}"))
    }

    /// Keeps a key in a file of its owner, and returns it as a source.
    fn keep(&mut self, preset: Preset, key: &str) -> Result<String, Failure> {
        let key = key.trim();
        if key.is_empty() || key.contains(char::is_control) {
            return Err(Failure::usage(
                "the key is empty, or has more than one line; nothing was written",
            ));
        }
        let name = format!("{}.key", preset.name);
        let path = self.file.with_file_name(&name);
        write_new(&path, &format!("{key}\n"))?;
        self.key_file = Some(path);
        Ok(format!("file:{name}"))
    }

    /// Asks for one of the provider's models.
    async fn model(&self, setup: &Setup) -> Result<String, Failure> {
        let config = setup.config(&self.file, &self.environment)?;
        let name = setup.preset.name;
        let listed = list_models(&config, &[name.to_owned()]).await;
        let models = match listed.into_iter().next().map(|listed| listed.models) {
            Some(Ok(models)) => models,
            Some(Err(why)) => {
                self.terminal
                    .note(&format!("{YELLOW}{}{YELLOW:#}", escape_line(why.as_str())));
                Vec::new()
            }
            None => Vec::new(),
        };
        let prefix = format!("{name}:");
        let names = models
            .iter()
            .map(|model| model.name.trim_start_matches(&prefix));
        let names: Vec<&str> = names.collect();
        let rows = (1..).zip(&names).take(MAX_SHOWN_MODELS);
        let rows: Vec<String> = rows
            .map(|(number, name)| format!("  {number:>2}  {}", escape_line(name)))
            .collect();
        let more = match names.len().saturating_sub(rows.len()) {
            0 => String::new(),
            more => format!("\n      and {more} more"),
        };
        let question = format!(
            "Which model?\n{}{more}\nIts number or name",
            rows.join("\n")
        );
        let answer = self.ask(&question, "--model NAME")?;
        let numbered = answer.parse::<usize>().ok();
        let numbered = numbered.and_then(|number| names.get(number.checked_sub(1)?));
        Ok(numbered.map_or(answer, |name| (*name).to_owned()))
    }

    /// Asks the model one thing.
    async fn test(&self, setup: &Setup) -> Result<(), Failure> {
        let config = setup.config(&self.file, &self.environment)?;
        let request = ModelRequest {
            system: None,
            messages: vec![Message::text(Role::User, TEST_PROMPT)],
            tools: Vec::new(),
            answer_schema: None,
        };
        self.terminal
            .note("Asking the model a short question to check that it answers...");
        let asked = async {
            let model = model(&config).await?;
            let reply = model.respond(&request, &|_| {}).await;
            reply.map_err(HostError::from)
        };
        match asked.await {
            Ok(_) => {
                self.terminal.note("It answers.");
                Ok(())
            }
            Err(error) => Err(Failure::failed(format!(
                "the model does not answer: {error}; nothing was written. Correct the cause, or pass `--no-test` to write the configuration anyway"
            ))),
        }
    }
}

/// Returns the service with this name.
fn preset(name: &str) -> Result<Preset, Failure> {
    Preset::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Preset::all().map(|preset| preset.name).collect();
        let fix = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available: {}", known.join(", ")),
        };
        Failure::usage(format!("unknown provider `{}`; {fix}", escape_line(name)))
    })
}

fn is_source(text: &str) -> bool {
    let source = text
        .split_once(':')
        .filter(|(_, rest)| !rest.trim().is_empty());
    source.is_some_and(|(kind, _)| ["env", "file", "cmd"].contains(&kind))
}

/// Escapes each line.
fn escape_lines(text: &str) -> String {
    text.lines().map(escape_line).collect::<Vec<_>>().join("\n")
}

/// Writes a new file that only its owner can read, in a directory of the owner.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => "it already exists, and is not overwritten".to_owned(),
            _ => error.to_string(),
        };
        Failure::failed(format!("cannot write {}: {why}", path_text(path)))
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(failed)?;
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed)
}

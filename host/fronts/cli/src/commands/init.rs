//! `agent-host init`: asks for a provider, its key and a model, tries them, and writes the user's
//! configuration. A file that exists is never overwritten, and a key is neither shown nor an
//! argument.

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

/// Offers to set up a model at the first start on a terminal: where none is configured, and no
/// session was kept yet.
pub(super) async fn offer(args: &RunArgs, terminal: &Terminal) -> Result<(), Failure> {
    let chosen = args.model.is_some() || args.config.config.is_some() || args.quiet;
    if chosen || !terminal.can_ask() || args.output_format != OutputFormat::Text {
        return Ok(());
    }
    let environment = Environment::from_process()?;
    let overrides = Overrides {
        state_dir: args.config.state_dir.clone(),
        on_untrusted: OnUntrusted::Use,
        ..Overrides::default()
    };
    // The run reports what is wrong with it.
    let Ok(config) = Config::load(None, &overrides, &environment) else {
        return Ok(());
    };
    let models = &config.models;
    let has_model = models.first.is_some() || models.selection_error.is_some();
    let file = environment.user_config();
    if has_model || config.state_dir.exists() || file.is_none_or(|file| file.exists()) {
        return Ok(());
    }
    let question = "No model is configured. Set one up now?\n[y] yes  [n] no: play a scripted tour without a model";
    let answer = compose(terminal, question).unwrap_or_default();
    if matches!(answer.trim(), "y" | "yes") {
        init(InitArgs::default(), terminal).await?;
    }
    Ok(())
}

impl Wizard<'_> {
    async fn run(&mut self) -> Result<Exit, Failure> {
        let asks = self.args.provider.is_none() || self.args.model.is_none();
        let preset = self.provider()?;
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
        if !self.terminal.can_ask() {
            return Err(Failure::usage(format!(
                "this question needs a terminal; pass `{flag}` instead"
            )));
        }
        let answer = compose(self.terminal, question);
        let answer = answer.ok_or_else(|| Failure::new(Exit::Refused, "Nothing was written."))?;
        Ok(answer.trim().to_owned())
    }

    fn provider(&self) -> Result<Preset, Failure> {
        if let Some(name) = &self.args.provider {
            return preset(name);
        }
        let presets: Vec<Preset> = Preset::all().collect();
        let rows = (1..).zip(&presets).map(|(number, preset)| {
            let about = match (self.variable(*preset), preset.wants_key) {
                (Some(name), _) => format!("{name} is set"),
                (None, true) => String::new(),
                (None, false) => "needs no key".to_owned(),
            };
            format!("  {number:>2}  {:<14} {DIM}{about}{DIM:#}", preset.name)
        });
        let rows = rows.collect::<Vec<_>>().join("\n");
        let question = format!("Which provider has your model?\n{rows}\nIts number or name:");
        loop {
            let answer = self.ask(&question, "--provider NAME")?;
            let numbered = answer.parse::<usize>().ok();
            let numbered = numbered.and_then(|number| presets.get(number.checked_sub(1)?));
            match numbered.copied().map_or_else(|| preset(&answer), Ok) {
                Ok(preset) => return Ok(preset),
                Err(refused) => self.terminal.error(refused.text()),
            }
        }
    }

    /// Returns the variable with the key of a service that is set.
    fn variable(&self, preset: Preset) -> Option<&'static str> {
        let mut names = preset.key_variables.iter().copied();
        let is_set = |name: &str| {
            let value = self.environment.variables.get(name);
            value.is_some_and(|value| !value.is_empty())
        };
        names.find(|name| is_set(name))
    }

    fn base_url(&self, preset: Preset) -> Result<Option<String>, Failure> {
        if self.args.base_url.is_some() || preset.base_url.is_some() {
            return Ok(self.args.base_url.clone());
        }
        let question = "The address of the server, such as http://127.0.0.1:8000/v1:";
        self.ask(question, "--base-url URL").map(Some)
    }

    /// Returns the source of the key; absent for a server without one.
    fn key(&mut self, preset: Preset) -> Result<Option<String>, Failure> {
        let variable = self.variable(preset);
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
             lookup service {name}`\nA number:",
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
                    let command = self.ask("The command:", "--key cmd:COMMAND")?;
                    return Ok(Some(format!("cmd:{command}")));
                }
                _ => self.terminal.note("Please type 1, 2 or 3."),
            }
        }
    }

    fn variable_name(&self, default: &str) -> Result<String, Failure> {
        let question = format!("Its name (Enter for {default}):");
        let name = self.ask(&question, "--key env:NAME")?;
        let name = if name.is_empty() { default } else { &name };
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
            "Which model?\n{}{more}\nIts number or name:",
            rows.join("\n")
        );
        loop {
            let answer = self.ask(&question, "--model NAME")?;
            let numbered = answer.parse::<usize>().ok();
            let numbered = numbered.and_then(|number| names.get(number.checked_sub(1)?));
            match numbered {
                Some(name) => return Ok((*name).to_owned()),
                None if !answer.is_empty() => return Ok(answer),
                None => {}
            }
        }
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

//! `agent-host add` and `agent-host remove`: components from registries in `agent.toml` and
//! `agent.lock`, and the MCP servers of other clients.

use super::{
    configure, inspect,
    pull::{parse, policy_lines, signer},
};
use crate::{
    args::{AddArgs, ConfigArgs, RemoveArgs},
    exit::{Exit, Failure},
    terminal::{BOLD, Terminal, answer, escape_line, path_text},
};
use agent_host_app::{
    ComponentSource, Config, Environment, LockFile, NewTool, Overrides, PulledComponent, Registry,
    TrustFile,
    config::{MAX_CONFIG_BYTES, Untrusted},
    oci::Remote,
    read_servers, trusted_file, with_servers, with_tool, without_tool,
};
use agent_host_types::{lock::LockEntry, reason::Reason};
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// The built-in components of a configuration that names none.
const DEFAULT_TOOLS: [&str; 3] = ["files", "fetch", "image"];

/// A configuration with a change that is not in its file yet.
pub(super) struct Edit {
    /// The file.
    path: PathBuf,
    /// Its text before; empty if there is none.
    before: String,
    /// Its text after the change.
    after: String,
    /// The text after the change in a file beside it, until it is dropped.
    draft: NamedTempFile,
}

pub(super) async fn add(args: AddArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    match (&args.reference, &args.mcp) {
        (_, Some(file)) => add_servers(file, &args, terminal),
        (reference, None) => {
            add_component(reference.as_deref().unwrap_or_default(), &args, terminal).await
        }
    }
}

/// Adds the MCP servers of a file of another client.
fn add_servers(file: &Path, args: &AddArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let shown = path_text(file);
    let unread =
        |error: String| Failure::usage(format!("cannot add servers from {shown}: {error}"));
    let json =
        trusted_file::read(file, MAX_CONFIG_BYTES).map_err(|error| unread(error.to_string()))?;
    let found = read_servers(&json).map_err(|error| unread(escape_line(error.as_str())))?;
    let config = configure(args.config.clone(), Overrides::default())?;
    let edit = Edit::new(&config, |text| with_servers(text, &found))?;
    let edited = edit.configure(&args.config)?;
    for (name, what) in &found.servers {
        terminal.println(&escape_line(&format!("{name}: {what}")));
    }
    for note in &found.notes {
        terminal.note(&escape_line(note));
    }
    let question = format!(
        "\nMCP server programs run outside of the sandbox.\n{BOLD}Add them?{BOLD:#} [y] yes  [n] no (any other \
         answer also means no)"
    );
    if !args.yes && !is_yes(&question, terminal) {
        terminal.note("Nothing was added. To add them without a question, pass `--yes`.");
        return Ok(Exit::Refused);
    }
    edit.apply(&config, &edited, args.config.config.is_none(), |_| ())?;
    terminal.note(&format!(
        "added to {}; check them with\n  agent-host doctor",
        path_text(&edit.path)
    ));
    Ok(Exit::Done)
}

/// Asks the user; without a terminal, the answer is a no.
fn is_yes(question: &str, terminal: &Terminal) -> bool {
    let said = terminal
        .can_ask()
        .then(|| answer(terminal, question))
        .flatten();
    matches!(said.as_deref().map(str::trim), Some("y" | "yes"))
}

async fn add_component(
    reference: &str,
    args: &AddArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let remote: Remote = parse(reference)?;
    let config = configure(args.config.clone(), Overrides::default())?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => remote.short_name(),
    };
    let pulled = agent_host_app::pull(&config, &remote, None).await?;
    let mut builtins = DEFAULT_TOOLS.to_vec();
    builtins.retain(|builtin| has_defaults(&config) && *builtin != name);
    let component = remote.to_string();
    let tool = |imports| NewTool {
        name: &name,
        component: &component,
        imports,
        builtins: &builtins,
    };
    let mut edit = Edit::new(&config, |text| with_tool(text, &tool(&[])))?;
    let edited = edit.configure(&args.config)?;
    let registry = Registry::open_pulled(&edited, &name, &pulled).await?;
    if let Some(entry) = registry.components().next() {
        // They change comments alone, so that the loaded configuration is the written one.
        edit.change(|text| with_tool(text, &tool(entry.component.imports())))?;
    }
    let locked = registry.components().next().map(|entry| entry.locked());
    let locked = locked.ok_or_else(|| Failure::failed(format!("{remote} is not a component")))?;
    terminal.println(&inspect::screen(&name, &registry, &edited).await?);
    terminal.println(&format!("\n{BOLD}Signed{BOLD:#}\n  {}", signer(&pulled)));
    policy_lines(&pulled)
        .iter()
        .for_each(|line| terminal.println(line));
    if !(args.yes || is_accepted(&remote, &pulled) || confirms(&name, &pulled, terminal)) {
        terminal.note("Nothing was added.");
        return Ok(Exit::Refused);
    }
    let pin = |lock: &mut LockFile| lock.lock.accept(name.clone(), LockEntry::Component(locked));
    edit.apply(&config, &edited, args.config.config.is_none(), pin)?;
    terminal.note(&format!(
        "\nadded to {} and pinned in agent.lock. It has no grants yet: edit `dir`, `http`, `env` and `secrets` of \
         `{}`, and try it with\n  agent-host call {}",
        path_text(&edit.path),
        escape_line(&name),
        super::shell_quoted(&name)
    ));
    Ok(Exit::Done)
}

pub(super) fn remove(args: &RemoveArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config.clone(), Overrides::default())?;
    if config.file.is_none() {
        return Err(Failure::usage(
            "there is no agent.toml here to remove a tool from; pass one with --config",
        ));
    }
    let edit = Edit::new(&config, |text| without_tool(text, &args.name))?;
    let edited = edit.configure(&args.config)?;
    let unpin = |lock: &mut LockFile| lock.lock.remove(&args.name);
    edit.apply(&config, &edited, args.config.config.is_none(), unpin)?;
    terminal.note(&format!(
        "removed `{}` from {} and agent.lock",
        escape_line(&args.name),
        path_text(&edit.path)
    ));
    if has_defaults(&edited) && !edit.after.contains("[[tool]]") {
        terminal.note(
            "No tools are configured now, so the built-in ones are used: files, fetch, image.",
        );
    }
    Ok(Exit::Done)
}

impl Edit {
    /// Reads the configuration, and changes its text.
    pub(super) fn new(
        config: &Config,
        change: impl FnOnce(&str) -> Result<String, Reason>,
    ) -> Result<Self, Failure> {
        let path = match &config.file {
            Some(path) => path.clone(),
            None => config.working_dir.join("agent.toml"),
        };
        let before = read(&path)?;
        let after = changed(&path, &before, change)?;
        let shown = path.display();
        let fault =
            |error: io::Error| Failure::usage(format!("cannot write beside {shown}: {error}"));
        let directory = path.parent().unwrap_or(Path::new("."));
        let draft = tempfile::Builder::new()
            .prefix(".agent-host-")
            .suffix(".toml")
            .tempfile_in(directory);
        let mut draft = draft.map_err(fault)?;
        draft.write_all(after.as_bytes()).map_err(fault)?;
        Ok(Self {
            path,
            before,
            after,
            draft,
        })
    }

    /// Changes the text in another way, which means the same.
    fn change(
        &mut self,
        change: impl FnOnce(&str) -> Result<String, Reason>,
    ) -> Result<(), Failure> {
        self.after = changed(&self.path, &self.before, change)?;
        Ok(())
    }

    /// Loads the changed configuration.
    pub(super) fn configure(&self, args: &ConfigArgs) -> Result<Config, Failure> {
        let args = ConfigArgs {
            config: Some(self.draft.path().to_owned()),
            ..args.clone()
        };
        configure(args, Overrides::default())
    }

    /// Writes the changed lock and then the configuration, and trusts that if it is `found` in the
    /// directory: the user wrote it with this command.
    pub(super) fn apply(
        &self,
        config: &Config,
        edited: &Config,
        found: bool,
        change: impl FnOnce(&mut LockFile),
    ) -> Result<(), Failure> {
        let fault = |error: io::Error| {
            Failure::failed(format!("cannot write {}: {error}", self.path.display()))
        };
        // One at a time, and nothing that another process or an editor wrote meanwhile is lost.
        let _alone = trusted_file::lock(&config.state_dir.join("add.json")).map_err(fault)?;
        if read(&self.path)? != self.before {
            return Err(Failure::failed(format!(
                "{} was changed in the meantime, so nothing was written; run the command again",
                self.path.display()
            )));
        }
        if let Some(mut lock) = LockFile::open(edited)? {
            change(&mut lock);
            lock.write()?;
        }
        trusted_file::replace(&self.path, &self.after, 0o644).map_err(fault)?;
        let environment = Environment::from_process()?;
        if found
            && let Some(untrusted) = Untrusted::found(&environment)?
            && let Some(trust) = TrustFile::for_environment(&environment)
        {
            trust.add(&untrusted)?;
        }
        Ok(())
    }
}

fn changed(
    path: &Path,
    before: &str,
    change: impl FnOnce(&str) -> Result<String, Reason>,
) -> Result<String, Failure> {
    let shown = path.display();
    change(before).map_err(|error| Failure::usage(format!("{shown} was not changed: {error}")))
}

/// Reads a configuration; empty if there is none.
fn read(path: &Path) -> Result<String, Failure> {
    match trusted_file::read(path, MAX_CONFIG_BYTES) {
        Ok(text) => Ok(text),
        Err(error) if error.kind == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::usage(format!(
            "cannot read {}: {error}",
            path.display()
        ))),
    }
}

/// True if the configuration names no tools, so that the built-in ones are used.
fn has_defaults(config: &Config) -> bool {
    let names = config.tools.iter().map(|tool| match &tool.source {
        ComponentSource::Builtin(name) => name.as_str(),
        ComponentSource::File(_) | ComponentSource::Remote(_) => "",
    });
    names.eq(DEFAULT_TOOLS)
}

/// True if the user accepted the component already: a key of the configuration signed it, or it was
/// named by its digest.
fn is_accepted(remote: &Remote, pulled: &PulledComponent) -> bool {
    pulled.signer.is_some() || remote.is_by_digest()
}

/// Asks whether to accept a component that no key of the configuration signed. Without a terminal
/// it is not accepted.
fn confirms(name: &str, pulled: &PulledComponent, terminal: &Terminal) -> bool {
    let question = format!(
        "\nNothing proves who made this component. If you accept it, exactly these bytes run as `{}`, and no \
         others:\n  {}\n{BOLD}Accept it?{BOLD:#} [y] yes  [n] no (any other answer also means no)",
        escape_line(name),
        pulled.digest
    );
    if !terminal.can_ask() {
        let exact = &pulled.exact;
        terminal.note(&format!(
            "Nothing proves who made this component, and asking you needs a terminal. To accept exactly this \
             one:\n  agent-host add {} --as {}",
            super::shell_quoted(&exact.to_string()),
            super::shell_quoted(name)
        ));
        return false;
    }
    is_yes(&question, terminal)
}
